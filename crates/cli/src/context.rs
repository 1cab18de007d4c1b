//! What verbs are given beside their own arguments.

use std::time::{SystemTime, UNIX_EPOCH};

use pumice_vfs::Timestamp;

use crate::{args::Common, metered::Meter};

/// Memory budget and meter of one run.
pub(crate) struct Context {
    /// Bytes of memory for cached and unwritten pages.
    pub(crate) cache_bytes: usize,
    /// What the chips of this run have done.
    pub(crate) meter: Meter,
}

impl Context {
    pub(crate) fn new(common: &Common) -> Context {
        Context { cache_bytes: usize::try_from(common.cache).unwrap_or(usize::MAX), meter: Meter::default() }
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
