//! Patrol: all stored blocks are read within a set time, and those near their end move before they are lost.
//!
//! A pass goes through the chip from its first segment to its last, as fast as the clock wants it; the roots come
//! first. Its place stands in each checkpoint. It stops while there is something to move: the segments behind it need
//! nothing any more.

use alloc::vec::Vec;

use pumice_flashlog::Fault;

use crate::error::Result;
use crate::log::Log;
use crate::segment::State;
use crate::server::Server;
use crate::shape::{ANCHOR_BLOCKS, Addr, Place};
use crate::status::Mode;

/// Log pages that one call reads at the most.
const PAGES: u32 = 32;
/// Segments with nothing in them that one call passes at the most.
const SEGMENTS: u32 = 256;

/// The result of a scrub.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Scrubbed {
    /// Log pages that were read.
    pub pages: u64,
    /// Log pages with their spare area read alone, by a quick scrub.
    pub spare_areas: u64,
    /// Wrong bits that ECC put right, counted by the worst codeword of each read.
    pub corrected_bits: u64,
    /// Reads of log pages that ECC gave up on and that parity brought back.
    pub rebuilt_pages: u64,
    /// Segments near the limit of ECC, read too often, or without fitting parity: emptied, unless `read_only`.
    pub weak_segments: u32,
    /// Pages of the checkpoint, or of its records or anchors, were near the limit: written anew likewise.
    pub weak_roots: bool,
    /// Log pages of data that could not be read when the scrub came by. Those torn by a power cut are among them, and hold
    /// nothing.
    pub unreadable: Vec<u32>,
    /// Logical blocks that are lost: reading them is an error.
    pub lost: Vec<u32>,
    /// The disk can only be read, at the end of the scrub at the latest.
    pub read_only: bool,
}

/// The findings of a pass so far.
#[derive(Default)]
struct Pass {
    found: Scrubbed,
    unreadable: Vec<Unreadable>,
}

/// A page of data that cannot be read.
#[derive(Clone, Copy)]
struct Unreadable {
    page: u32,
    /// Erases of its segment then: the same pass may erase it later, and write to it.
    erases: u32,
}

