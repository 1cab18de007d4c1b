//! The blocks of metadata of a volume, and the ways a byte of them is changed.

use std::{collections::BTreeSet, ops::ControlFlow, sync::Arc};

use pumice_f2fs::{
    Nodes, Volume, crc,
    layout::{BlockAddr, Nid, SegNo},
};
use pumice_vfs::FileKind;

use crate::medium::Medium;

pub(crate) const BLOCK: usize = 4096;

/// Node numbers that are looked at: a small volume has none above.
const NIDS: u32 = 2000;

pub(crate) struct Metadata {
    /// Super blocks, both checkpoint packs, NAT, SIT, SSA, nodes, directories.
    pub(crate) blocks: Vec<u32>,
    /// Heads and feet of checkpoint packs: blocks with a checksum at the end.
    ends: BTreeSet<u32>,
}

impl Metadata {
    pub(crate) fn of(medium: &Arc<Medium>) -> Metadata {
        let nodes = Nodes::new(Volume::open(vec![Box::new(medium.clone())], 1 << 20).unwrap());
        let volume = nodes.volume();
        let mut metadata = Metadata { blocks: vec![0, 1], ends: BTreeSet::new() };
        metadata.add_packs(volume);
        metadata.add_tables(volume);
        metadata.add_nodes(&nodes);
        let unique: BTreeSet<u32> = metadata.blocks.iter().copied().collect();
        assert_eq!(unique.len(), metadata.blocks.len(), "no block is listed twice");
        metadata
    }

    fn add_packs(&mut self, volume: &Volume) {
        for (number, pack) in [1, 2].into_iter().zip(volume.packs()) {
            let Ok(pack) = pack else { continue };
            let start = volume.super_block().checkpoint_addr(number).0;
            let end = start + pack.raw().cp_pack_total_block_count.get();
            self.blocks.extend(start..end);
            self.ends.extend([start, end - 1]);
        }
    }

    /// Adds the parts of the tables that are in use.
    fn add_tables(&mut self, volume: &Volume) {
        let used = |index: &u32| volume.nat_block(*index).unwrap().iter().any(|byte| *byte != 0);
        self.blocks.extend((0..volume.nat_blocks()).filter(used).map(|index| volume.nat_addr(index).0));
        self.blocks.extend((0..volume.sit_blocks()).map(|index| volume.sit_addr(index).0));
        let ssa = volume.super_block().raw().ssa_blkaddr.get();
        let segments = (0..volume.super_block().main_segments()).map(SegNo);
        let filled = segments.filter(|segno| volume.sit_entry(*segno).unwrap().bits() > 0);
        self.blocks.extend(filled.map(|segno| ssa + segno.0));
    }

    fn add_nodes(&mut self, nodes: &Nodes) {
        for nid in (3..NIDS).map(Nid) {
            let Ok(node) = nodes.node(nid) else { continue };
            self.blocks.push(node.addr.0);
            let Ok((inode, node)) = nodes.inode(nid) else { continue };
            if inode.kind != FileKind::Dir || inode.has_inline_dentry() {
                continue;
            }
            let mut leaves = BTreeSet::new();
            nodes
                .each_dentry(&inode, &node, &mut |leaf, _| {
                    leaves.insert(leaf);
                    ControlFlow::Continue(())
                })
                .unwrap();
            for leaf in leaves {
                if let pumice_f2fs::Mapped::At(BlockAddr(addr)) =
                    nodes.run_at(&inode, &node, leaf, 1).unwrap().mapped
                {
                    self.blocks.push(addr);
                }
            }
        }
    }

    /// The volume with this byte changed; where a checksum stands over it, once more with the sum made right, so
    /// that the change gets further than to it.
    pub(crate) fn damages(&self, sound: &Medium, addr: u32, byte: usize) -> Vec<Medium> {
        let mut block = sound.block(addr);
        block[byte] = !block[byte];
        let at = u64::from(addr) * BLOCK as u64;
        let mut damages = vec![sound.with(at, block.clone())];
        if self.ends.contains(&addr) && byte < BLOCK - 4 {
            let sum = crc::checksum(&block[..BLOCK - 4]);
            block[BLOCK - 4..].copy_from_slice(&sum.to_le_bytes());
            damages.push(sound.with(at, block));
        }
        damages
    }
}
