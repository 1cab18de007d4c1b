//! The division of rates among heads that costs least by theory.

/// Rates are sorted into bins half an octave wide, from a sixteenth of the mean upwards.
pub(super) const BINS: usize = 24;
/// Lifetimes of segments that are tried, 0.4 octaves apart, from a 64th of a turnover upwards.
const LIVES: usize = 24;
/// Groups at most.
pub(super) const GROUPS: usize = 12;
/// Room that an open head wastes, in segments: on average it is half full.
const HEAD: f32 = 0.5;

/// Pages of a bin, and the sum of their rates in units of the mean rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bin {
    pub(super) pages: f32,
    pub(super) rates: f32,
}

/// The bin of a rate given in units of the mean rate.
pub(super) fn bin(relative: f32) -> usize {
    let at = (libm::log2f(relative) + 4.0) * 2.0;
    (at.clamp(0.0, 23.0)) as usize
}

/// Copies per turnover and room in pages of a set of pages, for each lifetime of its segments.
type Curve = [(f32, f32); LIVES];

/// The answer: the group of each bin, the hottest group being 0, and the theory's expectation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Division {
    pub(super) group: [u8; BINS],
    pub(super) groups: u8,
    /// Copies per user write.
    pub(super) copies: f32,
}

/// Finds divisions, and keeps the price of room from one to the next.
///
/// If each segment of a group is cleaned at age x, a page rewritten at rate r costs r / (e^rx - 1) copies and takes
/// x r / (1 - e^-rx) pages of room. With a price for room, each group has its best x, an open head costs the room that
/// it wastes, and the best division of the bins into contiguous groups comes by dynamic programming. The price is
/// raised until the room suffices.
#[derive(Clone, Debug)]
pub(super) struct Partition {
    room: f32,
    segment: f32,
    price: f32,
}

#[derive(Clone, Copy)]
struct Best {
    cost: f32,
    copies: f32,
    room: f32,
    groups: usize,
    from: usize,
}

impl Partition {
    /// The theory of a store of `room` pages in segments of `segment` pages.
    pub(super) fn new(room: f32, segment: f32) -> Self {
        Self { room, segment, price: 1.0 }
    }

    /// Divides the bins of `live` pages.
    pub(super) fn divide(&mut self, bins: &[Bin; BINS], live: f32) -> Division {
        let mut sums = [[(0.0, 0.0); LIVES]; BINS + 1];
        for (at, bin) in bins.iter().enumerate() {
            sums[at + 1] = plus(&sums[at], &curve(*bin));
        }
        let full = bins.map(|bin| bin.pages > 0.0);
        let (mut table, mut copies, most) = ([Best::START; BINS + 1], 0.0, self.most(live));
        for _ in 0..3 {
            table = self.table(&sums, &full, most);
            copies = table[BINS].copies;
            let spare = (self.room - live).max(1.0);
            let want = (table[BINS].room + self.segment - live).max(1.0);
            let correction = (want / spare).clamp(0.25, 4.0);
            self.price = (self.price * correction * libm::sqrtf(correction)).clamp(1e-6, 1e6);
        }
        let rates: f32 = bins.iter().map(|bin| bin.rates).sum();
        let (group, groups) = trace(&table);
        Division { group, groups, copies: copies / rates.max(1.0) }
    }

    /// Heads that a store can have: what dies in them cannot be reclaimed, so that with them and a segment in reserve
    /// sealed segments must still have room for less than all.
    fn most(&self, live: f32) -> usize {
        let spare = ((self.room - live) / self.segment) as usize;
        spare.saturating_sub(2).clamp(1, GROUPS)
    }

    /// Entry j is the best division of the first j bins into so many groups at most.
    fn table(&self, sums: &[Curve; BINS + 1], full: &[bool; BINS], most: usize) -> [Best; BINS + 1] {
        let mut best = [Best::START; BINS + 1];
        for end in 1..=BINS {
            if !full[end - 1] {
                // An empty bin goes with the one before it.
                best[end] = Best { from: best[end - 1].from, ..best[end - 1] };
                continue;
            }
            best[end].cost = f32::INFINITY;
            for from in 0..end {
                let last = best[from];
                if last.groups == most || (from > 0 && !full[from - 1]) {
                    continue;
                }
                let (copies, room) = self.cheapest(&sums[from], &sums[end]);
                let room = room + HEAD * self.segment;
                let cost = last.cost + copies + self.price * room;
                if cost < best[end].cost {
                    let (copies, room) = (last.copies + copies, last.room + room);
                    best[end] = Best { cost, copies, room, groups: last.groups + 1, from };
                }
            }
        }
        best
    }

