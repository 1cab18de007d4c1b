//! Pages in a container file: a simulated chip that outlives the process.

use std::boxed::Box;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::vec;
use std::vec::Vec;

use crate::container::{self, Batch, Known, Layout, SUM_BYTES};
use crate::error::{MediaError, device_error};
use crate::host::{HostFile, Session};
use crate::lock::{Locked, create_locked, lock};
use crate::memory::Memory;
use crate::nand::{BlockId, NandError};
use crate::sim::SimChip;
use crate::spec::ChipSpec;
use crate::store::{PageState, Store, Wear};

/// A simulated chip in a container file.
pub type ChipFile = SimChip<FileStore>;

impl SimChip<FileStore> {
    /// Makes a container for a fresh chip and opens it. With `force` an existing file is replaced, unless
    /// another process has it open.
    pub fn create(path: impl AsRef<Path>, spec: &ChipSpec, force: bool) -> Result<ChipFile, MediaError> {
        let path = path.as_ref();
        let file = create_locked(path, force)?;
        let memory = Memory::default();
        let made = format(&file, path, spec, &memory);
        if made.is_err() && !force {
            // Half a container is of no use, and would be in the way of the next attempt.
            let _ = fs::remove_file(path);
        }
        made?;
        let store = FileStore::new(Box::new(file), path, spec, false, (0, memory.clone()));
        let store = store.map_err(MediaError::io("read", path))?;
        Ok(SimChip::over(spec.clone(), store, memory))
    }

    /// Opens a container. Opening gives the chip its power back after a cut.
    ///
    /// A writer needs the file for itself; readers share it. With `read_only` every program and erase fails
    /// with `EROFS` and nothing is remembered of what was read.
    pub fn open(path: impl AsRef<Path>, read_only: bool) -> Result<ChipFile, MediaError> {
        let path = path.as_ref();
        let mut options = OpenOptions::new();
        let file = options.read(true).write(!read_only).open(path).map_err(MediaError::io("open", path))?;
        ChipFile::open_on(Box::new(lock(file, path, read_only)?), path, read_only)
    }

    /// Opens the container that lies in a file; messages call it by this path.
    pub fn open_on(file: Box<dyn HostFile>, path: &Path, read_only: bool) -> Result<ChipFile, MediaError> {
        let spec = container::read_header(&*file, path)?;
        let (sequence, memory) = container::read_slots(&*file, path)?;
        let store = FileStore::new(file, path, &spec, read_only, (sequence, memory.clone()));
        let store = store.map_err(MediaError::io("read", path))?;
        Ok(SimChip::over(spec, store, memory))
    }
}

/// Makes the file an empty container, whatever it held.
fn format(file: &Locked, path: &Path, spec: &ChipSpec, memory: &Memory) -> Result<(), MediaError> {
    let bytes = Layout::new(&spec.geometry()).file_bytes();
    file.set_len(0).and_then(|()| file.set_len(bytes)).map_err(MediaError::io("size", path))?;
    container::write_slot(file, path, 0, memory)?;
    container::write_header(file, path, spec)
}

/// Pages in a container file.
///
/// Each program writes the page first and its state after it, so that a process that is killed leaves every page either
/// erased or whole, and each erase done or not done.
///
/// After a power cut of the host, everything is there that was programmed up to a flush, or to an erase, whichever came
/// last; later programs are not. For that, the first erase after a program waits for the disk, the first program of a
/// block waits for its erase, and each flush writes down which pages it covers. The first write of a process waits for the disk, too; after a cut it looks at every block's record.
/// Once the disk fails to sync, nobody knows what it holds: nothing is written any more, and each program, erase and flush
/// fails as the sync did.
///
/// Faults, work done, the clock, and the counts of operations and of reads are kept by `flush` and when the chip is
/// dropped, not by each operation.
#[derive(Debug)]
pub struct FileStore {
    file: Box<dyn HostFile>,
    path: PathBuf,
    layout: Layout,
    pages_per_block: u32,
    blocks: u32,
    read_only: bool,
    /// Blocks that were looked at.
    records: HashMap<u32, Known>,
    /// Blocks whose reads the file does not know yet.
    unsaved_reads: BTreeSet<u32>,
    /// One page with its spare bytes and check sums, so that each takes one call to the system.
    scratch: Vec<u8>,
    /// Sequence number and contents of the newest slot.
    saved: (u64, Memory),
    /// What was programmed since the last sync; its number is the next.
    batch: Batch,
    /// Blocks that were erased since the last sync.
    erased: BTreeSet<BlockId>,
    /// Blocks' records count up to this batch.
    last: u64,
    /// The session of the last write.
    session: Session,
    /// Whether this process wrote, and all that others wrote is synced.
    has_begun: bool,
    /// Whether the newest slot is synced.
    slot_is_synced: bool,
    /// The number that a sync failed with.
    sync_failed: Option<i32>,
}

