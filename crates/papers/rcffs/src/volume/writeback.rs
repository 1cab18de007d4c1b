//! Sections 3.1 and 4: write-back. Changes wait in memory until there are enough of them, time is up, or someone asks.
//! Then they are written by inode number, and the mu-tree after them.

use std::collections::BTreeMap;

use pumice_common::{Inodes, Mode, damaged};
use pumice_vfs::{Result, Timestamp};

use super::{ORPHANS, Volume};
use crate::inode::Inode;
use crate::layout::count;
use crate::mutree::{Change, Key, Place};
use crate::pack::Chunk;

/// Seconds that a change waits at the most: the period of Linux's pdflush.
const SECONDS: i64 = 5;
/// Keys that wait at the most.
const KEYS: usize = 4096;
/// Entries of a leaf, about, in bytes: key and value, and as much unused.
const ENTRY: u64 = 32;

/// The new value of a key.
pub(super) struct Changed {
    /// `None`: nothing is behind the key any more.
    pub(super) bytes: Option<Vec<u8>>,
    /// Bytes of the value on flash.
    pub(super) stored: usize,
}

/// The changes that wait to be written back.
#[derive(Default)]
pub(super) struct Dirty {
    chunks: BTreeMap<Key, Changed>,
    fresh: u64,
    replaced: u64,
    new_keys: u64,
    since: Option<Timestamp>,
}

impl Dirty {
    /// The new value of a key, if it was changed.
    pub(super) fn get(&self, key: Key) -> Option<&Changed> {
        self.chunks.get(&key)
    }

    pub(super) fn is_gone(&self, key: Key) -> bool {
        self.chunks.get(&key).is_some_and(|changed| changed.bytes.is_none())
    }

    /// The first key at or behind one that has bytes here.
    pub(super) fn next(&self, from: Key) -> Option<Key> {
        self.chunks.range(from..).find(|(_, changed)| changed.bytes.is_some()).map(|(key, _)| *key)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    fn count(&mut self, changed: &Changed, is_more: bool) {
        let bytes = changed.bytes.as_ref().map_or(0, Vec::len) as u64;
        let is_new = u64::from(changed.stored == 0 && changed.bytes.is_some());
        let add = |sum: &mut u64, part: u64| *sum = if is_more { *sum + part } else { *sum - part };
        add(&mut self.fresh, bytes);
        add(&mut self.replaced, changed.stored as u64);
        add(&mut self.new_keys, is_new);
    }

    pub(super) fn put(&mut self, key: Key, bytes: Option<Vec<u8>>, stored: usize, now: Timestamp) {
        self.since.get_or_insert(now);
        let changed = Changed { bytes, stored };
        self.count(&changed, true);
        if let Some(before) = self.chunks.insert(key, changed) {
            self.count(&before, false);
        }
        // Made and removed without ever being written.
        if stored == 0 && self.is_gone(key) {
            self.chunks.remove(&key);
        }
    }

    /// Bytes that are to be written, if nothing can be compressed.
    pub(super) fn fresh(&self) -> u64 {
        self.fresh
    }

    /// Bytes on flash that will be dead then.
    pub(super) fn replaced(&self) -> u64 {
        self.replaced
    }

    /// Leaves of so many bytes that new keys may need.
    pub(super) fn leaves(&self, page_bytes: u64) -> u64 {
        (self.new_keys * ENTRY * 2).div_ceil(page_bytes)
    }

    fn is_due(&self, limit: u64, now: Timestamp) -> bool {
        let is_late = self.since.is_some_and(|since| now.seconds.saturating_sub(since.seconds) >= SECONDS);
        self.fresh >= limit || self.chunks.len() >= KEYS || (is_late && !self.is_empty())
    }
}

impl Volume<'_> {
    /// Bytes that wait before they are written: the data of a segment.
    pub(super) fn dirty_max(&self) -> u64 {
        self.layout().data_bytes()
    }

    /// Writes back if it is time. Each call that changes something ends with this.
    pub(super) fn write_back(&mut self) -> Result<()> {
        if self.dirty.is_due(self.dirty_max(), self.now()) { self.flush() } else { Ok(()) }
    }

    /// The same when nothing else happens; true if something still waits.
    pub(crate) fn tend(&mut self) -> Result<bool> {
        if self.mode == Mode::Writable {
            self.write_back()?;
        }
        Ok(false)
    }

    /// Everything outlives a power cut: ends the parity group.
    pub(crate) fn sync_all(&mut self) -> Result<()> {
        if self.mode == Mode::ReadOnly {
            return Ok(());
        }
        self.writable()?;
        self.flush()?;
        let done = self.seal();
        self.break_on_error(done)
    }

