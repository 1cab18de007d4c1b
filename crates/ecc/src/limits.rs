//! The limits of the codes.

/// The longest page that signatures and parity take, in bytes.
pub const LONGEST_PAGE: usize = 64 * 1024;

/// The most parity pages that a block can have.
pub const MOST_PARITY: usize = 8;

/// True if codes take pages of so many bytes: whole symbols of two, and not too many.
pub(crate) fn takes_pages_of(bytes: usize) -> bool {
    bytes > 0 && bytes.is_multiple_of(2) && bytes <= LONGEST_PAGE
}
