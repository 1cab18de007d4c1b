//! The findings of a check of a volume.

use alloc::{string::String, vec::Vec};

/// One thing that is wrong with a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// A stable short name, such as `link-count`.
    pub code: &'static str,
    /// The object: inode, block, page, with the numbers found and wanted.
    pub detail: String,
}

/// The findings of a check that reads everything and writes nothing.
#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    /// The faults; empty on a sound volume.
    pub findings: Vec<Finding>,
    /// Inodes seen.
    pub inodes: u64,
    /// Directories among them.
    pub directories: u64,
    /// Bytes of data reached.
    pub data_bytes: u64,
    /// True if the volume was not unmounted cleanly and recovery was simulated in memory.
    pub recovered: bool,
    /// The newest page of the log, if it cannot be read: the power cut tore it, or else the last promise of fsync is
    /// lost. Nothing can tell the one from the other. `None` too if recovery decides that otherwise.
    pub newest_page: Option<u32>,
}
