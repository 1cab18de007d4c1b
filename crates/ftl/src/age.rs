//! Ages of four significant bits, in a byte.

/// Significant bits of an age below its first.
const BITS: u32 = 3;

/// An age in a byte: its octave, and the three bits below its first. Older ones have greater bytes.
pub(crate) fn rounded(age: u32) -> u8 {
    let octave = age.checked_ilog2().map_or(0, |log| log.saturating_sub(BITS));
    let byte = (octave << BITS) + (age >> octave);
    debug_assert!(byte < u32::from(u8::MAX), "{age} as {byte}");
    u8::try_from(byte).unwrap_or(u8::MAX)
}

/// The middle of the ages that round to a byte.
pub(crate) fn age(byte: u8) -> u32 {
    let octave = (u32::from(byte) >> BITS).saturating_sub(1).min(u32::BITS - 1 - BITS);
    let first = (u32::from(byte) - (octave << BITS)) << octave;
    first + (1 << octave >> 1)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn older_ages_have_greater_bytes() {
        let ages = (0..4096).chain((12..32).flat_map(|log| [(1 << log) - 1, 1 << log, 3 << (log - 1)]));
        let mut ages: Vec<u32> = ages.chain([u32::MAX]).collect();
        ages.sort_unstable();
        assert!(ages.windows(2).all(|pair| rounded(pair[0]) <= rounded(pair[1])));
        assert!((0..u8::MAX).all(|byte| byte > rounded(u32::MAX) || rounded(age(byte)) == byte));
    }
}
