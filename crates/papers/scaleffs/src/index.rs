//! Section 4.4 and figure 3: from an inode number to a block. The checkpoint leads to the indirect inode map blocks, they to
//! inode map blocks, these to inodes, and inodes, by indirect blocks, to data.
//!
//! Each block's address stands in one place, the same for all questions: is this block live, where is it, it has moved.
//!
//! Inode map block n has the addresses of the inodes 256 n to 256 n + 255, 4 bytes each. Indirect inode map block n has
//! those of the inode map blocks 256 n and following (footnote 2). Inode 1 is the root.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use pumice_common::{damaged, get_u32, put_u32};
use pumice_media::AnyChip;
use pumice_vfs::{Errno, FsError, Result};

use crate::cache::Cache;
use crate::inode::{self, INODES, Inode, Step, inode_owner};
use crate::layout::{Addr, BLOCK_BYTES, POINTERS, entry, put_entry};
use crate::log::Log;
use crate::spare::{Kind, Owner};

/// Indirect inode map blocks that a checkpoint can name (table III).
pub(crate) const ROOTS: u32 = 128;

/// A checkpoint's counts of inodes and blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Census {
    /// The highest inode number in use.
    pub(crate) highest: u32,
    /// Inodes in use.
    pub(crate) inodes: u32,
    /// Blocks that are live.
    pub(crate) live: u32,
    /// The addresses of the indirect inode map blocks.
    pub(crate) roots: Vec<Addr>,
}

/// The index over the log.
pub(crate) struct Index<'c> {
    log: Log<'c>,
    cache: Cache,
    census: Census,
    /// The indirect inode map blocks, all in memory.
    indirect_map: BTreeMap<u32, Vec<u8>>,
    /// Those of them that must be written.
    indirect_dirty: BTreeSet<u32>,
    /// Inodes without a name that somebody holds: they live in memory only.
    ghosts: BTreeSet<u32>,
}

/// The place of a block's address.
enum Place {
    Root(u32),
    MapIndex(u32, u32),
    In(Owner, usize),
}

fn map_owner(number: u32) -> Owner {
    Owner { ino: 0, kind: Kind::Map, offset: number }
}

fn place(owner: Owner) -> Option<Place> {
    match owner.kind {
        Kind::MapIndex if owner.ino == 0 && owner.offset < ROOTS => Some(Place::Root(owner.offset)),
        Kind::Map if owner.ino == 0 && owner.offset < ROOTS * POINTERS => {
            Some(Place::MapIndex(owner.offset / POINTERS, owner.offset % POINTERS))
        }
        Kind::Inode if owner.offset == 0 && (1..INODES).contains(&owner.ino) => {
            let at = (owner.ino % POINTERS) as usize * 4;
            Some(Place::In(map_owner(owner.ino / POINTERS), at))
        }
        Kind::MapIndex | Kind::Map | Kind::Inode | Kind::Checkpoint => None,
        _ if (1..INODES).contains(&owner.ino) => {
            inode::place(owner).map(|(parent, at)| Place::In(parent, at))
        }
        _ => None,
    }
}

impl<'c> Index<'c> {
    /// The index of a checkpoint: reads its indirect inode map blocks.
    pub(crate) fn new(mut log: Log<'c>, census: Census, cache_blocks: usize) -> Result<Index<'c>> {
        let mut indirect_map = BTreeMap::new();
        for (number, root) in (0..).zip(&census.roots) {
            if *root != Addr::NONE {
                let owner = Owner { ino: 0, kind: Kind::MapIndex, offset: number };
                check_address(&log, owner, *root)?;
                indirect_map.insert(number, log.flash().read(*root, owner)?);
            }
        }
        let (cache, indirect_dirty, ghosts) = (Cache::new(cache_blocks), BTreeSet::new(), BTreeSet::new());
        Ok(Index { log, cache, census, indirect_map, indirect_dirty, ghosts })
    }

    pub(crate) fn log(&mut self) -> &mut Log<'c> {
        &mut self.log
    }

