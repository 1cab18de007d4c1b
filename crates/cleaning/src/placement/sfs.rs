//! Groups around centres of hotness.

use alloc::{vec, vec::Vec};

use super::{Class, Cleaned, MAX_CLASSES, Old, Placement};

/// SFS (Min, Kim, Cho, Lee and Eom, FAST 2012, section 3.3): pages are grouped by hotness, the number of writes over
/// the time since the first of them, around centres that iterative segment quantization finds.
///
/// The centres live on a logarithmic scale and move, with each page placed, a 1024th of the way towards it; that is
/// the k-means of the paper, made continuous, over pages instead of segments. Centres keep their order, so class 0 is
/// the hottest. The paper's victims are those of [`CostHotness`](crate::CostHotness). 6 bytes a page.
#[derive(Clone, Debug)]
pub struct Sfs {
    /// 1024ths of 16ths of octaves of writes per write clock, negated: hottest first.
    centres: Vec<i32>,
    pages: Vec<Page>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Page {
    writes: [u8; 2],
    first: [u8; 4],
}

impl Sfs {
    /// A rule with `groups` groups, 2 to 16 (others count as the nearest), for the pages 0 to `pages - 1`.
    pub fn new(groups: u8, pages: u32) -> Self {
        let groups = i32::from(groups.clamp(2, MAX_CLASSES));
        let turnover = sixteenths(pages.max(1));
        let centres = (0..groups).map(|group| (turnover + (group + 2 - groups) * 32) << 10).collect();
        Self { centres, pages: vec![Page::default(); pages as usize] }
    }

    fn group(&mut self, now: u32, page: u32) -> Class {
        let page = self.pages.get(page as usize).copied().unwrap_or_default();
        let writes = u32::from(u16::from_le_bytes(page.writes)).max(1);
        let age = now.wrapping_sub(u32::from_le_bytes(page.first)).max(1);
        let coldness = (sixteenths(age) - sixteenths(writes)) << 10;
        let nearest = (0..).zip(&mut self.centres).min_by_key(|(_, centre)| centre.abs_diff(coldness));
        let Some((group, centre)) = nearest else { return Class(0) };
        *centre += (coldness - *centre) >> 10;
        Class(group)
    }
}

/// Sixteen times the binary logarithm, linear between powers of two; `x` is not 0.
fn sixteenths(x: u32) -> i32 {
    let whole = x.max(1).ilog2();
    let fraction = (u64::from(x) << 4 >> whole) & 15;
    i32::try_from(u64::from(whole) << 4 | fraction).unwrap_or(0)
}

impl Placement for Sfs {
    fn classes(&self) -> u8 {
        u8::try_from(self.centres.len()).unwrap_or(MAX_CLASSES)
    }

    fn user_write(&mut self, now: u32, page: u32, old: Option<Old>) -> Class {
        if let Some(slot) = self.pages.get_mut(page as usize) {
            let writes = u16::from_le_bytes(slot.writes);
            match old {
                Some(_) => slot.writes = writes.saturating_add(1).to_le_bytes(),
                None => *slot = Page { writes: [1, 0], first: now.to_le_bytes() },
            }
        }
        self.group(now, page)
    }

    fn cleaner_copy(&mut self, now: u32, page: u32, _from: &Cleaned) -> Class {
        self.group(now, page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hot_pages_are_apart_from_cold_ones() {
        let mut rule = Sfs::new(3, 1000);
        for page in 0..1000 {
            rule.user_write(page, page, None);
        }
        let old = Some(Old { class: Class(0), age: 1 });
        let mut last = [Class(9); 2];
        for now in 1000..40_000 {
            match now % 10 {
                0 => last[1] = rule.user_write(now, 10 + now / 10 % 990, old),
                _ => last[0] = rule.user_write(now, now % 10, old),
            }
        }
        assert_eq!(last[0], Class(0));
        assert!(last[1] > Class(0));
    }

    #[test]
    fn logarithms_are_linear_between_powers() {
        assert_eq!([1, 2, 3, 4, 6, 1 << 20].map(sixteenths), [0, 16, 24, 32, 40, 320]);
    }
}
