//! Which segment a log goes on in.

use super::{head::Log, sit::Sit};
use crate::layout::{SegNo, SuperBlock};

/// For each log, where it looks for its next segment.
pub(crate) struct Supply {
    section: u32,
    next: [u32; 6],
}

impl Supply {
    /// Each log begins to look at a place of its own; sections are never shared.
    pub(crate) fn new(sb: &SuperBlock, starts: [SegNo; 6]) -> Supply {
        Supply { section: sb.raw().segs_per_sec.get().max(1), next: starts.map(|start| start.0) }
    }

    /// The next free segment for a log: the next of its section, otherwise the first of the next section that is free
    /// as a whole. `None` if there is none. It is free no more.
    pub(crate) fn take(&mut self, log: Log, sit: &mut Sit) -> Option<SegNo> {
        let cursor = self.next.get_mut(log.index())?;
        let inside = !cursor.is_multiple_of(self.section) && sit.is_free(SegNo(*cursor));
        let found = if inside { Some(*cursor) } else { free_section(*cursor, self.section, sit) };
        let segno = SegNo(found?);
        *cursor = segno.0 + 1;
        sit.open(segno, log.kind());
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
