//! NAT bits: for each block of the NAT whether it is full and whether it is empty, so that a mount need not read it to
//! find free numbers. They end the segment of a checkpoint pack.

use super::nat::Nat;
use crate::layout::SuperBlock;

/// Bytes of the checkpoint's version in front of the bits.
const VERSION_BYTES: usize = 8;

/// The blocks that hold them, without the version; `None` if not all numbers in use are known.
pub(super) fn blocks(nat: &Nat, sb: &SuperBlock) -> Option<Vec<u8>> {
    let per_block = nat.table().per_block();
    let bits = nat.table().versions().len();
    let mut bytes = vec![0; VERSION_BYTES];
    bytes.resize(VERSION_BYTES + bits, 0);
    bytes.resize(VERSION_BYTES + 2 * bits, 0xff);
    let used: Vec<u32> = nat.used()?.map(|nid| nid.0 / per_block).collect();
    for run in used.chunk_by(|left, right| left == right) {
        let index = run.first().copied().unwrap_or_default();
        let (at, bit) = ((index / 8) as usize, 1 << (index % 8));
        let is_full = run.len() == per_block as usize;
        if let Some(full) = bytes.get_mut(VERSION_BYTES + at) {
            *full |= if is_full { bit } else { 0 };
        }
        if let Some(empty) = bytes.get_mut(VERSION_BYTES + bits + at) {
            *empty &= !bit;
        }
    }
    bytes.resize(bytes.len().next_multiple_of(sb.block().width()), 0);
    Some(bytes)
}

/// The same with the version of the checkpoint, and its checksum in the upper half.
pub(super) fn with_version(mut bytes: Vec<u8>, version: u64) -> Vec<u8> {
    bytes.iter_mut().zip(version.to_le_bytes()).for_each(|(to, from)| *to = from);
    bytes
}
