//! The requests of SQLite to a file system for small transactions with a write-ahead log, after the description of its
//! file format. The pages' contents are left out.

use std::collections::BTreeSet;

use pumice_vfs::{FileSystem, Ino};
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

use super::{CONTENT, make};
use crate::LabError;

/// Bytes of a page of the database.
const PAGE: u64 = 4096;
/// Bytes in front of the log, and in front of each page in it.
const LOG_HEAD: u64 = 32;
const FRAME_HEAD: u64 = 24;
/// Pages in the log from which on they are moved to the database.
const LOG_PAGES: u64 = 1000;
/// Records of the table, and of a page.
pub(super) const RECORDS: u64 = 1000;
const PAGE_RECORDS: u64 = 8;
/// The first pages are the schema's and the root of the table.
const FIRST_PAGE: u64 = 2;

/// A kind of transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Transaction {
    /// Adds a record behind the last.
    Insert,
    /// Changes a record.
    Update,
    /// Removes a record; a page that is empty goes to the list of free pages.
    Delete,
}

/// A database on its way.
pub(super) struct Database<'a> {
    fs: &'a dyn FileSystem,
    random: Xoshiro256PlusPlus,
    kind: Transaction,
    file: Ino,
    log: Ino,
    /// Pages in the log, counted, and which.
    frames: u64,
    logged: BTreeSet<u64>,
}

impl<'a> Database<'a> {
    /// Makes a database, with all records in it unless they are to be inserted.
    pub(super) fn prepare(fs: &'a dyn FileSystem, kind: Transaction, seed: u64) -> Result<Self, LabError> {
        let (file, log) = (make(fs, Ino::ROOT, "test.db")?, make(fs, Ino::ROOT, "test.db-wal")?);
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let database = Database { fs, random, kind, file, log, frames: 0, logged: BTreeSet::new() };
        let records = if kind == Transaction::Insert { 0 } else { RECORDS };
        for page in 0..FIRST_PAGE + records.div_ceil(PAGE_RECORDS) {
            database.write(file, page * PAGE, PAGE)?;
        }
        fs.fsync(file, false)?;
        Ok(database)
    }

    /// A transaction for each record.
    pub(super) fn run(mut self) -> Result<(), LabError> {
        for number in 0..RECORDS {
            let in_page = number % PAGE_RECORDS;
            match self.kind {
                // A new page changes the root of the table and the size that the first page tells.
                Transaction::Insert if in_page == 0 => self.commit(&[0, 1, page_of(number)])?,
                // So does one that is not needed any more.
                Transaction::Delete if in_page == PAGE_RECORDS - 1 => {
                    self.commit(&[0, 1, page_of(number)])?;
                }
                Transaction::Insert | Transaction::Delete => self.commit(&[page_of(number)])?,
                Transaction::Update => {
                    let record = self.random.random_range(..RECORDS);
                    self.commit(&[page_of(record)])?;
                }
            }
        }
        Ok(())
    }

    /// Adds pages to the log and waits for them.
    fn commit(&mut self, pages: &[u64]) -> Result<(), LabError> {
        if self.frames == 0 {
            self.write(self.log, 0, LOG_HEAD)?;
        }
        for page in pages {
            let at = LOG_HEAD + self.frames * (FRAME_HEAD + PAGE);
            self.write(self.log, at, FRAME_HEAD)?;
            self.write(self.log, at + FRAME_HEAD, PAGE)?;
            self.frames += 1;
            self.logged.insert(*page);
        }
        self.fs.fsync(self.log, true)?;
        if self.frames >= LOG_PAGES { self.checkpoint() } else { Ok(()) }
    }

    /// Moves the pages in the log to the database; the log is written over from its beginning then.
    fn checkpoint(&mut self) -> Result<(), LabError> {
        for page in core::mem::take(&mut self.logged) {
            self.write(self.file, page * PAGE, PAGE)?;
        }
        self.fs.fsync(self.file, true)?;
        self.frames = 0;
        Ok(())
    }

    fn write(&self, ino: Ino, at: u64, bytes: u64) -> Result<(), LabError> {
        let length = usize::try_from(bytes).map_err(|error| LabError::Setup(error.to_string()))?;
        let (part, _) = CONTENT.split_at(length);
        Ok(self.fs.write(ino, at, part)?)
    }
}

/// The page that a record lies in.
fn page_of(record: u64) -> u64 {
    FIRST_PAGE + record / PAGE_RECORDS
}
