//! Counts and places as the format's words hold them.
//!
//! Whoever counts has checked sizes against the format's bounds before, so that a number that does not fit is a mistake
//! of this crate, never a user's.

/// A number in 32 bits.
pub(crate) fn word(number: impl TryInto<u32>) -> u32 {
    let word = number.try_into();
    debug_assert!(word.is_ok(), "a number beyond 32 bits");
    word.unwrap_or(u32::MAX)
}

/// A number in 16 bits.
pub(crate) fn half(number: impl TryInto<u16>) -> u16 {
    let half = number.try_into();
    debug_assert!(half.is_ok(), "a number beyond 16 bits");
    half.unwrap_or(u16::MAX)
}
