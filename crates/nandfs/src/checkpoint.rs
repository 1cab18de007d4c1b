//! Making a checkpoint: everything changed goes to the log, then one page says where it is.
//!
//! Calls before it make it ready, so that none of them waits for all of it: they write index nodes in pieces, and erase
//! the blocks that it may open. Until the checkpoint is there nobody needs these nodes. Recovery passes over their pages,
//! as over those of a checkpoint that was cut, and an fsync that promises such a node writes it once more. Inodes are left
//! to the checkpoint: a repair takes what fsync wrote before an inode for part of it.

#[cfg(test)]
mod tests;

use alloc::vec::Vec;

use pumice_flashlog::{Keeper, Medium, Taken};
use pumice_media::NandError;
use pumice_vfs::{Errno, FsError, Result};

use crate::addr::Addr;
use crate::checkpoint_record::Checkpoint;
use crate::error::device;
use crate::files::Files;
use crate::log::Log;
use crate::nodes::ROOT;
use crate::pages::{META, Pages, Spare};
use crate::room::ROOT_BLOCKS;
use crate::table::Page;
use crate::tag::Desc;
use crate::volume::Volume;

/// Journal entries kept free for the changes that writing the checkpoint itself makes: opened blocks, mostly.
const JOURNAL_SLACK: usize = 12;

/// Log pages of nodes written in one call, and as many are left to the checkpoint: an eighth of an erase block, and at
/// most so many.
const PIECE_PAGES: u32 = 8;
/// Blocks of the window that are erased before the checkpoint takes them.
const ERASED: usize = 4;
/// A checkpoint is near if the window has at most so many blocks more than it must have.
const NEAR_BLOCKS: u32 = 3;

impl Volume<'_> {
    /// Makes a part of the next checkpoint ready, before a call that writes so many bytes, if it is near; false if nothing
    /// was left to do.
    pub(crate) fn prepare_checkpoint(&mut self, extra: usize) -> Result<bool> {
        if !self.is_checkpoint_near(extra) {
            return Ok(false);
        }
        let roots = if self.log.roots.is_full() { ROOT_BLOCKS as usize } else { 0 };
        if self.log.pages.erase_ahead(ERASED, roots)? {
            self.log.apply_events(&mut self.files)?;
            return Ok(true);
        }
        Ok(self.room().may_clean(extra) && self.log.write_nodes_ahead(&mut self.files)?)
    }

    fn is_checkpoint_near(&self, extra: usize) -> bool {
        self.log.reach.is_nearly_over(&self.log.pages) || self.room().spare_blocks(extra) <= NEAR_BLOCKS
    }

    /// Makes a checkpoint. Once it returns, a power cut loses nothing that came before.
    pub(crate) fn checkpoint(&mut self, clean: bool) -> Result<()> {
        self.files.nodes.measure();
        self.checkpoint_within(self.room().checkpoint_blocks(0).into(), clean)
    }

    /// The first one of a volume, for which format has made room.
    pub(crate) fn first_checkpoint(&mut self) -> Result<()> {
        self.checkpoint_within(u64::MAX, true)
    }

    /// Makes a checkpoint for which so many blocks are held.
    fn checkpoint_within(&mut self, held: u64, clean: bool) -> Result<()> {
        let before = self.log.pages.taken();
        let end = self.files.nodes.end();
        let written = self.write_checkpoint(clean);
        if written.is_err() {
            self.files.nodes.ids.fail(end);
        }
        let fresh = written?;
        let taken = self.log.pages.taken();
        // One failed program is held for, by cleaning; a chip that wears out has more.
        debug_assert!(
            taken.blocks - before.blocks <= held || taken.failures > before.failures,
            "a checkpoint took {} blocks, {held} were held for it",
            taken.blocks - before.blocks
        );
        self.log.forget_empty_move()?;
        self.log.cleaner.rest(1);
        self.log.pages.add_to_window(&fresh);
        self.log.pages.start_epoch();
        self.log.reach.begin();
        self.files.settle();
        self.names.clear();
        self.files.nodes.checkpointed();
        self.log.recorded.set_clean(clean);
        self.log.blocks.bury_failing(&mut self.log.pages)?;
        self.files.trim(&mut self.log);
        Ok(())
    }

    /// Writes it; returns the blocks that it adds to the window.
    fn write_checkpoint(&mut self, clean: bool) -> Result<Vec<Spare>> {
        self.log.write_everything(&mut self.files)?;
        let fresh = self.log.choose_window()?;
        self.log.write_tables(&mut self.files)?;
        if clean {
            self.log.pages.leave_all()?;
        }
        self.commit(clean, &fresh)?;
        Ok(fresh)
    }

    /// Writes the clean checkpoint that was found once more.
    pub(crate) fn repeat_clean(&mut self) -> Result<()> {
        self.commit(true, &[])
    }

    /// Writes the checkpoint page.
    pub(crate) fn commit(&mut self, clean: bool, fresh: &[Spare]) -> Result<()> {
        self.log.doubt_torn()?;
        self.log.pages.protect()?;
        self.log.release_copies();
        let root_inode = self.files.nodes.addr(&mut self.log.pages, ROOT)?;
        self.log.patrol.count_rebuilt(self.log.pages.medium().rebuilt_pages());
        let Files { nodes, data_blocks, .. } = &mut self.files;
        let Log { pages, params, blocks, roots, recorded, status, patrol, .. } = &mut self.log;
        let encode = |pages: &mut Pages<'_>, left: &[u32]| {
            blocks.observe(pages)?;
            let window = pages.named_window(fresh);
            let (copies, guarded) = pages.told_copies();
            Ok(Checkpoint {
                number: recorded.checkpoints() + 1,
                clean,
                worn_out: status.is_worn_out(),
                seq: pages.medium().seq(),
                inodes: nodes.inodes,
                data_blocks: *data_blocks,
                node_bytes: nodes.bytes,
                blocks: blocks.tell(left, recorded.limits().failing),
                next_nid: nodes.end(),
                node_roots: (nodes.table.roots.clone(), nodes.table.height),
                block_roots: (blocks.table.roots.clone(), blocks.table.height),
                root_inode,
                heads: pages.places().collect(),
                window,
                node_journal: journal(&nodes.table.overlay),
                block_journal: journal(&blocks.table.overlay),
                rounds: patrol.rounds(),
                copies,
                guarded,
            }
            .encode(params))
        };
        pages.keep();
        let left = match roots.write(&mut Scribe { pages, encode }) {
            Err(error) if error.errno() == Errno::ReadOnly => return Err(self.log.end_unwritten()),
            left => left?,
        };
        self.log.recorded.count();
        self.log.patrol.save();
        self.log.pages.medium_mut().flush().map_err(device)?;
        self.log.apply_events(&mut self.files)?;
        for block in left {
            self.log.blocks.leave_root(&mut self.log.pages, block)?;
        }
        Ok(())
    }
}

