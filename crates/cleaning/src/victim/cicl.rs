//! CICL: the less even the wear, the more it counts.

use alloc::{collections::BTreeMap, vec, vec::Vec};

use super::{NEVER, Victim};
use crate::{SegmentView, packed::NONE, select::Grouped};

/// The segment with the lowest (1 - l) u + l x erases / (most erases + 1), with l = 2 / (1 + e^(k / d)). Here d is the
/// difference between the most and the fewest erases, and l = 0 if that is 0. The rule is the cleaning index with cycle
/// levelling (Kim and Lee, IEICE Transactions on Information and Systems E85-D(6), 2002, pages 950 to 964).
///
/// Only the paper's abstract was at hand: the index is held to be as above, which has not been compared with its text.
/// The paper also gathers cold data while it cleans; that is left to placement.
///
/// It is greedy with even wear; the more uneven wear grows, the nearer l comes to 1 and the more erases alone decide. k
/// is the difference at which l is about a half. The price is the bit pattern of a double; an exponential function for
/// each change of the extremes and one division for each price. 8 bytes a segment.
#[derive(Clone, Debug)]
pub struct Cicl {
    k: f64,
    weight: f64,
    /// Erases of each segment seen.
    erases: Vec<u32>,
    /// Segments with as many erases.
    counts: BTreeMap<u32, u32>,
}

impl Cicl {
    /// The rule for the segments 0 to `segments - 1`, with k above 0.
    pub fn new(segments: u32, k: f64) -> Self {
        Self { k, weight: 0.0, erases: vec![NONE; segments as usize], counts: BTreeMap::new() }
    }

    fn most(&self) -> u32 {
        self.counts.last_key_value().map_or(0, |(most, _)| *most)
    }

    fn uncount(&mut self, erases: u32) {
        if let Some(count) = self.counts.get_mut(&erases) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&erases);
            }
        }
    }
}

impl Victim for Cicl {
    fn cost(&self, s: &SegmentView) -> u64 {
        match (s.reclaimable(), s.valid) {
            (0, _) => NEVER,
            (_, 0) => 0,
            (_, valid) => {
                let u = f64::from(valid) / f64::from(s.capacity);
                let worn = f64::from(s.erases) / (f64::from(self.most()) + 1.0);
                ((1.0 - self.weight) * u + self.weight * worn).to_bits()
            }
        }
    }
}

impl Grouped for Cicl {
    fn by_erases(&self) -> bool {
        true
    }

    fn saw(&mut self, id: u32, erases: u32) {
        let Some(slot) = self.erases.get_mut(id as usize) else { return };
        let before = core::mem::replace(slot, erases);
        self.uncount(before);
        *self.counts.entry(erases).or_insert(0) += 1;
        let fewest = self.counts.first_key_value().map_or(0, |(fewest, _)| *fewest);
        self.weight = match self.most() - fewest {
            0 => 0.0,
            apart => 2.0 / (1.0 + libm::exp(self.k / f64::from(apart))),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(rule: &Cicl, valid: u32, erases: u32) -> u64 {
        rule.cost(&SegmentView { valid, capacity: 64, erases, ..Default::default() })
    }

    #[test]
    fn greedy_while_wear_is_even_and_level_when_not() {
        let mut rule = Cicl::new(2, 10.0);
        rule.saw(0, 7);
        rule.saw(1, 7);
        assert!(cost(&rule, 31, 9) < cost(&rule, 32, 0));
        rule.saw(0, 300);
        assert!(cost(&rule, 31, 299) > cost(&rule, 60, 8));
        rule.saw(1, 300);
        assert!(cost(&rule, 31, 299) < cost(&rule, 60, 8));
        assert_eq!((cost(&rule, 0, 300), cost(&rule, 64, 0)), (0, NEVER));
    }

    #[test]
    fn half_way_at_k() {
        let mut rule = Cicl::new(2, 10.0);
        rule.saw(0, 0);
        rule.saw(1, 10);
        assert!((rule.weight - 0.538).abs() < 0.001);
    }
}
