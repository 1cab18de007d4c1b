//! What verbs are given beside their own arguments.

use std::{
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

use pumice_f2fs::crypt::Keyring;
use pumice_vfs::Timestamp;

use crate::{
    failure::{Failure, Outcome},
    metered::Meter,
    options::Common,
};

/// Memory budget, keys and meter of one run.
#[derive(Clone)]
pub(crate) struct Context {
    /// Bytes of memory for cached and unwritten pages.
    pub(crate) cache_bytes: usize,
    /// What the chips of this run have done.
    pub(crate) meter: Meter,
    /// Master keys of what is encrypted.
    pub(crate) keys: Keyring,
    /// Where the keys came from.
    pub(crate) key_files: Vec<PathBuf>,
    /// Roll a crashed F2FS forward.
    pub(crate) recover: bool,
}

impl Context {
    pub(crate) fn new(common: &Common) -> Outcome<Context> {
        let mut keys = Keyring::default();
        for path in &common.key_files {
            let key = std::fs::read(path).map_err(|error| Failure::host(path, &error))?;
            keys.add(&key).map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
        }
        Ok(Context {
            cache_bytes: usize::try_from(common.cache).unwrap_or(usize::MAX),
            meter: Meter::default(),
            keys,
            key_files: common.key_files.clone(),
            recover: !common.no_recovery,
        })
    }
}

/// The system's clock.
pub(crate) fn now() -> Timestamp {
    let now = SystemTime::now();
    match now.duration_since(UNIX_EPOCH) {
        Ok(after) => Timestamp {
            seconds: i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
            nanos: after.subsec_nanos(),
        },
        // A clock before 1970 is not set at all; its nanoseconds are of no use to anybody.
        Err(before) => Timestamp {
            seconds: i64::try_from(before.duration().as_secs()).map_or(i64::MIN, |s| -s),
            nanos: 0,
        },
    }
}
