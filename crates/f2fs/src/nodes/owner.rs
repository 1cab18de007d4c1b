//! The owner of a block, and whether the block is live.

use super::{Nodes, map::word};
use crate::{
    error::Result,
    layout::{BlockAddr, Inode, Nid, NodeOffset, SegNo, SitEntry, Summary},
    volume::{Node, footer},
};

/// Levels of directories a path may have.
const DEPTH_MAX: usize = 4096;

/// The owner of a main-area block.
#[derive(Clone, Debug)]
pub struct Owner {
    /// Its segment.
    pub segno: SegNo,
    /// The number of the block in the segment.
    pub offset: u32,
    /// The segment's entry of the SIT.
    pub sit: SitEntry,
    /// The block's entry of the SSA.
    pub summary: Summary,
    /// Something points to it: it is live.
    pub live: bool,
    /// The inode, as far as it can be told.
    pub ino: Option<Nid>,
    /// Byte of the file, for data.
    pub file_offset: Option<u64>,
    /// The place of a node in its inode's tree.
    pub node_offset: Option<NodeOffset>,
    /// A path of the inode.
    pub path: Option<Vec<u8>>,
}

impl Nodes {
    /// The owner of a main-area block; `None` elsewhere.
    pub fn owner(&self, addr: BlockAddr) -> Result<Option<Owner>> {
        let (Some((segno, offset)), Some(summary)) =
            (self.volume.segment_of(addr), self.volume.summary(addr)?)
        else {
            return Ok(None);
        };
        let sit = self.volume.sit_entry(segno)?;
        let mut owner = Owner {
            segno,
            offset,
            sit,
            summary,
            live: false,
            ino: None,
            file_offset: None,
            node_offset: None,
            path: None,
        };
        // Segments of nodes have the kinds from 3 on.
        if sit.kind >= 3 {
            self.node_owner(addr, &mut owner)?;
        } else {
            self.data_owner(addr, &mut owner);
        }
        owner.path = owner.ino.and_then(|ino| self.path_of(ino));
        Ok(Some(owner))
    }

    fn node_owner(&self, addr: BlockAddr, owner: &mut Owner) -> Result<()> {
        // The footer tells more than the summary, which is written later.
        let footer = footer(&self.volume.block(addr)?, addr)?;
        let known = footer.nid.0 < self.volume.super_block().nid_limit() && !footer.nid.is_null();
        owner.live = known && self.volume.nat_entry(footer.nid)?.addr == addr;
        if owner.live {
            owner.ino = Some(footer.ino);
            owner.node_offset = Some(footer.offset);
        }
        Ok(())
    }

    fn data_owner(&self, addr: BlockAddr, owner: &mut Owner) {
        let Ok(node) = self.node(owner.summary.nid) else { return };
        let Ok((inode, _)) = self.inode(node.footer.ino) else { return };
        let Some((at, first)) = self.addrs_of(&inode, &node) else { return };
        let slot = u64::from(owner.summary.offset);
        let at = at + usize::from(owner.summary.offset) * 4;
        owner.live = node.block.get(at..at + 4).map(word) == Some(addr);
        if owner.live {
            owner.ino = Some(inode.ino);
            owner.file_offset = Some((first + slot).saturating_mul(self.volume.block_size().bytes_u64()));
        }
    }

    /// The place of a node's first address, and its block of the file.
    fn addrs_of(&self, inode: &Inode, node: &Node) -> Option<(usize, u64)> {
        if node.footer.offset == NodeOffset::INODE {
            return Some((inode.addrs_at(), 0));
        }
        let index = node.footer.offset.direct_index(self.volume.block_size())?;
        Some((0, u64::from(inode.own_addrs()) + u64::from(index) * u64::from(inode.node_addrs())))
    }

    /// A path of an inode, from the names that inodes carry; `None` if they lead nowhere.
    pub fn path_of(&self, ino: Nid) -> Option<Vec<u8>> {
        let root = self.volume.super_block().root();
        let mut names: Vec<Vec<u8>> = Vec::new();
        let mut here = ino;
        while here != root {
            let (inode, _) = self.inode(here).ok()?;
            if names.len() >= DEPTH_MAX || inode.last_name().is_empty() {
                return None;
            }
            names.push(inode.last_name().to_vec());
            here = inode.parent;
        }
        names.reverse();
        Some([b"/".to_vec(), names.join(&b'/')].concat())
    }
}
