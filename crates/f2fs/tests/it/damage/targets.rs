//! Bytes worth damaging, and ways to do it.

use fastrand::Rng;
use pumice_f2fs::{
    Volume, crc,
    layout::{BlockAddr, Nid, NodeFooter, SegNo},
};

use crate::common::medium::Medium;

/// Blocks of metadata of a volume.
pub(crate) struct Targets {
    /// Super blocks, checkpoint packs, tables, summaries in use.
    tables: Vec<u32>,
    /// Nodes, live or not.
    nodes: Vec<u32>,
    /// Blocks of directories and files.
    data: Vec<u32>,
    inode_seed: u32,
}

pub(crate) fn metadata(medium: &Medium) -> Targets {
    let disk = Box::new(medium.with(0, Vec::new()));
    let volume = Volume::open(vec![disk], 1 << 20).unwrap();
    let mut tables = vec![0, 1];
    for pack in [1, 2] {
        let start = volume.super_block().checkpoint_addr(pack).0;
        tables.extend(start..start + 8);
    }
    tables.extend((0..volume.sit_blocks()).map(|index| volume.sit_addr(index).0));
    // Node numbers are given out from the smallest on.
    tables.extend((0..2).map(|index| volume.nat_addr(index).0));
    let mut targets =
        Targets { tables, nodes: Vec::new(), data: Vec::new(), inode_seed: volume.inode_seed() };
    for segno in (0..volume.super_block().main_segments()).map(SegNo) {
        targets.add_segment(&volume, segno);
    }
    targets
}

impl Targets {
    fn add_segment(&mut self, volume: &Volume, segno: SegNo) {
        let start = volume.segment_start(segno).0;
        for addr in (start..start + 512).map(BlockAddr) {
            let block = volume.block(addr).unwrap();
            let footer = NodeFooter::of(&block).unwrap();
            // Nodes that fsync wrote are not in the SIT yet.
            if footer.nid != Nid(0)
                && footer.nid.0 < 10_000
                && footer.ino.0 < 10_000
                && footer.cp_version != 0
            {
                self.nodes.push(addr.0);
            } else if volume.is_valid(addr).unwrap() {
                self.data.push(addr.0);
            }
        }
    }

    /// One way of damaging the volume.
    pub(crate) fn damage(&self, medium: &Medium, rng: &mut Rng) -> Medium {
        let kinds = [&self.tables, &self.nodes, &self.nodes, &self.data];
        let blocks = kinds[rng.usize(..kinds.len())];
        let addr = blocks[rng.usize(..blocks.len())];
        let mut block = medium.block(addr);
        match rng.u8(..4) {
            0 => block[rng.usize(..4096)] ^= 1 << rng.u8(..8),
            1 => fill(&mut block, rng, |rng| rng.u8(..)),
            2 => fill(&mut block, rng, |_| 0xff),
            _ => self.word(&mut block, rng),
        }
        if rng.bool() {
            self.prove(&mut block, addr);
        }
        medium.with(u64::from(addr) * 4096, block)
    }

    /// A number that means something elsewhere: an address, a node, a boundary.
    fn word(&self, block: &mut [u8], rng: &mut Rng) {
        let value = match rng.u8(..6) {
            0 => self.nodes[rng.usize(..self.nodes.len())],
            1 => self.data.get(rng.usize(..self.data.len().max(1))).copied().unwrap_or(0),
            2 => rng.u32(..200),
            3 => u32::MAX - rng.u32(..3),
            4 => 1 << rng.u8(..32),
            _ => rng.u32(..),
        };
        // Heads of blocks hold most of the interesting fields.
        let at = if rng.bool() { rng.usize(..100) } else { rng.usize(..1023) } * 4;
        block[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    /// Makes the checksum right again, so that the damage gets further than to it.
    fn prove(&self, block: &mut [u8], addr: u32) {
        if self.nodes.contains(&addr) {
            let footer = NodeFooter::of(block).unwrap();
            let generation = u32::from_le_bytes(block[68..72].try_into().unwrap());
            let sum = crc::inode_checksum(self.inode_seed, footer.ino.0, generation, block);
            if footer.is_inode() {
                block[368..372].copy_from_slice(&sum.unwrap().to_le_bytes());
            }
        } else if addr < 2 {
            let sum = crc::checksum(&block[1024..1024 + 3068]);
            block[1024 + 3068..].copy_from_slice(&sum.to_le_bytes());
        } else {
            let sum = crc::checksum(&block[..4092]);
            block[4092..].copy_from_slice(&sum.to_le_bytes());
        }
    }
}

/// Overwrites a stretch.
fn fill(block: &mut [u8], rng: &mut Rng, mut byte: impl FnMut(&mut Rng) -> u8) {
    let start = rng.usize(..4096);
    let end = (start + rng.usize(1..200)).min(4096);
    for place in &mut block[start..end] {
        *place = byte(rng);
    }
}
