//! Room: cleaning blocks for their dead space, and checkpoints in time.

use alloc::vec::Vec;

use pumice_cleaning::{Cleaned, SegmentView};
use pumice_vfs::{Errno, FsError, Result};

use crate::addr::Addr;
use crate::blocks::{Blocks, State, Usage};
use crate::codec::{len32, size};
use crate::flash::Flash;
use crate::host::Call;
use crate::moving::{Move, Reason};
use crate::pages::{DATA, META};
use crate::params::ANCHOR_BLOCKS;
use crate::room::LEAN_BLOCKS;
use crate::tag::{ChunkKind, Desc, Tag};
use crate::volume::Volume;

/// Checkpoints in a row that may leave no more free blocks than there were, each after cleaning.
const IDLE_ROUNDS: u32 = 64;

/// Calls between two looks at the size of the caches.
const TRIM_EVERY: u32 = 256;

/// Reclaimed blocks for which idle time makes a checkpoint.
const DYING_SAVED: usize = 2;

/// Pages of an erase block with so many tags that a look at all of them is enough for one call.
const LONG_BLOCK: u32 = 32;

/// A way to the tag of a log page.
type ReadTag<'c> = fn(&mut Flash<'c>, u32) -> Result<Option<Tag>>;

impl<'c> Volume<'c> {
    /// Prepares for a change: the volume is writable, marked in use, and has room for a call's work.
    pub(crate) fn begin(&mut self) -> Result<()> {
        self.begin_writing(0)
    }

    /// The same for a call that writes so many bytes to a file.
    pub(crate) fn begin_writing(&mut self, bytes: usize) -> Result<()> {
        self.begin_on_host(bytes, Call::Any)
    }

    /// The same for a call that moves names or takes them away.
    pub(crate) fn begin_tidying(&mut self) -> Result<()> {
        self.begin_on_host(0, Call::Tidy)
    }

    fn begin_on_host(&mut self, bytes: usize, call: Call) -> Result<()> {
        self.check_writable()?;
        self.check_life()?;
        self.look();
        self.check_host(bytes, call)?;
        if self.log.recorded.clean {
            self.mark_in_use()?;
        }
        self.make_room(bytes)?;
        self.begin_claims();
        Ok(())
    }

    /// Keeps the caches within their budget; runs before any call.
    pub(crate) fn look(&mut self) {
        self.files.memory.calls = self.files.memory.calls.wrapping_add(1);
        if self.files.memory.calls.is_multiple_of(TRIM_EVERY) || self.is_bloated() {
            self.trim();
        }
    }

    /// Makes sure that the blocks of the window suffice for all waiting writes, and for `extra` bytes of files more.
    pub(crate) fn make_room(&mut self, extra: usize) -> Result<()> {
        self.files.nodes.measure();
        let checkpoints = self.log.recorded.checkpoints;
        if self.log.reach.reads + self.log.pages.scan_pages() > self.log.reach.limit {
            self.checkpoint(false)?;
        }
        if self.is_laden() && self.files.cache.dirty_bytes() > self.files.memory.budget / 8 * 5 {
            self.spill_cache()?;
        }
        if self.is_laden() {
            self.checkpoint(false)?;
        }
        if !self.has_room(extra) {
            // Changes in memory have to be written anyway: perhaps the checkpoint can wait then.
            self.write_back_all()?;
        }
        self.log.cleaner.count(self.log.pages.taken().pages);
        let waits = self.log.recorded.checkpoints != checkpoints || self.log.cleaner.take_rest();
        if !waits && !self.prepare_checkpoint(extra)? {
            self.clean_beside(extra)?;
            self.tend(extra)?;
        }
        self.log.cleaner.skip(self.log.pages.taken().pages);
        let window = self.log.reach.window_max.min(self.log.recorded.limits.window_words);
        if self.blocks_needed(extra) - self.blocks_needed(0) > len32(window) / 2 {
            return Err(Errno::NoSpace.into());
        }
        let (mut most, mut idle) = (0, 0);
        while !self.has_room(extra) {
            self.checkpoint(false)?;
            if self.has_room(extra) {
                break;
            }
            self.clean_for(extra)?;
            self.clean_lean(extra)?;
            if self.supply() > most {
                (most, idle) = (self.supply(), 0);
            } else {
                idle += 1;
            }
            if idle > IDLE_ROUNDS && !self.has_room(extra) {
                return Err(self.out_of_room(extra));
            }
        }
        Ok(())
    }