impl Log<'_> {
    /// Writes some of the changed index nodes; false if few are left.
    fn write_nodes_ahead(&mut self, files: &mut Files) -> Result<bool> {
        let pages = (self.params.pages_per_block / 8).clamp(1, PIECE_PAGES);
        let mut room = u64::from(pages * self.params.payload);
        if files.nodes.dirty_bytes() <= room {
            return Ok(false);
        }
        let cache = &files.cache;
        // Those with blocks that wait to be written change again.
        let waits = |owner: u32| cache.next_dirty((owner, 0)).is_some_and(|(next, _)| next == owner);
        let indices = files.nodes.dirty_indices().filter(|(owner, ..)| !waits(*owner));
        let piece = indices.map_while(|(_, nid, bytes)| {
            room = room.checked_sub(bytes.into())?;
            Some(nid)
        });
        let piece: Vec<u32> = piece.collect();
        if piece.is_empty() {
            return Ok(false);
        }
        // An fsync that failed may have left nodes that are promised with the next.
        self.program(files, META, None)?;
        self.pages.write_ahead(true);
        let done = self.write_piece(files, piece);
        self.pages.write_ahead(false);
        done.map(|()| true)
    }

    fn write_piece(&mut self, files: &mut Files, nids: Vec<u32>) -> Result<()> {
        for nid in nids {
            self.write_node(files, nid)?;
            files.nodes.note_ahead(nid);
        }
        self.program(files, META, None)
    }

    /// Writes data and nodes until nothing is left; a failed program may move a chunk and change a node again.
    pub(crate) fn write_everything(&mut self, files: &mut Files) -> Result<()> {
        loop {
            files.write_back_all(self)?;
            for nid in files.nodes.dirty_nids(None) {
                self.write_node(files, nid)?;
            }
            self.program_all(files)?;
            if files.nodes.dirty() == 0 {
                return Ok(());
            }
        }
    }

    /// Writes table pages, unless the changes fit into the checkpoint's journals.
    fn write_tables(&mut self, files: &mut Files) -> Result<()> {
        let shrinks = files.nodes.lower_end(&mut self.pages);
        let is_full = files.nodes.table.overlay.len() > self.recorded.limits().node_journal;
        if shrinks || is_full || files.nodes.table.is_dirty() {
            self.write_node_table(files)?;
        }
        while self.blocks.table.is_dirty()
            || self.blocks.table.overlay.len() + JOURNAL_SLACK > self.recorded.limits().block_journal
        {
            self.write_block_table(files)?;
        }
        Ok(())
    }

    fn write_node_table(&mut self, files: &mut Files) -> Result<()> {
        files.nodes.table.absorb_overlay(&mut self.pages)?;
        loop {
            while let Some(Page { level, index, desc, bytes }) =
                files.nodes.table.next_dirty(&mut self.pages)?
            {
                let old = files.nodes.table.addr_of(&mut self.pages, (level, index))?;
                self.release(old)?;
                let addr = self.append_page(files, desc, &bytes)?;
                files.nodes.table.set_addr(&mut self.pages, (level, index), addr)?;
            }
            self.program(files, META, None)?;
            if files.nodes.table.is_dirty() {
                continue;
            }
            while let Some(old) = files.nodes.table.lower(&mut self.pages)? {
                self.release(old)?;
            }
            return Ok(());
        }
    }

    /// Adds a page of a table to the log, unless it holds nothing.
    fn append_page(&mut self, files: &mut Files, desc: Desc, bytes: &[u8]) -> Result<Addr> {
        if bytes.is_empty() { Ok(Addr::NONE) } else { self.append(files, META, desc, bytes) }
    }

    /// Writes the block table, which counts its own pages. Old pages are counted out before any page is written, and
    /// the changes by the new ones (a few blocks beside each other) are small enough for the journal.
    fn write_block_table(&mut self, files: &mut Files) -> Result<()> {
        let mut released = alloc::collections::BTreeSet::new();
        loop {
            let mut more = false;
            for place in self.blocks.table.pages_to_write() {
                if released.insert(place) {
                    let old = self.blocks.detach(&mut self.pages, place)?;
                    self.release(old)?;
                    more = true;
                }
            }
            if !more {
                break;
            }
        }
        self.blocks.table.absorb_overlay(&mut self.pages)?;
        loop {
            while let Some(Page { level, index, desc, bytes }) =
                self.blocks.table.next_dirty(&mut self.pages)?
            {
                let old = self.blocks.table.addr_of(&mut self.pages, (level, index))?;
                self.release(old)?;
                let addr = self.append_page(files, desc, &bytes)?;
                self.blocks.table.set_addr(&mut self.pages, (level, index), addr)?;
            }
            self.program(files, META, None)?;
            if !self.blocks.table.is_dirty() {
                return Ok(());
            }
        }
    }
}

