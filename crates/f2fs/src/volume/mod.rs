//! An opened volume: its super block, its checkpoint, and the tables that say where nodes are and which blocks
//! are valid. Everything is read as it is asked for; nothing here grows with the volume but two bitmaps.

mod area;
mod cache;
mod disks;
mod logs;
mod open;
mod packs;
mod read_ahead;
mod tables;

use std::{collections::BTreeMap, sync::Arc};

use pumice_vfs::Stored;

use crate::{
    error::{Error, Place, Result, corrupt},
    layout::{
        BlockAddr, BlockSize, Checkpoint, Features, Inode, NatEntry, Nid, NodeFooter, NodeOffset,
        SummaryLayout, SuperBlock,
    },
};

pub use area::Area;
pub use cache::Block;
pub(crate) use cache::BlockCache;
use disks::Disks;
pub use logs::LogHead;
pub use open::{read_super_block, read_super_blocks};
pub use packs::PassedOver;
pub(crate) use tables::{nat_entry_in, sit_entry_in};

/// An opened volume.
pub struct Volume {
    disks: Disks,
    sb: SuperBlock,
    cp: Checkpoint,
    packs: packs::Packs,
    sit_bitmap: Vec<u8>,
    nat_bitmap: Vec<u8>,
    logs: logs::Logs,
    cache: BlockCache,
    inode_seed: u32,
    /// Nodes that were found by a search, in place of the NAT.
    found: Option<BTreeMap<Nid, NatEntry>>,
}

/// A node: its block, which stands where the NAT says.
#[derive(Clone, Debug)]
pub struct Node {
    /// The address.
    pub addr: BlockAddr,
    /// Its footer.
    pub footer: NodeFooter,
    /// Its bytes.
    pub block: Block,
    /// The bytes are as on the medium, not changed by rolling forward.
    pub(crate) as_stored: bool,
}

impl Volume {
    /// The super block.
    pub fn super_block(&self) -> &SuperBlock {
        &self.sb
    }

