//! The pages of an erase block that share cells, so that a cut program of one may destroy another.

/// The order in which a chip's pages lie on its cells. Pages are numbered within their erase block.
///
/// A cell that holds several bits is written in several steps. A power cut in a later step ruins the bits of the
/// earlier ones, however long ago those were written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Pairing {
    /// One bit a cell: no page shares cells with another (SLC, and others used in SLC mode).
    #[default]
    Unpaired,
    /// Two bits a cell, as Linux's `dist3` has it: lower pages are 0, 1, 3, 5 and so on, and the upper page of each
    /// comes three pages later: (0, 2), (1, 4), (3, 6). The last page of the block closes the last pair.
    Dist3,
    /// Several bits a cell, word line after word line: so many pages in a row share their cells.
    WordLine {
        /// Pages of a word line: 3 for TLC.
        pages: u32,
    },
}

impl Pairing {
    /// True if a block of so many pages can be laid out so.
    pub fn fits(self, pages_per_block: u32) -> bool {
        match self {
            Pairing::Unpaired => true,
            Pairing::Dist3 => pages_per_block >= 4 && pages_per_block.is_multiple_of(2),
            Pairing::WordLine { pages } => pages >= 2 && pages_per_block.is_multiple_of(pages),
        }
    }

    /// The pages that a cut program of page `index` may destroy: those that share its cells and come before it,
    /// ascending. Empty for a page that is safe to program at any time (a lower page).
    pub fn endangers(self, index: u32, pages_per_block: u32) -> core::ops::Range<u32> {
        debug_assert!(
            index < pages_per_block && self.fits(pages_per_block),
            "page {index} of {pages_per_block}"
        );
        match self {
            Pairing::Unpaired => index..index,
            Pairing::Dist3 => match lower_of(index, pages_per_block) {
                Some(lower) => lower..lower + 1,
                None => index..index,
            },
            Pairing::WordLine { pages } => index - index % pages..index,
        }
    }

    /// The last page that may destroy page `index` if its program is cut; `index` itself if none can. Once that page is
    /// programmed, `index` is safe.
    pub fn safe_after(self, index: u32, pages_per_block: u32) -> u32 {
        debug_assert!(
            index < pages_per_block && self.fits(pages_per_block),
            "page {index} of {pages_per_block}"
        );
        match self {
            Pairing::Unpaired => index,
            Pairing::Dist3 if lower_of(index, pages_per_block).is_some() => index,
            Pairing::Dist3 => (if index == 0 { 2 } else { index + 3 }).min(pages_per_block - 1),
            Pairing::WordLine { pages } => index - index % pages + pages - 1,
        }
    }
}

/// The lower page under an upper one; None if `index` is a lower page.
fn lower_of(index: u32, pages_per_block: u32) -> Option<u32> {
    match index {
        2 => Some(0),
        last if last + 1 == pages_per_block => Some(last - 2),
        upper if upper > 2 && upper.is_multiple_of(2) => Some(upper - 3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn dist3_has_the_pairs_of_linux() {
        let pairs = |pages: u32| -> Vec<(u32, u32)> {
            (0..pages)
                .flat_map(|upper| Pairing::Dist3.endangers(upper, pages).map(move |l| (l, upper)))
                .collect()
        };
        assert_eq!(pairs(4), [(0, 2), (1, 3)]);
        assert_eq!(pairs(10), [(0, 2), (1, 4), (3, 6), (5, 8), (7, 9)]);
        let pairs = pairs(256);
        assert_eq!(pairs.len(), 128);
        assert_eq!(pairs[125..], [(249, 252), (251, 254), (253, 255)]);
    }

    #[test]
    fn a_page_is_safe_once_nothing_that_follows_endangers_it() {
        for (pairing, pages) in [
            (Pairing::Unpaired, 8),
            (Pairing::Dist3, 4),
            (Pairing::Dist3, 256),
            (Pairing::WordLine { pages: 3 }, 384),
            (Pairing::WordLine { pages: 4 }, 16),
        ] {
            for index in 0..pages {
                let last = (index..pages).rfind(|by| pairing.endangers(*by, pages).contains(&index));
                assert_eq!(
                    pairing.safe_after(index, pages),
                    last.unwrap_or(index),
                    "{pairing:?}, page {index}"
                );
                assert!(pairing.endangers(index, pages).all(|other| other < index));
            }
        }
    }

    #[test]
    fn word_lines_are_pages_in_a_row() {
        let tlc = Pairing::WordLine { pages: 3 };
        assert_eq!((tlc.endangers(3, 384), tlc.endangers(4, 384), tlc.endangers(5, 384)), (3..3, 3..4, 3..5));
        assert_eq!(tlc.safe_after(3, 384), 5);
    }

    #[test]
    fn what_does_not_fit_is_told() {
        assert!(!Pairing::Dist3.fits(2) && !Pairing::Dist3.fits(7) && Pairing::Dist3.fits(4));
        assert!(!Pairing::WordLine { pages: 3 }.fits(64) && Pairing::WordLine { pages: 3 }.fits(384));
        assert!(!Pairing::WordLine { pages: 0 }.fits(64) && !Pairing::WordLine { pages: 1 }.fits(64));
    }
}
