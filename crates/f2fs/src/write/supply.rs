//! The choice of a log's next segment.

use std::ops::Range;

use super::{head::Log, sit::Sit};
use crate::layout::{SegNo, SuperBlock};

/// The place where each log looks for its next segment.
pub(crate) struct Supply {
    section: u32,
    next: [u32; 6],
    /// Segments that a log takes one after the other, whatever section they are in.
    row: Range<u32>,
    /// The number of free segments at which holes of others are filled first: threaded logging.
    scarce: u32,
}

/// A segment that a log goes on in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// Free as a whole.
    Free(SegNo),
    /// A segment with holes.
    Holes(SegNo),
}

impl Supply {
    /// Each log begins to look at a place of its own; sections are never shared while there are free ones. With `scarce` free
    /// segments, or fewer, holes are filled first.
    pub(crate) fn new(sb: &SuperBlock, starts: [SegNo; 6], scarce: u32) -> Supply {
        Supply { section: sb.segments_per_section(), next: starts.map(|start| start.0), row: 0..0, scarce }
    }

    /// The next segment of a log; `None` if there is no room at all. The segment must be opened then.
    pub(crate) fn take(&mut self, log: Log, sit: &Sit) -> Option<Found> {
        let holes = || sit.roomiest(log.kind()).map(Found::Holes);
        if self.is_scarce(sit) {
            return holes().or_else(|| self.free(log, sit).map(Found::Free));
        }
        self.free(log, sit).map(Found::Free)
    }

    /// A log's next segments are these, as long as they are free then.
    pub(crate) fn aim(&mut self, log: Log, row: Range<u32>) {
        if let Some(cursor) = self.next.get_mut(log.index()) {
            *cursor = row.start;
        }
        self.row = row;
    }

    /// Free segments that logs take before they fill holes.
    pub(crate) fn ample(&self, sit: &Sit) -> u32 {
        sit.room().0.saturating_sub(self.scarce)
    }

    /// True if logs fill holes now.
    pub(crate) fn is_scarce(&self, sit: &Sit) -> bool {
        self.ample(sit) == 0
    }

    /// True if holes are filled before there is no free segment at all.
    pub(crate) fn fills_holes(&self) -> bool {
        self.scarce > 0
    }

    /// True if [`Supply::take`] finds something.
    pub(crate) fn has_any(log: Log, sit: &Sit) -> bool {
        let (free, _) = sit.room();
        free > 0 || sit.roomiest(log.kind()).is_some()
    }

    /// The next free segment for a log: the next of its section, otherwise the first of the next section that is free
    /// as a whole, otherwise any.
    fn free(&mut self, log: Log, sit: &Sit) -> Option<SegNo> {
        let cursor = self.next.get_mut(log.index())?;
        let is_next = self.row.contains(cursor) || !cursor.is_multiple_of(self.section);
        let inside = is_next && sit.is_free(SegNo(*cursor));
        let found = if inside { Some(*cursor) } else { free_section(*cursor, self.section, sit) };
        let segno = SegNo(found.or_else(|| (0..sit.segments()).find(|segno| sit.is_free(SegNo(*segno))))?);
        *cursor = segno.0 + 1;
        Some(segno)
    }
}

/// The first segment of a free section, from that of `cursor` on and around.
fn free_section(cursor: u32, section: u32, sit: &Sit) -> Option<u32> {
    let sections = sit.segments() / section;
    let start = cursor.div_ceil(section);
    let order = (start..sections).chain(0..start.min(sections));
    order
        .map(|at| at * section)
        .find(|first| (*first..first + section).all(|segno| sit.is_free(SegNo(segno))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::example::super_block;

    /// A volume with logs that fill no holes before the last segment is taken counts none as room.
    #[test]
    fn holes_are_filled_where_free_segments_may_be_scarce() {
        let fills = |scarce| Supply::new(&super_block(0), [SegNo(0); 6], scarce).fills_holes();
        assert!(!fills(0) && fills(1));
    }
}
