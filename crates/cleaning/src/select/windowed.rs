//! Greedy among the oldest.

use alloc::{vec, vec::Vec};

use super::{Selector, chains::Chains, heaps::Heaps, stock::Stock};
use crate::{SegmentView, packed::NONE};

/// The segment with the fewest valid pages among the `window` segments that were sealed first; of those the one sealed
/// first (windowed greedy: Hu, Eleftheriou, Haas, Iliadis and Pletka, SYSTOR 2009).
///
/// It lies between FIFO (a window of one) and greedy (of all): young segments are given time to empty. A change is O(1)
/// or O(log window) amortised. 32 bytes a segment.
#[derive(Clone, Debug)]
pub struct Windowed {
    window: u32,
    inside: u32,
    stock: Stock,
    /// Sealed after those in the window, in order.
    waiting: Chains,
    /// One heap for each valid count, by order of sealing.
    heaps: Heaps,
    /// The time when a segment entered the window; 0 while it waits.
    entered: Vec<u64>,
    count: u64,
}

impl Windowed {
    /// A selector with a window of `window` (0 counts as 1) for the segments 0 to `segments - 1` of `capacity` pages.
    pub fn new(window: u32, segments: u32, capacity: u32) -> Self {
        Self {
            window: window.max(1),
            inside: 0,
            stock: Stock::new(segments, capacity),
            waiting: Chains::new(segments, 1),
            heaps: Heaps::new(segments, capacity.saturating_add(1)),
            entered: vec![0; segments as usize],
            count: 0,
        }
    }

    fn entered(&self, id: u32) -> u64 {
        self.entered.get(id as usize).copied().unwrap_or(0)
    }

    fn enter(&mut self, id: u32, order: u64) {
        if let Some(slot) = self.entered.get_mut(id as usize) {
            *slot = order;
        }
    }

    /// Lets the oldest that wait into the window.
    fn refill(&mut self) {
        while self.inside < self.window && self.waiting.first(0) != NONE {
            let id = self.waiting.first(0);
            self.waiting.remove(0, id);
            self.inside += 1;
            self.count += 1;
            self.enter(id, self.count);
            self.heaps.push(self.stock.valid(id).unwrap_or(0), id, self.count);
        }
    }

    fn best(&self) -> Option<u32> {
        (0..self.stock.capacity()).map(|valid| self.heaps.top(valid)).find(|id| *id != NONE)
    }

    /// All in the window are full: the oldest goes to the end of the queue.
    fn turn(&mut self) {
        let oldest = self.heaps.top(self.stock.capacity());
        if let Some(valid) = self.stock.valid(oldest) {
            self.remove(oldest);
            self.stock.insert(oldest, valid);
            self.waiting.push(0, oldest);
        }
    }
}

impl Selector for Windowed {
    fn sealed(&mut self, id: u32, view: &SegmentView, _now: u32) {
        self.remove(id);
        if self.stock.insert(id, view.valid) {
            self.waiting.push(0, id);
            self.refill();
        }
    }

    fn invalidated(&mut self, id: u32, _now: u32) {
        let order = self.entered(id);
        let Some(valid) = self.stock.invalidated(id).filter(|_| order != 0) else { return };
        self.heaps.remove(valid, id);
        self.heaps.push(valid - 1, id, order);
    }

    fn take(&mut self, _now: u32) -> Option<u32> {
        if self.stock.dead() == 0 {
            return None;
        }
        loop {
            if let Some(id) = self.best() {
                self.remove(id);
                return Some(id);
            }
            self.turn();
            self.refill();
        }
    }

    fn remove(&mut self, id: u32) -> bool {
        let Some(valid) = self.stock.remove(id) else { return false };
        if self.entered(id) == 0 {
            self.waiting.remove(0, id);
        } else {
            self.heaps.remove(valid, id);
            self.inside -= 1;
            self.enter(id, 0);
            self.refill();
        }
        true
    }
}
