//! The map of logical blocks to places in the log, and the segments that hold its leaves.

use crate::map_log::MapLog;
use crate::shape::Shape;
use crate::stream::map_segments;
use crate::table::Table;

/// The map.
pub(crate) struct Map {
    pub(crate) table: Table,
    /// The segments that hold it.
    pub(crate) log: MapLog,
}

impl Map {
    /// A map of a disk with nothing stored.
    pub(crate) fn new(shape: &Shape, logical_blocks: u32, cache_bytes: usize) -> Map {
        Map {
            table: Table::new(shape, logical_blocks, cache_bytes),
            log: MapLog::new(map_segments(shape, logical_blocks)),
        }
    }
}
