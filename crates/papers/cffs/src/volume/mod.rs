//! A mounted volume: the tree, its writes, and the open inodes. A call that returns has written its changes: data
//! first, then index pages, the inode last (3: every data write leads to an update of the inode).

mod collect;
mod file;
mod names;
mod scan;

use std::collections::BTreeMap;

use pumice_common::{Attributes, Inodes, Mode, ROOT, Volume as _, Xattrs, damaged};
use pumice_media::AnyChip;
use pumice_vfs::{Attr, Clock, Errno, FileKind, Finding, Result, SpaceInfo, Timestamp};

use crate::flash::Flash;
use crate::index::{Change, Index};
use crate::info::Info;
use crate::inode::{Inode, NAME_MAX};
use crate::layout::{Addr, Class, INODES, Layout};
use crate::map_block;
use crate::record::Record;
use crate::spare::{Kind, Mark};
use crate::store::{Store, Written};
use crate::tree::{Node, Tree};
use crate::usage::{Role, State};

/// Blocks that files never fill: the heads, and the blocks with which collection begins.
const RESERVE: u32 = 10;
/// The most live pages in a hundred of the other pages.
const LIVE_SHARE: u64 = 90;
/// Free blocks that are left for collection.
const KEEP: u32 = 4;

/// A mounted volume.
pub struct Volume<'c> {
    store: Store<'c>,
    tree: Tree,
    /// Inodes that are gone, where it says so: older pages of theirs are still on the chip.
    removed: BTreeMap<u32, Addr>,
    held: BTreeMap<u32, u32>,
    /// Inodes without a name that are held.
    ghosts: BTreeMap<u32, Inode>,
    /// The times at which names in these directories changed; their inodes are written later.
    touched: BTreeMap<u32, Timestamp>,
    /// Stands for the root directory's inode where that is lost.
    lost_root: Option<Inode>,
    /// Counts the inode pages written.
    time: u32,
    /// The inode made last.
    newest: u32,
    clock: Clock,
    read_only: bool,
    record: Record,
    recovered: bool,
    findings: Vec<Finding>,
    /// Blocks that may have become empty.
    emptied: Vec<u32>,
}

