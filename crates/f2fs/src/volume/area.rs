//! The areas of a volume.

use super::Volume;
use crate::layout::{BlockAddr, SegNo};

/// The area a block is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Area {
    /// The super blocks and the room between them and the first segment.
    Super,
    /// A checkpoint pack, 1 or 2.
    Checkpoint(u8),
    /// The SIT: which of its blocks, and whether this copy counts.
    Sit {
        /// Block of the table.
        index: u32,
        /// It is the copy that counts.
        current: bool,
    },
    /// The NAT: which of its blocks, and whether this copy counts.
    Nat {
        /// Block of the table.
        index: u32,
        /// It is the copy that counts.
        current: bool,
    },
    /// The SSA: of which segment (the first one, where several share a block).
    Ssa(SegNo),
    /// The main area.
    Main,
    /// Addresses behind the volume.
    Outside,
}

impl Volume {
    /// The area a block is in.
    pub fn area(&self, addr: BlockAddr) -> Area {
        let raw = self.super_block().raw();
        let per_segment = self.super_block().blocks_per_segment();
        let at = addr.0;
        match at {
            _ if u64::from(at) >= self.super_block().main_end() => Area::Outside,
            _ if at >= raw.main_blkaddr.get() => Area::Main,
            _ if at >= raw.ssa_blkaddr.get() => {
                let per_block = self.summary_layout().per_block;
                Area::Ssa(SegNo((at - raw.ssa_blkaddr.get()).saturating_mul(per_block)))
            }
            _ if at >= raw.nat_blkaddr.get() => {
                let inside = at - raw.nat_blkaddr.get();
                let index = inside / (2 * per_segment) * per_segment + inside % per_segment;
                Area::Nat { index, current: self.nat_addr(index) == addr }
            }
            _ if at >= raw.sit_blkaddr.get() => {
                let half = raw.segment_count_sit.get() / 2 * per_segment;
                let index = (at - raw.sit_blkaddr.get()) % half.max(1);
                Area::Sit { index, current: self.sit_addr(index) == addr }
            }
            _ if at >= raw.cp_blkaddr.get() => {
                Area::Checkpoint(if at < self.super_block().checkpoint_addr(2).0 { 1 } else { 2 })
            }
            _ => Area::Super,
        }
    }
}
