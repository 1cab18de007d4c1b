//! Blocks of files and directories as they are now: those that changed wait in memory until they are written.

use std::{ops::Range, sync::Arc};

use pumice_vfs::FileKind;

use super::{
    clusters::{self, Cluster, Packing},
    digests::Digests,
    index::{self, Found, Slot},
    keys::Keys,
    nodes::{self, Nodes},
    options::InPlace,
};
use crate::{
    crypt::FileKey,
    error::{Place, Result, corrupt},
    layout::{Advise, BlockAddr, Extent, Features, Inode, Nid, Summary},
    names::Names,
    sealed::Verifiers,
    secrets::{self, Secret},
    undo::Tracked,
    volume::Block,
    word::half,
    write::head::Log,
};

/// Blocks, and nodes, that wait at most.
const WAITING_MAX: usize = 1024;
/// So many are written at a time.
const BATCH: usize = 64;
/// Per cent of the users' blocks that are in use before some rules write in place.
const UTIL: u64 = 70;

/// The blocks of all files.
pub(super) struct Blocks {
    nodes: Nodes,
    dirty: Tracked<Key, Waiting>,
    /// The place from which the next blocks are taken that are written before a checkpoint.
    cursor: Key,
    /// The blocks that are written over, and blocks that users can have.
    in_place: InPlace,
    users: u64,
    packing: Packing,
    verifiers: Verifiers,
    keys: Keys,
    digests: Digests,
}

/// A block of a file.
type Key = (Nid, u64);

/// A block that waits to be written.
#[derive(Clone)]
struct Waiting {
    block: Block,
    sort: Sort,
}

/// The reason why a block waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    /// It changed.
    Changed,
    /// It is as it stands on the medium, where the cleaner wants it away.
    Survivor,
    /// The same, and its bytes are not those of this block of the file: they are encrypted, or a piece of a compressed
    /// cluster.
    Stored,
}

impl Waiting {
    fn changed(block: Block) -> Waiting {
        Waiting { block, sort: Sort::Changed }
    }
}

/// Rows of blocks in which a part of a file stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    pub(super) count: u64,
    /// Blocks in them.
    pub(super) blocks: u64,
    /// The block of the file behind the last.
    pub(super) end: u64,
}

/// The content of a block of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Stand {
    /// Nothing.
    Hole,
    /// Nothing, and space is promised.
    Promised,
    /// It waits to be written.
    Waiting(Block),
    /// It is compressed with others.
    Packed(Cluster),
    /// It is written.
    At(BlockAddr),
}

impl Blocks {
    pub(super) fn new(nodes: Nodes, keys: Keys, in_place: InPlace, users: u64) -> Blocks {
        let (dirty, cursor) = (Tracked::empty(), (Nid::NULL, 0));
        let (packing, verifiers, digests) = (Packing::default(), Verifiers::default(), Digests::default());
        Blocks { nodes, dirty, cursor, in_place, users, packing, verifiers, keys, digests }
    }

    /// A call begins, which may be taken back as long as it writes nothing to the medium.
    pub(super) fn begin(&mut self) {
        self.nodes.begin();
        self.dirty.begin();
        self.digests.begin();
    }

    /// Keeps the changes of the call.
    pub(super) fn keep(&mut self) {
        self.nodes.keep();
        self.dirty.keep();
    }

    /// Undoes the changes of the call.
    pub(super) fn take_back(&mut self) {
        self.nodes.take_back();
        self.dirty.take_back();
        self.digests.take_back();
    }

    /// The nodes below.
    pub(super) fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// The same, to write to.
    pub(super) fn nodes_mut(&mut self) -> &mut Nodes {
        &mut self.nodes
    }

    /// Verifiers of sealed files.
    pub(super) fn verifiers(&self) -> &Verifiers {
        &self.verifiers
    }

    /// What is known of blocks of directories.
    pub(super) fn digests(&self) -> &Digests {
        &self.digests
    }

