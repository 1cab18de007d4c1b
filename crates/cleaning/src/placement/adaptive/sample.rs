//! The pages of a large store that stand for the others.

use super::state::State;

/// A store of regions of 2^shift neighbours, one page of which is watched: a smaller store, with slower time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    shift: u32,
    /// The caller's time up to which the model's has gone on, and that.
    told: u32,
    now: u32,
    /// The intervals of regions in which pages were rewritten: others, and those watched; fades.
    seen: [Seen; 2],
    tells: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    rewrites: f32,
    /// In octaves.
    intervals: f32,
}

impl Seen {
    fn mean(self) -> f32 {
        self.intervals / self.rewrites.max(1.0)
    }
}

/// Rewrites of each kind that a judgement takes.
const ENOUGH: f32 = 256.0;
/// Octaves by which pages seem hotter than their neighbours if they are not alike.
const APART: f32 = 1.0;

impl Sample {
    /// As few neighbours in a region as leave at most `most` regions.
    pub(super) fn new(pages: u32, most: u32) -> Self {
        let shift = (0..u32::BITS - 1).find(|shift| pages.div_ceil(1 << shift) <= most.max(1));
        let shift = shift.unwrap_or(u32::BITS - 1);
        Self { shift, told: 0, now: 0, seen: [Seen::default(); 2], tells: true }
    }

    /// Regions of so many pages.
    pub(super) fn regions(self, pages: u32) -> u32 {
        pages.div_ceil(1 << self.shift)
    }

    /// Pages, or a time, in the model's measure.
    pub(super) fn scaled(self, count: u32) -> u32 {
        count >> self.shift
    }

    /// Pages of a region.
    pub(super) fn each(self) -> u32 {
        1 << self.shift
    }

    /// The model's time; both wrap.
    #[inline]
    pub(super) fn time(&mut self, now: u32) -> u32 {
        if self.shift == 0 {
            return now;
        }
        let passed = now.wrapping_sub(self.told) >> self.shift;
        self.told = self.told.wrapping_add(passed << self.shift);
        self.now = self.now.wrapping_add(passed);
        self.now
    }

    /// The region of a page; true if the page stands for it. By lot, so that no program writes such pages alone.
    #[inline]
    pub(super) fn region(self, page: u32) -> (u32, bool) {
        if self.shift == 0 {
            return (page, true);
        }
        let region = page >> self.shift;
        (region, page & (self.each() - 1) == self.lot(region))
    }

    /// True if the pages are of one region.
    #[inline]
    pub(super) fn are_together(self, one: u32, other: u32) -> bool {
        one >> self.shift == other >> self.shift
    }

    /// True if the neighbours of a watched page are like it.
    #[inline]
    pub(super) fn tells(self) -> bool {
        self.tells
    }

    /// Takes note of a rewrite of a page in a region of this history.
    #[inline]
    pub(super) fn note(&mut self, is_watched: bool, region: State) {
        if self.shift > 0 {
            let [others, watched] = &mut self.seen;
            let seen = if is_watched { watched } else { others };
            seen.rewrites += 1.0;
            seen.intervals += f32::from(region.interval());
        }
    }

    /// Judges whether pages are like their neighbours, once enough was seen: then those of a hot region are written as
    /// often as the page that it is called hot for.
    pub(super) fn judge(&mut self) {
        let [others, watched] = self.seen;
        if others.rewrites >= ENOUGH && watched.rewrites >= ENOUGH {
            self.tells = others.mean() <= watched.mean() + APART;
            self.seen =
                self.seen.map(|seen| Seen { rewrites: seen.rewrites * 0.5, intervals: seen.intervals * 0.5 });
        }
    }

    fn lot(self, region: u32) -> u32 {
        let mixed = (region ^ region >> 15).wrapping_mul(0x2C1B_3C6D);
        (mixed ^ mixed >> 13).wrapping_mul(0x9E37_79B1) >> 7 & (self.each() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn a_small_store_is_whole() {
        let mut sample = Sample::new(1000, 1000);
        assert_eq!((sample.regions(1000), sample.each()), (1000, 1));
        assert!((0..1000).all(|page| sample.region(page) == (page, true)));
        assert!([5, 5, 9, u32::MAX, 3].into_iter().all(|now| sample.time(now) == now));
    }

    #[test]
    fn one_page_of_a_region_is_watched_and_all_places_come_up() {
        let sample = Sample::new(1 << 14, 1 << 10);
        assert_eq!((sample.regions(1 << 14), sample.each()), (1 << 10, 16));
        let mut places = vec![0; 16];
        for region in 0..1 << 10 {
            let mut watched = (region * 16..region * 16 + 16).filter(|page| sample.region(*page).1);
            places[watched.next().unwrap() as usize % 16] += 1;
            assert_eq!(watched.next(), None);
        }
        assert!(places.iter().all(|count| (40..90).contains(count)), "{places:?}");
    }

    #[test]
    fn time_goes_on_over_the_end_of_the_clock() {
        let mut sample = Sample::new(1 << 12, 1 << 10);
        let mut now = u32::MAX - 1001;
        let before = sample.time(now);
        (0..700).for_each(|_| {
            now = now.wrapping_add(3);
            sample.time(now);
        });
        assert_eq!(sample.time(now).wrapping_sub(before), 2100 / 4);
    }
}
