//! The log of the disk: the chip and its segments, the heads, and what a start finds of them; it is read here.

use alloc::vec::Vec;

use pumice_cleaning::Params;
use pumice_flashlog::{Patrol, READS_MOST, Roots, Rounds};
use pumice_media::AnyChip;

use crate::aftermath::Aftermath;
use crate::error::{FtlError, Result};
use crate::flash::Flash;
use crate::head::{Head, Heads};
use crate::identity::Identity;
use crate::layout::Kind;
use crate::moving::Cleaner;
use crate::policy::Policies;
use crate::recorded::Recorded;
use crate::segment::Segment;
use crate::segments::Segments;
use crate::shape::{Addr, Shape};
use crate::status::Status;
use crate::tag::Entry;
use crate::waiting::Waiting;

/// The log.
pub(crate) struct Log<'c> {
    pub(crate) flash: Flash<'c>,
    pub(crate) shape: Shape,
    pub(crate) segments: Segments,
    pub(crate) policies: Policies,
    pub(crate) waiting: Waiting,
    pub(crate) heads: Heads,
    /// The write clock.
    pub(crate) clock: u32,
    pub(crate) recorded: Recorded,
    pub(crate) status: Status,
    pub(crate) aftermath: Aftermath,
    pub(crate) patrol: Patrol,
    pub(crate) cleaner: Cleaner,
}

impl<'c> Log<'c> {
    /// A log with nothing in it.
    pub(crate) fn new(flash: Flash<'c>, shape: Shape, identity: Identity, roots: Roots) -> Log<'c> {
        let seed = identity.uuid.iter().fold(0, |seed: u64, byte| seed.rotate_left(8) ^ u64::from(*byte));
        let params = Params::new(shape.blocks, shape.capacity(), identity.logical_blocks)
            .with(|it| it.endurance = identity.endurance);
        Log {
            flash,
            shape,
            segments: Segments::new(&shape),
            policies: Policies::new(identity.policies, &params, seed),
            waiting: Waiting::default(),
            heads: Heads::new(),
            clock: 0,
            recorded: Recorded::new(identity, roots),
            status: Status::new(),
            aftermath: Aftermath::default(),
            patrol: Patrol::resume(Rounds::default()),
            cleaner: Cleaner::default(),
        }
    }

    /// Reads the block at `addr`, which must be `lba`, into `out`.
    pub(crate) fn fetch(&mut self, lba: u32, addr: Addr, out: &mut [u8]) -> Result<()> {
        let shape = self.shape;
        if addr == Addr::LOST {
            return Err(FtlError::Unreadable(lba));
        }
        if let Some(bytes) = self.heads.waiting(&shape, addr) {
            out.copy_from_slice(bytes);
            return Ok(());
        }
        let (place, slot) = shape.place(addr);
        let found = self.flash.read_kept(place)?;
        let (tag, page) = found.of_kind(Kind::Data).ok_or(FtlError::Unreadable(lba))?;
        let stored = tag.entries.get(slot as usize).map(|entry| entry.lba);
        if shape.tagged && stored != Some(lba) {
            return Err(FtlError::Unreadable(lba));
        }
        let bytes = page.payload.get(shape.slot_range(slot)).ok_or(FtlError::Unreadable(lba))?;
        out.copy_from_slice(bytes);
        Ok(())
    }

    /// Reads a block for a copy: a kept one goes in place of an older one.
    pub(crate) fn fetch_newest(&mut self, entry: &mut Entry, addr: Addr, out: &mut [u8]) -> Result<()> {
        let Some((newest, held)) = self.aftermath.unsure.find(entry.lba) else {
            return self.fetch(entry.lba, addr, out);
        };
        if let Some(bytes) = held.block(&self.shape, entry.lba) {
            out.copy_from_slice(bytes);
        }
        *entry = newest;
        Ok(())
    }

    /// The bytes of a block that one of them holds.
    pub(crate) fn unsure_block(&self, lba: u32) -> Option<&[u8]> {
        self.aftermath.unsure.find(lba).and_then(|(_, held)| held.block(&self.shape, lba))
    }

    /// The content of a slot, by the tag of its page; `None` if that cannot be read.
    pub(crate) fn entry_at(&mut self, addr: Addr) -> Result<Option<Entry>> {
        let (place, slot) = self.shape.place(addr);
        if place.block >= self.shape.blocks {
            return Ok(None);
        }
        let found = self.flash.read_twice(place)?.of_kind(Kind::Data);
        Ok(found.and_then(|(tag, _)| tag.entries.get(slot as usize).copied()))
    }

    /// The segments that were written since the checkpoint, or may have been: heads, and those that its record names.
    pub(crate) fn may_be_written(&self, heads: &[Head]) -> Vec<u32> {
        let Some(opened) = &self.recorded.record.opened else {
            return (0..self.shape.blocks).collect();
        };
        let mut blocks: Vec<u32> =
            heads.iter().map(|head| head.block).chain(opened.iter().copied()).collect();
        blocks.sort_unstable();
        blocks.dedup();
        blocks.retain(|block| *block < self.shape.blocks);
        blocks
    }

    /// Marks the segments that reads found near the limit of ECC, and those that were read too often.
    pub(crate) fn note_weak(&mut self) {
        while let Some(block) = self.flash.medium.take_tired() {
            self.note(block, |segment| segment.weak = true);
        }
        for block in self.flash.medium.take_samples() {
            self.note(block, |segment| {
                segment.reads = READS_MOST.min(segment.reads + 1);
                segment.weak |= segment.reads == READS_MOST;
            });
        }
    }

    /// Changes the line of a segment with data, for the next checkpoint.
    fn note(&mut self, block: u32, change: impl FnOnce(&mut Segment)) {
        if self.segments.get(block).state.holds_data() {
            self.segments.change(block, change);
            self.patrol.note();
        }
    }

    /// The patrol's progress so far.
    pub(crate) fn rounds(&self) -> Rounds {
        let mut patrol = self.patrol.clone();
        patrol.count_bits(self.flash.medium.corrected_bits());
        patrol.count_rebuilt(self.flash.medium.rebuilt_pages());
        patrol.rounds()
    }

    /// Blocks of the disk.
    pub(crate) fn logical_blocks(&self) -> u32 {
        self.recorded.identity.logical_blocks
    }

    /// The chip.
    pub(crate) fn chip(&self) -> &AnyChip<'c> {
        self.flash.medium.chip()
    }
}
