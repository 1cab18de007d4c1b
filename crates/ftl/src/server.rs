//! The server: its state in memory, and the paths that all others share.

use alloc::vec::Vec;

use pumice_cleaning::{Class, Old, Params};
use pumice_flashlog::{Patrol, Roots, Rounds};
use pumice_media::NandError;

use crate::counters::{Counters, Start};
use crate::error::{FtlError, Missing, Result};
use crate::flash::Flash;
use crate::gaps::Doubted;
use crate::head::{HEADS, Head};
use crate::identity::Identity;
use crate::layout::Kind;
use crate::listed::Listed;
use crate::map_log::MapLog;
use crate::moving::Cleaner;
use crate::opened::Opened;
use crate::policy::Policies;
use crate::record::Record;
use crate::segments::{Segments, State};
use crate::shape::{Addr, Shape};
use crate::stream::{map_segments, segments_at_most};
use crate::survey::Surveys;
use crate::table::Table;
use crate::tag::Entry;
use crate::trims::Trims;
use crate::unsure::Unsure;
use crate::waiting::Waiting;

/// The state of the server, and with it the calls it allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// Opened for reading.
    ReadOnly,
    /// Nothing was written since the checkpoint, and its record says so.
    Clean,
    /// Pages written since the checkpoint are known in memory; the first change makes a checkpoint.
    Replayed {
        /// A move was undone; an anchor has to say so before its segment is erased.
        undone: bool,
    },
    /// The record says that there is more than the checkpoint.
    Dirty,
    /// Too few good segments are left.
    WornOut,
    /// Pages are missing that may hold newer copies; a repair gives them up.
    Missing(Missing),
    /// The chip failed in a way that leaves its content in doubt.
    Failed(NandError),
}

/// The state of [`crate::Ftl`].
pub(crate) struct Server<'c> {
    pub(crate) flash: Flash<'c>,
    pub(crate) shape: Shape,
    pub(crate) identity: Identity,
    pub(crate) roots: Roots,
    /// The record of the newest checkpoint.
    pub(crate) record: Record,
    pub(crate) mode: Mode,
    pub(crate) start: Start,
    pub(crate) table: Table,
    /// The segments that hold it.
    pub(crate) map: MapLog,
    pub(crate) segments: Segments,
    pub(crate) policies: Policies,
    /// The index segment: the open heads.
    pub(crate) heads: Vec<Option<Head>>,
    /// Heads of segments in which a program failed; their live blocks have to move.
    pub(crate) failing: Vec<Head>,
    pub(crate) waiting: Waiting,
    pub(crate) trims: Trims,
    /// Segments opened since the last checkpoint.
    pub(crate) opened: Opened,
    /// Those with news, as summaries list them.
    pub(crate) listed: Listed,
    /// Sequence number of the next page.
    pub(crate) sequence: u64,
    /// The write clock.
    pub(crate) clock: u32,
    pub(crate) counters: Counters,
    pub(crate) patrol: Patrol,
    pub(crate) cleaner: Cleaner,
    /// Segments that this start has read.
    pub(crate) surveys: Surveys,
    /// The newest page, if it could not be read after a power cut, and its blocks.
    pub(crate) doubted: Option<Doubted>,
    /// The newest page, if it could be read after a power cut, and its blocks.
    pub(crate) unsure: Unsure,
    /// Pages that were complete, cannot be read, and are not named by others.
    pub(crate) missing: Option<Missing>,
}

