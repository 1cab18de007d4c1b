//! Orphan blocks of a checkpoint pack: inodes without a name that were still open.

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U16, U32},
};

use super::{BlockSize, Nid};
use crate::crc;

/// The last 16 bytes of an orphan block, raw.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Debug)]
#[repr(C)]
pub struct RawOrphanTail {
    /// Unused.
    pub reserved: U32,
    /// The number among the pack's orphan blocks, from 1.
    pub blk_addr: U16,
    /// The number of them.
    pub blk_count: U16,
    /// Inodes in this block.
    pub entry_count: U32,
    /// The checksum over the block in front of it.
    pub check_sum: U32,
}

const _: () = assert!(size_of::<RawOrphanTail>() == 16);

/// An orphan block.
#[derive(Clone, Debug)]
pub struct OrphanBlock {
    /// The inodes.
    pub inodes: Vec<Nid>,
    /// The rest of the block.
    pub tail: RawOrphanTail,
    /// The right checksum; kernels do not write it.
    pub checksum: u32,
}

impl OrphanBlock {
    /// Takes a block apart; `Err` is a count that does not fit.
    pub fn from_block(block: &[u8], size: BlockSize) -> Result<OrphanBlock, u32> {
        let Ok((head, tail)) = RawOrphanTail::read_from_suffix(block) else { return Err(0) };
        let count = tail.entry_count.get();
        if count > size.orphans() {
            return Err(count);
        }
        let inodes =
            head.chunks_exact(4).take(count as usize).filter_map(|raw| U32::read_from_bytes(raw).ok());
        let covered = block.get(..block.len() - 4).unwrap_or_default();
        Ok(OrphanBlock {
            inodes: inodes.map(|ino| Nid(ino.get())).collect(),
            tail,
            checksum: crc::checksum(covered),
        })
    }

    /// As it stands on the medium.
    pub fn to_block(&self, size: BlockSize) -> Vec<u8> {
        let mut block = Vec::with_capacity(size.width());
        for ino in &self.inodes {
            block.extend_from_slice(&ino.0.to_le_bytes());
        }
        block.resize(size.orphans() as usize * 4, 0);
        block.extend_from_slice(self.tail.as_bytes());
        block
    }
}
