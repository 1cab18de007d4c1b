//! A mounted volume: calls change chunks in memory; write-back brings them to flash, with the mu-tree behind them, so that a
//! crash finds all as it was after one of the calls.

mod clean;
mod file;
mod names;
mod writeback;

use std::collections::{BTreeMap, BTreeSet};

use pumice_common::{Identity, Inodes, Mode, ROOT, Volume as _, Xattrs, damaged, get_u32};
use pumice_media::AnyChip;
use pumice_vfs::{Attr, Clock, Errno, FsError, Result, SpaceInfo, Timestamp};

use crate::directory::Directory;
use crate::info::Info;
use crate::inode::Inode;
use crate::layout::{CHUNK_BYTES, CHUNK_MAX, Layout, count};
use crate::log::{Log, Position, Written};
use crate::mount;
use crate::mutree::{Key, NodeShape, Place, State, Tree};
use crate::pack::unpacked;
use crate::segment::Use;
use crate::store::{Repairs, Store};
use writeback::Dirty;

/// Inodes that are open without a name, four bytes each: those that a crash left go at the next mount.
const ORPHANS: Key = Key(1 << 31);
/// Segments that files never fill: the open one, the list of the next ones, and those with which cleaning begins.
const RESERVE: u32 = 4;
/// The live share of the others, at most, in percent.
const LIVE_SHARE: u64 = 80;
/// Directories kept in memory.
const DIRECTORIES: usize = 64;

/// Bytes of an inode with its entry in the tree, about.
const INODE_BYTES: u64 = 256;

/// A mounted volume.
pub struct Volume<'c> {
    log: Log<'c>,
    tree: Tree,
    dirty: Dirty,
    directories: BTreeMap<u32, Directory>,
    held: BTreeMap<u32, u32>,
    orphans: BTreeSet<u32>,
    /// Segments that cannot be cleaned: something live in them cannot be read.
    stuck: BTreeSet<u32>,
    clock: Clock,
    mode: Mode,
    recovered: bool,
    /// Inodes, those that wait to be written too.
    inodes: u32,
}

impl<'c> Volume<'c> {
    /// The first writes of a writable mount: a segment that was cut short is closed, and a new one has the place of the
    /// tree. Inodes that were open without a name go.
    fn go_on(&mut self, is_cut: bool) -> Result<()> {
        self.load_orphans()?;
        if self.mode != Mode::Writable {
            return Ok(());
        }
        if is_cut {
            self.write_root()?;
            // A volume that loses power again and again never ends a segment in between: this one lists the free ones.
            match self.make_room(0, 0) {
                Err(error) if error.errno() != Errno::NoSpace => return Err(error),
                _ => self.log.end_segment()?,
            }
        }
        for ino in core::mem::take(&mut self.orphans) {
            self.drop_inode(ino)?;
        }
        self.note_orphans()
    }

    fn over(log: Log<'c>, state: State, clock: Clock, mode: Mode) -> Result<Volume<'c>> {
        let shape = NodeShape::new(log.layout().page_bytes());
        let tree = Tree::at(shape, state).ok_or_else(|| damaged("the tree is too high"))?;
        Ok(Volume::with(log, tree, clock, mode))
    }

    fn with(log: Log<'c>, tree: Tree, clock: Clock, mode: Mode) -> Volume<'c> {
        let inodes = tree.state().inodes;
        Volume {
            log,
            tree,
            dirty: Dirty::default(),
            directories: BTreeMap::new(),
            held: BTreeMap::new(),
            orphans: BTreeSet::new(),
            stuck: BTreeSet::new(),
            clock,
            mode,
            recovered: false,
            inodes,
        }
    }

    /// An empty volume on a chip: the root directory in the first segment.
    pub(crate) fn make(store: Store<'c>, identity: Identity, root: &Inode) -> Result<AnyChip<'c>> {
        let layout = store.layout();
        let usage = vec![Use::Free; layout.segments() as usize];
        let position = Position { sequence: 0, root: crate::layout::Addr(0), next: [].into(), usage };
        let mut log = Log::new(store, position, identity);
        log.choose_next();
        let tree = Tree::empty(NodeShape::new(layout.page_bytes()));
        let mut volume = Volume::with(log, tree, Box::new(Timestamp::default), Mode::Writable);
        volume.tree.state_mut().highest = ROOT;
        volume.put_inode(ROOT, root)?;
        volume.inodes = 1;
        volume.unmount()
    }

    pub(crate) fn log(&mut self) -> &mut Log<'c> {
        &mut self.log
    }

    pub(crate) fn shared_log(&self) -> &Log<'c> {
        &self.log
    }

    pub(crate) fn state(&self) -> &State {
        self.tree.state()
    }

    /// Inodes in use.
    pub(crate) fn inodes(&self) -> u32 {
        self.inodes
    }

    pub(crate) fn recovered(&self) -> bool {
        self.recovered
    }

    pub(crate) fn layout(&self) -> Layout {
        self.log.layout()
    }

    fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// The bytes behind a key, as the last call left them.
    pub(crate) fn chunk(&mut self, key: Key) -> Result<Option<Vec<u8>>> {
        if let Some(changed) = self.dirty.get(key) {
            return Ok(changed.bytes.clone());
        }
        let Some(place) = self.tree.get(self.log.store(), key)? else { return Ok(None) };
        let stored = self.log.store().stored(place)?;
        unpacked(stored, place.packed).map(Some)
    }

    /// Bytes on flash behind a key.
    fn stored_bytes(&mut self, key: Key) -> Result<usize> {
        match self.dirty.get(key) {
            Some(changed) => Ok(changed.stored),
            None => Ok(self.tree.get(self.log.store(), key)?.map_or(0, |place| usize::from(place.bytes))),
        }
    }

    /// Changes the value of a key; `None` removes it.
    fn put(&mut self, key: Key, bytes: Option<Vec<u8>>) -> Result<()> {
        let stored = self.stored_bytes(key)?;
        let now = self.now();
        debug_assert!(bytes.as_ref().is_none_or(|bytes| (1..=CHUNK_MAX).contains(&bytes.len())));
        self.dirty.put(key, bytes, stored, now);
        Ok(())
    }

    /// The first key at or behind one that has something behind it.
    pub(crate) fn next_key(&mut self, from: Key) -> Result<Option<Key>> {
        let mut at = from;
        let mut on_flash = None;
        while let Some((key, _)) = self.tree.next(self.log.store(), at)? {
            if !self.dirty.is_gone(key) {
                on_flash = Some(key);
                break;
            }
            at = key.next();
        }
        Ok(match (on_flash, self.dirty.next(from)) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        })
    }