    /// The keys of encrypted inodes.
    pub(super) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// The key of a file's content, `None` if that is not encrypted.
    pub(super) fn secret(&self, inode: &Inode) -> Result<Option<Secret>> {
        self.keys.of_content(&self.nodes, inode)
    }

    /// The form of the names in a directory.
    pub(super) fn names(&self, dir: &Inode) -> Result<Names> {
        self.keys.names(&self.nodes, dir)
    }

    /// Gives a new inode the policy of its directory. The caller puts the inode.
    pub(super) fn inherit(&mut self, dir: &Inode, inode: &mut Inode) -> Result<()> {
        self.keys.inherit(&mut self.nodes, dir, inode)
    }

    /// Blocks of data that wait to be written.
    pub(super) fn waiting(&self) -> u64 {
        self.dirty.len() as u64
    }

    /// The content of block `index`, and how many from it on are of the same sort, in a row, at most `most`.
    pub(super) fn stand(&self, inode: &Inode, index: u64, most: u64) -> Result<(Stand, u64)> {
        if let Some(waiting) = self.dirty.get(&(inode.ino, index))
            && waiting.sort != Sort::Stored
        {
            return Ok((Stand::Waiting(waiting.block.clone()), 1));
        }
        if let Some(cluster) = clusters::find(&self.nodes, inode, index)? {
            let count = most.min(cluster.end() - index);
            return Ok((Stand::Packed(cluster), count));
        }
        let next = self.dirty.range((inode.ino, index)..=(inode.ino, u64::MAX)).next();
        let most = next.map_or(most, |((_, next), _)| most.min(next - index)).max(1);
        let slot = match index::find(&self.nodes, inode, index)? {
            Found::Slot(slot) => slot,
            Found::Missing(blocks) => return Ok((Stand::Hole, blocks.min(most))),
        };
        let addrs = index::get_run(&self.nodes, inode, &slot, most)?;
        debug_assert!(!addrs.is_empty(), "a slot of inode {} has no address", inode.ino.0);
        let first = addrs.first().copied().unwrap_or(BlockAddr::NULL);
        let expected = |ahead: u32| if first.is_block() { first.plus(ahead) } else { Some(first) };
        let same = addrs.iter().zip(0..).take_while(|(addr, ahead)| expected(*ahead) == Some(**addr)).count();
        let stand = match first {
            BlockAddr::NULL => Stand::Hole,
            BlockAddr::NEW => Stand::Promised,
            BlockAddr::COMPRESSED => {
                let what = "a cluster is marked where none begins, at block";
                return Err(corrupt(Place::Inode(inode.ino), what, index, 0_u32));
            }
            addr => Stand::At(addr),
        };
        Ok((stand, (same as u64).max(1)))
    }

    /// The bytes of block `index`; `None` if nothing stands there.
    pub(super) fn read(&self, inode: &Inode, index: u64) -> Result<Option<Block>> {
        match self.stand(inode, index, 1)?.0 {
            Stand::Hole | Stand::Promised => Ok(None),
            Stand::Waiting(block) => Ok(Some(block)),
            Stand::Packed(cluster) => {
                let bytes = self.unpacked(inode, &cluster)?;
                let (width, inside) = (self.nodes.size().width(), index - cluster.first);
                let block = usize::try_from(inside).ok().and_then(|inside| bytes.chunks(width).nth(inside));
                Ok(block.map(|block| Arc::new(block.to_vec())))
            }
            Stand::At(addr) => {
                let Some(secret) = self.secret(inode)? else {
                    return self.nodes.writer().read(addr).map(Some);
                };
                let mut block = (*self.nodes.writer().read(addr)?).clone();
                secrets::decrypt(&secret, inode.ino, index, self.nodes.size().width(), &mut block)?;
                Ok(Some(Arc::new(block)))
            }
        }
    }

    /// Fills the buffer with blocks in a row from `addr` on, the first of which is block `index`.
    pub(super) fn read_run(
        &self,
        inode: &Inode,
        index: u64,
        addr: BlockAddr,
        buffer: &mut [u8],
    ) -> Result<()> {
        self.nodes.writer().read_run(addr, buffer)?;
        match self.secret(inode)? {
            Some(secret) => secrets::decrypt(&secret, inode.ino, index, self.nodes.size().width(), buffer),
            None => Ok(()),
        }
    }

