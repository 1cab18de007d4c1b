//! The SIT as a writer keeps it: entries that are newer than the medium's, and which segments hold anything.

use crate::word::word;
use std::collections::BTreeMap;

use super::{medium::Medium, table::Table};
use crate::{
    error::Result,
    layout::{BlockAddr, SegNo, SitEntry, SitJournalEntry, SuperBlock},
};

/// Segments that changed since the last checkpoint.
pub(crate) struct Sit {
    table: Table,
    segments: u32,
    main_start: BlockAddr,
    blocks_per_segment: u32,
    changed: BTreeMap<SegNo, SitEntry>,
    valid_blocks: u64,
}

impl Sit {
    /// Of a volume that holds nothing.
    pub(crate) fn fresh(sb: &SuperBlock) -> Sit {
        Sit {
            table: Table::sit(sb),
            segments: sb.main_segments(),
            main_start: sb.main_start(),
            blocks_per_segment: sb.blocks_per_segment(),
            changed: BTreeMap::new(),
            valid_blocks: 0,
        }
    }

    /// A log goes on in a segment: it gets the log's kind.
    pub(crate) fn open(&mut self, segno: SegNo, kind: u8) {
        let entry = self.changed.entry(segno).or_insert(SitEntry::EMPTY);
        debug_assert_eq!(entry.valid_blocks, 0);
        entry.kind = kind;
    }

    /// `count` blocks from `offset` on of an open segment are in use.
    pub(crate) fn fill(&mut self, segno: SegNo, offset: u32, count: u32) {
        let entry = self.changed.entry(segno).or_insert(SitEntry::EMPTY);
        for offset in offset..offset + count {
            entry.set_valid(offset, true);
        }
        self.valid_blocks += u64::from(count);
    }

    /// True if a segment holds nothing and no log writes to it.
    pub(crate) fn is_free(&self, segno: SegNo) -> bool {
        segno.0 < self.segments && !self.changed.contains_key(&segno)
    }

    /// Segments of the main area.
    pub(crate) fn segments(&self) -> u32 {
        self.segments
    }

    /// Segments that are free.
    pub(crate) fn free_segments(&self) -> u32 {
        self.segments - word(self.changed.len()).min(self.segments)
    }

    /// Blocks in use.
    pub(crate) fn valid_blocks(&self) -> u64 {
        self.valid_blocks
    }

    /// The address of a block of a segment.
    pub(crate) fn addr(&self, segno: SegNo, offset: u32) -> BlockAddr {
        let inside = segno.0.saturating_mul(self.blocks_per_segment).saturating_add(offset);
        BlockAddr(self.main_start.0.saturating_add(inside))
    }

    /// The table.
    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// Brings what changed to the medium; returns the journal, of at most `room` bytes.
    pub(crate) fn write(&mut self, medium: &mut Medium, room: usize) -> Result<Vec<u8>> {
        let entries: Vec<SitJournalEntry> =
            self.changed.iter().map(|(segno, entry)| (*segno, *entry)).collect();
        self.table.write(medium, &entries, room)
    }
}
