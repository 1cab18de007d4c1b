//! Read-only data of a workload: pages that are filled and never written again.

use pumice_cleaning::{Class, Cleaned, Old, Placement};

/// A placement, and the copies of read-only pages that it was asked to place.
pub(super) struct Counted<P> {
    rest: P,
    /// True for each read-only page; empty if the workload names none.
    is_read_only: Vec<bool>,
    copies: u64,
}

impl<P> Counted<P> {
    /// A placement on a store whose read-only pages are these.
    pub(super) fn new(rest: P, read_only: &[u32]) -> Self {
        let pages = read_only.iter().max().map_or(0, |last| *last as usize + 1);
        let mut is_read_only = vec![false; pages];
        for page in read_only {
            if let Some(slot) = is_read_only.get_mut(*page as usize) {
                *slot = true;
            }
        }
        Self { rest, is_read_only, copies: 0 }
    }

    /// Copies of read-only pages by the cleaner so far.
    pub(super) fn copies(&self) -> u64 {
        self.copies
    }
}

impl<P: Placement> Placement for Counted<P> {
    fn classes(&self) -> u8 {
        self.rest.classes()
    }

    fn user_write(&mut self, now: u32, page: u32, old: Option<Old>) -> Class {
        self.rest.user_write(now, page, old)
    }

    fn cleaner_copy(&mut self, now: u32, page: u32, from: &Cleaned) -> Class {
        self.copies += u64::from(self.is_read_only.get(page as usize).copied().unwrap_or(false));
        self.rest.cleaner_copy(now, page, from)
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
    use pumice_cleaning::OneLog;

    #[test]
    fn copies_of_read_only_pages_are_counted() {
        let mut counted = Counted::new(OneLog, &[7, 2]);
        for page in [0, 2, 3, 7, 7, 8, u32::MAX] {
            counted.user_write(0, page, None);
            counted.cleaner_copy(0, page, &Cleaned::default());
        }
        assert_eq!(counted.copies(), 3);
        assert_eq!(Counted::new(OneLog, &[]).copies(), 0);
    }
}
