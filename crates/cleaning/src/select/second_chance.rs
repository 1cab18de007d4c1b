//! First in, first out, but for those that are still full.

use super::{Selector, chains::Chains, stock::Stock};
use crate::{
    SegmentView,
    packed::{NONE, Packed},
};

/// The segment that was sealed first, unless it holds more than the mean of the sealed ones: then it goes to the end
/// of the queue, once, and the next is looked at.
///
/// Second chance is the paging rule; that the mean decides is from Random++ (Van Houdt, SIGMETRICS 2013). It keeps
/// most of FIFO's even wear and copies less. Amortised O(1). 16 bytes a segment.
#[derive(Clone, Debug)]
pub struct SecondChance {
    chain: Chains,
    stock: Stock,
    /// [`NONE`] until a segment had its second chance.
    passed: Packed,
}

impl SecondChance {
    /// A selector for the segments 0 to `segments - 1` of `capacity` pages.
    pub fn new(segments: u32, capacity: u32) -> Self {
        let (chain, stock) = (Chains::new(segments, 1), Stock::new(segments, capacity));
        Self { chain, stock, passed: Packed::new(segments) }
    }

    fn is_above_mean(&self, id: u32) -> bool {
        let valid = u64::from(self.stock.valid(id).unwrap_or(0));
        valid * u64::from(self.stock.members()) > self.stock.live()
    }
}

impl Selector for SecondChance {
    fn sealed(&mut self, id: u32, view: &SegmentView, _now: u32) {
        self.remove(id);
        if self.stock.insert(id, view.valid) {
            self.passed.set(id, NONE);
            self.chain.push(0, id);
        }
    }

    fn invalidated(&mut self, id: u32, _now: u32) {
        self.stock.invalidated(id);
    }

    fn take(&mut self, _now: u32) -> Option<u32> {
        if self.stock.dead() == 0 {
            return None;
        }
        loop {
            let id = self.chain.first(0);
            let valid = self.stock.valid(id)?;
            let full = valid == self.stock.capacity();
            if !full && (self.passed.get(id) != NONE || !self.is_above_mean(id)) {
                self.remove(id);
                return Some(id);
            }
            self.chain.remove(0, id);
            self.chain.push(0, id);
            self.passed.set(id, 1);
        }
    }

    fn remove(&mut self, id: u32) -> bool {
        let was = self.stock.remove(id).is_some();
        if was {
            self.chain.remove(0, id);
        }
        was
    }
}
