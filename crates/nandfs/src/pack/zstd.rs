//! Frames of Zstandard without their first four bytes, which are the same in all.

use alloc::vec::Vec;

use zstd::bulk;

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Appends a block compressed.
pub(super) fn pack(bytes: &[u8], level: u8, out: &mut Vec<u8>) -> Option<()> {
    let frame = bulk::compress(bytes, level.into()).ok()?;
    out.extend_from_slice(frame.strip_prefix(&MAGIC)?);
    Some(())
}

/// The bytes that a frame has, written to `out`; `None` if it makes no sense or has more.
pub(super) fn unpack(packed: &[u8], out: &mut [u8]) -> Option<usize> {
    let frame = [&MAGIC, packed].concat();
    bulk::decompress_to_buffer(&frame, out).ok()
}
