//! Greedy, but for a least worn segment now and then.

use alloc::{collections::BTreeSet, vec, vec::Vec};

use super::{ByChange, Selector, stock::Stock};
use crate::{Greedy, SegmentView};

/// The rule of the PCMCIA driver of Linux (CAT paper, table 7): greedy most of the time, sometimes the segment with the
/// fewest erases. The paper tells no number; the driver takes such a segment once in so many choices.
///
/// The least worn one may be full: cleaning it wins nothing, and lets its segment be worn. O(log n). 50 bytes a segment.
#[derive(Clone, Debug)]
pub struct Pcmcia {
    greedy: ByChange<Greedy>,
    stock: Stock,
    /// Erases and numbers of the segments that are in.
    worn: BTreeSet<(u32, u32)>,
    erases: Vec<u32>,
    every: u32,
    choices: u32,
}

impl Pcmcia {
    /// A selector for the segments 0 to `segments - 1` of `capacity` pages, which takes a least worn one each `every`
    /// choices.
    pub fn new(every: u32, segments: u32, capacity: u32) -> Self {
        Self {
            greedy: ByChange::new(Greedy, segments, capacity),
            stock: Stock::new(segments, capacity),
            worn: BTreeSet::new(),
            erases: vec![0; segments as usize],
            every: every.max(1),
            choices: 0,
        }
    }
}

impl Selector for Pcmcia {
    fn sealed(&mut self, id: u32, view: &SegmentView, now: u32) {
        self.remove(id);
        let Some(erases) = self.erases.get_mut(id as usize) else { return };
        *erases = view.erases;
        self.worn.insert((view.erases, id));
        self.stock.insert(id, view.valid);
        self.greedy.sealed(id, view, now);
    }

    fn invalidated(&mut self, id: u32, now: u32) {
        self.stock.invalidated(id);
        self.greedy.invalidated(id, now);
    }

    fn take(&mut self, now: u32) -> Option<u32> {
        if self.stock.dead() == 0 {
            return None;
        }
        self.choices += 1;
        let least = self.worn.first().map(|(_, id)| *id).filter(|_| self.choices >= self.every);
        if least.is_some() {
            self.choices = 0;
        }
        let id = least.or_else(|| self.greedy.take(now))?;
        self.remove(id);
        Some(id)
    }

    fn remove(&mut self, id: u32) -> bool {
        let was = self.stock.remove(id).is_some();
        if was {
            self.greedy.remove(id);
            let erases = self.erases.get(id as usize).copied().unwrap_or(0);
            self.worn.remove(&(erases, id));
        }
        was
    }
}
