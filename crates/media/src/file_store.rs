//! Pages in a container file: a simulated chip that outlives the process.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::vec;
use std::vec::Vec;

use crate::container::{self, Layout};
use crate::error::device_error;
use crate::lock::{create_locked, lock};
use crate::sim::Memory;
use crate::store::{BlockRecord, PageState, Store, Wear};
use crate::{BlockId, ChipSpec, MediaError, NandError, SimChip};

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
        lock(&file, path, read_only)?;
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
/// host loses what was not flushed. Faults, work done and the count of operations are kept by `flush` and
/// when the chip is dropped, not by each operation.
#[derive(Debug)]
pub struct FileStore {
    file: File,
    path: PathBuf,
    layout: Layout,
    pages_per_block: u32,
    read_only: bool,
    records: HashMap<u32, BlockRecord>,
    /// One page with its spare bytes, so that each takes one call to the system.
    scratch: Vec<u8>,
    /// Sequence number and contents of the newest slot.
    saved: (u64, Memory),
}

impl FileStore {
    fn new(file: File, path: &Path, spec: &ChipSpec, read_only: bool, saved: (u64, Memory)) -> FileStore {
        let geometry = spec.geometry();
        FileStore {
            file,
            path: path.to_path_buf(),
            layout: Layout::new(&geometry),
            pages_per_block: geometry.pages_per_block,
            read_only,
            records: HashMap::new(),
            scratch: Vec::new(),
            saved,
        }
    }

    /// The container's path, as it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn record(&mut self, block: BlockId) -> Result<&mut BlockRecord, NandError> {
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
        self.put(&container::encode_wear(wear), self.layout.record_at(block.0))?;
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

    fn write(
        &mut self,
        block: BlockId,
        index: u32,
        state: PageState,
        data: &[u8],
        spare: &[u8],
    ) -> Result<(), NandError> {
        if state.is_written() {
            self.scratch.clear();
            self.scratch.extend_from_slice(data);
            self.scratch.extend_from_slice(spare);
            self.put(&self.scratch, self.layout.page_at(block.0, index))?;
        }
        self.put(&[state as u8], self.layout.state_at(block.0, index))?;
        self.record(block)?.set_state(index, state);
        Ok(())
    }

    fn erase(&mut self, block: BlockId, wear: Wear) -> Result<(), NandError> {
        let mut bytes = container::encode_wear(wear).to_vec();
        bytes.resize(container::record_bytes(self.pages_per_block), PageState::Erased as u8);
        self.put(&bytes, self.layout.record_at(block.0))?;
        self.record(block)?.erase(wear);
        Ok(())
    }

    fn save(&mut self, chip: &Memory) -> Result<(), NandError> {
        if self.read_only || self.saved.1 == *chip {
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
