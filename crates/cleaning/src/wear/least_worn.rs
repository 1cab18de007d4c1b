//! The least worn first.

use alloc::collections::BTreeSet;

use super::Wear;
use crate::Class;

/// A head gets the free segment with the fewest erases.
///
/// Levels the segments in circulation; segments full of cold data stay as they are. O(log free segments).
#[derive(Clone, Debug, Default)]
pub struct LeastWorn(BTreeSet<(u32, u32)>);

impl Wear for LeastWorn {
    fn freed(&mut self, id: u32, erases: u32) {
        self.0.insert((erases, id));
    }

    fn allocate(&mut self, _class: Class) -> Option<u32> {
        self.0.pop_first().map(|(_, id)| id)
    }

    fn free(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }
}