    pub(crate) fn shared_log(&self) -> &Log<'c> {
        &self.log
    }

    pub(crate) fn into_chip(self) -> AnyChip<'c> {
        self.log.into_chip()
    }

    pub(crate) fn census(&self) -> &Census {
        &self.census
    }

    /// Blocks of metadata in memory now, and the most that were; indirect inode map blocks not counted.
    pub(crate) fn cached(&self) -> (usize, usize) {
        self.cache.size()
    }

    /// Indirect inode map blocks, all of which are in memory.
    pub(crate) fn indirect_map_blocks(&self) -> usize {
        self.indirect_map.len()
    }

    /// The address of a block; [`Addr::NONE`] if there is none, [`Addr::PENDING`] if it was not written yet.
    pub(crate) fn address(&mut self, owner: Owner) -> Result<Addr> {
        match place(owner) {
            None => Ok(Addr::NONE),
            Some(Place::Root(number)) => {
                Ok(self.census.roots.get(number as usize).copied().unwrap_or(Addr::NONE))
            }
            Some(Place::MapIndex(number, slot)) => {
                Ok(self.indirect_map.get(&number).map_or(Addr::NONE, |block| entry(block, slot)))
            }
            Some(Place::In(parent, at)) => {
                if !self.fetch(parent)? {
                    return Ok(Addr::NONE);
                }
                match self.cache.get(&parent) {
                    Some(block) => Ok(Addr(get_u32(block, at))),
                    None => Err(damaged(format_args!("{parent:?} is gone from memory"))),
                }
            }
        }
    }

    /// Brings a block of metadata into memory; false if there is none.
    fn fetch(&mut self, owner: Owner) -> Result<bool> {
        if self.cache.has(&owner) {
            return Ok(true);
        }
        let at = self.address(owner)?;
        if at == Addr::NONE {
            return Ok(false);
        }
        check_address(&self.log, owner, at)?;
        let bytes = self.log.flash().read(at, owner)?;
        self.cache.insert(owner, bytes);
        Ok(true)
    }

    /// The bytes of a block of metadata, or of a directory.
    pub(crate) fn block(&mut self, owner: Owner) -> Result<Option<&[u8]>> {
        Ok(if self.fetch(owner)? { self.cache.get(&owner) } else { None })
    }

    /// The bytes of a block of data as the log holds it; `None` for a hole.
    pub(crate) fn read_data(&mut self, owner: Owner) -> Result<Option<Vec<u8>>> {
        let at = self.address(owner)?;
        if at == Addr::NONE {
            return Ok(None);
        }
        check_address(&self.log, owner, at)?;
        self.log.flash().read(at, owner).map(Some)
    }

    /// Says where a block is now, and counts blocks that come and go.
    pub(crate) fn set_address(&mut self, owner: Owner, to: Addr) -> Result<()> {
        let old = match place(owner) {
            None => return Err(damaged(format_args!("{owner:?} has no place in the index"))),
            Some(Place::Root(number)) => {
                let root = self.census.roots.get_mut(number as usize);
                root.map_or(Addr::NONE, |root| core::mem::replace(root, to))
            }
            Some(Place::MapIndex(number, slot)) => {
                if let Entry::Vacant(new) = self.indirect_map.entry(number) {
                    new.insert(vec![0xff; BLOCK_BYTES]);
                    self.set_address(Owner { ino: 0, kind: Kind::MapIndex, offset: number }, Addr::PENDING)?;
                }
                self.indirect_dirty.insert(number);
                let Some(block) = self.indirect_map.get_mut(&number) else { return Err(Errno::Io.into()) };
                let old = entry(block, slot);
                put_entry(block, slot, to);
                old
            }
            Some(Place::In(parent, at)) => {
                self.provide(parent)?;
                let block = self.changed(parent)?;
                let old = Addr(get_u32(block, at));
                put_u32(block, at, to.0);
                old
            }
        };
        match (old == Addr::NONE, to == Addr::NONE) {
            (true, false) => self.count(owner, true),
            (false, true) => self.count(owner, false),
            _ => Ok(()),
        }
    }

    fn count(&mut self, owner: Owner, comes: bool) -> Result<()> {
        let step = |count: u32| if comes { count.saturating_add(1) } else { count.saturating_sub(1) };
        self.census.live = step(self.census.live);
        match owner.kind {
            Kind::Inode => self.census.inodes = step(self.census.inodes),
            Kind::Map | Kind::MapIndex | Kind::Checkpoint => {}
            _ => {
                let mut inode = self.inode(owner.ino)?;
                inode.blocks = step(inode.blocks);
                self.set_inode(owner.ino, &inode)?;
            }
        }
        Ok(())
    }

    /// Makes an indirect block or inode map block that is not there yet, empty.
    fn provide(&mut self, owner: Owner) -> Result<()> {
        if self.fetch(owner)? {
            return Ok(());
        }
        if owner.kind == Kind::Inode {
            return Err(Errno::Stale.into());
        }
        self.cache.insert(owner, vec![0xff; BLOCK_BYTES]);
        self.changed(owner)?;
        self.set_address(owner, Addr::PENDING)
    }

    fn changed(&mut self, owner: Owner) -> Result<&mut [u8]> {
        if !self.fetch(owner)? {
            return Err(damaged(format_args!("{owner:?} is gone from the index")));
        }
        self.cache.change(&owner).ok_or_else(|| Errno::Io.into())
    }

    /// A block of metadata is to be written anew, wherever it was.
    pub(crate) fn renew(&mut self, owner: Owner) -> Result<()> {
        if owner.kind == Kind::MapIndex {
            self.indirect_dirty.insert(owner.offset);
            return Ok(());
        }
        self.changed(owner).map(|_| ())
    }

    /// The attributes of an inode.
    pub(crate) fn inode(&mut self, ino: u32) -> Result<Inode> {
        match self.block(inode_owner(ino))? {
            None => Err(Errno::Stale.into()),
            Some(bytes) => {
                Inode::decode(bytes).ok_or_else(|| damaged(format_args!("inode {ino} makes no sense")))
            }
        }
    }

    /// Changes the attributes of an inode in memory.
    pub(crate) fn set_inode(&mut self, ino: u32, inode: &Inode) -> Result<()> {
        inode.encode(self.changed(inode_owner(ino))?);
        Ok(())
    }

    /// Makes an inode; it is not written yet.
    pub(crate) fn add_inode(&mut self, ino: u32, inode: &Inode) -> Result<()> {
        self.cache.insert(inode_owner(ino), inode.block());
        self.cache.change(&inode_owner(ino));
        self.census.highest = self.census.highest.max(ino);
        self.set_address(inode_owner(ino), Addr::PENDING)
    }

    /// The inodes in use, ascending, from one inode map block; none behind the last.
    pub(crate) fn inodes_of_map(&mut self, map: u32) -> Result<Vec<u32>> {
        let inos = map * POINTERS..=map * POINTERS + (POINTERS - 1);
        let mut found = Vec::new();
        for ino in inos {
            if self.address(inode_owner(ino))? != Addr::NONE {
                found.push(ino);
            }
        }
        Ok(found)
    }

    /// The inode map blocks there are, and the indirect ones, with their addresses.
    pub(crate) fn maps(&self) -> Vec<(Owner, Addr)> {
        let roots = (0..).zip(&self.census.roots);
        let roots = roots.map(|(offset, at)| (Owner { ino: 0, kind: Kind::MapIndex, offset }, *at));
        let maps = self.indirect_map.iter().flat_map(|(number, block)| {
            (0..POINTERS).map(move |slot| (map_owner(number * POINTERS + slot), entry(block, slot)))
        });
        roots.chain(maps).filter(|(_, at)| *at != Addr::NONE).collect()
    }

    /// A number that no inode has, at or behind `from`.
    pub(crate) fn unused_inode(&mut self, from: u32) -> Result<u32> {
        for ino in from.max(1)..=self.census.highest {
            if !self.ghosts.contains(&ino) && self.address(inode_owner(ino))? == Addr::NONE {
                return Ok(ino);
            }
        }
        let next = self.census.highest + 1;
        if next < INODES { Ok(next) } else { Err(Errno::NoSpace.into()) }
    }

    /// The inode's last name is gone but somebody holds it: on flash it is no more.
    pub(crate) fn make_ghost(&mut self, ino: u32) -> Result<()> {
        self.renew(inode_owner(ino))?;
        let live = self.census.live;
        self.set_address(inode_owner(ino), Addr::NONE)?;
        // Its blocks take their space as long as it is held.
        self.census.live = live;
        self.ghosts.insert(ino);
        Ok(())
    }

    /// Frees an inode and all its blocks: a block that is not in the index is dead.
    pub(crate) fn drop_inode(&mut self, ino: u32) -> Result<()> {
        let blocks = self.inode(ino)?.blocks;
        if self.ghosts.remove(&ino) {
            self.census.live = self.census.live.saturating_sub(1);
        } else {
            self.set_address(inode_owner(ino), Addr::NONE)?;
        }
        self.census.live = self.census.live.saturating_sub(blocks);
        self.cache.remove_inode(ino);
        Ok(())
    }

    /// Section 4.5: an inode that was found in the log takes the place of the one that the index knows.
    pub(crate) fn replay_inode(&mut self, ino: u32, at: Addr, bytes: Vec<u8>) -> Result<()> {
        let new = Inode::decode(&bytes).ok_or_else(|| damaged(format_args!("inode {ino} makes no sense")))?;
        if self.address(inode_owner(ino))? != Addr::NONE {
            self.drop_inode(ino)?;
        }
        if new.nlink == 0 {
            return Ok(());
        }
        self.cache.insert(inode_owner(ino), bytes);
        self.census.highest = self.census.highest.max(ino);
        self.census.live = self.census.live.saturating_add(new.blocks);
        self.set_address(inode_owner(ino), at)
    }

    /// Takes a block of a file away, and the indirect blocks that are empty then; the blocks from `from` to `to`.
    pub(crate) fn punch(&mut self, ino: u32, content: Kind, from: u32, to: u32) -> Result<()> {
        if from < to {
            self.punch_below(inode_owner(ino), content, from, to)?;
        }
        Ok(())
    }

    /// True if no entry is left.
    fn punch_below(&mut self, owner: Owner, content: Kind, from: u32, to: u32) -> Result<bool> {
        let mut left = false;
        for child in inode::children(owner, content) {
            let end = child.offset.saturating_add(inode::reach(child.kind));
            let at = self.address(child)?;
            if at == Addr::NONE {
                continue;
            }
            if end <= from || child.offset >= to {
                left = true;
            } else if child.kind == content || self.punch_below(child, content, from, to)? {
                self.set_address(child, Addr::NONE)?;
                self.cache.remove(&child);
            } else {
                left = true;
            }
        }
        Ok(!left)
    }

    /// The first block at or behind `from` and before `to` that is there (`true`) or is not.
    pub(crate) fn next_block(&mut self, ino: u32, from: u32, to: u32, there: bool) -> Result<u32> {
        let mut at = from;
        while at < to {
            let data = Owner { ino, kind: Kind::Data, offset: at };
            let is_there = self.address(data)? != Addr::NONE;
            if is_there == there {
                return Ok(at);
            }
            at = if is_there { at + 1 } else { self.hole_end(data)? };
        }
        Ok(to)
    }

    /// The end of the largest missing indirect block around a hole.
    fn hole_end(&mut self, hole: Owner) -> Result<u32> {
        let mut end = hole.offset + 1;
        let mut at = hole;
        while let Some((parent, _)) = inode::place(at) {
            if parent.kind == Kind::Inode || self.address(parent)? != Addr::NONE {
                break;
            }
            end = parent.offset.saturating_add(inode::reach(parent.kind));
            at = parent;
        }
        Ok(end)
    }

    /// Writes a block at the end of the log and notes where.
    pub(crate) fn write(&mut self, owner: Owner, bytes: &[u8]) -> Result<()> {
        let at = self.log.append(owner, bytes)?;
        self.set_address(owner, at)
    }

    /// Writes a directory block, which stays in memory.
    pub(crate) fn write_dir(&mut self, owner: Owner, bytes: Vec<u8>) -> Result<()> {
        self.write(owner, &bytes)?;
        self.cache.insert(owner, bytes);
        Ok(())
    }

    /// Section 4.5: a directory block was found in the log.
    pub(crate) fn replay_dir(&mut self, owner: Owner, at: Addr, bytes: Vec<u8>) -> Result<()> {
        self.set_address(owner, at)?;
        self.cache.insert(owner, bytes);
        Ok(())
    }

    fn write_cached(&mut self, owner: Owner) -> Result<()> {
        let Some(bytes) = self.cache.get(&owner) else {
            return Err(damaged(format_args!("{owner:?} is gone from memory")));
        };
        let at = self.log.append(owner, bytes)?;
        self.cache.clean(&owner);
        self.set_address(owner, at)
    }

    /// Writes an inode, its indirect blocks first: afterwards it is found again whatever happens.
    pub(crate) fn flush_inode(&mut self, ino: u32, step: Step) -> Result<()> {
        if self.ghosts.contains(&ino) {
            return Ok(());
        }
        for kind in [Kind::Ind1, Kind::Ind2, Kind::Ind3] {
            for owner in self.cache.dirty_of(ino, kind) {
                self.write_cached(owner)?;
            }
        }
        if step != Step::Plain || self.cache.dirty().contains(&inode_owner(ino)) {
            inode::set_step(self.changed(inode_owner(ino))?, step);
            self.write_cached(inode_owner(ino))?;
        }
        Ok(())
    }

    /// Writes an inode without names, so that recovery finds it gone; then it is freed, or held. Its blocks are not
    /// written any more.
    pub(crate) fn bury(&mut self, ino: u32, step: Step, held: bool) -> Result<()> {
        let mut inode = self.inode(ino)?;
        inode.nlink = 0;
        self.set_inode(ino, &inode)?;
        let mut bytes = inode.block();
        inode::set_step(&mut bytes, step);
        self.log.append(inode_owner(ino), &bytes)?;
        if held { self.make_ghost(ino) } else { self.drop_inode(ino) }
    }

    /// Writes all inodes, then the inode map, then the indirect inode map: the base of the next checkpoint.
    pub(crate) fn flush_all(&mut self) -> Result<()> {
        let inos: BTreeSet<u32> = self.cache.dirty().iter().map(|owner| owner.ino).collect();
        for ino in inos.into_iter().filter(|ino| *ino != 0) {
            self.flush_inode(ino, Step::Plain)?;
        }
        for map in self.cache.dirty_of(0, Kind::Map) {
            self.write_cached(map)?;
        }
        for number in core::mem::take(&mut self.indirect_dirty) {
            let Some(bytes) = self.indirect_map.get(&number) else { continue };
            let owner = Owner { ino: 0, kind: Kind::MapIndex, offset: number };
            let at = self.log.append(owner, bytes)?;
            self.set_address(owner, at)?;
        }
        Ok(())
    }

    /// True if a checkpoint has something to write.
    pub(crate) fn is_dirty(&self) -> bool {
        self.log.since_checkpoint() > 0
            || !self.indirect_dirty.is_empty()
            || self.cache.dirty().iter().any(|owner| !self.ghosts.contains(&owner.ino))
    }

    /// Blocks that a checkpoint would write to the log: the dirty ones and all above them.
    pub(crate) fn checkpoint_needs(&self) -> u32 {
        self.needs_with(&[])
    }

    /// The same if these live blocks moved before it, counted with them.
    pub(crate) fn needs_with(&self, moved: &[Owner]) -> u32 {
        let mut written = BTreeSet::new();
        let dirty = self.cache.dirty().iter().filter(|owner| !self.ghosts.contains(&owner.ino));
        for owner in dirty.chain(moved) {
            let mut at = *owner;
            while written.insert(at) {
                match place(at) {
                    Some(Place::In(parent, _)) => at = parent,
                    Some(Place::MapIndex(number, _)) => {
                        at = Owner { ino: 0, kind: Kind::MapIndex, offset: number };
                    }
                    Some(Place::Root(_)) | None => break,
                }
            }
        }
        u32::try_from(written.len() + self.indirect_dirty.len()).unwrap_or(u32::MAX)
    }

    /// Dirty blocks in memory.
    pub(crate) fn dirty_blocks(&self) -> usize {
        self.cache.dirty().len() + self.indirect_dirty.len()
    }
}

/// Refuses an address that no block of the log can have.
fn check_address(log: &Log<'_>, owner: Owner, at: Addr) -> core::result::Result<(), FsError> {
    if log.layout().is_in_log(at) {
        return Ok(());
    }
    Err(damaged(format_args!("{owner:?} is said to be at block {}, outside the log", at.0)))
}