    /// The newer of the valid checkpoints.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.cp
    }

    /// Both checkpoint packs as they were found.
    pub fn packs(&self) -> &[Result<Checkpoint>; 2] {
        &self.packs.found
    }

    /// A newer checkpoint that cannot be used, so that this volume is shown as it was before.
    pub fn passed_over(&self) -> Option<&PassedOver> {
        self.packs.passed_over.as_ref()
    }

    /// Bytes of a block.
    pub fn block_size(&self) -> BlockSize {
        self.sb.block()
    }

    /// The features of the volume.
    pub fn features(&self) -> Features {
        self.sb.features()
    }

    /// Sizes of summaries.
    pub fn summary_layout(&self) -> SummaryLayout {
        SummaryLayout::new(self.sb.block(), self.features().has(Features::PACKED_SSA))
    }

    /// The first device that is missing or too short.
    pub fn missing(&self) -> Option<Error> {
        self.disks.missing(&self.sb)
    }

    /// Bytes of the volume that are there, on all its devices.
    pub fn device_bytes(&self) -> u64 {
        self.disks.bytes()
    }

    /// True if `addr` lies in the main area.
    pub fn is_main(&self, addr: BlockAddr) -> bool {
        addr >= self.sb.main_start() && u64::from(addr.0) < self.sb.main_end()
    }

    /// Fills `buffer`, a whole number of blocks, with the blocks from `addr` on, past the cache.
    pub fn read_blocks(&self, addr: BlockAddr, buffer: &mut [u8]) -> Result<()> {
        self.disks.read(addr, buffer)
    }

    /// The device of block `addr`, and the place there.
    pub(crate) fn stored(&self, addr: BlockAddr) -> Option<Stored> {
        self.disks.stored(addr)
    }

    /// A block of metadata, through the cache.
    pub fn block(&self, addr: BlockAddr) -> Result<Block> {
        if let Some(block) = self.cache.get(addr) {
            return Ok(block);
        }
        let mut bytes = vec![0; self.block_size().width()];
        self.disks.read(addr, &mut bytes)?;
        let block = Arc::new(bytes);
        self.cache.put(addr, &block);
        Ok(block)
    }

    /// A node, by its number. Its footer must name it, and the inode that the NAT names.
    pub fn node(&self, nid: Nid) -> Result<Node> {
        let entry = self.nat_entry(nid)?;
        if !entry.is_used() {
            return Err(corrupt(Place::Node(nid), "the address in the NAT is", entry.addr.0, 1_u32));
        }
        let node = self.node_at(nid, entry.addr)?;
        if node.footer.ino != entry.ino {
            return Err(corrupt(Place::Node(nid), "the footer's inode is", node.footer.ino.0, entry.ino.0));
        }
        Ok(node)
    }

    /// The node that stands at `addr` and must be `nid`.
    pub(crate) fn node_at(&self, nid: Nid, addr: BlockAddr) -> Result<Node> {
        if !self.is_main(addr) {
            return Err(corrupt(Place::Node(nid), "the address in the NAT is", addr.0, self.sb.main_end()));
        }
        let block = self.block(addr)?;
        let footer = footer(&block, addr)?;
        if footer.nid != nid {
            return Err(corrupt(Place::Node(nid), "the footer's node is", footer.nid.0, nid.0));
        }
        Ok(Node { addr, footer, block, as_stored: true })
    }

    /// An inode, with its block. Its checksum must be right, if it has one.
    pub fn inode(&self, ino: Nid) -> Result<(Inode, Node)> {
        self.inode_in(ino, self.node(ino)?)
    }

    /// The same; `None` if no inode has this number.
    pub(crate) fn find_inode(&self, ino: Nid) -> Result<Option<(Inode, Node)>> {
        match self.inode_addr(ino)? {
            Some(addr) => self.inode_in(ino, self.node_at(ino, addr)?).map(Some),
            None => Ok(None),
        }
    }

    /// True if an inode has this number.
    pub(crate) fn has_inode(&self, ino: Nid) -> Result<bool> {
        Ok(self.inode_addr(ino)?.is_some())
    }

    /// The address of an inode, if there is one of this number.
    fn inode_addr(&self, ino: Nid) -> Result<Option<BlockAddr>> {
        if ino.is_null() || ino.0 >= self.sb.nid_limit() {
            return Ok(None);
        }
        let entry = self.nat_entry(ino)?;
        Ok((entry.is_used() && entry.ino == ino).then_some(entry.addr))
    }

    /// The inode in a node, wherever that was found.
    pub(crate) fn inode_in(&self, ino: Nid, node: Node) -> Result<(Inode, Node)> {
        if node.footer.ino != ino || node.footer.offset != NodeOffset::INODE {
            return Err(corrupt(Place::Inode(ino), "the footer's inode is", node.footer.ino.0, ino.0));
        }
        let inode = Inode::from_block(ino, &node.block, self.block_size(), self.features())?;
        if node.as_stored {
            self.check_inode_sum(&inode, &node)?;
        }
        Ok((inode, node))
    }

    fn check_inode_sum(&self, inode: &Inode, node: &Node) -> Result<()> {
        if !self.features().has(Features::INODE_CHECKSUM) {
            return Ok(());
        }
        let Some(extra) = inode.extra.filter(crate::layout::ExtraAttr::has_checksum) else { return Ok(()) };
        let sum = crate::crc::inode_checksum(self.inode_seed, inode.ino.0, inode.generation, &node.block);
        match sum {
            Some(sum) if sum != extra.checksum => {
                Err(corrupt(Place::Inode(inode.ino), "the checksum is", extra.checksum, sum))
            }
            _ => Ok(()),
        }
    }

    /// The same volume with these nodes, in place of those that its NAT names.
    pub(crate) fn with_nodes(self, found: BTreeMap<Nid, NatEntry>) -> Volume {
        Volume { found: Some(found), ..self }
    }

    /// The seed of inode checksums.
    pub fn inode_seed(&self) -> u32 {
        self.inode_seed
    }
}

/// The footer of a block that should be a node.
pub(crate) fn footer(block: &[u8], addr: BlockAddr) -> Result<NodeFooter> {
    NodeFooter::of(block).ok_or_else(|| short(addr, block))
}

fn short(addr: BlockAddr, block: &[u8]) -> Error {
    corrupt(Place::Block(addr), "bytes are", block.len() as u64, 4096_u32)
}
