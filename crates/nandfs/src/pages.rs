//! The log: heads that fill erase blocks page by page, and the window of blocks they may take next.
//!
//! A checkpoint names the blocks of the window; nothing else is opened before the next checkpoint, so recovery knows
//! where to look. Changes of blocks are reported as events, in order, for the block table.

mod across;
mod copies;
mod reading;

use alloc::{collections::VecDeque, vec, vec::Vec};

use pumice_flashlog::{DOUBTED, Medium, Peek};
use pumice_media::NandError;
use pumice_vfs::{Errno, FsError, Result, Timestamp};

use crate::addr::Addr;
use crate::codec::{byte, len16, len32};
use crate::error::device;
use crate::params::Params;
use crate::promise::{PROMISE_BYTES, Promise, Promised};
use crate::tag::{ChunkKind, Desc, Layout, LogKind, Room, TURNS, Tag, chunks};

use across::Passed;
use copies::Copies;
pub(crate) use copies::NAMED_MOST;

/// The head of nodes, directory blocks and table pages.
pub(crate) const META: usize = 0;
/// The head of data that fsync writes.
pub(crate) const SYNC: usize = 1;
/// The first head of data written back; further ones are colder.
pub(crate) const DATA: usize = 2;

/// The number of the checkpoints, which are no head, in records of heads.
pub(crate) const ROOT_HEAD: u8 = 15;

/// A block that may be opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Spare {
    pub(crate) block: u32,
    /// Known to be erased; otherwise it is erased when it is taken.
    pub(crate) erased: bool,
}

/// An event of a block or a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    Erased(u32),
    /// An erase failed; the block carries its mark.
    Bad(u32),
    /// A block was taken, by this head.
    Opened(u32, u8),
    Sealed(u32),
    /// A program failed: the block's data must move, then it is marked bad.
    Failing(u32),
    /// A chunk moved from its writer's address to another.
    Moved {
        desc: Desc,
        from: Addr,
        to: Addr,
    },
}

/// Blocks taken, their pages filled or passed over, and programs that failed.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Taken {
    pub(crate) blocks: u64,
    pub(crate) pages: u64,
    pub(crate) failures: u64,
}

/// An open block and the page being filled.
struct Head {
    kind: LogKind,
    /// Block and index of the page being filled, or of the next one, which may have to be passed over.
    place: Option<(u32, u32)>,
    /// Pages of that block before this one are promised: none is programmed that shares cells with them.
    kept: u32,
    payload: Vec<u8>,
    used: usize,
    descs: Vec<Desc>,
    /// The pages before this one, with a chunk that goes on here.
    passed: Vec<Passed>,
}

impl Head {
    fn new(kind: LogKind) -> Head {
        Head {
            kind,
            place: None,
            kept: 0,
            payload: Vec::new(),
            used: 0,
            descs: Vec::new(),
            passed: Vec::new(),
        }
    }
}

/// The pages since the last checkpoint.
#[derive(Default)]
struct Epoch {
    /// Pages that recovery would have to read.
    scan_pages: u32,
    /// Pages among them that are counted by their turn.
    turns: u32,
    /// The promise of the last of them.
    before: Option<Promise>,
    /// The log for pages of all heads after a cut, or in a repair.
    aside: Option<LogKind>,
    /// Pages of nodes are written ahead of the next checkpoint.
    ahead: bool,
}

/// The log.
pub(crate) struct Pages<'c> {
    medium: Medium<'c>,
    params: Params,
    heads: Vec<Head>,
    window: VecDeque<Spare>,
    events: VecDeque<Event>,
    epoch: Epoch,
    /// The promise that nodes are being written for.
    promising: Option<Promised>,
    taken: Taken,
    copies: Copies,
}

