//! Pages in a container file: a simulated chip that outlives the process.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::vec;
use std::vec::Vec;

use crate::container::{self, Layout};
use crate::error::{MediaError, device_error};
use crate::lock::{Locked, create_locked, lock};
use crate::memory::Memory;
use crate::nand::{BlockId, NandError};
use crate::sim::SimChip;
use crate::spec::ChipSpec;
use crate::store::{BlockRecord, PageState, Store, Wear};

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
        let store = FileStore::new(file, path, spec, false, (0, memory.clone()));
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
        let file = lock(file, path, read_only)?;
        let spec = container::read_header(&file, path)?;
        let (sequence, memory) = container::read_slots(&file, path)?;
        let store = FileStore::new(file, path, &spec, read_only, (sequence, memory.clone()));
        Ok(SimChip::over(spec, store, memory))
    }
}

/// Makes the file an empty container, whatever it held.
fn format(file: &File, path: &Path, spec: &ChipSpec, memory: &Memory) -> Result<(), MediaError> {
    let bytes = Layout::new(&spec.geometry()).file_bytes();
    file.set_len(0).and_then(|()| file.set_len(bytes)).map_err(MediaError::io("size", path))?;
    container::write_slot(file, path, 0, memory)?;
    container::write_header(file, path, spec)
}

/// Pages in a container file.
///
/// Each program writes the page first and its state after it, so that a process that is killed leaves every
/// page either erased or whole; a killed erase may leave a half-erased block, as a chip does. A crash of the
/// host loses what was not flushed. Faults, work done, the clock, and the counts of operations and of reads are kept
/// by `flush` and when the chip is dropped, not by each operation.
#[derive(Debug)]
pub struct FileStore {
    file: Locked,
    path: PathBuf,
    layout: Layout,
    pages_per_block: u32,
    read_only: bool,
    /// Blocks that were looked at, with the reads since their erase.
    records: HashMap<u32, (BlockRecord, u32)>,
    /// Blocks whose reads the file does not know yet.
    unsaved_reads: BTreeSet<u32>,
    /// One page with its spare bytes, so that each takes one call to the system.
    scratch: Vec<u8>,
    /// Sequence number and contents of the newest slot.
    saved: (u64, Memory),
}

impl FileStore {
    fn new(file: Locked, path: &Path, spec: &ChipSpec, read_only: bool, saved: (u64, Memory)) -> FileStore {
        let geometry = spec.geometry();
        FileStore {
            file,
            path: path.to_path_buf(),
            layout: Layout::new(&geometry),
            pages_per_block: geometry.pages_per_block,
            read_only,
            records: HashMap::new(),
            unsaved_reads: BTreeSet::new(),
            scratch: Vec::new(),
            saved,
        }
    }

    /// The container's path, as it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn record(&mut self, block: BlockId) -> Result<&mut BlockRecord, NandError> {
        self.entry(block).map(|(record, _)| record)
    }

    fn entry(&mut self, block: BlockId) -> Result<&mut (BlockRecord, u32), NandError> {
        match self.records.entry(block.0) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                let mut bytes = vec![0; container::record_bytes(self.pages_per_block)];
                let at = self.layout.record_at(block.0);
                self.file.read_exact_at(&mut bytes, at).map_err(|e| device_error(&e))?;
                Ok(entry.insert(container::decode_record(&bytes)))
            }
        }
    }

    fn put(&self, bytes: &[u8], at: u64) -> Result<(), NandError> {
        if self.read_only {
            return Err(NandError::Device(libc::EROFS));
        }
        self.file.write_all_at(bytes, at).map_err(|e| device_error(&e))
    }
}

impl Store for FileStore {
    fn wear(&mut self, block: BlockId) -> Result<Wear, NandError> {
        Ok(self.record(block)?.wear)
    }

    fn set_wear(&mut self, block: BlockId, wear: Wear) -> Result<(), NandError> {
        let reads = self.reads(block)?;
        self.put(&container::encode_head(wear, reads), self.layout.record_at(block.0))?;
        self.record(block)?.wear = wear;
        Ok(())
    }

    fn next_page(&mut self, block: BlockId) -> Result<u32, NandError> {
        Ok(self.record(block)?.next())
    }

    fn page_state(&mut self, block: BlockId, index: u32) -> Result<PageState, NandError> {
        Ok(self.record(block)?.state(index))
    }

    fn read(
        &mut self,
        block: BlockId,
        index: u32,
        data: &mut [u8],
        spare: &mut [u8],
    ) -> Result<PageState, NandError> {
        let state = self.record(block)?.state(index);
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
        Ok(self.record(block)?.programmed_s(index))
    }

    fn reads(&mut self, block: BlockId) -> Result<u32, NandError> {
        self.entry(block).map(|(_, reads)| *reads)
    }

    fn count_read(&mut self, block: BlockId) -> Result<(), NandError> {
        let (_, reads) = self.entry(block)?;
        *reads = reads.saturating_add(1);
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
        if state.is_written() {
            self.scratch.clear();
            self.scratch.extend_from_slice(data);
            self.scratch.extend_from_slice(spare);
            self.put(&self.scratch, self.layout.page_at(block.0, index))?;
        }
        let record = container::encode_page(state, programmed_s);
        self.put(&record, self.layout.page_record_at(block.0, index))?;
        self.record(block)?.set(index, state, programmed_s);
        Ok(())
    }

    fn erase(&mut self, block: BlockId, wear: Wear) -> Result<(), NandError> {
        let mut bytes = container::encode_head(wear, 0).to_vec();
        bytes.resize(container::record_bytes(self.pages_per_block), 0);
        self.put(&bytes, self.layout.record_at(block.0))?;
        let (record, reads) = self.entry(block)?;
        record.erase(wear);
        *reads = 0;
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
        let sequence = self.saved.0 + 1;
        container::write_slot(&self.file, &self.path, sequence, chip).map_err(|error| match error {
            MediaError::Io { source, .. } => device_error(&source),
            _ => NandError::Device(libc::EFBIG),
        })?;
        self.saved = (sequence, chip.clone());
        Ok(())
    }

    fn sync(&mut self) -> Result<(), NandError> {
        if self.read_only { Ok(()) } else { self.file.sync_data().map_err(|e| device_error(&e)) }
    }
}