impl<'c> Volume<'c> {
    fn over(
        flash: Flash<'c>,
        record: Record,
        clock: Clock,
        read_only: bool,
        cache_pages: usize,
    ) -> Volume<'c> {
        Volume {
            store: Store::new(flash, cache_pages),
            tree: Tree::default(),
            removed: BTreeMap::new(),
            held: BTreeMap::new(),
            ghosts: BTreeMap::new(),
            touched: BTreeMap::new(),
            lost_root: None,
            time: 0,
            newest: ROOT,
            clock,
            read_only,
            record,
            recovered: false,
            findings: Vec::new(),
            emptied: Vec::new(),
        }
    }

    /// An empty volume on a chip whose blocks are erased: the root directory, and the `InodeMapBlock`.
    pub(crate) fn make(flash: Flash<'c>, record: Record, root: &Inode) -> Result<AnyChip<'c>> {
        let mut volume = Volume::over(flash, record, Box::new(Timestamp::default), false, 0);
        volume.look_at_blocks()?;
        let (mark, page) = volume.next_page(ROOT, root, Kind::Inode);
        volume.store.append(mark, &page)?;
        volume.unmount()
    }

    pub(crate) fn layout(&self) -> Layout {
        self.store.layout()
    }

    /// Gives a free block either role from now on, whatever it had before: to see the worth of the weight (2.4).
    pub fn ignore_weight(&mut self) {
        self.store.usage.ignore_weight();
    }

    pub(crate) fn store(&mut self) -> &mut Store<'c> {
        &mut self.store
    }

    pub(crate) fn shared_store(&self) -> &Store<'c> {
        &self.store
    }

    pub(crate) fn tree(&self) -> &Tree {
        &self.tree
    }

    pub(crate) fn record(&self) -> &Record {
        &self.record
    }

    pub(crate) fn recovered(&self) -> bool {
        self.recovered
    }

    /// The faults that the scan found.
    pub(crate) fn take_findings(&mut self) -> Vec<Finding> {
        core::mem::take(&mut self.findings)
    }

    fn find_wrong(&mut self, code: &'static str, detail: String) {
        const FINDINGS_MAX: usize = 1000;
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(Finding { code, detail });
        }
    }

    fn now(&self) -> Timestamp {
        (self.clock)()
    }

    fn node(&self, ino: u32) -> Result<&Node> {
        self.tree.get(ino).ok_or_else(|| Errno::Stale.into())
    }

    fn index_of(&self, ino: u32, inode: &Inode) -> Index {
        Index::new(ino, self.layout(), inode.class, &inode.entries)
    }

    /// The next inode page of an inode.
    fn next_page(&mut self, ino: u32, inode: &Inode, kind: Kind) -> (Mark, Vec<u8>) {
        self.time = self.time.wrapping_add(1);
        let mark = Mark { kind, ino, number: self.time };
        (mark, inode.encode(mark))
    }

    /// Writes an inode: pages written before it count from now on. The last step of every change.
    fn put_inode(&mut self, change: &mut Change, ino: u32, inode: &Inode) -> Result<()> {
        if let Some(ghost) = self.ghosts.get_mut(&ino) {
            *ghost = inode.clone();
            return Ok(());
        }
        let (mark, page) = self.next_page(ino, inode, Kind::Inode);
        let at = self.store.append(mark, &page)?;
        change.fresh.push(at);
        self.touched.remove(&ino);
        if ino == ROOT {
            self.lost_root = None;
        }
        change.dead.extend(self.tree.set_place(ino, at, mark.number).filter(|old| *old != Addr::NONE));
        Ok(())
    }

    /// Ends a change: the replaced pages are dead if it was done, the new ones if it was not.
    fn end_change<T>(&mut self, change: Change, done: Result<T>) -> Result<T> {
        let gone = if done.is_ok() { change.dead } else { change.fresh };
        for at in gone {
            self.kill(at);
        }
        let swept = self.sweep();
        let value = done?;
        swept.map(|()| value)
    }

    fn kill(&mut self, at: Addr) {
        self.store.usage.kill(at);
        let block = self.layout().block_of(at);
        if self.store.usage.is_empty(block) {
            self.emptied.push(block);
        }
    }

    /// Changes an inode and no page of it.
    fn change_inode(&mut self, ino: u32, change: impl FnOnce(&mut Inode)) -> Result<Inode> {
        self.make_room(0, 1)?;
        let mut inode = self.inode(ino)?;
        change(&mut inode);
        let mut pages = Change::default();
        let done = self.put_inode(&mut pages, ino, &inode);
        self.end_change(pages, done)?;
        Ok(inode)
    }

    /// Pages that may be live: collection needs the rest.
    pub(crate) fn live_max(&self) -> u32 {
        let blocks = self.store.usage.usable().saturating_sub(RESERVE);
        let share = u64::from(blocks) * u64::from(self.layout().pages()) * LIVE_SHARE / 100;
        u32::try_from(share).unwrap_or(u32::MAX)
    }

    /// Pages of files: the page that says that an inode is gone goes with its older pages.
    pub(crate) fn live(&self) -> u32 {
        let removed = u32::try_from(self.removed.len()).unwrap_or(u32::MAX);
        self.store.usage.live().saturating_sub(removed)
    }

    /// Refuses pages that there is no room for.
    fn admit(&self, new: u32) -> Result<()> {
        let live = self.live().saturating_add(new);
        if new > 0 && live > self.live_max() { Err(Errno::NoSpace.into()) } else { Ok(()) }
    }

    /// True if so many pages of each role can be written, with `keep` blocks free afterwards.
    fn fits(&self, data: u32, inodes: u32, keep: u32) -> bool {
        let blocks = |role: Role, pages: u32| {
            pages.saturating_sub(self.store.tail(role)).div_ceil(self.layout().pages().max(1))
        };
        blocks(Role::Data, data) + blocks(Role::Inode, inodes) + keep <= self.store.usage.free()
    }

    /// Writes the inodes of directories with changed names.
    fn write_touched(&mut self) -> Result<()> {
        let touched: Vec<u32> = self.touched.keys().copied().collect();
        for ino in touched {
            self.write_dir(ino)?;
        }
        Ok(())
    }

    fn write_dir(&mut self, ino: u32) -> Result<()> {
        if self.touched.contains_key(&ino) && self.tree.get(ino).is_some() {
            self.change_inode(ino, |_| {})?;
        }
        self.touched.remove(&ino);
        Ok(())
    }

    /// All pages below an inode. Unreadable ones are not among them: they stay until the next mount.
    fn pages_of(&mut self, ino: u32, inode: &Inode) -> Vec<Addr> {
        let mut pages = Vec::new();
        self.index_of(ino, inode).walk(&mut self.store, &mut |_, _, at| pages.push(at), &mut |_| {});
        pages
    }

    /// Inode-stored blocks, data blocks, free and bad ones.
    pub(crate) fn block_counts(&self) -> [u32; 4] {
        let usage = &self.store.usage;
        [State::Used(Role::Inode), State::Used(Role::Data), State::Free, State::Bad]
            .map(|state| usage.count(state))
    }
}

