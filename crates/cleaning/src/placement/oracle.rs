//! Placement that knows the future, for bounds.

use alloc::{vec, vec::Vec};

use super::{Class, Cleaned, MAX_CLASSES, Old, Placement};

/// Pages that will die at about the same time lie together: the best that any placement could do with so many heads.
///
/// Class by the time left until the page is written again, a factor of four apart; the last but one ends at one
/// turnover. Not a policy: it is given every write there will be. 4 bytes a page and 4 a write.
#[derive(Clone, Debug)]
pub struct Oracle {
    heads: u8,
    turnover: u32,
    /// The clock of the next write to the page of each write.
    next: Vec<u32>,
    /// The clock at which each page's present copy dies.
    death: Vec<u32>,
}

/// The clock of a write that never comes.
const NEVER: u32 = u32::MAX;

impl Oracle {
    /// An oracle with `heads` heads, 2 to 16 (others count as the nearest), for the pages 0 to `pages - 1`. They will
    /// be written in the order of `writes`: the first at clock 1, and no trims.
    pub fn new(heads: u8, pages: u32, writes: &[u32]) -> Self {
        let mut next = vec![NEVER; writes.len()];
        let mut upcoming = vec![NEVER; pages as usize];
        for (clock, (&page, next)) in
            (1..).zip(writes.iter().zip(&mut next)).collect::<Vec<_>>().into_iter().rev()
        {
            if let Some(upcoming) = upcoming.get_mut(page as usize) {
                *next = core::mem::replace(upcoming, clock);
            }
        }
        let heads = heads.clamp(2, MAX_CLASSES);
        Self { heads, turnover: pages.max(1), next, death: vec![NEVER; pages as usize] }
    }

    fn class(&self, now: u32, death: u32) -> Class {
        let coldest = self.heads - 1;
        let mut bound = self.turnover;
        let mut class = coldest;
        while class > 0 && death != NEVER && death.saturating_sub(now) < bound {
            class -= 1;
            bound /= 4;
        }
        Class(class)
    }
}

impl Placement for Oracle {
    fn classes(&self) -> u8 {
        self.heads
    }

    fn user_write(&mut self, now: u32, page: u32, _old: Option<Old>) -> Class {
        let at = now.wrapping_sub(1) as usize;
        let death = self.next.get(at).copied().unwrap_or(NEVER);
        if let Some(slot) = self.death.get_mut(page as usize) {
            *slot = death;
        }
        self.class(now, death)
    }

    fn cleaner_copy(&mut self, now: u32, page: u32, _from: &Cleaned) -> Class {
        self.class(now, self.death.get(page as usize).copied().unwrap_or(NEVER))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_lifetimes() {
        let writes = [0, 1, 0, 2, 0, 0, 3];
        let mut rule = Oracle::new(3, 4, &writes);
        let classes: Vec<_> =
            (1..).zip(writes).map(|(now, page)| rule.user_write(now, page, None).0).collect();
        // Lifetimes 2, -, 2, -, 1, -, - against bounds of 4 and 1.
        assert_eq!(classes, [1, 2, 1, 2, 1, 2, 2]);
        assert_eq!(rule.cleaner_copy(7, 1, &Cleaned::default()), Class(2));
    }
}
