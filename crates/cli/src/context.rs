//! The parameters of every verb besides its own arguments.

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use pumice_f2fs::{
    CompressionRule, DiscardUnit, IdleCleaning, InPlace, Logging, QuotaKind, Streams, crypt::Keyring,
};
pub(crate) use pumice_fuse::now;
use rustix::fs::OFlags;

use crate::{
    failure::{Failure, Outcome},
    interrupt::Interrupt,
    metered::Meter,
    options::Common,
};

/// Memory budget, key files and meter of one run.
#[derive(Clone)]
pub(crate) struct Context {
    /// Bytes of memory for cached and unwritten pages.
    pub(crate) cache_bytes: usize,
    /// The counters of this run's chips.
    pub(crate) meter: Meter,
    /// Files with master keys.
    pub(crate) key_files: Vec<PathBuf>,
    /// Roll a crashed F2FS forward.
    pub(crate) recover: bool,
    /// Options of writing to F2FS.
    pub(crate) f2fs: F2fsOptions,
    /// A mount that cannot write to the volume fails.
    pub(crate) must_write: bool,
    /// Signals that ask to end.
    pub(crate) interrupt: Interrupt,
}

/// Options of writing to F2FS.
#[derive(Clone)]
pub(crate) struct F2fsOptions {
    /// The way logs go on, their number, the blocks written in place, and the section to clean while nobody waits, if one
    /// is. Then the new files to compress, and whether freed blocks are discarded, and in which pieces.
    pub(crate) logging: Logging,
    pub(crate) streams: Streams,
    pub(crate) in_place: InPlace,
    pub(crate) idle_cleaning: IdleCleaning,
    pub(crate) cleans_idle: bool,
    pub(crate) compression: CompressionRule,
    pub(crate) discard: bool,
    pub(crate) discard_unit: DiscardUnit,
    /// Quotas whose limits are enforced.
    pub(crate) enforced: Vec<QuotaKind>,
    /// An fsync of a new name keeps all others.
    pub(crate) strict_fsync: bool,
}

impl F2fsOptions {
    /// As Linux mounts.
    fn new() -> F2fsOptions {
        F2fsOptions {
            logging: Logging::default(),
            streams: Streams::default(),
            in_place: InPlace::Fsync,
            idle_cleaning: IdleCleaning::default(),
            cleans_idle: true,
            compression: CompressionRule::default(),
            discard: true,
            discard_unit: DiscardUnit::default(),
            enforced: Vec::new(),
            strict_fsync: false,
        }
    }
}

impl Context {
    pub(crate) fn new(common: &Common) -> Context {
        Context {
            cache_bytes: usize::try_from(common.cache).unwrap_or(usize::MAX),
            meter: Meter::default(),
            key_files: common.key_files.clone(),
            recover: !common.no_recovery,
            f2fs: F2fsOptions::new(),
            must_write: false,
            interrupt: Interrupt::default(),
        }
    }

    /// Reads the master keys, when they may be needed and not before.
    pub(crate) fn keys(&self) -> Outcome<Keyring> {
        let mut keys = Keyring::default();
        for path in &self.key_files {
            let key = read_key(path).map_err(|error| Failure::host(path, &error))?;
            keys.add(&key).map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
        }
        Ok(keys)
    }
}

/// Bytes read of a key file, at most: more than any key has, so that /dev/zero does not fill the memory.
const KEY_FILE_MAX: u64 = 4096;

/// Reads a key. It may come from a pipe (`--key-file <(...)`); a pipe without a writer counts as empty.
fn read_key(path: &Path) -> io::Result<Vec<u8>> {
    let no_wait = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = File::options().read(true).custom_flags(no_wait).open(path)?;
    rustix::io::ioctl_fionbio(&file, false)?;
    let mut key = Vec::new();
    file.take(KEY_FILE_MAX).read_to_end(&mut key)?;
    Ok(key)
}
