//! Emptying an erase block: its live chunks move, one after the other.

use alloc::vec::Vec;

use pumice_cleaning::{Cleaned, SegmentView};
use pumice_vfs::Result;

use crate::addr::Addr;
use crate::blocks::Usage;
use crate::codec::{len32, size};
use crate::files::Files;
use crate::log::Log;
use crate::moving::{Move, Reason, Supply};
use crate::pages::{DATA, META, SYNC};
use crate::params::ANCHOR_BLOCKS;
use crate::room::Room;
use crate::tag::{ChunkKind, Desc};

impl Log<'_> {
    /// The move of all live chunks out of a block.
    pub(crate) fn start_move(
        &mut self,
        files: &mut Files,
        block: u32,
        reason: Reason,
        view: SegmentView,
    ) -> Result<Move> {
        let usage = self.usage(block)?;
        let mut live = self.live_chunks(files, block, false);
        if live.iter().map(|(addr, _)| u32::from(addr.len)).sum::<u32>() < usage.valid {
            // A wrong bit in the spare area hides a chunk from a look at the tag alone.
            live = self.live_chunks(files, block, true);
        }
        self.placer.sort(self.blocks.clock(), &mut live);
        Ok(Move::new((block, reason), self.cleaned(files, view), holds_data(&usage), live))
    }

    /// Moves the next chunk; returns its bytes, or nothing if none was left.
    pub(crate) fn move_next(
        &mut self,
        files: &mut Files,
        moving: &mut Move,
        supply: Supply,
    ) -> Result<Option<u32>> {
        let Some((addr, desc)) = moving.next() else { return Ok(None) };
        let before = self.pages.taken().blocks;
        // Others may have written it since, and a failed program may have moved it.
        if self.live(files, &desc)? == addr {
            self.move_chunk(files, addr, &desc, |log, it| log.survivor_head(moving.data(), it, supply))?;
        }
        moving.count_opened(len32(size(self.pages.taken().blocks - before)));
        if moving.reason() == Reason::Wear {
            self.leveler.count_moved(addr.len.into());
        }
        Ok(Some(addr.len.into()))
    }

    pub(crate) fn end_move(&mut self, moving: &Move) {
        match moving.reason() {
            Reason::Space => self.placer.reclaimed(self.blocks.clock(), moving.from()),
            Reason::Wear => {}
            // The reads have called it tired again; chunks left there cannot be read.
            Reason::Danger => self.pages.medium_mut().forget_tired(moving.block()),
        }
    }

    /// A victim as placement sees it, with the store around it.
    fn cleaned(&self, files: &Files, segment: SegmentView) -> Cleaned {
        // Counts of a damaged volume may be too high.
        let good = self.params.blocks.saturating_sub(ANCHOR_BLOCKS + self.blocks.bad());
        Cleaned {
            segment,
            live: Room::of(self, files).live_bytes(),
            room: u64::from(good) * u64::from(self.params.block_payload()),
        }
    }

    /// Moves the live chunks out of the page programmed last when the power went: it may fade.
    pub(crate) fn move_newest(&mut self, files: &mut Files) -> Result<()> {
        let Some(page) = self.pages.medium().pinned() else { return Ok(()) };
        for (offset, desc) in self.pages.read_page(page)?.tag.chunks() {
            let addr = Addr { page, offset, len: desc.len };
            if desc.kind == ChunkKind::Rest {
                self.move_begun(files, page, &desc)?;
            } else if self.live(files, &desc)? == addr {
                self.move_chunk(files, addr, &desc, head_of_newest)?;
            }
        }
        Ok(())
    }

    /// Moves the live chunk that began before a page and goes on there.
    fn move_begun(&mut self, files: &mut Files, page: u32, rest: &Desc) -> Result<()> {
        let whole = Desc { kind: ChunkKind::Data, ..*rest };
        let addr = self.live(files, &whole)?;
        let is_here = addr.page < page && self.params.block_of(addr.page) == self.params.block_of(page);
        if !addr.is_stored() || !is_here {
            return Ok(());
        }
        let kind = self.pages.read_block(addr, rest.id, rest.index, |_, kind| kind)?;
        self.move_chunk(files, addr, &Desc { kind, len: addr.len, ..whole }, head_of_newest)
    }

    /// The live chunks of a block by the tags of its pages, which are read whole or not.
    pub(crate) fn live_chunks(&mut self, files: &mut Files, block: u32, whole: bool) -> Vec<(Addr, Desc)> {
        let mut found = Vec::new();
        for index in 0..self.params.pages_per_block {
            let page = self.params.page(block, index);
            let tag = match whole {
                true => self.pages.read_page(page).map(|found| Some(found.tag)),
                false => self.pages.read_tag(page),
            };
            let Ok(Some(tag)) = tag else { continue };
            for (offset, desc) in tag.chunks() {
                let addr = Addr { page, offset, len: desc.len };
                // An owner that cannot be read keeps its chunks where they are.
                if self.live(files, &desc).is_ok_and(|live| live == addr) {
                    found.push((addr, desc));
                }
            }
        }
        found
    }

    /// Moves a chunk to the head that is chosen for it.
    fn move_chunk(
        &mut self,
        files: &mut Files,
        addr: Addr,
        it: &Desc,
        choose: impl FnOnce(&mut Self, &Desc) -> usize,
    ) -> Result<()> {
        let changed = match it.kind {
            kind if kind.is_block() => files.cache.is_dirty(it.id, it.index),
            ChunkKind::Node => files.nodes.is_dirty(it.id),
            _ => false,
        };
        if changed {
            // The next checkpoint writes it anyway, and lets go of this copy.
            return Ok(());
        }
        let Ok(bytes) = self.pages.read(addr, it, <[u8]>::to_vec) else { return Ok(()) };
        let head = choose(self, it);
        let to = self.append(files, head, *it, &bytes)?;
        self.cleaner.count_copied(addr.len.into());
        // Appending may itself have moved the chunk: a failed program in the same block.
        let from = self.live(files, it)?;
        self.repoint(files, it, to)?;
        self.release(from)
    }

    fn survivor_head(&mut self, from: Option<&Cleaned>, desc: &Desc, supply: Supply) -> usize {
        match from {
            Some(_) if desc.kind.is_block() && supply == Supply::Lean => DATA,
            Some(from) if desc.kind.is_block() => {
                DATA + self.placer.cleaner_copy(self.blocks.clock(), (desc.id, desc.index), from)
            }
            _ => META,
        }
    }
}

/// The head for what is moved before the first fsync, which opens a block of this one anyway.
fn head_of_newest(_: &mut Log<'_>, desc: &Desc) -> usize {
    if desc.kind.is_block() { SYNC } else { META }
}

/// True if the erase block holds users' blocks of files, or copies of them.
fn holds_data(usage: &Usage) -> bool {
    usize::from(usage.head) != META
}