    /// The content of a compressed cluster, as long as all its blocks.
    pub(super) fn unpacked(&self, inode: &Inode, cluster: &Cluster) -> Result<Vec<u8>> {
        let secret = self.secret(inode)?;
        clusters::content(&self.nodes, secret.as_deref(), inode, cluster)
    }

    /// Makes plain blocks of the cluster that block `index` is in, if it is compressed; with `keep` they wait with its content, otherwise
    /// the caller puts others. The caller puts the inode.
    fn take_apart(&mut self, inode: &mut Inode, index: u64, keep: bool) -> Result<()> {
        let Some(cluster) = clusters::find(&self.nodes, inode, index)? else { return Ok(()) };
        let bytes = if keep { self.unpacked(inode, &cluster)? } else { Vec::new() };
        clusters::take_apart(&mut self.nodes, inode, &cluster)?;
        for index in cluster.first..cluster.end() {
            self.dirty.remove(&(inode.ino, index));
        }
        for (index, block) in (cluster.first..).zip(bytes.chunks_exact(self.nodes.size().width())) {
            self.dirty.put((inode.ino, index), Waiting::changed(Arc::new(block.to_vec())));
        }
        inode.extent = NO_EXTENT;
        self.nodes.touch();
        Ok(())
    }

    /// The same for all clusters of which `range` has blocks, which are about to be written over.
    fn take_apart_for(&mut self, inode: &mut Inode, range: &Range<u64>) -> Result<()> {
        let mut index = range.start;
        while let Some(span) = clusters::span(inode, index).filter(|_| index < range.end) {
            let is_covered = range.start <= span.start && span.end <= range.end;
            self.take_apart(inode, index, !is_covered)?;
            index = span.end;
        }
        Ok(())
    }

    /// The bytes of block `index`, to be changed; zeros where nothing stood. The caller puts the inode.
    pub(super) fn edit(&mut self, inode: &mut Inode, index: u64) -> Result<&mut Vec<u8>> {
        let key = (inode.ino, index);
        self.take_apart(inode, index, true)?;
        let waiting = self.dirty.get(&key).filter(|waiting| waiting.sort != Sort::Stored);
        let block = if let Some(waiting) = waiting {
            waiting.block.clone()
        } else {
            let old = self.read(inode, index)?;
            self.promise(inode, index)?;
            old.unwrap_or_else(|| Arc::new(vec![0; self.nodes.size().width()]))
        };
        inode.extent = NO_EXTENT;
        self.nodes.touch();
        Ok(Arc::make_mut(&mut self.dirty.put(key, Waiting::changed(block)).block))
    }

    /// Puts whole blocks in place of those from `index` on. The caller puts the inode.
    pub(super) fn put(&mut self, inode: &mut Inode, index: u64, bytes: &[u8]) -> Result<()> {
        let width = self.nodes.size().width();
        debug_assert!(bytes.len().is_multiple_of(width));
        self.take_apart_for(inode, &(index..index + (bytes.len() / width) as u64))?;
        let (mut at, mut rest) = (index, bytes);
        while !rest.is_empty() {
            let count = self.promise_run(inode, at, rest.len() / width)?;
            let (now, later) = rest.split_at(count * width);
            for (block, index) in now.chunks_exact(width).zip(at..) {
                self.dirty.put((inode.ino, index), Waiting::changed(Arc::new(block.to_vec())));
            }
            (at, rest) = (at + count as u64, later);
        }
        inode.extent = NO_EXTENT;
        self.nodes.touch();
        Ok(())
    }

    /// Promises block `index` a place, if it has none. The caller puts the inode.
    pub(super) fn promise(&mut self, inode: &mut Inode, index: u64) -> Result<()> {
        self.promise_run(inode, index, 1).map(drop)
    }

