//! Wear levelled by the choice of what is cleaned.

use alloc::{collections::BTreeSet, vec, vec::Vec};

use super::Wear;
use crate::{Class, SegmentView};

/// Hot data gets the least worn free segment, all other the most worn; and when even the least worn free segment is
/// worn a good deal more than some segment full of cold data, that is cleaned next, whatever cleaning would choose. Of several such it is the emptiest.
///
/// Most segments change between hot and cold at no cost, by allocation alone. A cleaning for wear costs a few copies
/// more than one for space, because it too wins space; moving whole segments ([`DualPool`](super::DualPool)) costs ten
/// times as much for the same evenness. A good deal is 6 erases and a thirty-second of the mean. At least one segment
/// must be in reserve, or there is no free one to judge by.
///
/// Cold is what is not of class 0, or everything while there is no other class. O(log segments) for each segment
/// written, about 30 bytes a segment.
#[derive(Clone, Debug)]
pub struct Even {
    free: BTreeSet<(u32, u32)>,
    /// Sealed segments with cold data.
    cold: BTreeSet<(u32, u32)>,
    /// Sealed segments of class 0.
    hot: BTreeSet<(u32, u32)>,
    erases: Vec<u32>,
    total: u64,
}

/// Erases apart that are always allowed: it keeps the CAT paper's chip below a standard deviation of 2.
const APART: u64 = 6;

/// So many of the least worn are looked at for the emptiest.
const CANDIDATES: usize = 16;

/// One in so many of the mean erases that is allowed besides.
const PART: u64 = 32;

impl Even {
    /// For the segments 0 to `segments - 1`.
    pub fn new(segments: u32) -> Self {
        Self {
            free: BTreeSet::new(),
            cold: BTreeSet::new(),
            hot: BTreeSet::new(),
            erases: vec![0; segments as usize],
            total: 0,
        }
    }

    fn entry(&self, id: u32) -> (u32, u32) {
        (self.erases.get(id as usize).copied().unwrap_or(0), id)
    }

    fn apart(&self) -> u64 {
        APART + self.total / (self.erases.len() as u64).max(1) / PART
    }
}

impl Wear for Even {
    fn freed(&mut self, id: u32, erases: u32) {
        if let Some(slot) = self.erases.get_mut(id as usize) {
            self.total += u64::from(erases.saturating_sub(*slot));
            *slot = erases;
        }
        self.free.insert((erases, id));
    }

    fn allocate(&mut self, class: Class) -> Option<u32> {
        let found = match class {
            Class(0) => self.free.pop_first(),
            _ => self.free.pop_last(),
        };
        found.map(|(_, id)| id)
    }

    fn free(&self) -> u32 {
        u32::try_from(self.free.len()).unwrap_or(u32::MAX)
    }

    fn sealed(&mut self, id: u32, view: &SegmentView) {
        match view.class {
            Class(0) => self.hot.insert((view.erases, id)),
            _ => self.cold.insert((view.erases, id)),
        };
    }

    fn unsealed(&mut self, id: u32) {
        let entry = self.entry(id);
        if !self.cold.remove(&entry) {
            self.hot.remove(&entry);
        }
    }

    fn victim(&mut self, valid: &dyn Fn(u32) -> u32) -> Option<u32> {
        let (free, _) = self.free.first()?;
        let cold = if self.cold.is_empty() { &self.hot } else { &self.cold };
        let far = |(erases, _): &&(u32, u32)| u64::from(*free) > u64::from(*erases) + self.apart();
        let candidates = cold.iter().take_while(far).take(CANDIDATES);
        candidates.map(|(_, id)| *id).min_by_key(|id| valid(*id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(erases: u32, class: u8) -> SegmentView {
        SegmentView { erases, class: Class(class), ..Default::default() }
    }

    #[test]
    fn hot_data_gets_the_least_worn() {
        let mut rule = Even::new(3);
        rule.freed(0, 5);
        rule.freed(1, 9);
        rule.freed(2, 7);
        assert_eq!([1, 0, 1, 0].map(|class| rule.allocate(Class(class))), [Some(1), Some(0), Some(2), None]);
    }

    #[test]
    fn cold_data_has_to_move_when_wear_is_far_apart() {
        let mut rule = Even::new(4);
        rule.freed(1, 1);
        rule.freed(3, 7);
        rule.allocate(Class(0));
        rule.sealed(0, &view(0, 0));
        rule.sealed(1, &view(1, 1));
        assert_eq!(rule.victim(&|_| 1), None);
        rule.allocate(Class(0));
        rule.freed(3, 8);
        assert_eq!(rule.victim(&|_| 1), Some(1));
        rule.unsealed(1);
        assert_eq!(rule.victim(&|_| 1), Some(0));
    }
}
