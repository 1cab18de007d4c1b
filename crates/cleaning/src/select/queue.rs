//! First in, first out.

use super::{Selector, chains::Chains, stock::Stock};
use crate::{SegmentView, packed::NONE};

/// The segment that was sealed first, however full it is: the log of a ring.
///
/// Every call is O(1). 12 bytes a segment.
#[derive(Clone, Debug)]
pub struct Queue {
    chain: Chains,
    stock: Stock,
}

impl Queue {
    /// A queue for the segments 0 to `segments - 1` of `capacity` pages.
    pub fn new(segments: u32, capacity: u32) -> Self {
        Self { chain: Chains::new(segments, 1), stock: Stock::new(segments, capacity) }
    }
}

impl Selector for Queue {
    fn sealed(&mut self, id: u32, view: &SegmentView, _now: u32) {
        self.remove(id);
        if self.stock.insert(id, view.valid) {
            self.chain.push(0, id);
        }
    }

    fn invalidated(&mut self, id: u32, _now: u32) {
        self.stock.invalidated(id);
    }

    fn take(&mut self, _now: u32) -> Option<u32> {
        let id = self.chain.first(0);
        if id == NONE || self.stock.dead() == 0 {
            return None;
        }
        self.remove(id);
        Some(id)
    }

    fn remove(&mut self, id: u32) -> bool {
        let was = self.stock.remove(id).is_some();
        if was {
            self.chain.remove(0, id);
        }
        was
    }
}