    /// The same for `most` blocks from `index` on, at least one, or as many of them as have their addresses in one node; returns how many.
    fn promise_run(&mut self, inode: &mut Inode, index: u64, most: usize) -> Result<usize> {
        let slot = index::make(&mut self.nodes, inode, index)?;
        let mut addrs = index::get_run(&self.nodes, inode, &slot, most as u64)?;
        let holes = addrs.iter_mut().filter(|addr| **addr == BlockAddr::NULL);
        let holes = holes.map(|addr| *addr = BlockAddr::NEW).count() as u64;
        let count = addrs.len();
        if holes > 0 {
            self.nodes.writer_mut().promise_data(holes);
            index::set_run(&mut self.nodes, &slot, addrs.into_iter())?;
            inode.blocks += holes;
        }
        Ok(count)
    }

    /// Makes a hole of block `index`. The caller puts the inode.
    pub(super) fn punch(&mut self, inode: &mut Inode, index: u64) -> Result<()> {
        self.take_apart(inode, index, true)?;
        self.dirty.remove(&(inode.ino, index));
        let Found::Slot(slot) = index::find(&self.nodes, inode, index)? else { return Ok(()) };
        let addr = index::get(&self.nodes, inode, &slot)?;
        if addr != BlockAddr::NULL {
            self.nodes.writer_mut().release(addr)?;
            index::set(&mut self.nodes, &slot, BlockAddr::NULL)?;
            inode.lose_block()?;
            inode.extent = NO_EXTENT;
        }
        Ok(())
    }

    /// Gives back all blocks from `from` on. The caller puts the inode.
    pub(super) fn cut(&mut self, inode: &mut Inode, from: u64) -> Result<()> {
        if clusters::span(inode, from).is_some_and(|span| span.start < from) {
            self.take_apart(inode, from, true)?;
        }
        let behind = self.dirty.range((inode.ino, from)..=(inode.ino, u64::MAX));
        let behind: Vec<(Nid, u64)> = behind.map(|(key, _)| *key).collect();
        for key in behind {
            self.dirty.remove(&key);
        }
        inode.extent = NO_EXTENT;
        index::cut(&mut self.nodes, inode, from)
    }

    /// Has the block of data that node `nid` has at `offset`, and that stands at `addr`, written elsewhere, with others. False if it
    /// has to stay where it is.
    pub(super) fn migrate(&mut self, nid: Nid, offset: u16, addr: BlockAddr) -> Result<bool> {
        let node = self.nodes.peek(nid)?;
        let footer = nodes::footer_of(nid, &node)?;
        let mut inode = self.nodes.inode(footer.ino)?;
        if inode.is_pinned() {
            return Ok(false);
        }
        let has_blocks = !inode.has_inline_data() && !inode.has_inline_dentry();
        let index = index::block_of(&self.nodes, &inode, footer.offset, offset).filter(|_| has_blocks);
        let found = match index {
            Some(index) => self.stand_on_medium(&inode, index)?,
            None => BlockAddr::NULL,
        };
        let (Some(index), true) = (index, found == addr) else {
            return Err(corrupt(Place::Node(nid), "a block is the node's, which has there", found.0, addr.0));
        };
        self.lift(&mut inode, index, addr)?;
        Ok(true)
    }

    /// Has block `index`, which stands at `addr`, wait to be written elsewhere.
    fn lift(&mut self, inode: &mut Inode, index: u64, addr: BlockAddr) -> Result<()> {
        let key = (inode.ino, index);
        if self.dirty.contains_key(&key) {
            return Ok(());
        }
        let block = self.nodes.writer().read(addr)?;
        let is_packed = clusters::find(&self.nodes, inode, index)?.is_some();
        let is_other = is_packed || inode.has_encrypted_content();
        let sort = if is_other { Sort::Stored } else { Sort::Survivor };
        self.nodes.touch();
        self.dirty.put(key, Waiting { block, sort });
        if inode.extent.blocks > 0 {
            inode.extent = NO_EXTENT;
            self.nodes.put(inode)?;
        }
        Ok(())
    }

