//! Stands for a method that this program was built without.

use alloc::vec::Vec;

/// Compresses nothing.
pub(super) fn pack(_bytes: &[u8], _level: u8, _out: &mut Vec<u8>) -> Option<()> {
    None
}

/// Reads nothing.
pub(super) fn unpack(_packed: &[u8], _out: &mut [u8]) -> Option<usize> {
    None
}
