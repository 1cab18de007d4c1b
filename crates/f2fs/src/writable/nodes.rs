//! Nodes as they are now: those that changed wait in memory until they are written.

use std::sync::Arc;

use super::{promises::Promises, usage::Usage};
use crate::{
    crc,
    error::{Place, Result, corrupt},
    layout::{BlockAddr, BlockSize, ExtraAttr, Features, Inode, Nid, NodeFooter, NodeOffset},
    undo::Tracked,
    volume::Block,
    write::{Writer, head::Log},
};

/// Bytes of a footer; in front of that of an inode are the numbers of five nodes.
const FOOTER: usize = 24;
const NIDS_AND_FOOTER: usize = 20 + FOOTER;

/// The nodes of a volume that is written to.
pub(super) struct Nodes {
    writer: Writer,
    dirty: Tracked<Nid, Waiting>,
    usage: Usage,
    promises: Promises,
    inode_seed: u32,
    changes: u64,
    changes_before: u64,
    /// The place from which the next nodes are taken that are written before a checkpoint.
    cursor: Nid,
}

/// A node that waits to be written.
#[derive(Clone)]
struct Waiting {
    block: Block,
    /// Only times are other than they were.
    only_times: bool,
}

impl Nodes {
    pub(super) fn new(writer: Writer) -> Nodes {
        let (usage, inode_seed) =
            (Usage::new(writer.super_block()), crc::inode_seed(&writer.super_block().uuid()));
        let promises = Promises::default();
        let dirty = Tracked::empty();
        Nodes { writer, dirty, usage, promises, inode_seed, changes: 0, changes_before: 0, cursor: Nid::NULL }
    }

    /// A call begins, which may be taken back as long as it writes nothing to the medium.
    pub(super) fn begin(&mut self) {
        self.writer.begin();
        self.dirty.begin();
        self.usage.begin();
        self.changes_before = self.changes;
    }

    /// Keeps the changes of the call.
    pub(super) fn keep(&mut self) {
        self.writer.keep();
        self.dirty.keep();
        self.usage.keep();
    }

    /// Undoes the changes of the call. Its word to fsync stays, and only makes a checkpoint of the next.
    pub(super) fn take_back(&mut self) {
        self.writer.take_back();
        self.dirty.take_back();
        self.usage.take_back();
        self.changes = self.changes_before;
    }

    /// The writer below.
    pub(super) fn writer(&self) -> &Writer {
        &self.writer
    }

    /// The number of changes so far: a call that fails without a change has done no harm.
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

    /// The features of the volume.
    pub(super) fn features(&self) -> Features {
        self.writer.super_block().features()
    }

    /// The number of nodes that wait to be written.
    pub(super) fn waiting(&self) -> u64 {
        self.dirty.len() as u64
    }

    /// The use of users, groups and projects, as a difference to their quota files.
    pub(super) fn usage(&self) -> &Usage {
        &self.usage
    }

    /// The same, to take from.
    pub(super) fn usage_mut(&mut self) -> &mut Usage {
        &mut self.usage
    }

    /// The events since the last checkpoint that fsync has to know.
    pub(super) fn promises(&self) -> &Promises {
        &self.promises
    }

