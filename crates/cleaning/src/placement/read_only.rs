//! Read-only data apart.

use alloc::vec::Vec;

use super::{Class, Cleaned, Old, Placement};

/// Pages known to be read-only go to a head of their own, all others to those of another rule (data placement, CAT
/// paper, sections 3.2 and 4): segments full of read-only pages are never cleaned.
///
/// Users must say which pages are read-only; one that is written all the same stays with its like. A bit a page, and
/// the other rule's memory.
#[derive(Clone, Debug)]
pub struct ReadOnly<P> {
    rest: P,
    /// A bit for each page, set for those that are read-only.
    bits: Vec<u64>,
}

impl<P: Placement> ReadOnly<P> {
    /// The read-only pages and the rule for all others, which must keep its number of classes.
    pub fn new(rest: P, read_only: impl IntoIterator<Item = u32>) -> Self {
        let mut bits = Vec::new();
        for page in read_only {
            let word = (page / 64) as usize;
            bits.resize(bits.len().max(word + 1), 0);
            if let Some(slot) = bits.get_mut(word) {
                *slot |= 1 << (page % 64);
            }
        }
        Self { rest, bits }
    }

    fn class(&self, page: u32) -> Option<Class> {
        let word = self.bits.get((page / 64) as usize)?;
        (word >> (page % 64) & 1 == 1).then(|| Class(self.rest.classes()))
    }
}

impl<P: Placement> Placement for ReadOnly<P> {
    fn classes(&self) -> u8 {
        self.rest.classes() + 1
    }

    fn user_write(&mut self, now: u32, page: u32, old: Option<Old>) -> Class {
        self.class(page).unwrap_or_else(|| self.rest.user_write(now, page, old))
    }

    fn cleaner_copy(&mut self, now: u32, page: u32, from: &Cleaned) -> Class {
        self.class(page).unwrap_or_else(|| self.rest.cleaner_copy(now, page, from))
    }

    fn sort(&mut self, now: u32, survivors: &mut [u32]) {
        self.rest.sort(now, survivors);
    }

    fn trimmed(&mut self, now: u32, page: u32, old: Old) {
        self.rest.trimmed(now, page, old);
    }

    fn sealed(&mut self, now: u32, class: Class) {
        self.rest.sealed(now, class);
    }

    fn reclaimed(&mut self, now: u32, from: &Cleaned) {
        self.rest.reclaimed(now, from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Static;

    #[test]
    fn read_only_pages_have_their_own_head() {
        let mut rule = ReadOnly::new(Static, [3, 64]);
        assert_eq!(rule.classes(), 3);
        assert_eq!([2, 3, 64, 65, 1 << 31].map(|page| rule.user_write(0, page, None).0), [0, 2, 2, 0, 0]);
        assert_eq!([2, 3].map(|page| rule.cleaner_copy(0, page, &Cleaned::default()).0), [1, 2]);
    }
}