    /// The blocks of a file, from block `from` on, that stand on the medium, with their addresses: `most` of them.
    fn standing(&self, inode: &Inode, from: u64, most: usize) -> Result<Vec<(u64, BlockAddr)>> {
        let (mut at, mut found) = (from, Vec::new());
        while found.len() < most && at < u64::MAX {
            let count = match index::find(&self.nodes, inode, at)? {
                Found::Missing(blocks) => blocks,
                Found::Slot(slot) => {
                    let addrs = index::get_run(&self.nodes, inode, &slot, (most - found.len()) as u64)?;
                    let count = addrs.len() as u64;
                    found.extend((at..).zip(addrs).filter(|(_, addr)| addr.is_block()));
                    count
                }
            };
            at = at.saturating_add(count.max(1));
        }
        Ok(found)
    }

    /// The first rows from block `from` on in which a file or directory stands on the medium: one at least, and no
    /// more than have `most` blocks.
    pub(super) fn rows(&self, inode: &Inode, from: u64, most: u64) -> Result<Rows> {
        let mut rows = Rows { count: 0, blocks: 0, end: from };
        let (mut whole, mut next) = (rows, None);
        if inode.has_inline_data() || inode.has_inline_dentry() || !inode.has_addrs() {
            return Ok(rows);
        }
        loop {
            let found = self.standing(inode, rows.end, WAITING_MAX)?;
            if found.is_empty() {
                return Ok(if rows.blocks > most && whole.count > 0 { whole } else { rows });
            }
            for (index, addr) in found {
                if next != Some(addr) {
                    if rows.blocks > most {
                        return Ok(if whole.count > 0 { whole } else { rows });
                    }
                    whole = rows;
                    rows.count += 1;
                }
                next = addr.plus(1);
                rows.blocks += 1;
                rows.end = index + 1;
            }
        }
    }

    /// Writes so many blocks of a file anew, in their order, from block `from` on. Returns the block behind the last.
    pub(super) fn rewrite(&mut self, ino: Nid, from: u64, count: u64) -> Result<u64> {
        let mut inode = self.nodes.inode(ino)?;
        let most = index::small(count);
        let found = self.standing(&inode, from, most)?;
        for (index, addr) in &found {
            self.lift(&mut inode, *index, *addr)?;
        }
        let mut at = from;
        for (index, _) in &found {
            if *index >= at {
                at = index + self.write_out(&inode, (ino, *index), most, false)? as u64;
            }
        }
        Ok(at)
    }

    /// The address of block `index`, though a newer one waits to be written.
    fn stand_on_medium(&self, inode: &Inode, index: u64) -> Result<BlockAddr> {
        index::get(&self.nodes, inode, &self.slot(inode, index)?)
    }

    /// Writes waiting blocks if there are many, and no more of them than were added.
    pub(super) fn relieve(&mut self) -> Result<()> {
        while self.dirty.len() > WAITING_MAX {
            self.write_some(BATCH)?;
        }
        while self.nodes.waiting() > WAITING_MAX as u64 {
            self.nodes.write_some(BATCH)?;
        }
        Ok(())
    }

    /// Writes `count` waiting blocks.
    pub(super) fn write_on(&mut self, count: usize) -> Result<()> {
        if self.dirty.is_empty() { self.nodes.write_some(count) } else { self.write_some(count) }
    }

    /// Nodes that are written once all blocks are that wait, at most.
    pub(super) fn nodes_to_write(&self) -> u64 {
        let per_node = u64::from(self.nodes.size().node_words());
        // The first node of a file has fewer addresses, so that a span may be in two of them. In compressed files every
        // node has fewer, and the inode counts the saved blocks.
        let each = if self.nodes.features().has(Features::COMPRESSION) { 4 } else { 2 };
        let (mut last, mut spans) = (None, 0_u64);
        for (ino, index) in self.dirty.keys() {
            let span = Some((*ino, index / per_node));
            spans += u64::from(span != last);
            last = span;
        }
        self.nodes.waiting() + (each * spans).min(self.waiting())
    }

