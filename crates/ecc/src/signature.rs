//! Algebraic signatures of pages (RCFFS, section 2.2).
//!
//! A signature has two to four components, each a symbol of GF(2^16): the page's polynomial at x^0, x^1, then x^-1, then
//! x^2. So many exponents in a row tell any change of as many symbols for certain, and let any other change pass with
//! probability 2^-32, 2^-48 or 2^-64. Components are linear over the field of the parity.
//!
//! The polynomial: a page stands in rows of 128 bytes, 64 symbols each, the last row filled up with zeros. The symbol in
//! column c, r rows before the last, is the coefficient of the power 1024 c + r. So all columns are worked on side by
//! side, and no two symbols of a page share a power.

use crate::{CodeError, limits::takes_pages_of, simd};

/// The number of bits of a signature.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// Two components.
    Bits32,
    /// Three components.
    Bits48,
    /// Four components.
    Bits64,
}

impl Width {
    /// Bytes of a signature: 4, 6 or 8.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Bits32 => 4,
            Self::Bits48 => 6,
            Self::Bits64 => 8,
        }
    }
}

/// The signature of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Signature {
    bytes: [u8; 8],
    width: Width,
}

impl Signature {
    /// The signature of `page`, which has an even number of bytes, up to [`LONGEST_PAGE`](crate::LONGEST_PAGE).
    pub fn of(page: &[u8], width: Width) -> Result<Self, CodeError> {
        if !takes_pages_of(page.len()) {
            return Err(CodeError::PageSize(page.len()));
        }
        let bytes = match width {
            Width::Bits32 => little_endian(simd::signature::<2>(page)),
            Width::Bits48 => little_endian(simd::signature::<3>(page)),
            Width::Bits64 => little_endian(simd::signature::<4>(page)),
        };
        Ok(Self { bytes, width })
    }

    /// The signature's bytes, as they stand in a spare area: little-endian components. They are a page of a few bytes
    /// to [`Parity`](crate::Parity), which makes the signatures of the parity pages of them.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.width.bytes()).unwrap_or(&self.bytes)
    }
}

/// The components' bytes, and zeros behind them.
fn little_endian<const N: usize>(components: [u16; N]) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes
        .as_chunks_mut()
        .0
        .iter_mut()
        .zip(components)
        .for_each(|(place, component)| *place = component.to_le_bytes());
    bytes
}
