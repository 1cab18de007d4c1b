//! Static placement: user and cleaner apart.

use super::{Class, Placement};

/// What users write is class 0, what survives a cleaning is class 1; nothing is learnt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Static;

impl Placement for Static {
    fn classes(&self) -> u8 {
        2
    }

    fn user_write(&mut self, _overwritten: Option<u32>) -> Class {
        Class(0)
    }

    fn cleaner_copy(&mut self, _from: Class, _age: u32) -> Class {
        Class(1)
    }

    fn reclaimed(&mut self, _class: Class, _lifespan: u32) {}
}