impl Inodes for Volume<'_> {
    type Inode = Inode;

    const INODES: u32 = INODES;

    /// The inode: of a ghost from memory, otherwise its page.
    fn inode(&mut self, ino: u32) -> Result<Inode> {
        if let Some(ghost) = self.ghosts.get(&ino) {
            return Ok(ghost.clone());
        }
        let (at, time) = self.node(ino).map(|node| (node.at, node.time))?;
        if let Some(root) = self.lost_root.as_ref().filter(|_| at == Addr::NONE) {
            return Ok(root.clone());
        }
        let (mark, layout) = (Mark { kind: Kind::Inode, ino, number: time }, self.layout());
        let page = self.store.metadata(at, mark)?;
        let found = Inode::decode(page, mark, &layout);
        let mut inode =
            found.ok_or_else(|| damaged(format_args!("inode {ino} in page {} is damaged", at.0)))?;
        if let Some(time) = self.touched.get(&ino) {
            inode.touch(*time);
        }
        Ok(inode)
    }

    fn shown(&self, ino: u32, inode: &Inode) -> Attr {
        inode.attr(ino, self.tree.links(ino), self.layout().page_bytes())
    }

    fn writable(&self) -> Result<()> {
        Mode::new(self.read_only).writable()
    }

    fn held(&mut self) -> &mut BTreeMap<u32, u32> {
        &mut self.held
    }

    fn let_go(&mut self, ino: u32) -> Result<()> {
        let Some(ghost) = self.ghosts.remove(&ino) else { return Ok(()) };
        let change = Change { dead: self.pages_of(ino, &ghost), ..Change::default() };
        self.end_change(change, Ok(()))
    }
}

/// An inode without pages.
pub(crate) fn blank(kind: FileKind, layout: &Layout) -> Inode {
    Inode {
        attributes: Attributes::blank(kind),
        generation: 0,
        parent: ROOT,
        pages: 0,
        class: Class::Direct,
        name: Vec::new(),
        entries: vec![Addr::NONE; layout.entries() as usize],
    }
}

impl Volume<'_> {
    /// Pages written since the mount.
    pub fn written(&self) -> Written {
        self.shared_store().written()
    }
}

impl Xattrs for Volume<'_> {}

impl<'c> pumice_common::Volume<'c> for Volume<'c> {
    type Info = Info;

    /// Mounts a chip: finds the record, scans, and erases the `InodeMapBlock` (2.1).
    fn mount(nand: AnyChip<'c>, clock: Clock, read_only: bool, cache_bytes: usize) -> Result<Volume<'c>> {
        let mut flash = Flash::new(nand)?;
        let Some(record) = Record::find(&mut flash)? else {
            return Err(pumice_vfs::FsError::new(Errno::Invalid, "no cffs on this chip (no record)".into()));
        };
        let cache_pages = cache_bytes / flash.layout().page_bytes();
        let mut volume = Volume::over(flash, record, clock, read_only, cache_pages);
        let losers = volume.scan()?;
        if !read_only && !volume.store.flash().is_bad(volume.record.map)? {
            volume.store.flash().erase(volume.record.map)?;
        }
        for ino in losers {
            volume.lose(ino)?;
        }
        Ok(volume)
    }

    /// Writes directories that wait, and the `InodeMapBlock` (2.1), and gives the chip back.
    fn unmount(mut self) -> Result<AnyChip<'c>> {
        if !self.read_only {
            self.release_all()?;
            self.write_touched()?;
            let map = self.record.map;
            let (mut flash, hash) = self.store.into_flash();
            map_block::write(&mut flash, map, &hash)?;
            flash.flush()?;
            return Ok(flash.into_chip());
        }
        Ok(self.abandon())
    }

    /// Gives the chip back as it is.
    fn abandon(self) -> AnyChip<'c> {
        self.store.into_flash().0.into_chip()
    }

    fn chip(&self) -> &AnyChip<'c> {
        self.shared_store().shared_flash().chip()
    }

    fn info(&self) -> Info {
        let identity = &self.record().identity;
        Info {
            label: identity.label.clone(),
            uuid: identity.uuid,
            recovered: self.recovered(),
            erase_blocks: self.block_counts(),
            live_pages: self.live(),
            inodes: self.tree().len(),
            cache_bytes: self.shared_store().cached() * self.layout().page_bytes(),
        }
    }

    fn space(&self) -> SpaceInfo {
        let (total, each) = (self.live_max(), self.layout().page_bytes() as u64);
        let free = total.saturating_sub(self.live());
        let inodes = self.tree().len();
        let free_inodes = (INODES - 1).saturating_sub(inodes).min(free);
        SpaceInfo {
            block_bytes: u32::try_from(each).unwrap_or(u32::MAX),
            total_bytes: u64::from(total) * each,
            free_bytes: u64::from(free) * each,
            inodes: u64::from(inodes) + u64::from(free_inodes),
            free_inodes: u64::from(free_inodes),
            name_max: u32::try_from(NAME_MAX).unwrap_or(u32::MAX),
        }
    }

    /// An inode outlives a power cut; all but a directory's times does already.
    fn fsync(&mut self, ino: u32) -> Result<()> {
        self.inode(ino)?;
        if self.read_only {
            return Ok(());
        }
        self.write_dir(ino)?;
        self.store.flash().flush()
    }

    /// Everything outlives a power cut.
    fn sync(&mut self) -> Result<()> {
        if self.read_only {
            return Ok(());
        }
        self.write_touched()?;
        self.store.flash().flush()
    }
}
