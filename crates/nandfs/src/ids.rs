//! Ids of nodes, and those that may be given out.
//!
//! The node table is the list of ids in use. Free ones are found by looking through it, a page at a time while nodes
//! are made, and by remembering freed ones. A freed id is given out again once a checkpoint says that it is free: until
//! then recovery would see both nodes under it.

use alloc::vec::Vec;

use crate::promise::ID_END;

/// The first node id but for those of the root and of the hidden directory.
pub(crate) const FIRST_NID: u32 = 3;

/// Ids remembered in memory.
const KEPT: usize = 1024;
/// Ids that are taken behind all others after a look at a page of the table found none.
const BATCH: u32 = 64;

/// The ids.
pub(crate) struct Ids {
    /// No id from here on is in use.
    end: u32,
    /// Ids that are free now, and were at the last checkpoint.
    free: Vec<u32>,
    /// Ids freed since.
    freed: Vec<u32>,
    /// The page of the node table for the next look.
    page: u32,
    /// Ids behind all others that may be taken before that look.
    batch: u32,
    /// Free ids in pages of the table are those of the last checkpoint, and nothing in the log since then says
    /// otherwise.
    is_current: bool,
    /// The end may be lowered.
    loose: bool,
}

impl Ids {
    /// Gives out only ids from `end` on, as nothing is known yet. Looks begin at a page that follows from `start`: were
    /// it the same after each mount, looks of short mounts would never get beyond it.
    pub(crate) fn from(end: u32, start: u64) -> Ids {
        let page = u32::try_from(start % u64::from(end.max(1))).unwrap_or(0);
        Ids { end, free: Vec::new(), freed: Vec::new(), page, batch: 0, is_current: false, loose: false }
    }

    /// No id from here on is in use.
    pub(crate) fn end(&self) -> u32 {
        self.end
    }

    /// The page of a table, with so many entries in each, to look at before an id is taken.
    pub(crate) fn page_to_look_at(&mut self, entries: u32) -> Option<u32> {
        if !self.is_current || !self.free.is_empty() || self.batch > 0 {
            return None;
        }
        let page = self.page % self.end.div_ceil(entries).max(1);
        self.page = page + 1;
        Some(page)
    }

    /// A look found these ids, in ascending order.
    pub(crate) fn found(&mut self, ids: impl DoubleEndedIterator<Item = u32>) {
        let usable = FIRST_NID..self.end;
        self.free.extend(ids.rev().filter(|nid| usable.contains(nid)));
        self.batch = if self.free.is_empty() { BATCH } else { 0 };
    }

    /// An id for a new node, if there is one.
    pub(crate) fn take(&mut self) -> Option<u32> {
        if let Some(nid) = self.free.pop() {
            return Some(nid);
        }
        let nid = Some(self.end).filter(|end| *end < ID_END)?;
        self.end += 1;
        self.batch = self.batch.saturating_sub(1);
        Some(nid)
    }

    /// Takes no ids of the page of the table that holds this one, with so many entries in each: the ids in use there
    /// are unknown. The next one is behind it; false if none is there.
    pub(crate) fn pass_page_of(&mut self, nid: u32, entries: u32) -> bool {
        let first = nid - nid % entries;
        let page = first..first.saturating_add(entries);
        self.free.retain(|free| !page.contains(free));
        let has_more = page.end < ID_END;
        if page.contains(&self.end) && has_more {
            self.end = page.end;
        }
        has_more
    }

    /// Keeps an id from being given out.
    pub(crate) fn avoid(&mut self, nid: u32) {
        self.loose |= nid >= self.end;
        self.end = self.end.max(nid.saturating_add(1));
        self.free.retain(|free| *free != nid);
    }

    /// A node is gone.
    pub(crate) fn free(&mut self, nid: u32) {
        self.loose = true;
        if self.free.len() + self.freed.len() < KEPT {
            self.freed.push(nid);
        }
    }

    /// A checkpoint is about to be written. True if fewer ids may be in use than before.
    pub(crate) fn begin_checkpoint(&mut self) -> bool {
        self.is_current = false;
        core::mem::take(&mut self.loose)
    }

    /// The checkpoint says that no id from `end` on is in use.
    pub(crate) fn lower(&mut self, end: u32) {
        debug_assert!(end <= self.end, "ids end at {}, not at {end}", self.end);
        self.end = end.max(FIRST_NID);
    }

    /// Takes back the lowered end after a failed checkpoint: the one before it still counts, and ended the ids here.
    pub(crate) fn fail(&mut self, end: u32) {
        (self.end, self.loose) = (self.end.max(end), true);
    }

    /// Allows free ids to be given out: the checkpoint was written, or a volume was found as one left it.
    pub(crate) fn checkpointed(&mut self) {
        self.free.append(&mut self.freed);
        let end = self.end;
        self.free.retain(|nid| *nid < end);
        self.is_current = true;
    }
}
