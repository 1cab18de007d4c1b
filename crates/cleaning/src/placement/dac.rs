//! Dynamic data clustering: a page climbs when it is written and sinks when it is cleaned.

use alloc::{vec, vec::Vec};

use super::{Class, Cleaned, MAX_CLASSES, Old, Placement};

/// DAC (Chiang, Lee and Chang, Software: Practice and Experience 29, 1999): `k` regions, one head each.
///
/// A page starts in the coldest region. Each rewrite moves it one region up, each copy by the cleaner one down. The
/// paper asks the page's age to be below a threshold for the first and above it for the second; without thresholds
/// there is nothing to tune, and a region's own turnover does the same. 1 byte a page; an addition for each write.
#[derive(Clone, Debug)]
pub struct Dac {
    regions: u8,
    region: Vec<u8>,
}

impl Dac {
    /// A rule with `regions` regions, 2 to 16 (others count as the nearest), for the pages 0 to `pages - 1`.
    pub fn new(regions: u8, pages: u32) -> Self {
        let regions = regions.clamp(2, MAX_CLASSES);
        Self { regions, region: vec![regions - 1; pages as usize] }
    }

    fn shift(&mut self, page: u32, to: impl Fn(u8) -> u8) -> Class {
        let coldest = self.regions - 1;
        let Some(region) = self.region.get_mut(page as usize) else { return Class(coldest) };
        *region = to(*region).min(coldest);
        Class(*region)
    }
}

impl Placement for Dac {
    fn classes(&self) -> u8 {
        self.regions
    }

    fn user_write(&mut self, _now: u32, page: u32, old: Option<Old>) -> Class {
        self.shift(page, |region| if old.is_some() { region.saturating_sub(1) } else { region })
    }

    fn cleaner_copy(&mut self, _now: u32, page: u32, _from: &Cleaned) -> Class {
        self.shift(page, |region| region + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn writes_raise_and_copies_lower() {
        let mut dac = Dac::new(3, 2);
        let old = Some(Old { class: Class(0), age: 1 });
        assert_eq!(dac.user_write(0, 1, None), Class(2));
        let up: Vec<_> = (0..3).map(|_| dac.user_write(0, 1, old).0).collect();
        let down: Vec<_> = (0..3).map(|_| dac.cleaner_copy(0, 1, &Cleaned::default()).0).collect();
        assert_eq!((up, down), ([1, 0, 0].into(), [1, 2, 2].into()));
        assert_eq!(dac.user_write(0, 9, old), Class(2));
    }
}