    fn has_room(&self, extra: usize) -> bool {
        len32(self.log.pages.window.len()) >= self.blocks_needed(extra)
    }

    fn out_of_room(&self, extra: usize) -> FsError {
        FsError::new(
            Errno::NoSpace,
            alloc::format!(
                "no block can be reclaimed ({} of {} blocks in the window, {} free, {} candidates)",
                self.log.pages.window.len(),
                self.blocks_needed(extra),
                self.log.blocks.free,
                self.log.blocks.candidates.pool.len()
            ),
        )
    }

    /// Writes changed blocks of files to the log before memory runs out.
    fn spill_cache(&mut self) -> Result<()> {
        let target = self.files.memory.budget / 2;
        self.write_back_from((0, 0), |volume, _| volume.files.cache.dirty_bytes() <= target, false)
    }

    fn supply(&self) -> u32 {
        self.log.blocks.free + len32(self.log.blocks.dying.len())
    }

    /// Cleans beside a call: as long as few blocks will be free at the next checkpoint, as much moves out of the next
    /// victim as the pages written since the last call pay for.
    fn clean_beside(&mut self, extra: usize) -> Result<()> {
        let (supply, stock) = (self.supply(), self.stock());
        if supply >= stock && self.log.cleaner.moving.is_none() {
            self.log.cleaner.waive();
            return Ok(());
        }
        let goes_on = self.log.cleaner.moving.is_some();
        if !self.has_room(extra) {
            return Ok(());
        }
        if !goes_on && !self.may_clean(extra) && !self.log.blocks.dying.is_empty() {
            // Its survivors have room of their own, but another victim's would not: emptied blocks are freed first.
            self.checkpoint(false)?;
            self.log.cleaner.count(self.log.pages.taken().pages);
            return Ok(());
        }
        if !self.begin_move()? {
            self.log.cleaner.waive();
            return Ok(());
        }
        if !goes_on && self.log.params.pages_per_block >= LONG_BLOCK {
            return Ok(());
        }
        let own = extra.div_ceil(self.log.params.payload as usize) as u64;
        let written = self.log.cleaner.pay(own) * u64::from(self.log.params.payload);
        let Some(mut moving) = self.log.cleaner.moving.take() else { return Ok(()) };
        let mut due = moving.due(len32(size(written)), self.log.params.payload, self.is_short());
        let mut is_left = true;
        while is_left && due > 0 {
            let moved = self.move_next(&mut moving)?;
            is_left = moved.is_some();
            due = due.saturating_sub(moved.unwrap_or(0));
        }
        if is_left {
            self.log.cleaner.moving = Some(moving);
        } else {
            self.end_move(&moving);
        }
        Ok(())
    }

    /// True if the window has room for survivors.
    pub(crate) fn may_clean(&self, extra: usize) -> bool {
        self.spare_blocks(extra) > 0
    }

    /// Blocks of the window beyond those that a call needs that writes so many bytes.
    pub(crate) fn spare_blocks(&self, extra: usize) -> u32 {
        len32(self.log.pages.window.len()).saturating_sub(self.blocks_needed(extra))
    }

    /// Cleans until a call that writes so many bytes has its blocks at the next checkpoint, while the window has room for
    /// survivors.
    fn clean_for(&mut self, extra: usize) -> Result<()> {
        let enough = self.stock().min(self.blocks_needed(extra) + LEAN_BLOCKS);
        // Wrong counts in the block table must not keep it here forever.
        for _ in 0..self.log.params.blocks {
            if self.supply() >= enough || !self.may_clean(extra) || !self.clean_one()? {
                break;
            }
        }
        self.tend(extra)
    }

    /// Begins to empty a block that has to be, or else to level wear, if no other block is being emptied. Others wait for
    /// the next call, or for idle time.
    fn tend(&mut self, extra: usize) -> Result<()> {
        if self.log.cleaner.moving.is_some() || !self.may_clean(extra) {
            return Ok(());
        }
        if self.has_urgent() {
            self.log.cleaner.moving = self.start_relief()?;
        }
        if self.log.cleaner.moving.is_none() && !self.is_short() {
            self.level_wear()?;
        }
        Ok(())
    }

    /// True if cleaning is so far behind that it hastens.
    fn is_short(&self) -> bool {
        self.supply() + 2 < self.stock()
    }

