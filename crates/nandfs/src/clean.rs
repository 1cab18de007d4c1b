//! Room: cleaning blocks for their dead space, and checkpoints in time.

use alloc::vec::Vec;

use pumice_cleaning::{Cleaned, SegmentView};
use pumice_vfs::{Errno, FsError, Result};

use crate::addr::Addr;
use crate::blocks::{Blocks, State, Usage};
use crate::codec::len32;
use crate::flash::Flash;
use crate::host::Call;
use crate::log::{DATA, META};
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
        if self.clean {
            self.mark_in_use()?;
        }
        self.make_room(bytes)?;
        self.begin_claims();
        Ok(())
    }

    /// Keeps the caches within their budget; runs before any call.
    pub(crate) fn look(&mut self) {
        self.calls = self.calls.wrapping_add(1);
        if self.calls.is_multiple_of(TRIM_EVERY) || self.is_bloated() {
            self.trim();
        }
    }

    /// Makes sure that the blocks of the window suffice for all waiting writes, and for `extra` bytes of files more.
    pub(crate) fn make_room(&mut self, extra: usize) -> Result<()> {
        self.nodes.measure();
        if self.recovery_reads + self.log.scan_pages() > self.recovery_limit {
            self.checkpoint(false)?;
        }
        if self.is_laden() && self.cache.dirty_bytes() > self.budget / 8 * 5 {
            self.spill_cache()?;
        }
        if self.is_laden() {
            self.checkpoint(false)?;
        }
        if !self.has_room(extra) {
            // Changes in memory have to be written anyway: perhaps the checkpoint can wait then.
            self.write_back_all()?;
        }
        self.clean_up_to_stock(extra)?;
        let window = self.window_max.min(self.limits.window_words);
        if self.blocks_needed(extra) - self.blocks_needed(0) > len32(window) / 2 {
            return Err(Errno::NoSpace.into());
        }
        let (mut most, mut idle) = (0, 0);
        while !self.has_room(extra) {
            self.checkpoint(false)?;
            self.clean_up_to_stock(extra)?;
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
        len32(self.log.window.len()) >= self.blocks_needed(extra)
    }

    fn out_of_room(&self, extra: usize) -> FsError {
        FsError::new(
            Errno::NoSpace,
            alloc::format!(
                "no block can be reclaimed ({} of {} blocks in the window, {} free, {} candidates)",
                self.log.window.len(),
                self.blocks_needed(extra),
                self.blocks.free,
                self.blocks.candidates.pool.len()
            ),
        )
    }

    /// Writes changed blocks of files to the log before memory runs out.
    fn spill_cache(&mut self) -> Result<()> {
        let target = self.budget / 2;
        self.write_back_from((0, 0), |volume, _| volume.cache.dirty_bytes() <= target, false)
    }

    fn supply(&self) -> u32 {
        self.blocks.free + len32(self.blocks.dying.len())
    }

    /// Cleans until enough blocks will be free at the next checkpoint, while the window has room for survivors.
    fn clean_up_to_stock(&mut self, extra: usize) -> Result<()> {
        // Wrong counts in the block table must not keep it here forever.
        for _ in 0..self.params.blocks {
            let room = len32(self.log.window.len()) > self.blocks_needed(extra);
            if self.supply() >= self.stock() || !room || !self.clean_one()? {
                break;
            }
        }
        // One of each in a call: others wait for the next, or for idle time.
        if self.has_urgent() && len32(self.log.window.len()) > self.blocks_needed(extra) {
            self.relieve_one()?;
        }
        if len32(self.log.window.len()) > self.blocks_needed(extra) {
            self.level_wear()?;
        }
        Ok(())
    }

    /// Cleans with fewer blocks in the window than calls need: power cuts close open blocks half full, and recoveries
    /// take new ones. All survivors share a head, and the next checkpoint frees the reclaimed blocks.
    fn clean_lean(&mut self, extra: usize) -> Result<()> {
        while !self.has_room(extra)
            && self.supply() < self.blocks_needed(extra) + LEAN_BLOCKS
            && len32(self.log.window.len()) >= self.checkpoint_blocks(0) + LEAN_BLOCKS
        {
            self.lean = true;
            let cleaned = self.clean_one();
            self.lean = false;
            if !cleaned? {
                break;
            }
        }
        Ok(())
    }

    /// Cleans one block; false if there is none worth it.
    pub(crate) fn clean_one(&mut self) -> Result<bool> {
        self.feed_pool();
        let Some((block, view)) = self.blocks.take_victim(self.lean) else { return Ok(false) };
        let usage = self.blocks.get(&mut self.log, block)?;
        let from = self.cleaned(view);
        self.evacuate_from(block, &usage, &from)?;
        self.placer.reclaimed(self.blocks.clock, &from);
        Ok(true)
    }

    /// True if there may be a block that must be emptied at any cost.
    pub(crate) fn has_urgent(&self) -> bool {
        let Blocks { failing, evacuated, .. } = &self.blocks;
        self.log.flash.medium.has_tired() || failing.iter().any(|block| !evacuated.contains(block))
    }

    /// Empties a block in which a program failed, or that is near its limit; false if there is none.
    pub(crate) fn relieve_one(&mut self) -> Result<bool> {
        let Some(block) = self.urgent()? else { return Ok(false) };
        if self.blocks.get(&mut self.log, block)?.state == State::Used {
            self.patrol.count_moved();
        }
        self.evacuate(block)?;
        // The reads have called it tired again; chunks left there cannot be read.
        self.log.flash.medium.forget_tired(block);
        Ok(true)
    }

    /// A block that must be emptied at any cost: a program failed in it, ECC is near its limit, or it was read too
    /// often.
    fn urgent(&mut self) -> Result<Option<u32>> {
        while let Some(block) = self.log.flash.medium.take_tired() {
            let usage = self.blocks.get(&mut self.log, block)?;
            if usage.state != State::Used || usage.valid == 0 || self.roots.holds(block) {
                continue;
            }
            // On an idle volume a head may stand in the same block for years.
            self.log.leave(block)?;
            self.apply_events()?;
            self.blocks.candidates.pool.remove(block);
            return Ok(Some(block));
        }
        for block in self.blocks.failing.clone() {
            if self.blocks.get(&mut self.log, block)?.valid > 0 && self.blocks.evacuated.insert(block) {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    /// Lets the pool see blocks sealed before the mount, or dropped when it was full.
    fn feed_pool(&mut self) {
        let span = self.params.blocks - ANCHOR_BLOCKS;
        let batch = if self.blocks.scanned < span { span.min(2048) } else { (span / 64).clamp(1, 64) };
        // A pool that holds every block needs no more looks once all were seen.
        if self.blocks.scanned >= span && span <= 2048 {
            return;
        }
        for _ in 0..batch {
            let block = ANCHOR_BLOCKS + self.blocks.scanned % span;
            self.blocks.scanned =
                if self.blocks.scanned == u32::MAX { span } else { self.blocks.scanned + 1 };
            // Blocks on an unreadable page of the table wait for its repair.
            let Ok(usage) = self.blocks.get(&mut self.log, block) else { continue };
            if self.is_candidate(block, &usage) {
                self.blocks.offer(block, &usage);
            }
        }
    }

    fn is_candidate(&self, block: u32, usage: &Usage) -> bool {
        usage.state == State::Used
            && usage.valid > 0
            && !self.is_in_use(block)
            && !self.blocks.candidates.pool.contains(block)
    }

    /// A victim as placement sees it, with the store around it.
    fn cleaned(&self, segment: SegmentView) -> Cleaned {
        // Counts of a damaged volume may be too high.
        let good = self.params.blocks.saturating_sub(ANCHOR_BLOCKS + self.blocks.bad);
        Cleaned {
            segment,
            live: self.data_blocks * u64::from(self.params.unit()) + self.nodes.bytes,
            room: u64::from(good) * u64::from(self.params.block_payload()),
        }
    }

    /// Moves all live chunks out of a block. Unreadable ones stay, and the block with them.
    pub(crate) fn evacuate(&mut self, block: u32) -> Result<()> {
        let usage = self.blocks.get(&mut self.log, block)?;
        let from = self.cleaned(self.blocks.view(&usage));
        self.evacuate_from(block, &usage, &from)
    }

    /// The same for a block with known usage.
    fn evacuate_from(&mut self, block: u32, usage: &Usage, from: &Cleaned) -> Result<()> {
        let from = holds_data(usage).then_some(from);
        // A wrong bit in the spare area hides a chunk from a look at the tag alone.
        if self.evacuate_by(block, from, Flash::read_tag)? < usage.valid {
            self.evacuate_by(block, from, |flash, page| flash.read(page).map(|found| Some(found.tag)))?;
        }
        Ok(())
    }

    /// Moves the live chunks that the tags name; returns their bytes. Placement is told its view of the block if that
    /// holds data.
    fn evacuate_by(&mut self, block: u32, from: Option<&Cleaned>, tag: ReadTag<'c>) -> Result<u32> {
        let mut live = self.live_chunks(block, tag);
        let found = live.iter().map(|(addr, _)| u32::from(addr.len)).sum();
        self.placer.sort(self.blocks.clock, &mut live);
        for (addr, desc) in live {
            // Moving one may itself have moved another: a failed program in the same block.
            if self.live(&desc)? == addr {
                self.move_chunk(from, addr, &desc)?;
            }
        }
        Ok(found)
    }

    /// Moves the live chunks out of the page programmed last when the power went: it may fade.
    pub(crate) fn move_newest(&mut self) -> Result<()> {
        let Some(page) = self.log.flash.medium.pinned() else { return Ok(()) };
        let usage = self.blocks.get(&mut self.log, self.params.block_of(page))?;
        let from = self.cleaned(self.blocks.view(&usage));
        let from = holds_data(&usage).then_some(&from);
        for (offset, desc) in self.log.flash.read(page)?.tag.chunks() {
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
        let is_here = addr.page < page && self.params.block_of(addr.page) == self.params.block_of(page);
        if !addr.is_stored() || !is_here {
            return Ok(());
        }
        let kind = self.log.read_block(addr, rest.id, rest.index, |_, kind| kind)?;
        self.move_chunk(from, addr, &Desc { kind, len: addr.len, ..whole })
    }

    /// The live chunks of a block by the tags of its pages.
    pub(crate) fn live_chunks(&mut self, block: u32, tag: ReadTag<'c>) -> Vec<(Addr, Desc)> {
        let mut found = Vec::new();
        for index in 0..self.params.pages_per_block {
            let page = self.params.page(block, index);
            let Ok(Some(tag)) = tag(&mut self.log.flash, page) else { continue };
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
            kind if kind.is_block() => self.cache.is_dirty(desc.id, desc.index),
            ChunkKind::Node => self.nodes.is_dirty(desc.id),
            _ => false,
        };
        if changed {
            // The next checkpoint writes it anyway, and lets go of this copy.
            return Ok(());
        }
        let Ok(bytes) = self.log.read(addr, desc, <[u8]>::to_vec) else { return Ok(()) };
        let head = self.survivor_head(from, desc);
        let to = self.append(head, *desc, &bytes)?;
        self.copied_bytes += u64::from(addr.len);
        // Appending may itself have moved the chunk: a failed program in the same block.
        let from = self.live(desc)?;
        self.repoint(desc, to)?;
        self.release(from)
    }

    fn survivor_head(&mut self, from: Option<&Cleaned>, desc: &Desc) -> usize {
        match from {
            Some(_) if desc.kind.is_block() && self.lean => DATA,
            Some(from) if desc.kind.is_block() => {
                DATA + self.placer.cleaner_copy(self.blocks.clock, (desc.id, desc.index), from)
            }
            _ => META,
        }
    }

    /// Work that can wait; true if more is left.
    pub(crate) fn maintain_some(&mut self) -> Result<bool> {
        if self.read_only || self.host_room()? == Some(0) {
            return Ok(false);
        }
        // A clean checkpoint is true as long as nothing is touched; decaying blocks must be touched.
        if !self.clean && self.tidy_up()? {
            return Ok(true);
        }
        self.patrol_some()
    }

    /// Prepares for the next calls of users; true if more is left.
    fn tidy_up(&mut self) -> Result<bool> {
        if self.log.erase_ahead()? {
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
        if self.blocks.dying.len() >= DYING_SAVED && self.log.window.len() < self.window_max / 2 {
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
