//! A move that a power cut ended, undone: the segment it took is free again.
//!
//! The cleaner may take one of the segments that are kept for a checkpoint, as long as nothing but copies goes into it
//! and their originals stay until all have moved. If the power goes in between, the copies are not needed.

use alloc::vec::Vec;

use crate::error::Result;
use crate::identity::Void;
use crate::layout::TRIM_BLOCK;
use crate::replaying::{Begun, Replayed};
use crate::server::Server;
use crate::shape::{Addr, Place};
use crate::survey::Held;
use crate::tag::Entry;
use crate::trust::{Sure, Trust};

impl Server<'_> {
    /// [`Server::undo_move`]. If there is no room afterwards to write the newest page once more, that page counts as
    /// sure; if that does not suffice, so do those that the checkpoint names. A disk that can be written goes before a
    /// page that may fade.
    pub(crate) fn undo_or_trust(&mut self, replayed: &Replayed, mut trust: Trust) -> Result<bool> {
        let mut undone = self.undo_move(replayed, trust)?;
        while !undone && !self.has_room_for_unsure() {
            trust = trust.with(if trust.is_newest_sure() { Sure::Named } else { Sure::Newest });
            let sequence = self.log.flash.medium.seq();
            self.replay(None, trust)?;
            self.log.flash.medium.number_from(sequence, 0);
            undone = self.undo_move(replayed, trust)?;
        }
        Ok(undone)
    }

    /// True if a segment is left after the first checkpoint, which frees those of the one before.
    fn has_room_for_unsure(&self) -> bool {
        let free = self.log.segments.free() + self.log.recorded.record.segments.len();
        self.log.aftermath.unsure.is_empty() || free > self.wanted() as usize
    }

    /// Frees a segment after recovery if fewer are free than a checkpoint takes: one of those begun last that holds
    /// only copies of blocks readable elsewhere. True if so; an anchor has to say it before anything is written.
    fn undo_move(&mut self, replayed: &Replayed, trust: Trust) -> Result<bool> {
        let begun = &replayed.begun;
        if begun.is_empty() || self.log.segments.free() >= self.wanted() as usize || !self.log.shape.tagged {
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
            held.push(self.map.held(&mut self.log, begun.block)?);
        }
        let sequence = self.log.flash.medium.seq();
        let newest =
            self.log.aftermath.unsure.held().last().map(|held| (held.place.block, held.tag.sequence));
        let mut undone = None;
        for (begun, held) in candidates.into_iter().zip(&held) {
            // The newest page lies in the segment, as a rule: before it all is sure.
            self.replay(Some(begun.block), trust.with(Sure::Newest))?;
            if self.has_originals(held, begun)? {
                undone = Some(begun.block);
                break;
            }
        }
        let is_newest = undone.is_some() && undone == newest.map(|(block, _)| block);
        self.replay(undone, if is_newest { trust.with(Sure::Newest) } else { trust })?;
        // The copies are older than the next pages.
        self.log.flash.medium.number_from(sequence, 0);
        if let Some(block) = undone {
            // A start that is cut, too, tells by the number whether the newest page lay there, or is another one.
            let other =
                newest.filter(|_| !is_newest && !trust.is_newest_sure()).map(|(_, sequence)| sequence);
            self.log.recorded.identity.void =
                Void { block, sequence: other.unwrap_or(self.log.flash.medium.seq()) };
        }
        Ok(undone.is_some())
    }

    /// True if each block that a segment held can be read elsewhere as it was when a user wrote it last.
    fn has_originals(&mut self, held: &[(u32, Addr)], last: &Begun) -> Result<bool> {
        let first = self.log.shape.addr(Place { block: last.block, index: 0 }, 0).0;
        for (lba, addr) in held.iter().copied() {
            let entry = last.contents.entries.get((addr.0 - first) as usize);
            let is_kept = |held: &Held| entry.is_some_and(|entry| held.tag.entries.contains(entry));
            if self.log.aftermath.unsure.held().iter().any(is_kept) {
                continue;
            }
            let addr = self.map.addr(&mut self.log, lba)?;
            // What the checkpoint found in it has no original.
            if self.log.shape.segment_of(addr) == Some(last.block) {
                return Ok(false);
            }
            if entry.is_none_or(|entry| entry.lba != lba) || self.log.entry_at(addr)?.as_ref() != entry {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use pumice_media::{BlockDevice, ChipSpec, Lba, SimChip};

    use super::*;
    use crate::PolicyNames;
    use crate::open::{CreateOptions, create};
    use crate::testing::{chip_of, served};

    /// A head that the checkpoint knows was written to the end since, with blocks that were written again: nothing lives in
    /// it but what the checkpoint found there.
    #[test]
    fn what_the_checkpoint_found_in_a_segment_has_no_original() {
        let mut chip = SimChip::new(&ChipSpec::parse_geometry("512+64:16:48").unwrap());
        let policies = PolicyNames { placement: "m1".parse().unwrap(), ..PolicyNames::default() };
        let options = CreateOptions { block_bytes: 512, policies, ..CreateOptions::default() };
        create(&mut chip, &options, &mut |_, _| {}).unwrap();
        let mut disk = served(chip);
        (0..4).for_each(|lba| disk.write(Lba(lba), &[1; 512]).unwrap());
        disk.checkpoint().unwrap();
        (0..20).for_each(|_| disk.write(Lba(99), &[2; 512]).unwrap());
        disk.flush().unwrap();
        let mut disk = served(chip_of(&disk));
        let trust = Trust::SERVE.with(Sure::Newest);
        let replayed = disk.replay(None, trust).unwrap();
        let addr = disk.map.addr(&mut disk.log, 0).unwrap();
        let block = disk.log.shape.segment_of(addr).unwrap();
        let begun = replayed.begun.iter().find(|begun| begun.block == block).unwrap();
        let held = disk.map.held(&mut disk.log, block).unwrap();
        assert_eq!(held.len(), 4);
        disk.replay(Some(block), trust).unwrap();
        assert!(!disk.has_originals(&held, begun).unwrap());
    }
}
