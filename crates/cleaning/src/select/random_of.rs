//! The best of a few drawn at random.

use alloc::vec::Vec;

use fastrand::Rng;

use super::{Selector, stock::Stock};
use crate::{
    SegmentView,
    packed::{NONE, Packed},
};

/// The segment with the fewest valid pages of d drawn at random, with repetition (d-choices: Van Houdt, SIGMETRICS
/// 2013; random is d = 1).
///
/// It is nearly as good as greedy with d of about 10. The one taken may be full if all that were drawn are. A change is
/// O(1), a choice O(d). 12 bytes a segment.
#[derive(Clone, Debug)]
pub struct RandomOf {
    draws: u32,
    rng: Rng,
    stock: Stock,
    list: Vec<u32>,
    /// The place of a segment in the list.
    place: Packed,
}

impl RandomOf {
    /// Drawing `draws` at a time (0 counts as 1) for the segments 0 to `segments - 1` of `capacity` pages.
    pub fn new(draws: u32, seed: u64, segments: u32, capacity: u32) -> Self {
        Self {
            draws: draws.max(1),
            rng: Rng::with_seed(seed),
            stock: Stock::new(segments, capacity),
            list: Vec::new(),
            place: Packed::new(segments),
        }
    }

    fn draw(&mut self) -> Option<(u32, u32)> {
        let id = *self.list.get(self.rng.usize(0..self.list.len()))?;
        Some((self.stock.valid(id)?, id))
    }
}

impl Selector for RandomOf {
    fn sealed(&mut self, id: u32, view: &SegmentView, _now: u32) {
        self.remove(id);
        if self.stock.insert(id, view.valid) {
            self.place.set(id, self.stock.members() - 1);
            self.list.push(id);
        }
    }

    fn invalidated(&mut self, id: u32, _now: u32) {
        self.stock.invalidated(id);
    }

    fn take(&mut self, _now: u32) -> Option<u32> {
        if self.stock.dead() == 0 {
            return None;
        }
        let draws: Option<Vec<_>> = (0..self.draws).map(|_| self.draw()).collect();
        let (_, id) = draws?.into_iter().min()?;
        self.remove(id);
        Some(id)
    }

    fn remove(&mut self, id: u32) -> bool {
        if self.stock.remove(id).is_none() {
            return false;
        }
        let at = self.place.get(id);
        self.list.swap_remove(at as usize);
        if let Some(&moved) = self.list.get(at as usize) {
            self.place.set(moved, at);
        }
        self.place.set(id, NONE);
        true
    }
}
