//! Addresses without holes.

use std::collections::HashMap;

/// Numbers pages in the order of their first appearance, from 0.
///
/// About 30 bytes for each page seen.
#[derive(Clone, Debug, Default)]
pub struct Compactor {
    pages: HashMap<(u64, u64), u32>,
}

impl Compactor {
    /// The number of page `page` of volume `volume`; `None` after 2^32 - 1 pages.
    pub fn number(&mut self, volume: u64, page: u64) -> Option<u32> {
        let next = u32::try_from(self.pages.len()).ok().filter(|next| *next < u32::MAX)?;
        Some(*self.pages.entry((volume, page)).or_insert(next))
    }

    /// The number of a page if it was seen before.
    pub fn known(&self, volume: u64, page: u64) -> Option<u32> {
        self.pages.get(&(volume, page)).copied()
    }

    /// Pages seen.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// True if no page was seen.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_numbered_as_they_come() {
        let mut pages = Compactor::default();
        let numbers = [(0, 900), (0, 5), (1, 5), (0, 900)].map(|(volume, page)| pages.number(volume, page));
        assert_eq!(numbers, [Some(0), Some(1), Some(2), Some(0)]);
        assert_eq!((pages.len(), pages.known(1, 5), pages.known(1, 900)), (3, Some(2), None));
    }
}
