//! Round robin.

use super::{Selector, stock::Stock};
use crate::SegmentView;

/// The next sealed segment by number after the one taken last, however full it is; after the last comes the first.
///
/// Wears all segments alike whatever the data does. A choice passes over the segments that are not sealed. 4 bytes a
/// segment.
#[derive(Clone, Debug)]
pub struct RoundRobin {
    stock: Stock,
    segments: u32,
    next: u32,
}

impl RoundRobin {
    /// A selector for the segments 0 to `segments - 1` of `capacity` pages.
    pub fn new(segments: u32, capacity: u32) -> Self {
        Self { stock: Stock::new(segments, capacity), segments, next: 0 }
    }
}

impl Selector for RoundRobin {
    fn sealed(&mut self, id: u32, view: &SegmentView, _now: u32) {
        self.remove(id);
        self.stock.insert(id, view.valid);
    }

    fn invalidated(&mut self, id: u32, _now: u32) {
        self.stock.invalidated(id);
    }

    fn take(&mut self, _now: u32) -> Option<u32> {
        if self.stock.dead() == 0 {
            return None;
        }
        let order = (self.next..self.segments).chain(0..self.next);
        let id = order.into_iter().find(|id| self.stock.valid(*id).is_some())?;
        self.next = id + 1;
        self.remove(id);
        Some(id)
    }

    fn remove(&mut self, id: u32) -> bool {
        self.stock.remove(id).is_some()
    }
}
