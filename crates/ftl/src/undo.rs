//! A move that a power cut ended, undone: the segment it took is free again.
//!
//! The cleaner may take one of the segments that are kept for a checkpoint, as long as nothing but copies goes into it
//! and their originals stay until all have moved. If the power goes in between, the copies are not needed.

use alloc::vec::Vec;

use crate::error::Result;
use crate::flash::Found;
use crate::identity::Void;
use crate::layout::TRIM_BLOCK;
use crate::recover::{Begun, Replayed};
use crate::server::Server;
use crate::shape::{Addr, Place};
use crate::tag::Entry;

impl Server<'_> {
    /// After recovery: if fewer segments are free than a checkpoint takes, frees one of those begun last in which
    /// everything is a copy of what can be read elsewhere. True if so; an anchor has to say it before anything is written.
    pub(crate) fn undo_move(&mut self, replayed: &Replayed, doubting: bool) -> Result<bool> {
        let begun = &replayed.begun;
        if begun.is_empty() || self.segments.free() >= self.wanted() as usize || !self.shape.tagged {
            return Ok(false);
        }
        let is_trim = |entry: &Entry| entry.lba == TRIM_BLOCK;
        // Without the tag that names a lost page an older copy would count.
        let is_free_to_go = |begun: &&Begun| {
            !begun.contents.entries.iter().any(is_trim) && !replayed.tellers.contains(&begun.block)
        };
        let candidates: Vec<&Begun> = begun.iter().filter(is_free_to_go).collect();
        let mut held = Vec::new();
        for begun in &candidates {
            held.push(self.held(begun.block)?);
        }
        let sequence = self.sequence;
        let mut is_undone = false;
        for (begun, held) in candidates.into_iter().zip(&held) {
            self.replay(Some(begun.block), doubting)?;
            is_undone = self.has_originals(held, begun)?;
            // The copies are older than what is written next.
            self.sequence = self.sequence.max(sequence);
            if is_undone {
                self.identity.void = Void { block: begun.block, sequence: self.sequence };
                break;
            }
        }
        if !is_undone {
            self.replay(None, doubting)?;
            self.sequence = self.sequence.max(sequence);
        }
        Ok(is_undone)
    }

    /// The blocks that live in a segment.
    pub(crate) fn held(&mut self, block: u32) -> Result<Vec<(u32, Addr)>> {
        let (mut held, shape) = (Vec::new(), self.shape);
        self.each_stored(|lba, addr| {
            if shape.place(addr).0.block == block {
                held.push((lba, addr));
            }
        })?;
        Ok(held)
    }

    /// True if each block that a segment held can be read elsewhere as it was when a user wrote it last.
    fn has_originals(&mut self, held: &[(u32, Addr)], last: &Begun) -> Result<bool> {
        let first = self.shape.addr(Place { block: last.block, index: 0 }, 0).0;
        for (lba, addr) in held.iter().copied() {
            let entry = last.contents.entries.get((addr.0 - first) as usize);
            let addr = self.addr(lba)?;
            let (place, slot) = self.shape.place(addr);
            // A page that cannot be read has no entries.
            if place.block >= self.shape.blocks || entry.is_none_or(|entry| entry.lba != lba) {
                return Ok(false);
            }
            let Found::Page(tag, _) = self.flash.read(place)? else { return Ok(false) };
            if tag.entries.get(slot as usize) != entry {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