    /// Writes `count` of the blocks that wait, in turn.
    fn write_some(&mut self, count: usize) -> Result<()> {
        let (mut last, in_place): (Option<Inode>, _) = (None, self.is_in_place());
        let mut left = count;
        while left > 0 {
            let next = self.dirty.range(self.cursor..).next().or_else(|| self.dirty.first_key_value());
            let Some(key) = next.map(|(key, _)| *key) else { break };
            let mut inode = match last.take().filter(|inode| inode.ino == key.0) {
                Some(inode) => inode,
                None => self.nodes.inode(key.0)?,
            };
            let written = match self.write_packed(&mut inode, key)? {
                0 => self.write_out(&inode, key, left, in_place)?,
                written => written,
            };
            left -= written.min(left);
            self.cursor = (key.0, key.1.saturating_add(written as u64));
            last = Some(inode);
        }
        Ok(())
    }

    /// Writes waiting blocks: data, and then nodes. None of them counts before the next checkpoint.
    pub(super) fn flush(&mut self) -> Result<()> {
        while !self.dirty.is_empty() {
            self.write_some(usize::MAX)?;
        }
        self.nodes.flush()
    }

    /// Blocks of a file that changed and wait to be written.
    fn changed_of(&self, ino: Nid) -> Vec<Key> {
        let all = self.dirty.range((ino, 0)..=(ino, u64::MAX));
        all.filter(|(_, waiting)| waiting.sort == Sort::Changed).map(|(key, _)| *key).collect()
    }

    /// The number of them.
    pub(super) fn waiting_of(&self, ino: Nid) -> usize {
        self.changed_of(ino).len()
    }

    /// Writes the changed blocks of a file for an fsync; with `few` in place, if that is done at all.
    pub(super) fn flush_file(&mut self, inode: &Inode, few: bool) -> Result<()> {
        let in_place = few && self.in_place != InPlace::Never;
        let mut keys = self.changed_of(inode.ino).into_iter().peekable();
        while let Some(key) = keys.next() {
            let mut most = 1;
            while keys.next_if_eq(&(key.0, key.1 + most)).is_some() {
                most += 1;
            }
            self.write_all_of(inode, key, most, in_place)?;
        }
        Ok(())
    }

    /// True if all blocks are written in place now.
    fn is_in_place(&self) -> bool {
        let writer = self.nodes.writer();
        // As the kernel counts, in whole per cent.
        let used = writer.blocks().saturating_mul(100) / self.users.max(1);
        self.in_place.applies(writer.is_scarce(), used > UTIL)
    }

    fn slot(&self, inode: &Inode, index: u64) -> Result<Slot> {
        match index::find(&self.nodes, inode, index)? {
            Found::Slot(slot) => Ok(slot),
            Found::Missing(_) => {
                Err(corrupt(Place::Inode(inode.ino), "no node leads to block", index, 0_u32))
            }
        }
    }

    /// Writes `count` blocks in a row, which all wait.
    fn write_all_of(&mut self, inode: &Inode, key: Key, count: u64, in_place: bool) -> Result<()> {
        let mut at = key.1;
        while at < key.1 + count {
            let most = index::small(key.1 + count - at);
            at += self.write_out(inode, (key.0, at), most, in_place)? as u64;
        }
        Ok(())
    }