/// The log as its roots need it while a checkpoint is made.
struct Scribe<'a, 'c, E> {
    pages: &'a mut Pages<'c>,
    /// Makes the record, given the blocks that are being left.
    encode: E,
}

impl<'c, E: FnMut(&mut Pages<'_>, &[u32]) -> Result<Vec<u8>>> Keeper<'c> for Scribe<'_, 'c, E> {
    type Error = FsError;

    fn medium(&mut self) -> &mut Medium<'c> {
        self.pages.medium_mut()
    }

    fn take_blocks(&mut self) -> Result<Taken> {
        let first = self.pages.take_root_block()?;
        match self.pages.take_root_block() {
            Ok(second) => Ok(Taken::Both([first, second])),
            Err(error) => {
                self.pages.give_back(first);
                Err(error)
            }
        }
    }

    fn failing(&mut self, block: u32) {
        self.pages.report_failing(block);
    }

    fn record(&mut self, left: &[u32]) -> Result<Vec<u8>> {
        (self.encode)(self.pages, left)
    }

    fn chip_error(error: NandError) -> FsError {
        device(error)
    }

    fn worn_out() -> FsError {
        Errno::ReadOnly.into()
    }
}

fn journal<const E: usize>(overlay: &hashbrown::HashMap<u32, [u8; E]>) -> Vec<(u32, [u8; E])> {
    let mut entries: Vec<(u32, [u8; E])> = overlay.iter().map(|(key, entry)| (*key, *entry)).collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    entries
}
