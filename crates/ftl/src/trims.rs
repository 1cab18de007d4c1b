//! Trimmed ranges that no page on the chip tells of yet.

use alloc::{collections::BTreeMap, vec::Vec};

use zerocopy::{FromBytes, IntoBytes};

use crate::layout::RawRange;

/// Ranges that neither overlap nor touch: first block, and the one behind the last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trims(BTreeMap<u32, u32>);

impl Trims {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of ranges.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a block.
    pub(crate) fn add(&mut self, lba: u32) {
        self.add_range(lba, lba + 1);
    }

    /// Adds the blocks from `first` to before `end`; which of them were not there, as ranges.
    pub(crate) fn add_range(&mut self, first: u32, end: u32) -> Vec<(u32, u32)> {
        // The one that begins before it may reach it.
        let before = self.0.range(..first).next_back().filter(|(_, stop)| **stop >= first);
        let start = before.map_or(first, |(start, _)| *start);
        let old: Vec<(u32, u32)> = self.0.range(start..=end).map(|(start, stop)| (*start, *stop)).collect();
        let (mut fresh, mut at) = (Vec::new(), first);
        for (start, stop) in old {
            self.0.remove(&start);
            if at < start {
                fresh.push((at, start));
            }
            at = at.max(stop);
        }
        if at < end {
            fresh.push((at, end));
        }
        self.0.insert(start, at.max(end));
        fresh
    }

    /// Takes a block out.
    pub(crate) fn remove(&mut self, lba: u32) {
        let Some((first, end)) = self.0.range(..=lba).next_back().map(|(first, end)| (*first, *end)) else {
            return;
        };
        if end <= lba {
            return;
        }
        self.0.remove(&first);
        if first < lba {
            self.0.insert(first, lba);
        }
        if lba + 1 < end {
            self.0.insert(lba + 1, end);
        }
    }

    /// The first `count` ranges, as first and end.
    pub(crate) fn first(&self, count: usize) -> Vec<(u32, u32)> {
        self.0.iter().take(count).map(|(first, end)| (*first, *end)).collect()
    }

    /// Forgets ranges that were written.
    pub(crate) fn forget(&mut self, ranges: &[(u32, u32)]) {
        for (first, end) in ranges {
            if self.0.get(first) == Some(end) {
                self.0.remove(first);
            } else {
                // It has grown or shrunk meanwhile.
                (*first..*end).for_each(|lba| self.remove(lba));
            }
        }
    }
}

/// Ranges that fit a page.
pub(crate) fn per_page(payload: usize) -> usize {
    payload.saturating_sub(4) / size_of::<RawRange>()
}

/// The payload of a page of trimmed ranges.
pub(crate) fn encode(ranges: &[(u32, u32)], payload: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(payload);
    bytes.extend_from_slice(&u32::try_from(ranges.len()).unwrap_or(u32::MAX).to_le_bytes());
    for (first, end) in ranges {
        let raw = RawRange { first: (*first).into(), count: (end - first).into() };
        bytes.extend_from_slice(raw.as_bytes());
    }
    bytes.resize(payload, 0);
    bytes
}

/// The ranges in a proved page, as first and end, cut to a disk of `blocks`.
pub(crate) fn decode(payload: &[u8], blocks: u32) -> Vec<(u32, u32)> {
    let Some((count, ranges)) = payload.split_first_chunk() else { return Vec::new() };
    let count = u32::from_le_bytes(*count) as usize;
    let ranges = ranges.chunks_exact(size_of::<RawRange>()).take(count);
    let ranges = ranges.filter_map(|range| RawRange::read_from_bytes(range).ok());
    ranges
        .map(|range| (range.first.get(), range.first.get().saturating_add(range.count.get()).min(blocks)))
        .filter(|(first, end)| first < end)
        .collect()
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use super::*;

    #[test]
    fn ranges_behave_as_a_set() {
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..50 {
            let (mut trims, mut set) = (Trims::default(), BTreeSet::new());
            for _ in 0..200 {
                let lba = rng.u32(..40);
                if rng.bool() {
                    let end = lba + rng.u32(1..6);
                    let fresh: Vec<u32> = (lba..end).filter(|lba| set.insert(*lba)).collect();
                    assert!(trims.add_range(lba, end).into_iter().flat_map(|(a, b)| a..b).eq(fresh));
                } else {
                    trims.remove(lba);
                    set.remove(&lba);
                }
                let ranges = trims.first(usize::MAX);
                assert!(ranges.iter().flat_map(|(first, end)| *first..*end).eq(set.iter().copied()));
                assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0), "{ranges:?}");
            }
        }
    }

    #[test]
    fn a_page_of_ranges_comes_back() {
        let ranges = [(3, 9), (20, 21), (90, 120)];
        let payload = encode(&ranges, 512);
        assert_eq!(decode(&payload, 100), [(3, 9), (20, 21), (90, 100)]);
        assert_eq!(decode(&payload, 15), [(3, 9)]);
    }
}