    /// Writes the cluster of a block that waits, if all of it changed, none of it is behind the end of the file, and
    /// compression saves blocks. Returns how many these were from the block on.
    fn write_packed(&mut self, inode: &mut Inode, key: Key) -> Result<usize> {
        let end = inode.size.div_ceil(self.nodes.size().bytes_u64());
        let span = clusters::span(inode, key.1).filter(|span| span.end <= end);
        let Some((span, bytes)) =
            span.and_then(|span| Some((span.clone(), self.changed_whole(key.0, span)?)))
        else {
            return Ok(0);
        };
        let width = self.nodes.size().width();
        let Some(mut stored) = self.packing.pack(inode, &bytes, width) else { return Ok(0) };
        if let Some(secret) = self.secret(inode)? {
            // Behind the mark.
            secrets::encrypt(&secret, inode.ino, span.start + 1, width, &mut stored)?;
        }
        let (slot, _) = clusters::place(&self.nodes, inode, span.start)?;
        let version = self.nodes.writer().entry(slot.nid)?.version;
        let mut addrs = Vec::new();
        while let Some(rest) = stored.get(addrs.len() * width..).filter(|rest| !rest.is_empty()) {
            let log = self.nodes.writer().fitting(self.log(inode));
            let count = (rest.len() / width).min(self.nodes.writer().run_behind(log) as usize);
            // Behind the mark.
            let offsets = (slot.offset + 1..).skip(addrs.len()).take(count);
            let owners: Vec<Summary> =
                offsets.map(|offset| Summary { nid: slot.nid, version, offset: half(offset) }).collect();
            let piece = rest.get(..count * width).into_iter();
            let first = self.nodes.writer_mut().append_data(log, piece, owners.into_iter())?;
            addrs.extend((first.0..).take(count).map(BlockAddr));
        }
        clusters::make(&mut self.nodes, inode, span.start, &addrs)?;
        self.nodes.put(inode)?;
        span.clone().for_each(|index| drop(self.dirty.remove(&(key.0, index))));
        Ok(index::small(span.end - key.1))
    }

    /// The bytes of blocks that wait, if all of them do and changed.
    fn changed_whole(&self, ino: Nid, span: Range<u64>) -> Option<Vec<u8>> {
        let all = self.dirty.range((ino, span.start)..(ino, span.end)).map(|(_, waiting)| waiting);
        let count = all.clone().filter(|waiting| waiting.sort == Sort::Changed).count() as u64;
        let join = || all.map(|waiting| &waiting.block[..]).collect::<Vec<_>>().concat();
        (count == span.end - span.start).then(join)
    }

    /// Writes a block that waits. With `in_place`, or if its file is cold or pinned, it goes over the old block, if there
    /// is one. Otherwise it and those that wait behind it are written, `most` in all, as far as one node has their
    /// addresses and one log has room. Returns how many. Blocks that could not be written wait on, to be read.
    fn write_out(&mut self, inode: &Inode, key: Key, most: usize, in_place: bool) -> Result<usize> {
        let first = self.dirty.get(&key).cloned();
        debug_assert!(first.is_some(), "block {} of inode {} does not wait", key.1, key.0);
        let Some(first) = first else { return Ok(1) };
        let slot = self.slot(inode, key.1)?;
        let is_file = inode.kind == FileKind::File && !self.is_quota(inode);
        let is_packed = inode.compression().is_some();
        let secret = if first.sort == Sort::Changed { self.secret(inode)? } else { None };
        let bears = secret.as_ref().is_none_or(|secret| secret.bears_tearing());
        let is_over = in_place || inode.advise.has(Advise::COLD) && self.in_place != InPlace::Never;
        let may_stay = is_over && is_file && !is_packed && bears || inode.is_pinned();
        let may_stay = may_stay && first.sort == Sort::Changed;
        // The next cluster may be compressed.
        let span = clusters::span(inode, key.1);
        let most = span.map_or(most, |span| most.min(index::small(span.end - key.1)));
        let old = if may_stay { index::get(&self.nodes, inode, &slot)? } else { BlockAddr::NULL };
        if old.is_block() && (inode.is_pinned() || !self.nodes.writer().must_move(old)) {
            let block = self.as_written(secret.as_deref(), key, &first.block)?;
            self.nodes.writer_mut().overwrite(old, &block)?;
            self.dirty.remove(&key);
            return Ok(1);
        }
        // Blocks that outlived their segment are likely to outlive others.
        let log = if first.sort == Sort::Changed { self.log(inode) } else { Log::ColdData };
        let log = self.nodes.writer().fitting(log);
        let most =
            if may_stay { self.behind_none(inode, &slot, most)? } else { most.min(slot.left as usize) };
        let row = self.row(key, most.min(self.nodes.writer().run_behind(log) as usize));
        let row =
            (key.1..).zip(&row).map(|(at, block)| self.as_written(secret.as_deref(), (key.0, at), block));
        let row: Vec<Block> = row.collect::<Result<_>>()?;
        let count = self.write_elsewhere(inode, &slot, log, &row)?;
        (key.1..).take(count).for_each(|index| drop(self.dirty.remove(&(key.0, index))));
        Ok(count)
    }

