//! Pages in a container file: a simulated chip that outlives the process.

use std::boxed::Box;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::vec::Vec;

use crate::barriers::Barriers;
use crate::container::{self, Known, Layout, SUM_BYTES};
use crate::error::{MediaError, device_error};
use crate::host::HostFile;
use crate::lock::{Locked, create_locked, open_locked};
use crate::memory::Memory;
use crate::nand::{BlockId, NandError};
use crate::run::Run;
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
    /// A writer needs the file for itself; readers share it. With `read_only` every program and erase fails with
    /// `EROFS` and reads are not remembered.
    pub fn open(path: impl AsRef<Path>, read_only: bool) -> Result<ChipFile, MediaError> {
        let path = path.as_ref();
        ChipFile::open_on(Box::new(open_locked(path, read_only)?), path, read_only)
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
/// Pages that are programmed one behind the other are gathered, and written before anything else is. Their states are
/// written after them, so that a process that is killed leaves every page either erased or whole, each erase done or not
/// done, and nothing without what came before it. Up to the last flush or erase it loses nothing.
///
/// After a power cut of the host, everything is there that was programmed up to a flush, or to an erase, whichever came
/// last; later programs are not. For that, the first erase after a program waits for the disk, the first program of a
/// block waits for its erase, and each flush writes down which pages it covers. The first write of a process waits for
/// the disk, too; after a cut it looks at every block's record. Once the disk fails to sync, nobody knows its contents:
/// nothing is written any more, and each program, erase and flush fails as the sync did.
///
/// Faults, work done, the clock, and the counts of operations and of reads are kept by `flush` and when the chip is
/// dropped, not by each operation.
#[derive(Debug)]
pub struct FileStore {
    file: Box<dyn HostFile>,
    path: PathBuf,
    layout: Layout,
    read_only: bool,
    /// Blocks that were looked at.
    records: HashMap<u32, Known>,
    /// Blocks with reads that the file does not know yet.
    unsaved_reads: BTreeSet<u32>,
    /// One page with its spare bytes and its check sum, so that each takes one call to the system.
    scratch: Vec<u8>,
    /// Sequence number and contents of the newest slot.
    saved: (u64, Memory),
    barriers: Barriers,
    run: Run,
}

impl FileStore {
    fn new(
        file: Box<dyn HostFile>,
        path: &Path,
        spec: &ChipSpec,
        read_only: bool,
        saved: (u64, Memory),
    ) -> io::Result<FileStore> {
        let layout = Layout::new(&spec.geometry());
        Ok(FileStore {
            barriers: Barriers::open(&*file, &layout)?,
            file,
            path: path.to_path_buf(),
            layout,
            read_only,
            records: HashMap::new(),
            unsaved_reads: BTreeSet::new(),
            scratch: Vec::new(),
            saved,
            run: Run::default(),
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
                let mut bytes = self.layout.record();
                let at = self.layout.record_at(block.0);
                self.file.read_exact_at(&mut bytes, at).map_err(|e| device_error(&e))?;
                Ok(entry.insert(container::decode_record(&bytes, self.barriers.last())))
            }
        }
    }

    /// An error if nothing may be written; otherwise all that other processes wrote is synced.
    fn begin(&mut self) -> Result<(), NandError> {
        if self.read_only {
            return Err(NandError::Device(libc::EROFS));
        }
        self.barriers.begin(&*self.file, &self.layout)
    }

    /// Writes the pages that wait.
    fn write_run(&mut self) -> Result<(), NandError> {
        self.run.write(&*self.file, &self.layout).map_err(|e| device_error(&e))
    }

    fn put(&self, bytes: &[u8], at: u64) -> Result<(), NandError> {
        self.file.write_all_at(bytes, at).map_err(|e| device_error(&e))
    }
}

impl Store for FileStore {
    fn wear(&mut self, block: BlockId) -> Result<Wear, NandError> {
        Ok(self.known(block)?.record.wear)
    }

    fn set_wear(&mut self, block: BlockId, wear: Wear) -> Result<(), NandError> {
        self.begin()?;
        self.write_run()?;
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
        } else if let Some(bytes) = self.run.page(block, index) {
            let (data_bytes, behind) = bytes.split_at(bytes.len() - spare.len() - SUM_BYTES);
            if !data.is_empty() {
                data.copy_from_slice(data_bytes);
            }
            spare.copy_from_slice(behind.get(..spare.len()).unwrap_or_default());
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
        self.begin()?;
        if !self.run.takes(block, index) || self.barriers.is_full() {
            self.write_run()?;
        }
        self.barriers.before_program(block, &*self.file)?;
        let generation = self.known(block)?.generation;
        let record = container::encode_page(state, programmed_s, generation, self.barriers.number());
        if state.is_written() {
            self.run.push(block, index, [data, spare], &record);
        } else {
            self.write_run()?;
            self.put(&record, self.layout.page_record_at(block.0, index))?;
        }
        self.known(block)?.record.set(index, state, programmed_s);
        self.barriers.programmed(self.layout.page(block.0, index), generation);
        Ok(())
    }

    fn erase(&mut self, block: BlockId, wear: Wear) -> Result<(), NandError> {
        self.begin()?;
        self.write_run()?;
        self.barriers.before_erase(block, &*self.file)?;
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
        self.write_run()?;
        for block in core::mem::take(&mut self.unsaved_reads).into_iter().map(BlockId) {
            let wear = self.wear(block)?;
            self.set_wear(block, wear)?;
        }
        if self.saved.1 == *chip {
            return Ok(());
        }
        self.begin()?;
        self.barriers.before_slot(&*self.file)?;
        let sequence = self.saved.0 + 1;
        container::write_slot(&*self.file, &self.path, sequence, chip).map_err(|error| match error {
            MediaError::Io { source, .. } => device_error(&source),
            _ => NandError::Device(libc::EFBIG),
        })?;
        self.saved = (sequence, chip.clone());
        Ok(())
    }

    fn sync(&mut self) -> Result<(), NandError> {
        if self.read_only {
            return Ok(());
        }
        self.write_run()?;
        self.barriers.wait(&*self.file)
    }

    fn room(&self) -> Result<Option<u64>, NandError> {
        let left = self.file.room().map_err(|e| device_error(&e))?;
        Ok(left.map(|left| left.saturating_sub(self.run.bytes())))
    }
}
