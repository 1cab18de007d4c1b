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
        size_of::<Self>()
            + self.log.pages.memory()
            + self.log.blocks.memory()
            + (self.files.pending.len() + self.files.held.len()) * 16
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
            || !self.files.pending.is_empty()
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