impl Pages<'_> {
    pub(crate) fn new(medium: Medium<'_>, params: Params, data_heads: usize) -> Pages<'_> {
        let mut heads = vec![Head::new(LogKind::Meta), Head::new(LogKind::Sync)];
        heads.extend((0..data_heads).map(|_| Head::new(LogKind::Data)));
        Pages {
            medium,
            params,
            heads,
            window: VecDeque::new(),
            events: VecDeque::new(),
            epoch: Epoch::default(),
            promising: None,
            taken: Taken::default(),
            copies: Copies::default(),
        }
    }

    /// Blocks that may be opened.
    pub(crate) fn window(&self) -> &VecDeque<Spare> {
        &self.window
    }

    /// The number of these.
    pub(crate) fn spares(&self) -> u32 {
        len32(self.window.len())
    }

    /// Opens other blocks from here on.
    pub(crate) fn set_window(&mut self, window: impl IntoIterator<Item = Spare>) {
        self.window = window.into_iter().collect();
    }

    /// Takes the last block that heads would take out of the window.
    pub(crate) fn take_last(&mut self) -> Option<Spare> {
        self.window.remove(self.own_blocks().saturating_sub(1))
    }

    /// Pages since the last checkpoint that recovery would have to read.
    pub(crate) fn scan_pages(&self) -> u32 {
        self.epoch.scan_pages
    }

    /// A checkpoint was made: recovery begins behind it.
    pub(crate) fn start_epoch(&mut self) {
        self.epoch = Epoch::default();
    }

    /// Goes on after recovery found so many pages. Pages written until the next checkpoint stand aside: they count none
    /// of these, and say nothing of the last, which the power may have gone in.
    pub(crate) fn resume_epoch(&mut self, pages: u32) {
        self.epoch = Epoch { scan_pages: pages, aside: Some(LogKind::Aside), ..Epoch::default() };
    }

    /// Marks pages written until the next checkpoint as a repair's: they count once all of them are there.
    pub(crate) fn repair_epoch(&mut self) {
        self.epoch = Epoch { aside: Some(LogKind::Repair), ..Epoch::default() };
    }

    /// Marks nodes from here on as written for an fsync, until it is called with none.
    pub(crate) fn promise(&mut self, what: Option<Promised>) {
        self.promising = what;
    }

    /// Marks pages of nodes as written ahead of the next checkpoint, until it is called with `false`: recovery needs none.
    pub(crate) fn write_ahead(&mut self, ahead: bool) {
        self.epoch.ahead = ahead;
    }

    /// True if the page that a head is filling could end an fsync and hold the promise of the page before.
    pub(crate) fn can_commit(&self, head: usize) -> bool {
        let Some(open) = self.heads.get(head) else { return true };
        self.tag(open.kind, &open.descs, Some(Timestamp::default())).can_tell(&self.params.tags)
    }

    fn tag(&self, kind: LogKind, descs: &[Desc], commit: Option<Timestamp>) -> Tag {
        let turn = byte(self.epoch.turns % u32::from(TURNS));
        let is_promised = kind != LogKind::Meta || self.promising.is_some();
        let is_needed = is_promised || !(self.params.shape.is_paired() || self.epoch.ahead);
        let usual = if is_needed { kind } else { LogKind::Unpromised };
        let log = self.epoch.aside.unwrap_or(usual);
        Tag { log, seq: self.medium.seq(), commit, turn, before: self.epoch.before, descs: descs.to_vec() }
    }

    pub(crate) fn head_count(&self) -> usize {
        self.heads.len()
    }

    /// Memory of the page buffers, in bytes.
    pub(crate) fn memory(&self) -> usize {
        let parity = self.medium.parity_memory();
        (self.heads.len() + 4) * self.params.payload as usize
            + self.window.len() * size_of::<Spare>()
            + parity
    }

    /// The end of each head, for the checkpoint; all pages must have been programmed.
    pub(crate) fn places(&self) -> impl Iterator<Item = Option<(u32, u32)>> + '_ {
        self.heads.iter().map(|head| head.place)
    }

    /// Resumes a head of a clean checkpoint, which promised all pages before this place.
    pub(crate) fn resume(&mut self, head: usize, place: Option<(u32, u32)>) {
        if let Some(head) = self.heads.get_mut(head) {
            (head.place, head.kept) = (place, place.map_or(0, |(_, index)| index));
        }
    }

    /// True if the page that a head is filling shares cells with programmed ones: it must be programmed before these are
    /// promised.
    pub(crate) fn is_risky(&self, head: usize) -> bool {
        let Some(Head { place: Some((_, index)), descs, .. }) = self.heads.get(head) else { return false };
        !descs.is_empty() && self.params.shape.next_safe(*index, *index) != Some(*index)
    }

    /// Keeps all pages programmed so far, which are about to be promised: from here on, no page is programmed that
    /// shares cells with them.
    pub(crate) fn keep(&mut self) {
        debug_assert!(
            (0..self.heads.len()).all(|head| !self.is_risky(head)),
            "a page waits that shares cells"
        );
        for head in &mut self.heads {
            head.kept = head.place.map_or(0, |(_, index)| index);
        }
    }

    /// Moves on to the next page that may be programmed, in another block if this one has none, unless a page is being
    /// filled.
    fn open_page(&mut self, head: usize) -> Result<()> {
        let Some(open) = self.heads.get_mut(head) else { return Ok(()) };
        if !open.descs.is_empty() {
            return Ok(());
        }
        if let Some((block, index)) = open.place {
            let next = self.params.shape.next_safe(index, open.kept);
            self.taken.pages += u64::from(next.unwrap_or(self.params.pages_per_block) - index);
            open.place = next.map(|index| (block, index));
            if next.is_some() {
                return Ok(());
            }
            self.seal(block)?;
        }
        let block = self.take_block(head)?;
        self.resume(head, Some((block, 0)));
        Ok(())
    }

    /// True if a head is filling this block.
    pub(crate) fn is_open(&self, block: u32) -> bool {
        self.heads.iter().any(|head| head.place.is_some_and(|(open, _)| open == block))
    }

    /// Ends a block before it is full, if a head is filling it.
    pub(crate) fn leave(&mut self, block: u32) -> Result<()> {
        let at = |head: &Head| head.place.is_some_and(|(open, _)| open == block);
        let Some(head) = self.heads.iter().position(at) else { return Ok(()) };
        self.program(head, None)?;
        // A program that failed, or filled the block, has left it already.
        if self.heads.get(head).is_some_and(at) {
            self.resume(head, None);
            self.seal(block)?;
        }
        Ok(())
    }

    /// Ends all blocks before they are full on a volume with parity, so that all live data has it.
    pub(crate) fn leave_all(&mut self) -> Result<()> {
        if self.params.shape.parity() == 0 {
            return Ok(());
        }
        let open: Vec<u32> = self.places().flatten().map(|(block, _)| block).collect();
        open.into_iter().try_for_each(|block| self.leave(block))?;
        self.leave_copies();
        Ok(())
    }

    /// Ends a block: its parity follows, and it may be cleaned.
    fn seal(&mut self, block: u32) -> Result<()> {
        match self.medium.program_parity(block) {
            Ok(()) => self.events.push_back(Event::Sealed(block)),
            Err(NandError::ProgramFailed(_)) => self.report_failing(block),
            Err(error) => return Err(device(error)),
        }
        Ok(())
    }

    /// Notes a failed program.
    pub(crate) fn report_failing(&mut self, block: u32) {
        self.taken.failures += 1;
        self.events.push_back(Event::Failing(block));
    }

    /// True if an event was not taken note of.
    pub(crate) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// The oldest event not yet seen.
    pub(crate) fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Takes the next block of the window, erasing it if need be.
    pub(crate) fn take_block(&mut self, head: usize) -> Result<u32> {
        // Strictly in order: recovery must know which blocks may have been touched last.
        self.take(byte(len32(head)), VecDeque::pop_front)
    }

    /// Takes the last block of the window for roots, likewise.
    pub(crate) fn take_root_block(&mut self) -> Result<u32> {
        self.take(ROOT_HEAD, VecDeque::pop_back)
    }

    fn take(&mut self, head: u8, next: fn(&mut VecDeque<Spare>) -> Option<Spare>) -> Result<u32> {
        loop {
            let Some(spare) = next(&mut self.window) else {
                return Err(FsError::new(Errno::NoSpace, "no erased block is left".into()));
            };
            if spare.erased || self.erase(spare.block)? {
                self.taken.blocks += 1;
                self.events.push_back(Event::Opened(spare.block, head));
                return Ok(spare.block);
            }
        }
    }

    /// The blocks and pages taken since the mount.
    pub(crate) fn taken(&self) -> Taken {
        self.taken
    }

    /// Gives back the block that was taken for roots last, erased and not written.
    pub(crate) fn give_back(&mut self, block: u32) {
        self.window.push_back(Spare { block, erased: true });
        self.events.retain(|event| !matches!(event, Event::Opened(opened, _) if *opened == block));
    }

    /// Erases a block; false if it went bad.
    pub(crate) fn erase(&mut self, block: u32) -> Result<bool> {
        let erased = self.medium.renew(block).map_err(device)?;
        self.events.push_back(if erased { Event::Erased(block) } else { Event::Bad(block) });
        Ok(erased)
    }

    /// Erases one of so many next blocks of the window, or of so many last ones, that waits for it; false if none does.
    pub(crate) fn erase_ahead(&mut self, next: usize, last: usize) -> Result<bool> {
        let behind = self.window.len().saturating_sub(last);
        let waits = |(place, spare): (usize, &Spare)| (place < next || place >= behind) && !spare.erased;
        let Some(place) = self.window.iter().enumerate().position(waits) else { return Ok(false) };
        let Some(block) = self.window.get(place).map(|spare| spare.block) else { return Ok(false) };
        if self.erase(block)? {
            if let Some(spare) = self.window.get_mut(place) {
                spare.erased = true;
            }
        } else {
            self.window.remove(place);
        }
        Ok(true)
    }

    /// Blocks of the window that heads take before those that are left to roots.
    pub(crate) fn own_blocks(&self) -> usize {
        self.window.len().saturating_sub(DOUBTED)
    }

    /// Adds blocks to the window. The last ones stay there, for roots: a mount that was cut can then have touched no others,
    /// whichever of its records counts.
    pub(crate) fn add_to_window(&mut self, fresh: &[Spare]) {
        let own = self.own_blocks();
        let left = self.window.split_off(own);
        self.window.extend(fresh.iter().copied().chain(left));
    }

    /// The window with these blocks, as a record names it: whoever goes on from there erases the last blocks again, which a
    /// cut may have touched.
    pub(crate) fn named_window(&self, fresh: &[Spare]) -> Vec<Spare> {
        let mut window: Vec<Spare> = self.window.iter().copied().collect();
        let own = self.own_blocks();
        window.splice(own..own, fresh.iter().copied());
        window.iter_mut().rev().take(DOUBTED).for_each(|spare| spare.erased = false);
        window
    }

    /// Has the blocks that roots take next erased again before use: a cut may have touched them, and as many behind one that
    /// was written to, for its programs may have failed. Bad ones do not count: a mount that was cut passed them over.
    pub(crate) fn doubt(&mut self) -> Result<()> {
        let mut left = DOUBTED;
        for (taken, spare) in self.window.iter_mut().rev().enumerate() {
            if left == 0 {
                break;
            }
            // Behind the first ones, those that need an erase anyway tell nothing.
            let tells = core::mem::take(&mut spare.erased) || taken < DOUBTED;
            let first = self.params.page(spare.block, 0);
            if tells && self.medium.peek(first).map_err(device)? != Peek::Erased {
                left = DOUBTED;
            } else {
                left -= usize::from(!self.medium.is_bad(spare.block).map_err(device)?);
            }
        }
        Ok(())
    }

    /// Adds a chunk to the page that a head is filling and returns its address.
    pub(crate) fn append(&mut self, head: usize, desc: Desc, bytes: &[u8]) -> Result<Addr> {
        let (payload, tags) = (self.params.payload as usize, self.params.tags);
        // Pages of nodes and names end an fsync, and then have to hold the promise of the page before.
        let ends = matches!(desc.kind, ChunkKind::Node | ChunkKind::Names);
        let told = if ends && tags.room != Room::Own { PROMISE_BYTES } else { 0 };
        // The promise of the page before may have no room for a count of the blocks of a page.
        let few = head == SYNC && tags.room != Room::Own;
        let most = if few && self.params.packs { tags.slots as usize } else { 254 };
        let fits = |head: &Head| {
            let count = head.descs.len() + 1;
            count <= most && head.used + bytes.len() + tags.overflow(count) + told <= payload
        };
        if !self.heads.get(head).is_some_and(fits) {
            if self.params.packs && desc.kind.is_block() {
                return self.append_across(head, desc, bytes, most);
            }
            self.program(head, None)?;
        }
        self.open_page(head)?;
        let (page, offset) = self.put(head, desc, bytes)?;
        Ok(Addr { page, offset, len: desc.len })
    }

    /// Puts bytes with their descriptor on the page that a head is filling; returns the page, and the offset on it.
    fn put(&mut self, head: usize, desc: Desc, bytes: &[u8]) -> Result<(u32, u16)> {
        let params = self.params;
        let Some(open) = self.heads.get_mut(head) else { return Err(Errno::Invalid.into()) };
        let Some((block, index)) = open.place else { return Err(Errno::NoSpace.into()) };
        open.payload.resize(params.payload as usize, 0);
        let (start, end) = (open.used, open.used + bytes.len());
        let Some(place) = open.payload.get_mut(start..end) else { return Err(Errno::Invalid.into()) };
        place.copy_from_slice(bytes);
        open.used = end;
        open.descs.push(desc);
        Ok((params.page(block, index), len16(start)))
    }

    /// True if the page that a head is filling holds data of this inode.
    pub(crate) fn gathers(&self, head: usize, ino: u32) -> bool {
        let is_it = |desc: &Desc| desc.kind.is_of_block() && desc.id == ino;
        self.heads.get(head).is_some_and(|head| head.descs.iter().any(is_it))
    }

    /// True if the page that a head is filling holds nodes of this inode.
    pub(crate) fn gathers_nodes(&self, head: usize, ino: u32) -> bool {
        let is_it = |desc: &Desc| desc.kind == ChunkKind::Node && desc.index == ino;
        self.heads.get(head).is_some_and(|head| head.descs.iter().any(is_it))
    }

    /// Programs the page that a head is filling, full or not; `commit` marks it as the end of an fsync.
    ///
    /// If the chip says that the program failed, the page goes to a new block and its chunks are reported
    /// as moved.
    pub(crate) fn program(&mut self, head: usize, commit: Option<Timestamp>) -> Result<()> {
        self.program_page(head, commit)?;
        if let Some(open) = self.heads.get_mut(head) {
            open.passed.clear();
        }
        Ok(())
    }

    /// The same for a page after which earlier ones may be needed once more.
    fn program_page(&mut self, head: usize, commit: Option<Timestamp>) -> Result<()> {
        let params = self.params;
        loop {
            let Some(open) = self.heads.get(head) else { return Ok(()) };
            let Some((block, index)) = open.place else { return Ok(()) };
            if open.descs.is_empty() {
                return Ok(());
            }
            let tag = self.tag(open.kind, &open.descs, commit);
            debug_assert!(tag.can_tell(&params.tags), "no room for the promise of the page before");
            let page = params.page(block, index);
            let Some(open) = self.heads.get_mut(head) else { return Ok(()) };
            let done = program(&mut self.medium, &params.tags, page, &tag, &mut open.payload);
            self.medium.next_seq();
            self.taken.pages += 1;
            match done {
                Ok(()) => {
                    open.used = 0;
                    open.descs.clear();
                    open.payload.fill(0);
                    if tag.log.is_counted() {
                        open.kept = index + 1;
                    }
                    open.place = Some((block, index + 1)).filter(|_| index + 1 < params.pages_per_block);
                    let is_full = open.place.is_none();
                    self.count(&tag);
                    return if is_full { self.seal(block) } else { Ok(()) };
                }
                Err(NandError::ProgramFailed(_)) => self.move_page(head, block, page, &tag)?,
                Err(error) => return Err(device(error)),
            }
        }
    }

    /// Counts a page that recovery would read, and remembers its promise. A cut must not destroy counted pages.
    fn count(&mut self, tag: &Tag) {
        // With those written ahead, recovery reads no more than after a cut at the end of the checkpoint.
        self.epoch.scan_pages += u32::from(tag.log.is_scanned() && !self.epoch.ahead);
        if tag.log.is_counted() {
            self.epoch.turns += 1;
            self.epoch.before = tag.promise(self.promising);
        }
    }

    fn move_page(&mut self, head: usize, block: u32, page: u32, tag: &Tag) -> Result<()> {
        self.report_failing(block);
        let place = self.move_passed(head)?;
        self.resume(head, Some(place));
        let (fresh, index) = place;
        self.tell_moved(&tag.descs, page, self.params.page(fresh, index));
        Ok(())
    }

    /// Notes that the chunks of a page went to another one.
    fn tell_moved(&mut self, descs: &[Desc], page: u32, to_page: u32) {
        for (offset, desc) in chunks(descs) {
            let from = Addr { page, offset, len: desc.len };
            self.events.push_back(Event::Moved { desc, from, to: Addr { page: to_page, ..from } });
        }
    }
}

/// Programs a log page; `payload` has its full length, with room left for overflowing descriptors.
fn program(
    medium: &mut Medium<'_>,
    tags: &Layout,
    page: u32,
    tag: &Tag,
    payload: &mut [u8],
) -> core::result::Result<(), NandError> {
    let (tag, overflow) = tag.encode(tags);
    let start = payload.len().saturating_sub(overflow.len());
    if let Some(tail) = payload.get_mut(start..) {
        tail.copy_from_slice(&overflow);
    }
    medium.program_counted(page, &tag, payload)
}
