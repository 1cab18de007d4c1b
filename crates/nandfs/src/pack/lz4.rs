//! LZ4 blocks.

use alloc::vec::Vec;

use lz4_flex::block;

/// Appends a block compressed; there are no levels.
pub(super) fn pack(bytes: &[u8], _level: u8, out: &mut Vec<u8>) -> Option<()> {
    let start = out.len();
    out.resize(start + block::get_maximum_output_size(bytes.len()), 0);
    let used = block::compress_into(bytes, out.get_mut(start..)?).ok()?;
    out.truncate(start + used);
    Some(())
}

/// The bytes that a block has, written to `out`; `None` if it makes no sense or has more.
pub(super) fn unpack(packed: &[u8], out: &mut [u8]) -> Option<usize> {
    block::decompress_into(packed, out).ok()
}
