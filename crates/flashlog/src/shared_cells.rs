//! Superpages with pages that share cells, and those of them that may be programmed without putting others at risk.
//!
//! A power cut in the middle of a program may destroy earlier pages in the same cells
//! ([`Pairing`](pumice_media::Pairing)). A log that keeps promises passes over the pages that share cells with promised
//! ones.

use core::fmt;

use pumice_media::Pairing;

use crate::shape::Shape;

/// The number of a pairing in anchors: 0 for none, 1 for pairs as Linux's `dist3` has them, else the pages of a word line.
pub(crate) fn pairing_number(pairing: Pairing) -> u32 {
    match pairing {
        Pairing::Unpaired => 0,
        Pairing::Dist3 => 1,
        Pairing::WordLine { pages } => pages,
    }
}

/// A volume on a chip with another pairing than the chip that it was made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OtherPairing {
    pub(crate) made: u32,
    pub(crate) is: u32,
}

impl fmt::Display for OtherPairing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tell = |before: &str, number: u32| match number {
            0 => write!(f, "{before} no pages that share cells"),
            1 => write!(f, "{before} pairs of pages (dist3)"),
            pages => write!(f, "{before} word lines of {pages} pages"),
        };
        tell("made for a chip with", self.made)?;
        tell(", and this one has", self.is)
    }
}

/// The cost of passing over pages in an erase block of a shape. Without shared cells all superpages are safe, and none
/// is passed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Skips {
    /// Superpages that are programmed if each is kept from then on: the lower pages.
    pub safe_pages: u32,
    /// Superpages that one promise has passed over, at most.
    pub lost: u32,
}

impl Shape {
    /// The first superpage of an erase block that a cut program of the one at `index` may destroy; `index` if there is
    /// none before it.
    fn endangers(&self, index: u32) -> u32 {
        let parts = index * self.parts()..(index + 1) * self.parts();
        let others = parts.flat_map(|page| self.pairing().endangers(page, self.chip_pages()));
        others.map(|page| page / self.parts()).fold(index, u32::min)
    }

    /// True if a cut program of the superpage `by` of an erase block may destroy the one at `index`.
    pub fn may_destroy(&self, by: u32, index: u32) -> bool {
        let mut parts = by * self.parts()..(by + 1) * self.parts();
        let is_hit = |page| {
            let mut others = self.pairing().endangers(page, self.chip_pages());
            others.any(|other| other / self.parts() == index)
        };
        by != index && parts.any(is_hit)
    }

    /// The first superpage of an erase block, from `index` on, that puts none before `kept` at risk by its program;
    /// `None` if the block has no such page. `kept` is at most `index`.
    pub fn next_safe(&self, index: u32, kept: u32) -> Option<u32> {
        debug_assert!(kept <= index, "page {index} is not programmed yet");
        (index..self.pages()).find(|index| self.endangers(*index) >= kept)
    }

    /// Superpages of an erase block that are programmed from `index` on if each is kept.
    pub fn safe_from(&self, index: u32) -> impl Iterator<Item = u32> {
        let next = |index: u32| self.next_safe(index, index);
        core::iter::successors(next(index), move |index| next(index + 1))
    }

    /// The most places from a programmed superpage to the next one: 1 if none is ever passed over.
    pub fn reach(&self) -> u32 {
        let step = |index: u32| Some(self.next_safe(index + 1, index + 1)? - index);
        if self.is_paired() { (0..self.pages()).filter_map(step).fold(1, u32::max) } else { 1 }
    }

