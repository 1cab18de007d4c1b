//! F2FS's static temperatures.

use alloc::{vec, vec::Vec};

use super::{Class, Cleaned, Old, Placement};

/// A file system's prior knowledge of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hint {
    /// Directories and the like: rewritten soon.
    Hot,
    /// Anything.
    #[default]
    Warm,
    /// Films and pictures: written once.
    Cold,
}

/// Three heads by prior knowledge (Lee, Sim, Hwang and Cho, FAST 2015, section 2.4, table 1).
///
/// A user's page goes where its hint says, a cleaner's copy to the cold head, because it has outlived its segment;
/// nothing is learnt. F2FS keeps the same three for nodes. Without hints it is [`Static`](super::Static) with warm and
/// cold heads. 1 byte a page.
#[derive(Clone, Debug)]
pub struct Temperature {
    hints: Vec<Hint>,
}

impl Temperature {
    /// A rule for the pages 0 to `pages - 1`, all of them warm.
    pub fn new(pages: u32) -> Self {
        Self { hints: vec![Hint::Warm; pages as usize] }
    }

    /// Sets the hint of a page from now on.
    pub fn hint(&mut self, page: u32, hint: Hint) {
        if let Some(slot) = self.hints.get_mut(page as usize) {
            *slot = hint;
        }
    }
}

impl Placement for Temperature {
    fn classes(&self) -> u8 {
        3
    }

    fn user_write(&mut self, _now: u32, page: u32, _old: Option<Old>) -> Class {
        Class(match self.hints.get(page as usize).copied().unwrap_or_default() {
            Hint::Hot => 0,
            Hint::Warm => 1,
            Hint::Cold => 2,
        })
    }

    fn cleaner_copy(&mut self, _now: u32, _page: u32, _from: &Cleaned) -> Class {
        Class(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_decide_and_survivors_are_cold() {
        let mut rule = Temperature::new(3);
        rule.hint(0, Hint::Hot);
        rule.hint(2, Hint::Cold);
        assert_eq!([0, 1, 2].map(|page| rule.user_write(0, page, None).0), [0, 1, 2]);
        assert_eq!(rule.cleaner_copy(0, 0, &Cleaned::default()), Class(2));
    }
}