impl<'c> Server<'c> {
    /// A server around its parts, with nothing stored.
    pub(crate) fn assemble(
        flash: Flash<'c>,
        shape: Shape,
        identity: Identity,
        roots: Roots,
        cache_bytes: usize,
    ) -> Server<'c> {
        let seed = identity.uuid.iter().fold(0, |seed: u64, byte| seed.rotate_left(8) ^ u64::from(*byte));
        let params = Params::new(shape.blocks, shape.capacity(), identity.logical_blocks)
            .with(|it| it.endurance = identity.endurance);
        let policies = Policies::new(identity.policies, &params, seed);
        let mut heads = Vec::new();
        heads.resize_with(HEADS, || None);
        Server {
            flash,
            shape,
            roots,
            record: Record::default(),
            mode: Mode::ReadOnly,
            start: Start::Checkpoint,
            table: Table::new(&shape, identity.logical_blocks, cache_bytes),
            map: MapLog::new(map_segments(&shape, identity.logical_blocks)),
            segments: Segments::new(shape.blocks),
            policies,
            heads,
            failing: Vec::new(),
            waiting: Waiting::default(),
            trims: Trims::default(),
            opened: Opened::default(),
            listed: Listed::default(),
            sequence: 1,
            clock: 0,
            counters: Counters::default(),
            patrol: Patrol::resume(Rounds::default()),
            cleaner: Cleaner::default(),
            surveys: Surveys::default(),
            doubted: None,
            unsure: Unsure::default(),
            missing: None,
            identity,
        }
    }

    /// Refuses impossible writes, and has the record say that more follows.
    pub(crate) fn admit_write(&mut self) -> Result<()> {
        match self.mode {
            Mode::Dirty => Ok(()),
            Mode::Clean => {
                self.write_record(false)?;
                self.mode = Mode::Dirty;
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
        self.mode = Mode::Dirty;
        if self.shape.is_paired() {
            // No page has this number: a start looks at the next one's record of the page before, which is none.
            self.next_sequence();
        }
        if undone {
            self.write_void()?;
        }
        let done = self.checkpoint_unsure(clean);
        if done == Err(FtlError::WornOut) {
            self.mode = Mode::WornOut;
        }
        done
    }

    /// A checkpoint, and the blocks of the newest page behind it.
    pub(crate) fn checkpoint_unsure(&mut self, clean: bool) -> Result<()> {
        if !self.unsure.is_empty() {
            self.write_checkpoint(false)?;
            self.write_unsure()?;
            return if clean { self.write_checkpoint(true) } else { Ok(()) };
        }
        self.write_checkpoint(clean)
    }

    /// Stops all writes: after this error the chip's content is in doubt.
    pub(crate) fn fail<T>(&mut self, error: NandError) -> Result<T> {
        self.mode = Mode::Failed(error);
        Err(error.into())
    }

    /// The result of a change. If it is the end of the chip's life, everything says so from now on, not this error alone.
    pub(crate) fn noted<T>(&mut self, done: Result<T>) -> Result<T> {
        if matches!(done, Err(FtlError::WornOut)) && self.mode == Mode::Dirty {
            self.mode = Mode::WornOut;
        }
        done
    }

    /// Segments that a checkpoint takes at the most.
    pub(crate) fn checkpoint_most(&self) -> u32 {
        segments_at_most(&self.shape, self.table.len())
    }

    /// The number of the next page.
    pub(crate) fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence - 1
    }

    /// The copy that a write or trim of a block replaces, as placement sees it.
    pub(crate) fn old(&mut self, lba: u32) -> Result<Option<Old>> {
        let addr = self.addr(lba)?;
        Ok(self.segment_of(addr).map(|block| {
            let segment = self.segments.get(block);
            Old { class: Class(segment.class), age: self.clock.wrapping_sub(segment.opened) }
        }))
    }

    /// A block has a new copy.
    pub(crate) fn point(&mut self, lba: u32, addr: Addr) -> Result<()> {
        let old = self.set_addr(lba, addr)?;
        self.leave_copy(old);
        Ok(())
    }

    /// The copy of a block is garbage from now on.
    pub(crate) fn forget_copy(&mut self, lba: u32) -> Result<()> {
        self.point(lba, Addr::NONE)
    }

    /// Makes the copy here garbage. In a page that is not programmed yet it never gets onto the chip: programmed behind
    /// a newer copy, it would have the higher sequence number.
    fn leave_copy(&mut self, old: Addr) {
        let (Some(block), now) = (self.segment_of(old), self.clock) else { return };
        let shape = self.shape;
        self.heads.iter_mut().flatten().for_each(|head| head.blank(&shape, old));
        self.segments.change(block, |segment| segment.changed = now);
        self.policies.selector.invalidated(block, now);
        let segment = self.segments.get(block);
        if segment.state == State::Stuck && segment.valid == 0 {
            self.free(block);
        }
    }

    /// Frees a segment: nothing in it is needed any more.
    pub(crate) fn free(&mut self, block: u32) {
        if self.unsure.is_in(block) {
            return;
        }
        self.segments.change(block, |segment| segment.state = State::Free);
        if self.segments.get(block).trims || self.has_pending() {
            self.waiting.hold(block);
        } else {
            self.let_go(block);
        }
    }

    /// Gives a free segment back if no commit is due, unless it holds the newest summary: that may be all that tells of
    /// others. What a commit writes has a later one.
    pub(crate) fn let_go(&mut self, block: u32) {
        if self.listed.is_newest(block) {
            self.segments.hold([block]);
            self.waiting.hold(block);
        } else {
            self.hand_back(block);
        }
    }

    /// Gives a free segment to the rule that keeps them. It is erased when it is opened, and counted as erased now.
    pub(crate) fn hand_back(&mut self, block: u32) {
        self.policies.wear.freed(block, self.segments.get(block).erases.saturating_add(1));
    }

    /// True if a power cut now would lose something that was accepted.
    pub(crate) fn has_pending(&self) -> bool {
        !self.trims.is_empty() || self.has_pending_blocks()
    }

    /// The same for blocks alone.
    pub(crate) fn has_pending_blocks(&self) -> bool {
        self.has_unwritten() || self.heads.iter().flatten().any(|head| head.is_at_risk(&self.shape))
    }

    /// True if pages have to be programmed for a commit.
    pub(crate) fn has_unwritten(&self) -> bool {
        let short = !self.shape.tagged;
        let is_unwritten = |head: &Head| !head.filled.is_empty() || (short && head.covered < head.index);
        !self.failing.is_empty() || self.heads.iter().flatten().any(is_unwritten)
    }

    /// The bytes of a block that one of them holds.
    pub(crate) fn unsure_block(&self, lba: u32) -> Option<&[u8]> {
        self.unsure.find(lba).and_then(|(_, held)| held.block(&self.shape, lba))
    }

    /// Reads a block for a copy: a kept one goes in place of an older one.
    pub(crate) fn fetch_newest(&mut self, entry: &mut Entry, addr: Addr, out: &mut [u8]) -> Result<()> {
        let Some((newest, held)) = self.unsure.find(entry.lba) else {
            return self.fetch(entry.lba, addr, out);
        };
        if let Some(bytes) = held.block(&self.shape, entry.lba) {
            out.copy_from_slice(bytes);
        }
        *entry = newest;
        Ok(())
    }

    /// Reads the block at `addr`, which must be `lba`, into `out`.
    pub(crate) fn fetch(&mut self, lba: u32, addr: Addr, out: &mut [u8]) -> Result<()> {
        let shape = self.shape;
        if addr == Addr::LOST {
            return Err(FtlError::Unreadable(lba));
        }
        for head in self.heads.iter_mut().flatten().chain(&mut self.failing) {
            if let Some(slot) = head.buffered(&shape, addr) {
                head.buffer_slot(&shape, slot, |bytes| out.copy_from_slice(bytes));
                return Ok(());
            }
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
}
