//! Cold pages apart.

use super::{Class, Cleaned, Old, Placement, heat::Heat};

/// The measure of heat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    Updates,
    Degree,
}

/// A head for users and for hot survivors, and one for cold survivors; each page is judged by itself (M5 and M6, CAT
/// paper, section 6.1.1).
///
/// M6 calls a page hot if its hot degree exceeds the mean of all pages. The hot degree is the number of updates, falling
/// with the age since the last one: here updates / age', with the age' of [`Cat`](crate::Cat). The mean is taken by a
/// sweep that looks at one page for each user write, so it is up to two turnovers old, and 0 during the first. Updates
/// over plain age do worse: their mean is that of a few pages written just now. 6 bytes a page.
#[derive(Clone, Debug)]
pub struct ByHeat {
    measure: Measure,
    heat: Heat,
}

impl ByHeat {
    /// M5: a page is hot if it was updated more often than the mean; for the pages 0 to `pages - 1`.
    pub fn updates(pages: u32) -> Self {
        Self { measure: Measure::Updates, heat: Heat::new(pages) }
    }

    /// M6: a page is hot if its hot degree is above the mean; for the pages 0 to `pages - 1`.
    pub fn degree(pages: u32) -> Self {
        Self { measure: Measure::Degree, heat: Heat::new(pages) }
    }
}

impl Placement for ByHeat {
    fn classes(&self) -> u8 {
        2
    }

    fn user_write(&mut self, now: u32, page: u32, old: Option<Old>) -> Class {
        self.heat.write(now, page, old.is_some());
        Class(0)
    }

    fn cleaner_copy(&mut self, now: u32, page: u32, _from: &Cleaned) -> Class {
        let hot = match self.measure {
            Measure::Updates => self.heat.is_often(page),
            Measure::Degree => self.heat.is_hot(now, page),
        };
        Class(u8::from(!hot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Page 1 is updated with every other write of the first half, page 2 with every other of the second.
    fn taught(mut rule: ByHeat) -> [u8; 3] {
        for now in 0..400 {
            let page = match (now % 2, now < 200) {
                (0, true) => 1,
                (0, false) => 2,
                _ => 3 + now / 2 % 97,
            };
            rule.user_write(now, page, Some(Old { class: Class(0), age: 0 }));
        }
        [0, 1, 2].map(|page| rule.cleaner_copy(400, page, &Cleaned::default()).0)
    }

    #[test]
    fn what_is_updated_often_is_hot() {
        assert_eq!(taught(ByHeat::updates(100)), [1, 0, 0]);
        assert_eq!(taught(ByHeat::degree(100)), [1, 0, 0]);
    }

    #[test]
    fn before_the_first_sweep_whatever_was_updated_is_hot() {
        let mut rule = ByHeat::degree(100);
        rule.user_write(0, 1, None);
        rule.user_write(1, 2, Some(Old { class: Class(0), age: 0 }));
        assert_eq!([1, 2].map(|page| rule.cleaner_copy(2, page, &Cleaned::default()).0), [1, 0]);
    }
}