    /// The cost of passing over pages.
    pub fn skips(&self) -> Skips {
        if !self.is_paired() {
            return Skips { safe_pages: self.pages(), lost: 0 };
        }
        let risky =
            |kept: u32| (kept..self.pages()).filter(move |index| self.endangers(*index) < kept).count();
        let lost = (1..self.pages()).map(risky).fold(0, usize::max);
        let count = |pages: usize| u32::try_from(pages).unwrap_or(u32::MAX);
        Skips { safe_pages: count(self.safe_from(0).count()), lost: count(lost) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::TagPlace;
    use alloc::vec::Vec;
    use pumice_media::{Geometry, Pairing};

    fn shape(pages: u32, parts: u32, pairing: Pairing) -> Shape {
        let geometry = Geometry {
            page_bytes: 512,
            spare_bytes: 64,
            free_spare_bytes: 40,
            pages_per_block: pages,
            blocks: 9,
        };
        Shape::new(&geometry, parts, TagPlace::Spare, 0).with_pairing(pairing)
    }

    fn lower_pages(shape: &Shape) -> Vec<u32> {
        shape.safe_from(0).collect()
    }

    #[test]
    fn a_chip_without_shared_cells_loses_nothing() {
        let shape = shape(64, 4, Pairing::Unpaired);
        assert_eq!((shape.skips(), shape.reach()), (Skips { safe_pages: 16, lost: 0 }, 1));
        assert_eq!(shape.next_safe(5, 5), Some(5));
    }

    #[test]
    fn lower_pages_alone_put_nothing_at_risk() {
        let mlc = shape(10, 1, Pairing::Dist3);
        assert_eq!(lower_pages(&mlc), [0, 1, 3, 5, 7]);
        assert_eq!((mlc.skips(), mlc.reach()), (Skips { safe_pages: 5, lost: 2 }, 2));
        let tlc = shape(12, 1, Pairing::WordLine { pages: 3 });
        assert_eq!(lower_pages(&tlc), [0, 3, 6, 9]);
        assert_eq!((tlc.skips(), tlc.reach()), (Skips { safe_pages: 4, lost: 2 }, 3));
    }

    #[test]
    fn who_destroys_a_page_is_known() {
        let mlc = shape(10, 1, Pairing::Dist3);
        assert_eq!((0..10).filter(|by| mlc.may_destroy(*by, 1)).collect::<Vec<_>>(), [4]);
        let tlc = shape(12, 2, Pairing::WordLine { pages: 4 });
        assert_eq!((0..6).filter(|by| tlc.may_destroy(*by, 2)).collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn what_is_not_kept_may_be_put_at_risk() {
        let mlc = shape(10, 1, Pairing::Dist3);
        // Pages 2 and 4 share the cells of pages 0 and 1.
        assert_eq!(
            (mlc.next_safe(2, 0), mlc.next_safe(2, 1), mlc.next_safe(4, 2)),
            (Some(2), Some(3), Some(5))
        );
        // Nothing may follow the last lower page once it is kept.
        assert_eq!((mlc.next_safe(8, 7), mlc.next_safe(8, 8)), (Some(9), None));
    }

    /// No kept page is ever destroyed by a cut: tried against the chip's own pairing, in superpages of each size.
    #[test]
    fn nothing_kept_is_ever_put_at_risk() {
        let pairings = [Pairing::Dist3, Pairing::WordLine { pages: 3 }, Pairing::WordLine { pages: 4 }];
        for (pairing, parts, turns) in pairings.into_iter().flat_map(|pairing| {
            [1, 2, 4].into_iter().flat_map(move |parts| (1..6).map(move |turns| (pairing, parts, turns)))
        }) {
            let shape = shape(48, parts, pairing);
            let (skips, mut kept, mut last) = (shape.skips(), 0, None);
            let mut programmed = Vec::new();
            while let Some(index) = shape.next_safe(last.map_or(0, |last| last + 1), kept) {
                let pages = index * parts..(index + 1) * parts;
                for other in pages.flat_map(|page| pairing.endangers(page, 48)).map(|page| page / parts) {
                    assert!(!programmed.contains(&other) || other >= kept, "{pairing:?} {parts}: {index}");
                }
                assert!(
                    index <= last.unwrap_or(0) + shape.reach(),
                    "{pairing:?} {parts}: {index} after {last:?}"
                );
                programmed.push(index);
                last = Some(index);
                if programmed.len() % turns == 0 {
                    kept = index + 1;
                }
            }
            assert!(programmed.len() >= skips.safe_pages as usize, "{pairing:?} {parts}");
        }
    }
}