    /// Cleans with fewer blocks in the window than calls need: power cuts close open blocks half full, and recoveries
    /// take new ones. All survivors share a head, and the next checkpoint frees the reclaimed blocks.
    fn clean_lean(&mut self, extra: usize) -> Result<()> {
        while !self.has_room(extra)
            && self.supply() < self.blocks_needed(extra) + LEAN_BLOCKS
            && len32(self.log.pages.window.len()) >= self.checkpoint_blocks(0) + LEAN_BLOCKS
        {
            self.log.cleaner.lean = true;
            let cleaned = self.clean_one();
            self.log.cleaner.lean = false;
            if !cleaned? {
                break;
            }
        }
        Ok(())
    }

    /// Cleans one block, the one that is begun first; false if there is none worth it.
    pub(crate) fn clean_one(&mut self) -> Result<bool> {
        if !self.begin_move()? {
            return Ok(false);
        }
        if let Some(mut moving) = self.log.cleaner.moving.take() {
            while self.move_next(&mut moving)?.is_some() {}
            self.end_move(&moving);
        }
        Ok(true)
    }

    /// Begins to empty the next victim, if none is begun; false if none is worth it.
    fn begin_move(&mut self) -> Result<bool> {
        if self.is_short() {
            self.drop_levelling()?;
        }
        if self.log.cleaner.moving.is_none() {
            self.feed_pool();
            if let Some((block, view)) = self.log.blocks.take_victim(self.log.cleaner.lean) {
                self.log.cleaner.moving = Some(self.start_move(block, Reason::Space, view)?);
            }
        }
        Ok(self.log.cleaner.moving.is_some())
    }

    /// Gives up levelling wear for now: what is left in the block stays there.
    fn drop_levelling(&mut self) -> Result<()> {
        let Some(Move { block, .. }) =
            self.log.cleaner.moving.take_if(|moving| moving.reason == Reason::Wear)
        else {
            return Ok(());
        };
        let usage = self.log.blocks.get(&mut self.log.pages, block)?;
        if self.is_candidate(block, &usage) {
            self.log.blocks.offer(block, &usage);
        }
        Ok(())
    }

    /// The move of all live chunks out of a block.
    pub(crate) fn start_move(&mut self, block: u32, reason: Reason, view: SegmentView) -> Result<Move> {
        let usage = self.log.blocks.get(&mut self.log.pages, block)?;
        let mut live = self.live_chunks(block, Flash::read_tag);
        if live.iter().map(|(addr, _)| u32::from(addr.len)).sum::<u32>() < usage.valid {
            // A wrong bit in the spare area hides a chunk from a look at the tag alone.
            live = self.live_chunks(block, |flash, page| flash.read(page).map(|found| Some(found.tag)));
        }
        self.log.placer.sort(self.log.blocks.clock, &mut live);
        Ok(Move::new((block, reason), self.cleaned(view), holds_data(&usage), live))
    }

    /// Moves the next chunk; returns its bytes, or nothing if none was left.
    fn move_next(&mut self, moving: &mut Move) -> Result<Option<u32>> {
        let Some((addr, desc)) = moving.next() else { return Ok(None) };
        let before = self.log.pages.taken().blocks;
        // Others may have written it since, and a failed program may have moved it.
        if self.live(&desc)? == addr {
            self.move_chunk(moving.data(), addr, &desc)?;
        }
        moving.opened += len32(size(self.log.pages.taken().blocks - before));
        if moving.reason == Reason::Wear {
            self.log.leveler.count_moved(addr.len.into());
        }
        Ok(Some(addr.len.into()))
    }

    /// Ends the move of a block that others have emptied meanwhile: it may be written again from the next checkpoint on.
    pub(crate) fn forget_empty_move(&mut self) -> Result<()> {
        let Some(block) = self.log.cleaner.moving.as_ref().map(|moving| moving.block) else { return Ok(()) };
        let usage = self.log.blocks.get(&mut self.log.pages, block)?;
        if !matches!(usage.state, State::Used | State::Failing) || usage.valid == 0 {
            self.log.cleaner.moving = None;
        }
        Ok(())
    }

    fn end_move(&mut self, moving: &Move) {
        match moving.reason {
            Reason::Space => self.log.placer.reclaimed(self.log.blocks.clock, &moving.from),
            Reason::Wear => {}
            // The reads have called it tired again; chunks left there cannot be read.
            Reason::Danger => self.log.pages.flash.medium.forget_tired(moving.block),
        }
    }

    /// True if there may be a block that must be emptied at any cost.
    pub(crate) fn has_urgent(&self) -> bool {
        let Blocks { failing, evacuated, .. } = &self.log.blocks;
        self.log.pages.flash.medium.has_tired() || failing.iter().any(|block| !evacuated.contains(block))
    }