impl FileStore {
    fn new(
        file: Box<dyn HostFile>,
        path: &Path,
        spec: &ChipSpec,
        read_only: bool,
        saved: (u64, Memory),
    ) -> io::Result<FileStore> {
        let geometry = spec.geometry();
        let session = container::read_session(&*file)?;
        let mut store = FileStore {
            file,
            path: path.to_path_buf(),
            layout: Layout::new(&geometry),
            pages_per_block: geometry.pages_per_block,
            blocks: geometry.blocks,
            read_only,
            records: HashMap::new(),
            unsaved_reads: BTreeSet::new(),
            scratch: Vec::new(),
            saved,
            batch: Batch::default(),
            erased: BTreeSet::new(),
            last: u64::MAX,
            session,
            has_begun: false,
            slot_is_synced: false,
            sync_failed: None,
        };
        let batches = Batch::read_last(&*store.file)?;
        let newest = batches.first().map_or(0, |batch| batch.number);
        let mut whole = newest;
        if !store.is_same_session() {
            if let Some(batch) = batches.first() {
                whole -= u64::from(!store.is_whole(batch)?);
            }
            store.last = whole;
        }
        store.batch.number = whole + 1;
        Ok(store)
    }

    /// Whether nothing that was written before is lost.
    fn is_same_session(&self) -> bool {
        let none = Session::default();
        let session = self.file.session();
        self.session == none || session != none && self.session == session
    }

    /// Whether each page of a batch is there, or was erased later, which it was not before it was there.
    fn is_whole(&mut self, batch: &Batch) -> io::Result<bool> {
        for (page, generation) in &batch.pages {
            let (block, index) = (BlockId(page / self.pages_per_block), page % self.pages_per_block);
            let mut bytes = vec![0; container::record_bytes(self.pages_per_block)];
            self.file.read_exact_at(&mut bytes, self.layout.record_at(block.0))?;
            let known = container::decode_record(&bytes, u64::MAX);
            if known.generation.is_after(*generation) {
                return Ok(true);
            }
            let mut record = [0; container::PAGE_RECORD];
            self.file.read_exact_at(&mut record, self.layout.page_record_at(block.0, index))?;
            let is_noted = container::is_of(&record, batch.number, *generation);
            if !is_noted || known.record.state(index).is_written() && !self.is_page_whole(block, index)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the bytes of a page are those that were programmed.
    fn is_page_whole(&self, block: BlockId, index: u32) -> io::Result<bool> {
        let mut bytes = vec![0; self.layout.page_bytes()];
        self.file.read_exact_at(&mut bytes, self.layout.page_at(block.0, index))?;
        let (page, sum) = bytes.split_at(bytes.len() - SUM_BYTES);
        Ok(crc32fast::hash(page).to_le_bytes() == *sum)
    }

    /// Waits for what other processes wrote, and takes away what a power cut of the host left behind the last batch.
    fn begin(&mut self) -> Result<(), NandError> {
        self.writable()?;
        if self.last < u64::MAX {
            let mut bytes = vec![0; container::record_bytes(self.pages_per_block)];
            for block in 0..self.blocks {
                let at = self.layout.record_at(block);
                self.file.read_exact_at(&mut bytes, at).map_err(|e| device_error(&e))?;
                for index in container::pages_behind(&bytes, self.last) {
                    self.put(&[0; container::PAGE_RECORD], self.layout.page_record_at(block, index))?;
                }
            }
        }
        self.sync_file()?;
        self.last = u64::MAX;
        self.session = self.file.session();
        container::write_session(&*self.file, self.session).map_err(|e| device_error(&e))?;
        self.sync_file()?;
        self.has_begun = true;
        Ok(())
    }

    fn sync_file(&mut self) -> Result<(), NandError> {
        self.file.sync_data().map_err(|error| {
            let error = device_error(&error);
            self.sync_failed = Some(if let NandError::Device(errno) = error { errno } else { libc::EIO });
            error
        })
    }

    /// The container's path, as it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn known(&mut self, block: BlockId) -> Result<&mut Known, NandError> {
        match self.records.entry(block.0) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                let mut bytes = vec![0; container::record_bytes(self.pages_per_block)];
                let at = self.layout.record_at(block.0);
                self.file.read_exact_at(&mut bytes, at).map_err(|e| device_error(&e))?;
                Ok(entry.insert(container::decode_record(&bytes, self.last)))
            }
        }
    }

    /// An error if nothing may be written.
    fn writable(&self) -> Result<(), NandError> {
        let errno = if self.read_only { Some(libc::EROFS) } else { self.sync_failed };
        errno.map_or(Ok(()), |errno| Err(NandError::Device(errno)))
    }

    fn put(&self, bytes: &[u8], at: u64) -> Result<(), NandError> {
        self.writable()?;
        self.file.write_all_at(bytes, at).map_err(|e| device_error(&e))
    }

    /// Waits until everything written is on the disk, and ends the batch.
    fn wait(&mut self) -> Result<(), NandError> {
        self.writable()?;
        if !self.batch.pages.is_empty() {
            self.batch.write(&*self.file).map_err(|e| device_error(&e))?;
        }
        self.sync_file()?;
        if !self.batch.pages.is_empty() {
            self.batch.pages.clear();
            self.batch.number += 1;
        }
        self.erased.clear();
        self.slot_is_synced = true;
        Ok(())
    }
}