    /// The number of blocks, at least one and at most `most`, from a slot on of which none but the first stands anywhere.
    fn behind_none(&self, inode: &Inode, slot: &Slot, most: usize) -> Result<usize> {
        let addrs = index::get_run(&self.nodes, inode, slot, most.min(BATCH) as u64)?;
        Ok(1 + addrs.iter().skip(1).take_while(|addr| !addr.is_block()).count())
    }

    /// A block as it goes to the medium: encrypted, where there is a key for it.
    fn as_written(&self, secret: Option<&FileKey>, (ino, index): Key, block: &Block) -> Result<Block> {
        let Some(secret) = secret else { return Ok(block.clone()) };
        let mut bytes = (**block).clone();
        secrets::encrypt(secret, ino, index, self.nodes.size().width(), &mut bytes)?;
        Ok(Arc::new(bytes))
    }

    /// Blocks in a row that wait, from `key` on, `most` of them at most, all for the same reason.
    fn row(&self, key: Key, most: usize) -> Vec<Block> {
        let waiting = self.dirty.range(key..=(key.0, u64::MAX)).zip(key.1..);
        let row = waiting.take_while(|(((_, at), _), index)| at == index).map(|((_, waiting), _)| waiting);
        let mut row = row.take(most).peekable();
        let sort = row.peek().map(|first| first.sort);
        row.take_while(|waiting| Some(waiting.sort) == sort).map(|waiting| waiting.block.clone()).collect()
    }

    /// Writes blocks, the first of which has its address in `slot`, to a log that has room for them; returns how many.
    fn write_elsewhere(&mut self, inode: &Inode, slot: &Slot, log: Log, blocks: &[Block]) -> Result<usize> {
        let version = self.nodes.writer().entry(slot.nid)?.version;
        let count = blocks.len();
        debug_assert!(count > 0, "nothing waits for slot {slot:?}");
        let olds = index::get_run(&self.nodes, inode, slot, count as u64)?;
        let owner = |(offset, _)| Summary { nid: slot.nid, version, offset: half(offset) };
        let owners: Vec<Summary> = (slot.offset..).zip(&olds).map(owner).collect();
        let writer = self.nodes.writer_mut();
        let pieces = blocks.iter().map(|block| block.as_slice());
        let first = writer.append_data(log, pieces, owners.into_iter())?;
        for old in &olds {
            writer.release(*old)?;
        }
        let mut addrs = olds;
        addrs.iter_mut().zip(first.0..).for_each(|(place, addr)| *place = BlockAddr(addr));
        index::set_run(&mut self.nodes, slot, addrs.into_iter())?;
        Ok(count)
    }

    fn is_quota(&self, inode: &Inode) -> bool {
        self.nodes.writer().super_block().quota_inodes().contains(&inode.ino)
    }

    /// The log that blocks of a file go to.
    pub(super) fn log(&self, inode: &Inode) -> Log {
        match inode.kind {
            FileKind::Dir => Log::HotData,
            _ if self.is_quota(inode) => Log::HotData,
            // A user may have said both.
            _ if inode.advise.has(Advise::COLD) => Log::ColdData,
            _ if inode.advise.has(Advise::HOT) => Log::HotData,
            _ => Log::WarmData,
        }
    }
}

/// Blocks that moved are in no extent: the kernel believes the inode's extent.
pub(super) const NO_EXTENT: Extent = Extent { first: 0, addr: BlockAddr::NULL, blocks: 0 };
