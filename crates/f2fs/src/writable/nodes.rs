//! Nodes as they are now: those that changed wait in memory until they are written.

use std::{collections::BTreeMap, sync::Arc};

use super::usage::Usage;
use crate::{
    crc,
    error::{Place, Result, corrupt},
    layout::{BlockAddr, BlockSize, ExtraAttr, Features, Inode, Nid, NodeFooter, NodeOffset},
    volume::Block,
    write::{Writer, head::Log},
};

/// The nodes of a volume that is written to.
pub(super) struct Nodes {
    writer: Writer,
    dirty: BTreeMap<Nid, Block>,
    usage: Usage,
    inode_seed: u32,
    changes: u64,
}

impl Nodes {
    pub(super) fn new(writer: Writer) -> Nodes {
        let (usage, inode_seed) =
            (Usage::new(writer.super_block()), crc::inode_seed(&writer.super_block().uuid()));
        Nodes { writer, dirty: BTreeMap::new(), usage, inode_seed, changes: 0 }
    }

    /// What stands below.
    pub(super) fn writer(&self) -> &Writer {
        &self.writer
    }

    /// How often anything was changed: a call that fails without a change has done no harm.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// Says that something else was changed.
    pub(super) fn touch(&mut self) {
        self.changes += 1;
    }

    /// The same, to write to.
    pub(super) fn writer_mut(&mut self) -> &mut Writer {
        self.changes += 1;
        &mut self.writer
    }

    /// Bytes of a block.
    pub(super) fn size(&self) -> BlockSize {
        self.writer.super_block().block()
    }

    /// What the volume uses.
    pub(super) fn features(&self) -> Features {
        self.writer.super_block().features()
    }

    /// How many wait to be written.
    pub(super) fn waiting(&self) -> u64 {
        self.dirty.len() as u64
    }

    /// What users, groups and projects use more or less than their quota files say.
    pub(super) fn usage(&self) -> &Usage {
        &self.usage
    }

    /// The same, to take from.
    pub(super) fn usage_mut(&mut self) -> &mut Usage {
        &mut self.usage
    }

    /// A node, by its number. It must be one of inode `ino`, at its place.
    pub(super) fn read(&self, nid: Nid, ino: Nid, offset: NodeOffset) -> Result<Block> {
        let block = self.peek(nid)?;
        let footer = NodeFooter::of(&block);
        let found = footer.map_or(Nid::NULL, |footer| footer.ino);
        if found != ino {
            return Err(corrupt(Place::Node(nid), "the inode is", found.0, ino.0));
        }
        match footer {
            Some(footer) if footer.offset != offset => {
                Err(corrupt(Place::Node(nid), "the place in the inode is", footer.offset.0, offset.0))
            }
            _ => Ok(block),
        }
    }

    /// A node whose place was looked at.
    pub(super) fn peek(&self, nid: Nid) -> Result<Block> {
        if let Some(block) = self.dirty.get(&nid) {
            return Ok(block.clone());
        }
        let entry = self.writer.entry(nid)?;
        let (start, end) = (self.writer.super_block().main_start(), self.writer.super_block().main_end());
        if entry.addr < start || u64::from(entry.addr.0) >= end {
            return Err(corrupt(Place::Node(nid), "the address in the NAT is", entry.addr.0, end));
        }
        let block = self.writer.read(entry.addr)?;
        match NodeFooter::of(&block) {
            Some(footer) if footer.nid == nid && footer.ino == entry.ino => Ok(block),
            footer => {
                let found = footer.map_or(Nid::NULL, |footer| footer.nid);
                Err(corrupt(Place::Node(nid), "the footer's node is", found.0, nid.0))
            }
        }
    }

    /// The bytes of a node that is there, to be changed.
    pub(super) fn edit(&mut self, nid: Nid) -> Result<&mut Vec<u8>> {
        self.changes += 1;
        let block = match self.dirty.remove(&nid) {
            Some(block) => block,
            None => self.peek(nid)?,
        };
        Ok(Arc::make_mut(self.dirty.entry(nid).or_insert(block)))
    }

    /// Makes a node of an inode, all zeros. The inode must count it.
    pub(super) fn make(&mut self, inode: &Inode, offset: NodeOffset) -> Result<Nid> {
        let nid = self.writer.promise_node(Some(inode.ino))?;
        self.start(nid, inode.ino, offset, inode.kind == pumice_vfs::FileKind::Dir);
        Ok(nid)
    }

