//! One log for all.

use super::{Class, Cleaned, Old, Placement};

/// Users and cleaner write to one head, survivors in the order in which they lie (M1, CAT paper, section 6.1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OneLog;

impl Placement for OneLog {
    fn classes(&self) -> u8 {
        1
    }

    fn user_write(&mut self, _now: u32, _page: u32, _old: Option<Old>) -> Class {
        Class(0)
    }

    fn cleaner_copy(&mut self, _now: u32, _page: u32, _from: &Cleaned) -> Class {
        Class(0)
    }
}