impl Server<'_> {
    /// The piece of [`crate::Ftl::maintain`].
    pub(crate) fn maintain(&mut self, now: i64) -> Result<bool> {
        self.log.note_weak();
        if !self.log.status.may_write() {
            return Ok(false);
        }
        if self.log.segments.weak() > 0 {
            self.mend_one()?;
            return Ok(true);
        }
        if self.clean_ahead()? {
            return Ok(true);
        }
        let pages = self.log.all_pages();
        if !self.log.patrol.is_due(now, pages) {
            return Ok(false);
        }
        self.patrol_pages(&mut Pass::default())?;
        // In the last free segment a program could fail: the next change saves it.
        let has_spare =
            self.log.status.mode() != Mode::Clean || self.log.policies.wear.free() > self.wanted();
        if has_spare && self.log.patrol.is_save_due(pages) {
            self.save_patrol()?;
        }
        Ok(true)
    }

    /// The pass of [`crate::Ftl::scrub`].
    pub(crate) fn scrub(&mut self, now: i64, progress: &mut dyn FnMut(u32, u32)) -> Result<Scrubbed> {
        let before = self.log.rounds();
        let mut pass = Pass::default();
        self.log.patrol.begin(now);
        let all = self.log.all_pages();
        self.log.note_weak();
        let mut is_saved = false;
        loop {
            // The chip's life may end meanwhile.
            if self.log.segments.weak() > 0 && self.log.status.may_write() {
                self.mend_one()?;
            } else if self.log.patrol.rounds().page < all {
                self.patrol_pages(&mut pass)?;
            } else if !is_saved && self.log.status.may_write() {
                // If this is the first change after a power cut, the segment of the newest page is sealed now.
                self.save_patrol()?;
                is_saved = true;
            } else {
                break;
            }
            progress(self.log.patrol.rounds().page, all);
        }
        let Pass { mut found, unreadable } = pass;
        found.read_only = !self.log.status.may_write();
        let after = self.log.rounds();
        found.corrected_bits = after.corrected_bits - before.corrected_bits;
        found.rebuilt_pages = (after.rebuilt_pages - before.rebuilt_pages).into();
        found.weak_segments = self.log.segments.weak() + (after.moved_blocks - before.moved_blocks);
        found.unreadable = unreadable.iter().map(|it| it.page).collect();
        found.unreadable.sort_unstable();
        found.lost = self.lost_in(&unreadable)?;
        Ok(found)
    }

    /// The blocks that the table points to in these pages, but for those in segments that were erased since.
    fn lost_in(&mut self, unreadable: &[Unreadable]) -> Result<Vec<u32>> {
        let shape = self.log.shape;
        let is_there =
            |it: &&Unreadable| self.log.segments.get(shape.medium.block_of(it.page)).erases == it.erases;
        let mut pages: Vec<u32> = unreadable.iter().filter(is_there).map(|it| it.page).collect();
        pages.sort_unstable();
        let mut lost = Vec::new();
        self.map.each_stored(&mut self.log, |lba, addr| {
            let is_in = |page: u32| pages.binary_search(&page).is_ok();
            if addr == Addr::LOST || is_in(shape.page(shape.place(addr).0)) {
                lost.push(lba);
            }
        })?;
        Ok(lost)
    }

    /// Empties a segment that is weak.
    pub(crate) fn mend_one(&mut self) -> Result<()> {
        self.admit_write()?;
        self.head_for_user(0)?;
        self.clean()?;
        self.after_change()
    }

    /// Makes a checkpoint for the patrol's place.
    fn save_patrol(&mut self) -> Result<()> {
        if let Mode::Replayed { .. } = self.log.status.mode() {
            // The first change makes one.
            return self.admit_write();
        }
        self.write_checkpoint(self.log.status.mode() == Mode::Clean)
    }

    /// Reads the next pages of the pass.
    fn patrol_pages(&mut self, pass: &mut Pass) -> Result<()> {
        if self.log.patrol.rounds().page == 0 {
            if !self.log.recorded.roots.are_sound(&mut self.log.flash.medium)? {
                self.renew(pass, Server::move_roots)?;
            }
            self.log.patrol.move_to(self.log.shape.page(Place { block: ANCHOR_BLOCKS, index: 0 }));
        }
        let (mut read, mut passed) = (0, 0);
        while read < PAGES && passed < SEGMENTS && self.log.patrol.rounds().page < self.log.all_pages() {
            let page = self.log.patrol.rounds().page;
            let place = self.log.shape.place_of(page);
            let next = self.log.shape.page(Place { block: place.block + 1, index: 0 });
            if !self.log.is_patrolled(place.block) {
                self.log.patrol.move_to(next);
                passed += 1;
                continue;
            }
            self.patrol_page(place, pass)?;
            self.log.patrol.move_to(page + 1);
            read += 1;
            if page + 1 == next {
                self.end_segment(place.block, pass)?;
            }
        }
        if self.log.patrol.rounds().page >= self.log.all_pages() {
            self.log.patrol.end_pass();
        }
        Ok(())
    }

    /// Reads a page.
    fn patrol_page(&mut self, place: Place, pass: &mut Pass) -> Result<()> {
        let page = self.log.shape.page(place);
        match self.log.flash.medium.read_anew(page) {
            // Its segment was ended early or is being filled, or it was passed over.
            Err(Fault::Erased(_)) => return Ok(()),
            Ok(_) => {}
            Err(Fault::Chip(error)) => return Err(error.into()),
            Err(Fault::Unreadable(_) | Fault::Unproved(_)) => {
                let erases = self.log.segments.get(place.block).erases;
                pass.unreadable.push(Unreadable { page, erases });
            }
        }
        pass.found.pages += 1;
        Ok(())
    }

    /// Reads the parity of a segment after all its pages; a weak checkpoint goes elsewhere.
    fn end_segment(&mut self, block: u32, pass: &mut Pass) -> Result<()> {
        let state = self.log.segments.get(block).state;
        let is_whole = state == State::Open || self.log.flash.medium.has_parity(block)?;
        if !is_whole {
            self.log.flash.medium.call_tired(block);
        }
        if state != State::Checkpoint {
            self.log.note_weak();
            return Ok(());
        }
        let is_here = |it: &Unreadable| self.log.shape.medium.block_of(it.page) == block;
        let has_unreadable = pass.unreadable.iter().any(is_here);
        pass.unreadable.retain(|it| !is_here(it));
        match has_unreadable || self.log.flash.medium.has_tired() {
            true if self.map.log.holds(block) => self.renew(pass, |server| server.mend_map(block)),
            true => self.renew(pass, Server::move_roots),
            false => Ok(()),
        }
    }

    /// Has pages of the checkpoint, or its records or anchors, written anew.
    fn renew(&mut self, pass: &mut Pass, write: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        pass.found.weak_roots = true;
        if !self.log.status.may_write() {
            return Ok(());
        }
        self.admit_write()?;
        write(self)?;
        self.log.note_weak();
        Ok(())
    }

    /// Has the leaves of the translation table moved out of a segment that is weak.
    fn mend_map(&mut self, block: u32) -> Result<()> {
        self.map.log.call_weak(block);
        self.map.empty_weak_map(&mut self.log)?;
        self.checkpoint()
    }

    /// Writes the checkpoint, its records and the anchors to other segments.
    fn move_roots(&mut self) -> Result<()> {
        self.checkpoint()?;
        self.turn_over_roots()
    }
}

impl Log<'_> {
    /// Log pages of the chip.
    fn all_pages(&self) -> u32 {
        self.shape.blocks * self.shape.pages
    }

    /// True if a segment holds something. The roots' own are looked at apart.
    fn is_patrolled(&self, block: u32) -> bool {
        let state = self.segments.get(block).state;
        state.holds_data() || (state == State::Checkpoint && !self.recorded.roots.holds(block))
    }
}