    fn seal(&mut self) -> Result<()> {
        while !self.log.seal()? {
            // A parity page failed: the root once more, in a group of its own.
            self.write_root()?;
        }
        Ok(())
    }

    /// Writes the root anew.
    pub(super) fn write_root(&mut self) -> Result<()> {
        let top = self.tree.state().height - 1;
        let change = self.tree.touch(self.log.store(), 0, top)?;
        self.count_change(&change, None)?;
        self.tree.write(&mut self.log)?;
        self.log.set_root(self.tree.state().root);
        Ok(())
    }

    /// An inode outlives a power cut; everything does.
    pub(crate) fn sync_file(&mut self, ino: u32) -> Result<()> {
        self.inode(ino)?;
        self.sync_all()
    }

    /// Ends a call on the log: after an error nothing is written any more.
    pub(super) fn break_on_error<T>(&mut self, done: Result<T>) -> Result<T> {
        if done.is_err() {
            self.mode = Mode::Broken;
        }
        done
    }

    /// Writes back everything that waits.
    pub(super) fn flush(&mut self) -> Result<()> {
        if self.dirty.is_empty() && !self.tree.is_dirty() {
            return Ok(());
        }
        self.writable()?;
        let now = self.now();
        self.log.set_time(now);
        self.make_room(self.dirty.fresh(), self.dirty.chunks.len())?;
        let dirty = core::mem::take(&mut self.dirty);
        let done = self.write_chunks(dirty);
        self.break_on_error(done)
    }

    fn write_chunks(&mut self, dirty: Dirty) -> Result<()> {
        let mut gone = Vec::new();
        let mut packs = BTreeMap::new();
        for (key, changed) in &dirty.chunks {
            // A change of data changes the inode.
            if let (true, Some(bytes)) = (*key == Key::inode(key.ino()), &changed.bytes) {
                packs.insert(key.ino(), Inode::decode(bytes).is_some_and(|inode| inode.packed));
            }
        }
        for (key, changed) in dirty.chunks {
            let Some(bytes) = changed.bytes else {
                gone.push(key);
                continue;
            };
            let packs = !key.is_metadata() && packs.get(&key.ino()) == Some(&true);
            self.log.append(Chunk::new(key, bytes, packs))?;
        }
        self.commit(&gone)
    }

    /// Chunks that were appended, and keys that lead nowhere, enter the tree, and that is written: all of it counts now.
    pub(super) fn commit(&mut self, gone: &[Key]) -> Result<()> {
        let found = self.log.end_data()?.into_iter().map(|(key, place)| (key, Some(place)));
        for (key, place) in found.chain(gone.iter().map(|key| (*key, None))) {
            let change = self.tree.set(self.log.store(), key, place)?;
            self.count_change(&change, place)?;
            if key == Key::inode(key.ino()) && key != ORPHANS {
                self.count_inode(change.old.is_some(), place.is_some())?;
            }
        }
        self.tree.write(&mut self.log)?;
        self.log.set_root(self.tree.state().root);
        Ok(())
    }

    /// Counts an inode that came or went.
    fn count_inode(&mut self, was: bool, is: bool) -> Result<()> {
        let inodes = self.tree.state().inodes + u32::from(is);
        let inodes = inodes.checked_sub(u32::from(was));
        self.tree.state_mut().inodes = inodes.ok_or_else(|| damaged("the root counts too few inodes"))?;
        Ok(())
    }

    /// Counts the bytes that a change of the tree made live, and those that died.
    pub(super) fn count_change(&mut self, change: &Change, new: Option<Place>) -> Result<()> {
        let page_bytes = self.layout().page_bytes() as u64;
        let mut live = self.tree.state().live;
        if let Some(place) = new {
            live += u64::from(place.bytes);
            self.log.count_live(place.page, place.bytes.into(), true);
        }
        if let Some(place) = change.old {
            let less = live.checked_sub(place.bytes.into());
            live = less.ok_or_else(|| damaged("more bytes die than the root says are live"))?;
            self.log.count_live(place.page, place.bytes.into(), false);
        }
        self.tree.state_mut().live = live;
        for leaf in &change.leaves {
            self.log.count_live(*leaf, page_bytes, false);
        }
        Ok(())
    }

    /// Pages of the tree that a change of so many keys writes at the most.
    pub(super) fn tree_pages(&self, keys: usize) -> u64 {
        let state = self.tree.state();
        let new = (keys as u64 * ENTRY * 2).div_ceil(self.layout().page_bytes() as u64);
        u64::from(count(keys).min(state.leaves)) + new + state.height as u64
    }
}