    fn start(&mut self, nid: Nid, ino: Nid, offset: NodeOffset, is_dir: bool) {
        self.changes += 1;
        let mut block = vec![0; self.size().width()];
        let footer = NodeFooter {
            nid,
            ino,
            is_cold: !is_dir,
            is_fsync: false,
            is_dentry: false,
            offset,
            cp_version: 0,
            next: BlockAddr::NULL,
        };
        footer.write_to(&mut block);
        self.dirty.insert(nid, Arc::new(block));
    }

    /// Takes a node away. The inode must not count it any more.
    pub(super) fn remove(&mut self, nid: Nid) -> Result<()> {
        self.dirty.remove(&nid);
        self.writer_mut().remove_node(nid)
    }

    /// A number for a new inode, whose node is zeros until [`Nodes::put`].
    pub(super) fn make_inode(&mut self, is_dir: bool) -> Result<Nid> {
        let ino = self.writer.promise_node(None)?;
        self.start(ino, ino, NodeOffset::INODE, is_dir);
        Ok(ino)
    }

    /// Puts a new inode where [`Nodes::make_inode`] made room.
    pub(super) fn put_first(&mut self, inode: &Inode) -> Result<()> {
        inode.write_to(self.edit(inode.ino)?);
        self.usage.change(None, Some(inode));
        Ok(())
    }

    /// Takes an inode away, which must have nothing but itself.
    pub(super) fn remove_inode(&mut self, inode: &Inode) -> Result<()> {
        debug_assert_eq!(inode.blocks, 1);
        let old = self.inode(inode.ino)?;
        self.usage.change(Some(&old), None);
        self.remove(inode.ino)
    }

    /// The block of an inode.
    pub(super) fn inode_block(&self, ino: Nid) -> Result<Block> {
        self.read(ino, ino, NodeOffset::INODE)
    }

    /// True if an inode has this number.
    pub(super) fn has_inode(&self, ino: Nid) -> Result<bool> {
        let sb = self.writer.super_block();
        if ino.0 < sb.root().0 || ino.0 >= sb.nid_limit() {
            return Ok(false);
        }
        let entry = self.writer.entry(ino)?;
        Ok(entry.is_used() && entry.ino == ino)
    }

    /// An inode.
    pub(super) fn inode(&self, ino: Nid) -> Result<Inode> {
        let block = self.inode_block(ino)?;
        let inode = Inode::from_block(ino, &block, self.size(), self.features())?;
        // The checksum is written with the block.
        if self.features().has(Features::INODE_CHECKSUM) && !self.dirty.contains_key(&ino) {
            self.check_sum(&inode, &block)?;
        }
        Ok(inode)
    }

    fn check_sum(&self, inode: &Inode, block: &[u8]) -> Result<()> {
        let Some(extra) = inode.extra.filter(ExtraAttr::has_checksum) else { return Ok(()) };
        match crc::inode_checksum(self.inode_seed, inode.ino.0, inode.generation, block) {
            Some(sum) if sum != extra.checksum => {
                Err(corrupt(Place::Inode(inode.ino), "the checksum is", extra.checksum, sum))
            }
            _ => Ok(()),
        }
    }

    /// Changes the attributes of an inode to these; its words stay.
    pub(super) fn put(&mut self, inode: &Inode) -> Result<()> {
        let old = Inode::from_block(inode.ino, &self.inode_block(inode.ino)?, self.size(), self.features())?;
        if old == *inode {
            return Ok(());
        }
        self.usage.change(Some(&old), Some(inode));
        inode.write_to(self.edit(inode.ino)?);
        Ok(())
    }

    /// Writes what waits. Nothing of it counts before the next checkpoint.
    pub(super) fn flush(&mut self) -> Result<()> {
        while let Some((nid, block)) = self.dirty.pop_first() {
            let mut block = Arc::unwrap_or_clone(block);
            let Some(footer) = NodeFooter::of(&block) else {
                return Err(corrupt(Place::Node(nid), "bytes are", block.len() as u64, 4096_u32));
            };
            let footer = NodeFooter { is_fsync: false, is_dentry: false, ..footer };
            let log = self.log(&footer);
            self.writer_mut().append_node(log, &mut block, footer)?;
        }
        Ok(())
    }

    fn log(&self, footer: &NodeFooter) -> Log {
        if footer.offset != NodeOffset::XATTR && !footer.offset.is_direct(self.size()) {
            return Log::ColdNode;
        }
        if footer.is_cold { Log::WarmNode } else { Log::HotNode }
    }
}
