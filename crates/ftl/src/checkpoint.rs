//! Checkpoints: the tables and the heads, written to free segments, so that a start need not read all headers.

use alloc::vec;
use alloc::vec::Vec;

use pumice_media::NandError;
use zerocopy::IntoBytes;

use crate::error::{FtlError, Result};
use crate::flash::Flash;
use crate::head::Head;
use crate::layout::{CHECKPOINT_MAGIC, Kind, NO_PAGE, RawHead, RawPart, RawState};
use crate::line::lines_of;
use crate::record::Record;
use crate::segment::State;
use crate::server::Server;
use crate::shape::{Place, Shape};
use crate::stream::part_bytes;
use crate::tag::Tag;
use crate::trims::Trims;

/// The reason that a checkpoint was not written through.
enum Stop {
    /// This segment failed; the checkpoint has to go elsewhere.
    Segment(u32),
    /// The chip failed.
    Chip(NandError),
}

/// Fills pages one after the other.
struct Writer<'a, 'c> {
    flash: &'a mut Flash<'c>,
    shape: Shape,
    blocks: &'a [u32],
    number: u64,
    /// Sequence number of its pages.
    sequence: u64,
    page: Vec<u8>,
    /// Exclusive or of all pages so far.
    parity: Vec<u8>,
    part: u32,
}

/// Records that fit into their segments at the least after a checkpoint: that of the first write after a start, which is
/// written twice, and that of the next checkpoint.
const ROOM_LEAST: u32 = 3;

impl Writer<'_, '_> {
    fn put(&mut self, mut bytes: &[u8]) -> core::result::Result<(), Stop> {
        while !bytes.is_empty() {
            let room = part_bytes(&self.shape).saturating_sub(self.page.len());
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.page.extend_from_slice(now);
            bytes = later;
            if self.page.len() >= part_bytes(&self.shape) {
                self.program()?;
            }
        }
        Ok(())
    }

    fn program(&mut self) -> core::result::Result<(), Stop> {
        let raw = RawPart { checkpoint: self.number.into(), part: self.part.into(), reserved: [0; 4] };
        let mut payload = Vec::with_capacity(self.shape.payload());
        payload.extend_from_slice(raw.as_bytes());
        payload.append(&mut self.page);
        payload.resize(self.shape.payload(), 0);
        self.parity.iter_mut().zip(&payload).for_each(|(sum, byte)| *sum ^= byte);
        self.put_page(&payload)
    }

    fn put_page(&mut self, payload: &[u8]) -> core::result::Result<(), Stop> {
        let at = (self.part / self.shape.pages) as usize;
        debug_assert!(
            at < self.blocks.len(),
            "part {} of a table in {} blocks",
            self.part,
            self.blocks.len()
        );
        let block = self.blocks.get(at).copied().unwrap_or(u32::MAX);
        let place = Place { block, index: self.part % self.shape.pages };
        let tag = Tag::plain(Kind::Checkpoint, self.sequence);
        self.part += 1;
        let done = self.flash.program(place, &tag, payload);
        stop_at(block, done)?;
        if place.index + 1 == self.shape.pages { self.end_segment(block) } else { Ok(()) }
    }

    /// Programs the parity of a segment behind its last page.
    fn end_segment(&mut self, block: u32) -> core::result::Result<(), Stop> {
        let done = self.flash.medium.program_parity(block);
        stop_at(block, done)
    }

    /// Programs the rest and the parity; returns the number of pages.
    fn finish(mut self) -> core::result::Result<u32, Stop> {
        if !self.page.is_empty() {
            self.program()?;
        }
        let parity = core::mem::take(&mut self.parity);
        self.put_page(&parity)?;
        let (last, behind) = ((self.part - 1) / self.shape.pages, self.part % self.shape.pages);
        match self.blocks.get(last as usize) {
            Some(block) if behind > 0 => self.end_segment(*block)?,
            // It filled its segment.
            _ => {}
        }
        Ok(self.part)
    }
}

