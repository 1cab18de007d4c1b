//! The workloads of the F2FS paper's figures 3 and 4 (its table 3), made smaller, and those of the CFFS paper's table 4, by name.

use core::fmt;
use std::{path::Path, str::FromStr};

use pumice_vfs::FileSystem;

use super::{
    FileServer, MailServer, PostMark, STEP,
    calls::Calls,
    database::{Database, Transaction},
    iozone::{Iozone, Pattern},
    transactions::Transactions,
    video_server::VideoServer,
};
use crate::{LabError, trace::text};

/// A workload in two steps: preparation and work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Script {
    /// iozone: one file is written.
    SequentialWrite,
    /// It is read.
    SequentialRead,
    /// It is written over, 4 KiB at a time in a random order.
    RandomWrite,
    /// It is read likewise.
    RandomRead,
    /// SQLite with a write-ahead log: records are added.
    Insert,
    /// They are changed.
    Update,
    /// They are removed.
    Delete,
    /// Calls that an application made, as they were recorded.
    Recorded,
    /// filebench's server of films.
    VideoServer,
    /// Its server of files.
    FileServer,
    /// Its server of mails.
    MailServer,
    /// Its database.
    Transactions,
    /// PostMark, a thousand transactions on files of 512 bytes to 60,000.
    PostMark {
        /// Files at the beginning.
        files: u32,
        /// MiB of the chip.
        mib: u32,
    },
}

/// Transactions of PostMark (CFFS paper, section 4), and bytes of its files.
pub(crate) const POSTMARKS: u32 = 1000;
pub(crate) const POSTMARK_BYTES: (u64, u64) = (512, 60_000);

/// Bytes of iozone's file.
const FILE: u64 = 96 << 20;
/// Films, their bytes, and how many are replaced.
const FILMS: (u32, u64) = (12, 16 << 20);
const FILMS_REPLACED: u32 = 8;
/// Bytes that the server of files fills, and blocks of 4 KiB that are written then.
const FILLED: u64 = 192 << 20;
const SERVED: u64 = 25_000;
/// Mails, their directories, and rounds.
const MAILS: (u32, u32) = (1000, 10);
const MAIL_ROUNDS: u32 = 1000;
/// Files of the database, their bytes, and writes.
const DATA: (u32, u64) = (4, 24 << 20);
const TRANSACTIONS: u32 = 4000;

impl Script {
    /// All of them by name.
    pub const NAMED: [(&'static str, Script); 17] = [
        ("iozone SW", Script::SequentialWrite),
        ("iozone SR", Script::SequentialRead),
        ("iozone RW", Script::RandomWrite),
        ("iozone RR", Script::RandomRead),
        ("SQLite insert", Script::Insert),
        ("SQLite update", Script::Update),
        ("SQLite delete", Script::Delete),
        ("recorded", Script::Recorded),
        ("videoserver", Script::VideoServer),
        ("fileserver", Script::FileServer),
        ("varmail", Script::MailServer),
        ("oltp", Script::Transactions),
        ("PostMark 1:10, 64 MB", Script::PostMark { files: 100, mib: 64 }),
        ("PostMark 1:3, 64 MB", Script::PostMark { files: 333, mib: 64 }),
        ("PostMark 1:2, 64 MB", Script::PostMark { files: 500, mib: 64 }),
        ("PostMark 1:10, 22 MB", Script::PostMark { files: 100, mib: 22 }),
        ("PostMark 1:3, 22 MB", Script::PostMark { files: 333, mib: 22 }),
    ];

    /// Prepares an empty volume and gives back the work, drawn from a seed. `recorded` is the file of the calls, plain or
    /// compressed.
    ///
    /// # Errors
    /// If the file system fails, or the recording cannot be understood.
    pub fn prepare<'a>(
        self,
        fs: &'a dyn FileSystem,
        recorded: Option<&Path>,
        seed: u64,
    ) -> Result<Work<'a>, LabError> {
        let iozone = |pattern| -> Result<Work<'a>, LabError> {
            let run = Iozone::prepare(fs, pattern, FILE, seed)?;
            Ok(Box::new(move || run.run()))
        };
        let database = |kind| -> Result<Work<'a>, LabError> {
            let database = Database::prepare(fs, kind, seed)?;
            Ok(Box::new(move || database.run()))
        };
        Ok(match self {
            Script::SequentialWrite => iozone(Pattern::SequentialWrite)?,
            Script::SequentialRead => iozone(Pattern::SequentialRead)?,
            Script::RandomWrite => iozone(Pattern::RandomWrite)?,
            Script::RandomRead => iozone(Pattern::RandomRead)?,
            Script::Insert => database(Transaction::Insert)?,
            Script::Update => database(Transaction::Update)?,
            Script::Delete => database(Transaction::Delete)?,
            Script::Recorded => {
                let path = recorded.ok_or_else(|| LabError::Setup("no file of recorded calls".into()))?;
                let failed = |error| LabError::Trace { path: path.to_owned(), error };
                let calls = Calls::parse(&text(path).map_err(failed)?)?;
                calls.prepare(fs)?;
                Box::new(move || calls.run(fs))
            }
            Script::VideoServer => {
                let server = VideoServer::prepare(fs, FILMS.0, FILMS.1, seed)?;
                Box::new(move || server.run(FILMS_REPLACED))
            }
            Script::FileServer => {
                let mut server = FileServer::fill_bytes(fs, FILLED, seed)?;
                Box::new(move || server.go_on(SERVED).map(drop))
            }
            Script::MailServer => {
                let mut server = MailServer::fill(fs, MAILS.0, MAILS.1, seed)?;
                Box::new(move || (0..MAIL_ROUNDS).try_for_each(|_| server.round().map(drop)))
            }
            Script::Transactions => {
                let data = Transactions::prepare(fs, DATA.0, DATA.1)?;
                Box::new(move || data.run(TRANSACTIONS, seed))
            }
            Script::PostMark { files, .. } => {
                let (least, most) = POSTMARK_BYTES;
                Box::new(move || {
                    PostMark::run(fs, (files, POSTMARKS), (least..=most, STEP as u64), seed).map(drop)
                })
            }
        })
    }
}

/// The work that follows the preparation.
pub type Work<'a> = Box<dyn FnOnce() -> Result<(), LabError> + 'a>;

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Script::NAMED.iter().find(|(_, script)| script == self).map(|(name, _)| *name);
        debug_assert!(name.is_some(), "every workload has a name");
        name.map_or(Ok(()), |name| f.write_str(name))
    }
}

impl FromStr for Script {
    type Err = LabError;

    fn from_str(text: &str) -> Result<Script, LabError> {
        let known = Script::NAMED.iter().find(|(name, _)| *name == text);
        known.map(|(_, script)| *script).ok_or_else(|| LabError::Setup(format!("unknown workload `{text}`")))
    }
}