    /// The same, to write to.
    pub(super) fn promises_mut(&mut self) -> &mut Promises {
        &mut self.promises
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

    /// A node at a known place.
    pub(super) fn peek(&self, nid: Nid) -> Result<Block> {
        if let Some(waiting) = self.dirty.get(&nid) {
            return Ok(waiting.block.clone());
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
        self.edit_as(nid, false)
    }

    /// The same; `only_times` says that nothing else is changed.
    fn edit_as(&mut self, nid: Nid, only_times: bool) -> Result<&mut Vec<u8>> {
        self.changes += 1;
        let waiting = match self.dirty.get(&nid) {
            Some(waiting) => {
                Waiting { only_times: waiting.only_times && only_times, block: waiting.block.clone() }
            }
            None => Waiting { block: self.peek(nid)?, only_times },
        };
        Ok(Arc::make_mut(&mut self.dirty.put(nid, waiting).block))
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
        self.dirty.put(nid, Waiting { block: Arc::new(block), only_times: false });
        if nid == ino {
            self.promises.make(ino);
        }
    }

    /// Takes a node of inode `ino` away. The inode must not count it any more.
    pub(super) fn remove(&mut self, nid: Nid, ino: Nid) -> Result<()> {
        self.dirty.remove(&nid);
        self.promises.unsettle(ino);
        self.writer_mut().remove_node(nid)
    }

    /// A number for a new inode. Its node is zeros until [`Nodes::put`].
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

    /// Makes an inode of a number that it was promised with, zeros until [`Nodes::fill_inode`].
    pub(super) fn claim_inode(&mut self, ino: Nid, is_dir: bool) -> Result<()> {
        self.writer.claim_inode(ino)?;
        self.start(ino, ino, NodeOffset::INODE, is_dir);
        Ok(())
    }

    /// Puts the bytes of `block` into an inode; the numbers of its nodes stay. [`Nodes::count_inode`] is to follow.
    pub(super) fn fill_inode(&mut self, ino: Nid, block: &[u8]) -> Result<()> {
        let bytes = self.size().width() - NIDS_AND_FOOTER;
        self.edit(ino)?.iter_mut().zip(block).take(bytes).for_each(|(to, from)| *to = *from);
        Ok(())
    }

    /// Changes the attributes of an inode that was filled, and was `old` before, to `new`.
    pub(super) fn count_inode(&mut self, old: Option<&Inode>, new: &Inode) -> Result<()> {
        new.write_to(self.edit(new.ino)?);
        self.usage.change(old, Some(new));
        Ok(())
    }

    /// Puts the attributes in `block` in place of a node's.
    pub(super) fn fill_xattrs(&mut self, nid: Nid, block: &[u8]) -> Result<()> {
        let bytes = self.size().width() - FOOTER;
        self.edit(nid)?.iter_mut().zip(block).take(bytes).for_each(|(to, from)| *to = *from);
        Ok(())
    }

    /// Takes an inode away, which must have nothing but itself.
    pub(super) fn remove_inode(&mut self, inode: &Inode) -> Result<()> {
        if inode.blocks != 1 {
            return Err(corrupt(Place::Inode(inode.ino), "blocks behind the last are", inode.blocks, 1_u32));
        }
        let old = self.inode(inode.ino)?;
        self.usage.change(Some(&old), None);
        self.remove(inode.ino, inode.ino)?;
        self.promises.drop(inode.ino);
        Ok(())
    }

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

    pub(super) fn inode(&self, ino: Nid) -> Result<Inode> {
        let block = self.inode_block(ino)?;
        let inode = Inode::from_block(ino, &block, self.size(), self.features())?;
        // The checksum is written with the block.
        if self.features().has(Features::INODE_CHECKSUM) && !self.dirty.contains_key(&ino) {
            self.check_sum(&inode, &block)?;
        }
        let most = self.writer.super_block().raw().block_count.get();
        if inode.blocks == 0 || inode.blocks > most {
            return Err(corrupt(Place::Inode(ino), "its blocks are", inode.blocks, most));
        }
        let saved = inode.compression().map_or(0, |extra| extra.saved_blocks);
        if saved > inode.blocks {
            return Err(corrupt(Place::Inode(ino), "blocks that compression saves are", saved, inode.blocks));
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
        let mut same = old;
        (same.atime, same.mtime, same.ctime) = (inode.atime, inode.mtime, inode.ctime);
        same.extent = inode.extent;
        inode.write_to(self.edit_as(inode.ino, same == *inode)?);
        Ok(())
    }

    /// Has a node that stands at `addr` written elsewhere, with others.
    pub(super) fn migrate(&mut self, nid: Nid, addr: BlockAddr) -> Result<()> {
        let entry = self.writer.entry(nid)?;
        if entry.addr != addr {
            return Err(corrupt(
                Place::Node(nid),
                "a block is the node's, and the NAT has it at",
                entry.addr.0,
                addr.0,
            ));
        }
        if !self.dirty.contains_key(&nid) {
            self.edit_as(nid, true)?;
        }
        Ok(())
    }

    /// Writes `count` of the nodes that wait, in turn.
    pub(super) fn write_some(&mut self, count: usize) -> Result<()> {
        for _ in 0..count {
            let next = self.dirty.range(self.cursor..).next().or_else(|| self.dirty.first_key_value());
            let Some(nid) = next.map(|(nid, _)| *nid) else { break };
            if let Some(waiting) = self.dirty.remove(&nid) {
                self.append(nid, waiting)?;
            }
            self.cursor = Nid(nid.0.saturating_add(1));
        }
        Ok(())
    }

    /// Writes waiting nodes. None of them counts before the next checkpoint, or before a marked node of the same file.
    pub(super) fn flush(&mut self) -> Result<()> {
        while let Some((nid, waiting)) = self.dirty.pop_first() {
            self.append(nid, waiting)?;
        }
        Ok(())
    }

    fn append(&mut self, nid: Nid, waiting: Waiting) -> Result<()> {
        let mut block = (*waiting.block).clone();
        let footer = NodeFooter { is_fsync: false, is_dentry: false, ..footer_of(nid, &block)? };
        let log = self.log(&footer);
        if log == Log::WarmNode {
            self.promises.leave_unmarked(footer.ino);
        }
        let log = self.writer.fitting(log);
        let done = self.writer_mut().append_node(log, &mut block, footer);
        self.unless_written(nid, waiting, done.map(drop))
    }

    /// A node that could not be written waits on, to be read.
    fn unless_written(&mut self, nid: Nid, waiting: Waiting, done: Result<()>) -> Result<()> {
        if done.is_err() {
            self.dirty.put(nid, waiting);
        }
        done
    }

    /// Takes note of a checkpoint: all written nodes are part of the volume.
    pub(super) fn committed(&mut self) {
        self.promises = Promises::default();
    }

    /// Makes the nodes of a file outlive a power cut, and all data that were written. With `data_only` the inode stays where
    /// only times changed.
    pub(super) fn promise(&mut self, ino: Nid, data_only: bool) -> Result<()> {
        let mut nids = self.waiting_of(ino)?;
        let stays = |waiting: &Waiting| data_only && waiting.only_times;
        let waits = self.dirty.get(&ino).is_some_and(|waiting| !stays(waiting));
        let must_name = self.promises.must_name(ino);
        let is_unmarked = nids.is_empty() && self.promises.is_unmarked(ino);
        if waits && nids.is_empty() && !must_name && !is_unmarked && self.promise_times(ino)? {
            return Ok(());
        }
        // The inode comes last: it alone can carry the name.
        if must_name || waits || is_unmarked {
            self.edit(ino)?;
            nids.push(ino);
        }
        let Some(last) = nids.pop() else { return self.writer.make_durable() };
        for nid in nids {
            if let Some(waiting) = self.dirty.remove(&nid) {
                self.append(nid, waiting)?;
            }
        }
        if let Some(waiting) = self.dirty.remove(&last) {
            let mut block = (*waiting.block).clone();
            let is_dentry = must_name && last == ino;
            let footer = NodeFooter { is_fsync: true, is_dentry, ..footer_of(last, &block)? };
            let done = self.writer_mut().promise_chained(&mut block, footer);
            self.unless_written(last, waiting, done)?;
            self.promises.keep(ino);
        }
        Ok(())
    }

    /// Makes data that were written over, and the times of their inode, outlive a power cut, if nothing else changed and the
    /// inode may stay where it is.
    fn promise_times(&mut self, ino: Nid) -> Result<bool> {
        let waiting = self.dirty.get(&ino).filter(|waiting| waiting.only_times);
        let Some(waiting) = waiting.filter(|_| self.writer.has_overwritten()) else { return Ok(false) };
        let block = waiting.block.clone();
        let is_promised = self.writer_mut().promise_over(ino, &block)?;
        if is_promised {
            self.dirty.remove(&ino);
        }
        Ok(is_promised)
    }

    /// Nodes of a file that wait and that rolling forward looks at, without its inode.
    fn waiting_of(&self, ino: Nid) -> Result<Vec<Nid>> {
        let mut nids = Vec::new();
        for (nid, waiting) in self.dirty.iter() {
            let footer = footer_of(*nid, &waiting.block)?;
            if footer.ino == ino && *nid != ino && self.log(&footer) == Log::WarmNode {
                nids.push(*nid);
            }
        }
        Ok(nids)
    }

    fn log(&self, footer: &NodeFooter) -> Log {
        if footer.offset != NodeOffset::XATTR && !footer.offset.is_direct(self.size()) {
            return Log::ColdNode;
        }
        if footer.is_cold { Log::WarmNode } else { Log::HotNode }
    }
}

/// The footer of a node.
pub(super) fn footer_of(nid: Nid, block: &[u8]) -> Result<NodeFooter> {
    NodeFooter::of(block).ok_or_else(|| corrupt(Place::Node(nid), "bytes are", block.len() as u64, 4096_u32))
}