    /// The first key on flash at or behind one, and its place.
    pub(crate) fn next_on_flash(&mut self, from: Key) -> Result<Option<(Key, Place)>> {
        self.tree.next(self.log.store(), from)
    }

    pub(crate) fn is_writable(&self) -> bool {
        self.mode == Mode::Writable
    }

    fn put_inode(&mut self, ino: u32, inode: &Inode) -> Result<()> {
        self.put(Key::inode(ino), Some(inode.encode()))
    }

    /// Removes an inode and all that it has. Unreadable parts of the tree stay.
    fn drop_inode(&mut self, ino: u32) -> Result<()> {
        let mut from = Key::first(ino);
        while let Some(key) = self.next_key(from)?.filter(|key| *key <= Key::last(ino)) {
            self.put(key, None)?;
            from = key.next();
        }
        self.directories.remove(&ino);
        self.inodes = self.inodes.checked_sub(1).ok_or_else(|| damaged("the root counts too few inodes"))?;
        Ok(())
    }

    fn load_orphans(&mut self) -> Result<()> {
        let bytes = self.chunk(ORPHANS)?.unwrap_or_default();
        self.orphans = bytes.chunks_exact(4).map(|bytes| get_u32(bytes, 0)).collect();
        Ok(())
    }

    /// Writes down which inodes are held without a name. Of more than a chunk takes, a crash leaves the others behind.
    fn note_orphans(&mut self) -> Result<()> {
        let bytes: Vec<u8> = self.orphans.iter().take(1024).flat_map(|ino| ino.to_le_bytes()).collect();
        if self.chunk(ORPHANS)?.unwrap_or_default() == bytes {
            return Ok(());
        }
        self.put(ORPHANS, (!bytes.is_empty()).then_some(bytes))
    }

    /// Bytes that may be live, leaves of the tree counted twice: cleaning a segment may write them all anew.
    pub(crate) fn live_max(&self) -> u64 {
        let usable = count(self.log.usage().iter().filter(|of| **of != Use::Bad).count());
        u64::from(usable.saturating_sub(RESERVE)) * self.layout().data_bytes() * LIVE_SHARE / 100
    }

    /// Bytes that are live, or will be once everything is written back.
    pub(crate) fn live(&self) -> u64 {
        let state = self.tree.state();
        let each = self.layout().page_bytes() as u64;
        let leaves = (u64::from(state.leaves) + self.dirty.leaves(each)) * each * 2;
        (state.live + leaves + self.dirty.fresh()).saturating_sub(self.dirty.replaced())
    }

    /// Refuses bytes that there is no room for. Data in memory counts as if it could not be compressed until it is
    /// written.
    fn admit(&mut self, bytes: usize) -> Result<()> {
        self.writable()?;
        let limit = self.live_max();
        if bytes == 0 || self.live() + bytes as u64 <= limit {
            return Ok(());
        }
        if !self.dirty.is_empty() {
            self.flush()?;
        }
        if self.live() + bytes as u64 <= limit { Ok(()) } else { Err(Errno::NoSpace.into()) }
    }
}

