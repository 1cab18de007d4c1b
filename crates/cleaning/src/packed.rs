//! Tables of 32-bit numbers, indexed by 32-bit numbers.

use alloc::{vec, vec::Vec};

/// No segment, no page.
pub(crate) const NONE: u32 = u32::MAX;

/// A table of fixed length. Entries outside read as [`NONE`] and are not written.
#[derive(Clone, Debug)]
pub(crate) struct Packed(Vec<u32>);

impl Packed {
    /// `len` entries of [`NONE`].
    pub(crate) fn new(len: u32) -> Self {
        Self(vec![NONE; len as usize])
    }

    #[inline]
    pub(crate) fn get(&self, at: u32) -> u32 {
        self.0.get(at as usize).copied().unwrap_or(NONE)
    }

    #[inline]
    pub(crate) fn set(&mut self, at: u32, value: u32) {
        if let Some(entry) = self.0.get_mut(at as usize) {
            *entry = value;
        }
    }
}