impl Store for FileStore {
    fn wear(&mut self, block: BlockId) -> Result<Wear, NandError> {
        Ok(self.known(block)?.record.wear)
    }

    fn set_wear(&mut self, block: BlockId, wear: Wear) -> Result<(), NandError> {
        if !self.has_begun {
            self.begin()?;
        }
        let &mut Known { reads, generation, .. } = self.known(block)?;
        self.put(&container::encode_head(wear, reads, generation), self.layout.record_at(block.0))?;
        self.known(block)?.record.wear = wear;
        Ok(())
    }

    fn next_page(&mut self, block: BlockId) -> Result<u32, NandError> {
        Ok(self.known(block)?.record.next())
    }

    fn page_state(&mut self, block: BlockId, index: u32) -> Result<PageState, NandError> {
        Ok(self.known(block)?.record.state(index))
    }

    fn read(
        &mut self,
        block: BlockId,
        index: u32,
        data: &mut [u8],
        spare: &mut [u8],
    ) -> Result<PageState, NandError> {
        let state = self.known(block)?.record.state(index);
        if !state.is_written() {
            data.fill(0xFF);
            spare.fill(0xFF);
        } else if data.is_empty() {
            let at = self.layout.spare_at(block.0, index);
            self.file.read_exact_at(spare, at).map_err(|e| device_error(&e))?;
        } else {
            self.scratch.resize(data.len() + spare.len(), 0);
            let at = self.layout.page_at(block.0, index);
            self.file.read_exact_at(&mut self.scratch, at).map_err(|e| device_error(&e))?;
            let (data_bytes, spare_bytes) = self.scratch.split_at(data.len());
            data.copy_from_slice(data_bytes);
            spare.copy_from_slice(spare_bytes);
        }
        Ok(state)
    }

    fn programmed_s(&mut self, block: BlockId, index: u32) -> Result<u32, NandError> {
        Ok(self.known(block)?.record.programmed_s(index))
    }

    fn reads(&mut self, block: BlockId) -> Result<u32, NandError> {
        self.known(block).map(|known| known.reads)
    }

    fn count_read(&mut self, block: BlockId) -> Result<(), NandError> {
        let known = self.known(block)?;
        known.reads = known.reads.saturating_add(1);
        self.unsaved_reads.insert(block.0);
        Ok(())
    }

    fn write(
        &mut self,
        (block, index): (BlockId, u32),
        state: PageState,
        programmed_s: u32,
        data: &[u8],
        spare: &[u8],
    ) -> Result<(), NandError> {
        if !self.has_begun {
            self.begin()?;
        }
        if self.batch.pages.len() >= Batch::PAGES_MOST || self.erased.contains(&block) {
            self.wait()?;
        }
        let generation = self.known(block)?.generation;
        self.batch.pages.push((block.0 * self.pages_per_block + index, generation));
        if state.is_written() {
            self.scratch.clear();
            self.scratch.extend_from_slice(data);
            self.scratch.extend_from_slice(spare);
            let sum = crc32fast::hash(&self.scratch);
            self.scratch.extend(sum.to_le_bytes());
            self.put(&self.scratch, self.layout.page_at(block.0, index))?;
        }
        let record = container::encode_page(state, programmed_s, generation, self.batch.number);
        self.put(&record, self.layout.page_record_at(block.0, index))?;
        self.known(block)?.record.set(index, state, programmed_s);
        Ok(())
    }

    fn erase(&mut self, block: BlockId, wear: Wear) -> Result<(), NandError> {
        if !self.has_begun {
            self.begin()?;
        }
        if !self.batch.pages.is_empty() {
            self.wait()?;
        }
        self.erased.insert(block);
        let next = self.known(block)?.generation.next();
        self.put(&container::encode_head(wear, 0, next), self.layout.record_at(block.0))?;
        let known = self.known(block)?;
        known.record.erase(wear);
        (known.reads, known.generation) = (0, next);
        self.unsaved_reads.remove(&block.0);
        Ok(())
    }

    fn save(&mut self, chip: &Memory) -> Result<(), NandError> {
        if self.read_only {
            return Ok(());
        }
        for block in core::mem::take(&mut self.unsaved_reads).into_iter().map(BlockId) {
            let wear = self.wear(block)?;
            self.set_wear(block, wear)?;
        }
        if self.saved.1 == *chip {
            return Ok(());
        }
        if !self.slot_is_synced {
            // The other slot is to be on the disk before this one is written over.
            self.wait()?;
        }
        self.writable()?;
        let sequence = self.saved.0 + 1;
        self.slot_is_synced = false;
        container::write_slot(&*self.file, &self.path, sequence, chip).map_err(|error| match error {
            MediaError::Io { source, .. } => device_error(&source),
            _ => NandError::Device(libc::EFBIG),
        })?;
        self.saved = (sequence, chip.clone());
        Ok(())
    }

    fn sync(&mut self) -> Result<(), NandError> {
        if self.read_only { Ok(()) } else { self.wait() }
    }
}
