//! Transactions on large files, as filebench's oltp has them: writes at random places of the data, each waited for, and a
//! log.

use pumice_vfs::{FileSystem, Ino};
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

use super::{CONTENT, append, make};
use crate::LabError;

/// Bytes that the database writes and reads at a time.
const PIECE: usize = 2048;
/// Bytes of the log that are written at a time, and writes of data for each.
const LOG_PIECE: u64 = 256 << 10;
const LOG_EVERY: u32 = 100;
/// Writes for each read: of 100 calls one is a read (F2FS, table 3).
const READ_EVERY: u32 = 99;

/// Data, and a log.
pub(super) struct Transactions<'a> {
    fs: &'a dyn FileSystem,
    data: Vec<Ino>,
    log: Ino,
    bytes: u64,
}

impl<'a> Transactions<'a> {
    /// Makes so many files of so many bytes.
    pub(super) fn prepare(fs: &'a dyn FileSystem, files: u32, bytes: u64) -> Result<Self, LabError> {
        let mut data = Vec::new();
        for file in 0..files {
            let ino = make(fs, Ino::ROOT, &format!("data {file}"))?;
            append(fs, ino, 0, bytes)?;
            data.push(ino);
        }
        Ok(Transactions { fs, data, log: make(fs, Ino::ROOT, "log")?, bytes })
    }

    /// So many writes of data.
    pub(super) fn run(self, writes: u32, seed: u64) -> Result<(), LabError> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut logged = 0;
        for number in 0..writes {
            let file = random.random_range(..self.data.len());
            let at = random.random_range(..self.bytes / PIECE as u64) * PIECE as u64;
            let Some(ino) = self.data.get(file).copied() else {
                return Err(LabError::Setup("no files of data".into()));
            };
            if number % READ_EVERY == 0 {
                let mut piece = [0; PIECE];
                self.fs.read(ino, at, &mut piece)?;
            }
            let (piece, _) = CONTENT.split_at(PIECE);
            self.fs.write(ino, at, piece)?;
            self.fs.fsync(ino, true)?;
            if number % LOG_EVERY == 0 {
                append(self.fs, self.log, logged, LOG_PIECE)?;
                self.fs.fsync(self.log, true)?;
                logged += LOG_PIECE;
            }
        }
        Ok(())
    }
}
