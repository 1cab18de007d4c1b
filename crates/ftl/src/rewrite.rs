//! The first change after a start, and the newest page after a power cut, which is written once more with it.

use alloc::vec::Vec;

use crate::error::{FtlError, Result};
use crate::layout::count32;
use crate::segment::State;
use crate::server::Server;
use crate::status::Mode;
use crate::survey::Held;
use crate::unsure::Unsure;

/// Segments that are looked at for one to clean.
const VICTIMS: usize = 8;

impl Server<'_> {
    /// Refuses impossible writes, and has the record say that more follows.
    pub(crate) fn admit_write(&mut self) -> Result<()> {
        match self.log.status.mode() {
            Mode::Dirty => Ok(()),
            Mode::Clean => {
                self.write_record(false)?;
                self.log.status.begin_changes();
                Ok(())
            }
            Mode::Replayed { undone } => self.checkpoint_replayed(undone, false),
            Mode::ReadOnly => Err(FtlError::ReadOnly),
            Mode::WornOut => Err(FtlError::WornOut),
            Mode::Missing(missing) => Err(FtlError::Missing(missing)),
            Mode::Failed(error) => Err(error.into()),
        }
    }

    /// Makes the checkpoint of the first change after a power cut; no other write goes before it.
    pub(crate) fn checkpoint_replayed(&mut self, undone: bool, clean: bool) -> Result<()> {
        self.log.status.begin_changes();
        if self.log.shape.is_paired() {
            // No page has this number: a start looks at the next one's record of the page before, which is none.
            self.log.flash.medium.next_seq();
        }
        if undone {
            self.write_void()?;
        }
        let done = self.checkpoint_unsure(clean);
        if done == Err(FtlError::WornOut) {
            self.log.status.wear_out();
        }
        done
    }

    /// A checkpoint, and the blocks of the newest page behind it.
    pub(crate) fn checkpoint_unsure(&mut self, clean: bool) -> Result<()> {
        if !self.log.aftermath.unsure.is_empty() {
            self.write_checkpoint(false)?;
            self.write_unsure()?;
            return if clean { self.write_checkpoint(true) } else { Ok(()) };
        }
        self.write_checkpoint(clean)
    }

    /// Writes the kept pages once more, behind a checkpoint that names them, before users write anything. Without room
    /// for that, or if erases or programs fail, the pages are trusted as they are.
    fn write_unsure(&mut self) -> Result<()> {
        let has_room = self.room_to_rewrite();
        let mut is_done = self.log.unless_full(has_room)? == Some(true);
        if is_done {
            let rewritten = self.rewrite_unsure();
            is_done = self.log.unless_full(rewritten)?.is_some();
        }
        if is_done {
            // It proves that the last copy is complete. As the newest page that would count for no more than what it
            // was made from, though a flush has promised it.
            let has_room = self.has_room_for_page();
            let proved = if has_room { self.write_no_trims() } else { Err(FtlError::WornOut) };
            is_done = self.log.unless_full(proved)?.is_some();
        } else {
            self.trust_unsure()?;
        }
        let blocks = self.log.aftermath.unsure.blocks();
        self.log.aftermath.unsure = Unsure::default();
        for block in blocks {
            self.log.leave_alone_no_more(block);
        }
        if !is_done && self.log.policies.wear.free() >= self.wanted() {
            // The checkpoint should not name pages that are trusted, or that have a copy.
            self.write_checkpoint(false)?;
        }
        Ok(())
    }

    /// True if a segment is free beyond those of a checkpoint, or a cleaned one leaves room behind its copies. That one
    /// holds no originals of kept pages: a move can be undone as long as all copies have originals.
    fn room_to_rewrite(&mut self) -> Result<bool> {
        let is_enough = self.log.policies.wear.free() > self.for_checkpoint();
        if is_enough || self.log.shape.is_batched() {
            return Ok(is_enough);
        }
        let mut originals = Vec::new();
        for entry in self
            .log
            .aftermath
            .unsure
            .held()
            .iter()
            .flat_map(|held| held.tag.entries.clone())
            .collect::<Vec<_>>()
        {
            if entry.lba < self.map.table.len() {
                let addr = self.map.addr(&mut self.log, entry.lba)?;
                originals.extend(self.log.shape.segment_of(addr));
            }
        }
        let pages =
            self.log.shape.data_pages().saturating_sub(count32(self.log.aftermath.unsure.held().len()));
        let fits = |block: &u32| {
            self.log.segments.get(*block).valid.div_ceil(self.log.shape.slots) <= pages
                && !originals.contains(block)
        };
        let Some(victim) = self.log.segments.emptiest(VICTIMS).into_iter().find(fits) else {
            return Ok(false);
        };
        if self.log.policies.selector.remove(victim) {
            self.clean_victim(victim)?;
            self.commit()?;
        }
        Ok(self.log.policies.wear.free() >= self.wanted())
    }

    fn rewrite_unsure(&mut self) -> Result<()> {
        for Held { tag, page, .. } in self.log.aftermath.unsure.held().to_vec() {
            for (slot, entry) in (0..).zip(tag.entries) {
                let bytes = page.payload.get(self.log.shape.slot_range(slot));
                let Some(bytes) = bytes.filter(|_| entry.lba < self.map.table.len()) else { continue };
                let at = self.head_for_cleaner(tag.class)?;
                self.append(at, entry, bytes)?;
            }
        }
        self.commit()
    }

    /// Points blocks at those pages, and frees the segments of the copies that they replace. A block that can be read
    /// elsewhere as the same write left it stays there: the cleaner was copying it.
    fn trust_unsure(&mut self) -> Result<()> {
        for Held { place, tag, .. } in self.log.aftermath.unsure.held().to_vec() {
            let entries = (0..).zip(tag.entries).filter(|(_, entry)| entry.lba < self.map.table.len());
            for (slot, entry) in entries.collect::<Vec<_>>() {
                if self.map.is_stored(&mut self.log, entry)? {
                    continue;
                }
                let old = self.map.addr(&mut self.log, entry.lba)?;
                let addr = self.log.shape.addr(place, slot);
                self.map.point(&mut self.log, entry.lba, addr)?;
                let Some(block) = self.log.shape.segment_of(old) else { continue };
                let segment = self.log.segments.get(block);
                if segment.state == State::Sealed && segment.valid == 0 {
                    self.log.policies.selector.remove(block);
                    self.log.policies.wear.unsealed(block);
                    self.log.free(block);
                }
            }
        }
        Ok(())
    }
}