    /// True if such a block is being emptied.
    pub(crate) fn is_relieving(&self) -> bool {
        self.log.cleaner.moving.as_ref().is_some_and(|moving| moving.reason == Reason::Danger)
    }

    /// Empties such a block, the one that is begun first; false if there is none.
    pub(crate) fn relieve_one(&mut self) -> Result<bool> {
        let begun = self.log.cleaner.moving.take_if(|moving| moving.reason == Reason::Danger);
        let moving = if begun.is_some() { begun } else { self.start_relief()? };
        let Some(mut moving) = moving else { return Ok(false) };
        while self.move_next(&mut moving)?.is_some() {}
        self.end_move(&moving);
        Ok(true)
    }

    /// The move of all live chunks out of such a block, if there is one.
    fn start_relief(&mut self) -> Result<Option<Move>> {
        let Some(block) = self.urgent()? else { return Ok(None) };
        let usage = self.log.blocks.get(&mut self.log.pages, block)?;
        if usage.state == State::Used {
            self.log.patrol.count_moved();
        }
        self.start_move(block, Reason::Danger, self.log.blocks.view(&usage)).map(Some)
    }

    /// A block that must be emptied at any cost: a program failed in it, ECC is near its limit, or it was read too
    /// often.
    fn urgent(&mut self) -> Result<Option<u32>> {
        while let Some(block) = self.log.pages.flash.medium.take_tired() {
            let usage = self.log.blocks.get(&mut self.log.pages, block)?;
            if usage.state != State::Used || usage.valid == 0 || self.log.roots.holds(block) {
                continue;
            }
            // On an idle volume a head may stand in the same block for years.
            self.log.pages.leave(block)?;
            self.apply_events()?;
            self.log.blocks.candidates.pool.remove(block);
            return Ok(Some(block));
        }
        for block in self.log.blocks.failing.clone() {
            if self.log.blocks.get(&mut self.log.pages, block)?.valid > 0
                && self.log.blocks.evacuated.insert(block)
            {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    /// Lets the pool see blocks sealed before the mount, or dropped when it was full.
    fn feed_pool(&mut self) {
        let span = self.log.params.blocks - ANCHOR_BLOCKS;
        let batch =
            if self.log.blocks.candidates.scanned < span { span.min(2048) } else { (span / 64).clamp(1, 64) };
        // A pool that holds every block needs no more looks once all were seen.
        if self.log.blocks.candidates.scanned >= span && span <= 2048 {
            return;
        }
        for _ in 0..batch {
            let block = ANCHOR_BLOCKS + self.log.blocks.candidates.scanned % span;
            self.log.blocks.candidates.scanned = if self.log.blocks.candidates.scanned == u32::MAX {
                span
            } else {
                self.log.blocks.candidates.scanned + 1
            };
            // Blocks on an unreadable page of the table wait for its repair.
            let Ok(usage) = self.log.blocks.get(&mut self.log.pages, block) else { continue };
            if self.is_candidate(block, &usage) {
                self.log.blocks.offer(block, &usage);
            }
        }
    }

    fn is_candidate(&self, block: u32, usage: &Usage) -> bool {
        usage.state == State::Used
            && usage.valid > 0
            && !self.is_in_use(block)
            && self.log.cleaner.moving.as_ref().is_none_or(|moving| moving.block != block)
            && !self.log.blocks.candidates.pool.contains(block)
    }

    /// A victim as placement sees it, with the store around it.
    fn cleaned(&self, segment: SegmentView) -> Cleaned {
        // Counts of a damaged volume may be too high.
        let good = self.log.params.blocks.saturating_sub(ANCHOR_BLOCKS + self.log.blocks.bad);
        Cleaned {
            segment,
            live: self.files.data_blocks * u64::from(self.log.params.unit()) + self.files.nodes.bytes,
            room: u64::from(good) * u64::from(self.log.params.block_payload()),
        }
    }

    /// Moves the live chunks out of the page programmed last when the power went: it may fade.
    pub(crate) fn move_newest(&mut self) -> Result<()> {
        let Some(page) = self.log.pages.flash.medium.pinned() else { return Ok(()) };
        let usage = self.log.blocks.get(&mut self.log.pages, self.log.params.block_of(page))?;
        let from = self.cleaned(self.log.blocks.view(&usage));
        let from = holds_data(&usage).then_some(&from);
        for (offset, desc) in self.log.pages.flash.read(page)?.tag.chunks() {
            let addr = Addr { page, offset, len: desc.len };
            if desc.kind == ChunkKind::Rest {
                self.move_begun(from, page, &desc)?;
            } else if self.live(&desc)? == addr {
                self.move_chunk(from, addr, &desc)?;
            }
        }
        Ok(())
    }

    /// Moves the live chunk that began before a page and goes on there.
    fn move_begun(&mut self, from: Option<&Cleaned>, page: u32, rest: &Desc) -> Result<()> {
        let whole = Desc { kind: ChunkKind::Data, ..*rest };
        let addr = self.live(&whole)?;
        let is_here =
            addr.page < page && self.log.params.block_of(addr.page) == self.log.params.block_of(page);
        if !addr.is_stored() || !is_here {
            return Ok(());
        }
        let kind = self.log.pages.read_block(addr, rest.id, rest.index, |_, kind| kind)?;
        self.move_chunk(from, addr, &Desc { kind, len: addr.len, ..whole })
    }

    /// The live chunks of a block by the tags of its pages.
    pub(crate) fn live_chunks(&mut self, block: u32, tag: ReadTag<'c>) -> Vec<(Addr, Desc)> {
        let mut found = Vec::new();
        for index in 0..self.log.params.pages_per_block {
            let page = self.log.params.page(block, index);
            let Ok(Some(tag)) = tag(&mut self.log.pages.flash, page) else { continue };
            for (offset, desc) in tag.chunks() {
                let addr = Addr { page, offset, len: desc.len };
                // An owner that cannot be read keeps its chunks where they are.
                if self.live(&desc).is_ok_and(|live| live == addr) {
                    found.push((addr, desc));
                }
            }
        }
        found
    }

    fn move_chunk(&mut self, from: Option<&Cleaned>, addr: Addr, desc: &Desc) -> Result<()> {
        let changed = match desc.kind {
            kind if kind.is_block() => self.files.cache.is_dirty(desc.id, desc.index),
            ChunkKind::Node => self.files.nodes.is_dirty(desc.id),
            _ => false,
        };
        if changed {
            // The next checkpoint writes it anyway, and lets go of this copy.
            return Ok(());
        }
        let Ok(bytes) = self.log.pages.read(addr, desc, <[u8]>::to_vec) else { return Ok(()) };
        let head = self.survivor_head(from, desc);
        let to = self.append(head, *desc, &bytes)?;
        self.log.cleaner.copied_bytes += u64::from(addr.len);
        // Appending may itself have moved the chunk: a failed program in the same block.
        let from = self.live(desc)?;
        self.repoint(desc, to)?;
        self.release(from)
    }

    fn survivor_head(&mut self, from: Option<&Cleaned>, desc: &Desc) -> usize {
        match from {
            Some(_) if desc.kind.is_block() && self.log.cleaner.lean => DATA,
            Some(from) if desc.kind.is_block() => {
                DATA + self.log.placer.cleaner_copy(self.log.blocks.clock, (desc.id, desc.index), from)
            }
            _ => META,
        }
    }

    /// Work that can wait; true if more is left.
    pub(crate) fn maintain_some(&mut self) -> Result<bool> {
        if self.log.status.read_only || self.host_room()? == Some(0) {
            return Ok(false);
        }
        // A clean checkpoint is true as long as nothing is touched; decaying blocks must be touched.
        if !self.log.recorded.clean && self.tidy_up()? {
            return Ok(true);
        }
        self.patrol_some()
    }

    /// Prepares for the next calls of users; true if more is left.
    fn tidy_up(&mut self) -> Result<bool> {
        if self.log.pages.erase_ahead(self.log.pages.own_blocks(), 0)? {
            self.apply_events()?;
            return Ok(true);
        }
        if self.reap_orphan()? {
            return Ok(true);
        }
        if self.supply() < self.idle_stock() {
            self.make_room(0)?;
            return self.clean_one();
        }
        // Reclaimed blocks become free at the next checkpoint.
        if self.log.blocks.dying.len() >= DYING_SAVED
            && self.log.pages.window.len() < self.log.reach.window_max / 2
        {
            self.make_room(0)?;
            self.checkpoint(false)?;
            return Ok(true);
        }
        Ok(false)
    }
}

/// True if the erase block holds users' blocks of files, or copies of them.
fn holds_data(usage: &Usage) -> bool {
    usize::from(usage.head) != META
}
