//! The order of a container's writes to its host's disk: batches, and barriers between them.
//!
//! The host may reorder all writes between two syncs. Yet a power cut of the host leaves the same as a chip that
//! programs in order. Synced bytes are not written over before their replacement is synced, and the provable programs
//! behind the last sync are taken away; see [`container`].

use std::collections::BTreeSet;
use std::io;
use std::vec;

use crate::container::{self, Batch, Generation, Layout, PAGE_RECORD, SUM_BYTES};
use crate::error::device_error;
use crate::host::{HostFile, Session};
use crate::nand::{BlockId, NandError};

/// The host cannot tell its sessions apart.
const UNKNOWN: Session = Session([0xFF; 16]);

/// The writes since the last sync, and those lost before this process.
#[derive(Debug)]
pub(crate) struct Barriers {
    /// The programs since the last sync; its number is the next.
    batch: Batch,
    /// Blocks that were erased since the last sync.
    erased: BTreeSet<BlockId>,
    /// Records count up to this batch.
    last: u64,
    /// Whether this process wrote; all that others wrote is synced then.
    has_begun: bool,
    /// Whether the newest slot is synced.
    slot_is_synced: bool,
    /// The number that a sync failed with.
    failed: Option<i32>,
}

impl Barriers {
    /// Judges the writes of the last session.
    pub(crate) fn open(file: &dyn HostFile, layout: &Layout) -> io::Result<Barriers> {
        let (before, now) = (container::read_session(file)?, file.session());
        let is_all_there = before == Session::default() || before == now && now != Session::default();
        let newest = Batch::read_last(file)?;
        let mut number = newest.as_ref().map_or(0, |batch| batch.number);
        if let Some(batch) = newest.filter(|_| !is_all_there) {
            number -= u64::from(!is_whole(&batch, file, layout)?);
        }
        Ok(Barriers {
            batch: Batch { number: number + 1, pages: vec![] },
            erased: BTreeSet::new(),
            last: if is_all_there { u64::MAX } else { number },
            has_begun: false,
            slot_is_synced: false,
            failed: None,
        })
    }

    /// The last batch with pages that count.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// The batch that is programmed now.
    pub(crate) fn number(&self) -> u64 {
        self.batch.number
    }

    /// An error once a sync failed.
    pub(crate) fn check(&self) -> Result<(), NandError> {
        self.failed.map_or(Ok(()), |errno| Err(NandError::Device(errno)))
    }

    /// Comes before anything else is written by this process: waits for the writes of others, and takes away pages that
    /// a power cut left behind the last batch. It costs nothing once it is done.
    pub(crate) fn begin(&mut self, file: &dyn HostFile, layout: &Layout) -> Result<(), NandError> {
        self.check()?;
        if self.has_begun {
            return Ok(());
        }
        if self.last < u64::MAX {
            take_away(self.last, file, layout).map_err(|e| device_error(&e))?;
        }
        self.sync(file)?;
        let session = if file.session() == Session::default() { UNKNOWN } else { file.session() };
        container::write_session(file, session).map_err(|e| device_error(&e))?;
        self.sync(file)?;
        (self.last, self.has_begun) = (u64::MAX, true);
        Ok(())
    }

    /// True if the next program waits for a sync, for the batch has no room.
    pub(crate) fn is_full(&self) -> bool {
        self.batch.pages.len() >= Batch::PAGES_MOST
    }

    /// Comes before a page is programmed: the erase of its block is on the disk, and the batch has room.
    pub(crate) fn before_program(&mut self, block: BlockId, file: &dyn HostFile) -> Result<(), NandError> {
        if self.is_full() || self.erased.contains(&block) {
            self.wait(file)?;
        }
        Ok(())
    }

    /// A page was programmed.
    pub(crate) fn programmed(&mut self, page: u32, generation: Generation) {
        self.batch.pages.push((page, generation));
    }

    /// Comes before a block is erased: all programs are on the disk.
    pub(crate) fn before_erase(&mut self, block: BlockId, file: &dyn HostFile) -> Result<(), NandError> {
        if !self.batch.pages.is_empty() {
            self.wait(file)?;
        }
        self.erased.insert(block);
        Ok(())
    }

    /// Comes before a slot is written over: the other one is on the disk.
    pub(crate) fn before_slot(&mut self, file: &dyn HostFile) -> Result<(), NandError> {
        if !self.slot_is_synced {
            self.wait(file)?;
        }
        self.slot_is_synced = false;
        Ok(())
    }

    /// Waits until everything written is on the disk, and ends the batch.
    pub(crate) fn wait(&mut self, file: &dyn HostFile) -> Result<(), NandError> {
        self.check()?;
        let has_pages = !self.batch.pages.is_empty();
        if has_pages {
            self.batch.write(file).map_err(|e| device_error(&e))?;
        }
        self.sync(file)?;
        self.batch.pages.clear();
        self.batch.number += u64::from(has_pages);
        self.erased.clear();
        self.slot_is_synced = true;
        Ok(())
    }

    fn sync(&mut self, file: &dyn HostFile) -> Result<(), NandError> {
        file.sync_data().map_err(|error| {
            let error = device_error(&error);
            self.failed = Some(if let NandError::Device(errno) = error { errno } else { libc::EIO });
            error
        })
    }
}

/// Whether each page of a batch is there, or was erased later: an erase waits until the batch is there.
fn is_whole(batch: &Batch, file: &dyn HostFile, layout: &Layout) -> io::Result<bool> {
    let (mut record, mut bytes) = (layout.record(), vec![0; layout.page_bytes()]);
    for (page, generation) in &batch.pages {
        let Some((block, index)) = layout.place(*page) else { return Ok(false) };
        file.read_exact_at(&mut record, layout.record_at(block))?;
        if container::decode_record(&record, u64::MAX).generation.is_after(*generation) {
            return Ok(true);
        }
        let mut of_page = [0; PAGE_RECORD];
        file.read_exact_at(&mut of_page, layout.page_record_at(block, index))?;
        if !container::is_of(&of_page, batch.number, *generation) {
            return Ok(false);
        }
        file.read_exact_at(&mut bytes, layout.page_at(block, index))?;
        let (page, sum) = bytes.split_at(bytes.len() - SUM_BYTES);
        if container::is_written(&of_page) && crc32fast::hash(page).to_le_bytes() != *sum {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Takes the pages of later batches out of the records.
fn take_away(last: u64, file: &dyn HostFile, layout: &Layout) -> io::Result<()> {
    let mut record = layout.record();
    for block in 0..layout.blocks() {
        file.read_exact_at(&mut record, layout.record_at(block))?;
        for index in container::pages_behind(&record, last) {
            file.write_all_at(&[0; PAGE_RECORD], layout.page_record_at(block, index))?;
        }
    }
    Ok(())
}