impl Inodes for Volume<'_> {
    type Inode = Inode;

    const INODES: u32 = u32::MAX;

    fn inode(&mut self, ino: u32) -> Result<Inode> {
        let bytes = self.chunk(Key::inode(ino))?.ok_or(Errno::Stale)?;
        Inode::decode(&bytes).ok_or_else(|| damaged(format_args!("inode {ino} makes no sense")))
    }

    fn shown(&self, ino: u32, inode: &Inode) -> Attr {
        inode.attr(ino)
    }

    fn writable(&self) -> Result<()> {
        self.mode.writable()
    }

    fn held(&mut self) -> &mut BTreeMap<u32, u32> {
        &mut self.held
    }

    fn let_go(&mut self, ino: u32) -> Result<()> {
        if self.orphans.remove(&ino) {
            self.drop_inode(ino)?;
            self.note_orphans()?;
        }
        Ok(())
    }
}

impl Volume<'_> {
    /// Pages written since the mount.
    pub fn written(&self) -> Written {
        self.shared_log().written()
    }

    /// Pages that were found wrong since the mount.
    pub fn repairs(&self) -> Repairs {
        self.shared_log().shared_store().repairs()
    }
}

impl Xattrs for Volume<'_> {}

impl<'c> pumice_common::Volume<'c> for Volume<'c> {
    type Info = Info;

    /// Bytes that LZ4 makes of one at the most.
    const EXPANSION: u64 = 256;

    /// Mounts a chip: the newest segment (3.3), and after a crash the valid ones of those behind it (3.2).
    fn mount(mut nand: AnyChip<'c>, clock: Clock, read_only: bool, cache_bytes: usize) -> Result<Volume<'c>> {
        let none = || FsError::new(Errno::Invalid, "no rcffs on this chip (no segment)".into());
        let layout = mount::find_layout(&mut nand)?.ok_or_else(none)?;
        let mut store = mount::store(nand, layout, cache_bytes);
        let (segment, info) = store.newest()?.ok_or_else(none)?;
        let mut usage = store.usage(segment)?;
        let mut state = store.state(info.root)?;
        let mut next = info.next.iter().copied().collect();
        let partial = store.scan_partial(&next, info.sequence)?;
        for begun in &partial.segments {
            usage[*begun as usize] = Use::CutShort;
            next.retain(|segment| segment != begun);
        }
        if let Some(found) = partial.state.filter(|found| found.commit > state.commit) {
            state = found;
        }
        let sequence = info.sequence + count(partial.segments.len());
        let position = Position { sequence, root: state.root, next, usage };
        let identity = Identity { uuid: info.uuid, label: info.label };
        let log = Log::new(store, position, identity);
        let mode = Mode::new(read_only);
        let mut volume = Volume::over(log, state, clock, mode)?;
        volume.recovered = partial.is_begun;
        volume.go_on(!partial.segments.is_empty())?;
        Ok(volume)
    }

    /// Writes everything, ends the segment, and gives the chip back.
    fn unmount(mut self) -> Result<AnyChip<'c>> {
        if self.mode == Mode::Writable {
            self.release_all()?;
            self.flush()?;
            self.log.end_segment()?;
            self.log.seal()?;
        }
        Ok(self.log.into_chip())
    }

    /// Gives the chip back as it is.
    fn abandon(self) -> AnyChip<'c> {
        self.log.into_chip()
    }

    fn chip(&self) -> &AnyChip<'c> {
        self.shared_log().shared_store().chip()
    }

    fn info(&self) -> Info {
        let (log, state, shape) = (self.shared_log(), *self.state(), self.layout().shape);
        let number = |is_one: fn(&Use) -> bool| count(log.usage().iter().filter(|of| is_one(of)).count());
        Info {
            label: log.identity().label.clone(),
            uuid: log.identity().uuid,
            recovered: self.recovered(),
            shape: [shape.segment_blocks, shape.parity_blocks, shape.parity_pages],
            segments: [
                number(|of| *of == Use::Free),
                number(|of| of.may_be_live()),
                number(|of| *of == Use::Bad),
            ],
            live_bytes: state.live,
            inodes: self.inodes(),
            tree: [count(state.height), state.leaves],
            cache_bytes: log.shared_store().cached() * self.layout().page_bytes(),
        }
    }

    fn space(&self) -> SpaceInfo {
        let (total, live) = (self.live_max(), self.live());
        let inodes = u64::from(self.inodes());
        let free = total.saturating_sub(live);
        let free_inodes = free / INODE_BYTES;
        SpaceInfo {
            block_bytes: count(CHUNK_BYTES),
            total_bytes: total,
            free_bytes: free,
            inodes: inodes + free_inodes,
            free_inodes,
            name_max: 255,
        }
    }

    fn fsync(&mut self, ino: u32) -> Result<()> {
        self.sync_file(ino)
    }

    fn sync(&mut self) -> Result<()> {
        self.sync_all()
    }

    fn maintain(&mut self) -> Result<bool> {
        self.tend()
    }
}
