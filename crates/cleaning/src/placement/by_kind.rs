//! Static placement: user and cleaner apart.

use super::{Class, Cleaned, Old, Placement};

/// User writes are class 0, survivors of a cleaning are class 1; nothing is learnt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Static;

impl Placement for Static {
    fn classes(&self) -> u8 {
        2
    }

    fn user_write(&mut self, _now: u32, _page: u32, _old: Option<Old>) -> Class {
        Class(0)
    }

    fn cleaner_copy(&mut self, _now: u32, _page: u32, _from: &Cleaned) -> Class {
        Class(1)
    }
}
