//! A mounted volume: its parts, and the calls that all of them share. Each concern has a file of its own with a further
//! `impl Volume`.

use alloc::vec::Vec;

use pumice_flashlog::Roots;
use pumice_media::AnyChip;
use pumice_vfs::{Clock, Errno, FsError, Result};

use crate::codec::size;
use crate::files::Files;
use crate::log::Log;
use crate::names::Names;
use crate::pages::Pages;
use crate::params::Params;
use crate::room::Room;
use crate::superblock::Superblock;

/// A mounted volume.
pub(crate) struct Volume<'c> {
    pub(crate) log: Log<'c>,
    pub(crate) files: Files,
    pub(crate) names: Names,
}

impl<'c> Volume<'c> {
    /// The parts with nothing in them yet.
    pub(crate) fn empty(
        pages: Pages<'c>,
        params: Params,
        superblock: Superblock,
        roots: Roots,
        clock: Clock,
        budget: usize,
    ) -> Result<Volume<'c>> {
        let files = Files::new(params, &superblock, clock, budget);
        Ok(Volume { log: Log::new(pages, params, superblock, roots)?, files, names: Names::default() })
    }

    /// The figures of room.
    pub(crate) fn room(&self) -> Room<'_, 'c> {
        Room::of(&self.log, &self.files)
    }

    /// Memory besides the caches, in bytes.
    pub(crate) fn fixed_memory(&self) -> usize {
        size_of::<Self>() + self.log.pages.memory() + self.log.blocks.memory() + self.files.noted_memory()
    }

    /// The chip, given back.
    pub(crate) fn into_chip(self) -> AnyChip<'c> {
        self.log.pages.into_chip()
    }

    /// True if anything changed since the last checkpoint.
    pub(crate) fn has_changes(&self) -> bool {
        self.files.nodes.dirty() > 0
            || self.files.nodes.has_ahead()
            || self.files.cache.dirty_bytes() > 0
            || self.log.pages.scan_pages() > 0
            || self.files.has_pending()
    }
}

impl Files {
    /// Keeps the caches within their budget; runs before any call.
    pub(crate) fn look(&mut self, log: &mut Log<'_>) {
        if self.memory.begin_call() || self.is_bloated(log) {
            self.trim(log);
        }
    }

    /// Memory that waits to be written, in bytes.
    fn unwritten(&self, log: &Log<'_>) -> usize {
        let nodes = self.nodes.dirty() * (log.params.fanout() as usize * 8 + 200);
        let tables = (self.nodes.table.overlay.len() + log.blocks.table.overlay.len()) * 40;
        nodes + tables + self.cache.dirty_bytes()
    }

    /// An eighth of the memory left for droppable data.
    fn share(&self, log: &Log<'_>) -> usize {
        self.memory.budget().saturating_sub(self.unwritten(log)).max(self.memory.budget() / 4) / 8
    }

    /// Brings the caches back into the budget.
    pub(crate) fn trim(&mut self, log: &mut Log<'_>) {
        let share = self.share(log);
        self.nodes.trim(self.memory.budget() / 8 * 3);
        self.nodes.table.trim(share);
        log.blocks.table.trim(share);
        self.cache.trim(self.cache.dirty_bytes() + share * 2);
        log.pages.medium_mut().set_kept(share / 2 / log.params.payload as usize);
    }

    /// True if some cache holds more droppable data than its share.
    fn is_bloated(&self, log: &Log<'_>) -> bool {
        let share = self.share(log);
        self.cache.clean_bytes() > share * 2
            || self.nodes.table.cached_bytes() > share
            || log.blocks.table.cached_bytes() > share
    }

    /// True if unwritten changes take more than their share of memory.
    pub(crate) fn is_laden(&self, log: &Log<'_>) -> bool {
        self.unwritten(log) > self.memory.budget() / 4 * 3
    }
}

/// A 64-bit block index as the 32 bits that pointers and tags hold.
pub(crate) fn block_index(index: u64) -> Result<u32> {
    u32::try_from(index).map_err(|_| FsError::from(Errno::FileTooBig))
}

/// A list of `count` holes.
pub(crate) fn grow_to<T: Clone + Default>(list: &mut Vec<T>, place: u64) {
    let want = size(place) + 1;
    if list.len() < want {
        list.resize(want, T::default());
    }
}