/// The end of a checkpoint by a failed program.
fn stop_at(block: u32, done: core::result::Result<(), NandError>) -> core::result::Result<(), Stop> {
    done.map_err(|error| match error {
        NandError::ProgramFailed(_) => Stop::Segment(block),
        error => Stop::Chip(error),
    })
}

impl Server<'_> {
    /// Writes everything down, so that a start needs nothing older; trims need no pages of their own then.
    pub(crate) fn checkpoint(&mut self) -> Result<()> {
        self.write_checkpoint(false)
    }

    /// The same; with `clean`, nothing follows until the next record.
    pub(crate) fn write_checkpoint(&mut self, clean: bool) -> Result<()> {
        if self.log.heads.trims.is_empty() {
            self.commit()?;
        } else {
            self.commit_blocks()?;
            self.log.bury()?;
        }
        if clean {
            self.end_heads()?;
        }
        self.move_full_roots()?;
        self.map.write_leaves_to_fit(&mut self.log)?;
        if clean && self.log.shape.has_parity() {
            self.map.end_map(&mut self.log)?;
        }
        let old = self.log.recorded.record.segments.clone();
        let (segments, pages) = self.write_parts(&old)?;
        self.log.recorded.opened.checkpointed();
        let number = self.log.recorded.record.number + 1;
        self.log.recorded.record = Record { number, clean, pages, segments, ..Record::default() };
        self.write_record(clean)?;
        let segments = &self.log.segments;
        self.log.recorded.listed.checkpointed(|block| segments.get(block).state == State::Open);
        self.log.heads.trims = Trims::default();
        self.log.patrol.save();
        for block in old.into_iter().chain(self.log.waiting.checkpointed()) {
            self.log.hand_back(block);
        }
        for block in 0..self.log.shape.blocks {
            self.log.segments.change(block, |segment| segment.trims = false);
        }
        self.map.release_map(&mut self.log)?;
        // Before they are full, just after a checkpoint, when the old ones are free.
        if self.log.recorded.roots.is_nearly_full(ROOM_LEAST) {
            self.turn_over_roots()?;
        }
        if clean && !self.log.recorded.record.clean {
            // The cleaner had to make room for the record.
            return self.write_checkpoint(true);
        }
        Ok(())
    }

    /// Erased segments for a checkpoint made now.
    fn take_parts(&mut self) -> Result<Vec<u32>> {
        debug_assert!(self.is_covered(), "no room for a checkpoint");
        self.make_room(self.wanted())?;
        let mut blocks = Vec::new();
        // Erases change the lines of the table, and so its size.
        loop {
            let wanted = self.parts_now();
            if blocks.len() >= wanted as usize {
                return Ok(blocks);
            }
            while blocks.len() < wanted as usize {
                if let Some(block) = self.log.take_free(&mut self.map, 0)? {
                    self.log.segments.change(block, |segment| segment.state = State::Checkpoint);
                    blocks.push(block);
                    continue;
                }
                // Erases failed.
                self.log.give_back(core::mem::take(&mut blocks));
                if !self.make_room(wanted)? {
                    return Err(FtlError::WornOut);
                }
            }
        }
    }

    /// Writes the pages of a checkpoint; returns its segments and the number of pages. It lists those of the `old` one
    /// as free.
    fn write_parts(&mut self, old: &[u32]) -> Result<(Vec<u32>, u32)> {
        loop {
            let mut blocks = self.take_parts()?;
            self.log.set_states(old, State::Free);
            match self.write_stream(&blocks) {
                Ok(pages) => return Ok((blocks, pages)),
                Err(Stop::Chip(error)) => {
                    self.log.set_states(old, State::Checkpoint);
                    return self.log.status.fail(error);
                }
                Err(Stop::Segment(block)) => {
                    // It still counts.
                    self.log.set_states(old, State::Checkpoint);
                    blocks.retain(|other| *other != block);
                    self.log.segments.change(block, |segment| segment.state = State::Bad);
                    self.log.flash.medium.mark_bad(block)?;
                    self.log.check_wear();
                    self.log.give_back(blocks);
                }
            }
        }
    }

    fn write_stream(&mut self, blocks: &[u32]) -> core::result::Result<u32, Stop> {
        self.log.recorded.listed.begin_checkpoint();
        let open = self.log.heads.iter().count();
        self.log.patrol.count_bits(self.log.flash.medium.corrected_bits());
        self.log.patrol.count_rebuilt(self.log.flash.medium.rebuilt_pages());
        let rounds = self.log.patrol.rounds();
        let state = RawState {
            magic: CHECKPOINT_MAGIC.into(),
            clock: self.log.clock.into(),
            sequence: self.log.flash.medium.seq().into(),
            user_writes: self.log.status.counters.user_writes.into(),
            copied: self.log.status.counters.copied.into(),
            erases: self.log.status.counters.erases.into(),
            trimmed: self.log.status.counters.trimmed.into(),
            heads: u32::try_from(open).unwrap_or(u32::MAX).into(),
            logical_blocks: self.map.table.len().into(),
            segments: self.log.shape.blocks.into(),
            failures: self.log.segments.failures().into(),
            patrol_began: rounds.began.into(),
            patrol_page: rounds.page.into(),
            patrol_passes: rounds.passes.into(),
            moved: rounds.moved_blocks.into(),
            rebuilt: rounds.rebuilt_pages.into(),
            corrected: rounds.corrected_bits.into(),
            stored: self.map.table.live().into(),
            changed: self.map.table.changed().into(),
            unsure: self.log.aftermath.unsure.encode(&self.log.shape),
        };
        let sequence = self.log.flash.medium.seq();
        let mut writer = Writer {
            flash: &mut self.log.flash,
            shape: self.log.shape,
            blocks,
            number: self.log.recorded.record.number + 1,
            sequence,
            page: Vec::with_capacity(self.log.shape.payload()),
            parity: vec![0; self.log.shape.payload()],
            part: 0,
        };
        writer.put(state.as_bytes())?;
        for (slot, head) in (0..).zip(self.log.heads.slots()) {
            let Some(head) = head else { continue };
            writer.put(&encode_head(&self.log.shape, slot, head))?;
        }
        for page in self.map.table.pages() {
            writer.put(&page.unwrap_or(NO_PAGE).to_le_bytes())?;
        }
        for changes in self.map.table.encode_changes() {
            writer.put(&changes)?;
        }
        for line in lines_of(&self.log.segments, self.log.clock) {
            writer.put(&line)?;
        }
        writer.finish()
    }

    /// Leaves the segments of records for others, as long as two are free, for full roots may need them.
    pub(crate) fn turn_over_roots(&mut self) -> Result<()> {
        if self.log.policies.wear.free() >= 2 {
            self.log.recorded.roots.turn_over();
            self.write_record(self.log.recorded.record.clean)?;
        }
        Ok(())
    }

    /// Moves the record of the last checkpoint before a new one takes segments, if its own record has no place, as
    /// after some cuts. The move gives back as many segments as it takes.
    fn move_full_roots(&mut self) -> Result<()> {
        self.log.recorded.roots.find_ends(&mut self.log.flash.medium)?;
        if self.log.recorded.record.segments.is_empty() {
            return Ok(());
        }
        // If the record did not hold after the segments were taken, none might be left for it.
        if self.log.recorded.roots.is_doubted() && self.log.policies.wear.free() <= self.wanted() {
            self.write_record(false)?;
        }
        if self.log.recorded.roots.is_full() {
            self.make_room(1)?;
            self.write_record(false)?;
        }
        Ok(())
    }
}

fn encode_head(shape: &Shape, slot: u8, head: &Head) -> Vec<u8> {
    let contents = &head.contents;
    let raw = RawHead {
        slot,
        class: contents.class,
        reserved: [0; 2],
        block: head.block.into(),
        pages: head.index.into(),
        covered: head.covered.into(),
        erases: contents.erases.into(),
        opened: contents.opened.into(),
        first: contents.first().into(),
    };
    let mut bytes = raw.as_bytes().to_vec();
    contents.put_pages(shape, &mut bytes);
    bytes
}
