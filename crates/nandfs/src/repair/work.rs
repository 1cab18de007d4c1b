//! The state of a repair.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::String,
    vec::Vec,
};
use core::ops::Range;

use pumice_vfs::{FileKind, Finding};

use super::before::Before;
use super::scan::Scan;
use crate::addr::Addr;
use crate::files::Files;
use crate::log::Log;

/// A name of a directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Name {
    pub(super) bytes: Vec<u8>,
    pub(super) ino: u32,
    pub(super) kind: FileKind,
    /// The print of the inode's birth, 0 if it is not told.
    pub(super) born: u8,
}

/// The tree as far as it is known.
#[derive(Default)]
pub(super) struct Tree {
    /// Nodes that stay.
    pub(super) live: BTreeSet<u32>,
    /// The names of each directory that stays.
    pub(super) names: BTreeMap<u32, Vec<Name>>,
    /// Directories with names that have to be written anew.
    pub(super) torn: BTreeSet<u32>,
    /// Directories that were found by their tags alone, and had been taken away.
    pub(super) removed: BTreeSet<u32>,
    /// Blocks of directories that cannot be read.
    pub(super) holes: Vec<(u32, Range<u64>)>,
    /// The directories that hold the names of directories.
    pub(super) parents: BTreeMap<u32, u32>,
}

/// A repair at work.
pub(super) struct Repair<'c> {
    pub(super) log: Log<'c>,
    pub(super) files: Files,
    /// Every node that may be there, with its address; one that is only in memory has none.
    pub(super) nodes: BTreeMap<u32, Addr>,
    /// The findings in the tags of all pages, where tables have none.
    pub(super) scan: Option<Scan>,
    pub(super) tree: Tree,
    pub(super) found: Vec<Finding>,
    /// Bytes of live chunks of each erase block.
    pub(super) live: Vec<u32>,
    pub(super) mapped: u64,
    /// The key of name hashes is lost: all buckets are made anew.
    pub(super) rehash: bool,
    /// The blocks that the checkpoint needs, where there is one.
    pub(super) before: Before,
    /// Blocks that the cut left without parity: the patrol moves them.
    pub(super) unguarded: Vec<u32>,
}

impl Repair<'_> {
    pub(super) fn tell(&mut self, code: &'static str, detail: String) {
        self.found.push(Finding { code, detail });
    }

    /// Counts a chunk that stays.
    pub(super) fn count(&mut self, addr: Addr) {
        let block = self.log.params.block_of(addr.page);
        if let Some(live) = self.live.get_mut(block as usize).filter(|_| addr.is_stored()) {
            *live = live.saturating_add(addr.len.into());
        }
    }
}