    /// Copies and room of the pages between two sums, at their best lifetime.
    fn cheapest(&self, low: &Curve, high: &Curve) -> (f32, f32) {
        let mut best = (f32::INFINITY, (0.0, 0.0));
        for (low, high) in low.iter().zip(high) {
            let (copies, room) = (high.0 - low.0, high.1 - low.1);
            let cost = copies + self.price * room;
            if cost < best.0 {
                best = (cost, (copies, room));
            }
        }
        best.1
    }
}

impl Best {
    const START: Self = Self { cost: 0.0, copies: 0.0, room: 0.0, groups: 0, from: 0 };
}

fn curve(bin: Bin) -> Curve {
    let mut curve = [(0.0, 0.0); LIVES];
    if bin.pages > 0.0 {
        let rate = bin.rates / bin.pages;
        let mut life = 1.0 / 64.0;
        for (copies, room) in &mut curve {
            let grown = libm::expf((rate * life).max(1e-4));
            *copies = bin.rates / (grown - 1.0);
            *room = life * bin.rates / (1.0 - 1.0 / grown);
            life *= 1.319_508;
        }
    }
    curve
}

fn plus(one: &Curve, other: &Curve) -> Curve {
    let mut sum = *one;
    for (sum, add) in sum.iter_mut().zip(other) {
        *sum = (sum.0 + add.0, sum.1 + add.1);
    }
    sum
}

/// Bins are sorted from cold to hot, groups numbered from hot to cold.
fn trace(table: &[Best; BINS + 1]) -> ([u8; BINS], u8) {
    let (mut group, mut groups, mut end) = ([0; BINS], 0, BINS);
    while end > 0 {
        let from = table[end].from.min(end - 1);
        group[from..end].fill(groups);
        groups += 1;
        end = from;
    }
    (group, groups.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// The division of some pages with some part of the writes each, after the price of room has settled.
    fn divided(segments: f32, segment: f32, sets: &[(f32, f32)]) -> Division {
        let live: f32 = sets.iter().map(|(pages, _)| pages).sum();
        let mut bins = [Bin::default(); BINS];
        for (pages, part) in sets {
            let relative = part / pages * live;
            bins[bin(relative)].pages += pages;
            bins[bin(relative)].rates += pages * relative;
        }
        let mut partition = Partition::new(segments * segment, segment);
        for _ in 0..40 {
            partition.divide(&bins, live);
        }
        partition.divide(&bins, live)
    }

    #[test]
    fn alike_pages_share_a_log() {
        let division = divided(192.0, 31.0, &[(5356.0, 1.0)]);
        assert_eq!(division.groups, 1);
        // The closed form of FIFO is 4.7 at a = 1.10, the rest of 1.11 beside the cleaner's reserve and the head.
        assert!((4.5..6.5).contains(&division.copies), "{}", division.copies);
    }

    #[test]
    fn hot_and_cold_are_apart() {
        let division = divided(192.0, 31.0, &[(536.0, 0.9), (4820.0, 0.1)]);
        assert_eq!(division.groups, 2);
        assert!((1.2..1.7).contains(&division.copies), "{}", division.copies);
        let (hot, cold) = (division.group[BINS - 1], division.group[0]);
        assert_eq!((hot, cold), (0, 1));
    }

    #[test]
    fn heads_are_as_many_as_the_room_allows() {
        let zipf: Vec<(f32, f32)> = (0..12).map(|octave| (2f32.powi(octave), 1.0 / 12.0)).collect();
        let groups = [4.0, 40.0, 400.0].map(|scale| {
            let sets: Vec<_> = zipf.iter().map(|(pages, part)| (pages * scale, *part)).collect();
            divided(4095.0 * scale * 1.1 / 128.0, 128.0, &sets).groups
        });
        assert!(groups[0] < groups[1] && groups[1] < groups[2], "{groups:?}");
    }

    #[test]
    fn nothing_at_all_is_one_group() {
        let division = Partition::new(10.0, 1.0).divide(&[Bin::default(); BINS], 1.0);
        assert_eq!((division.groups, division.copies), (1, 0.0));
    }
}
