//! No wear levelling.

use alloc::collections::VecDeque;

use super::Wear;
use crate::Class;

/// Free segments are used in the order in which they were erased.
#[derive(Clone, Debug, Default)]
pub struct Fifo(VecDeque<u32>);

impl Fifo {
    /// Takes a certain segment out; false if it is not free.
    pub(super) fn take(&mut self, id: u32) -> bool {
        let at = self.0.iter().rposition(|free| *free == id);
        at.and_then(|at| self.0.remove(at)).is_some()
    }
}

impl Wear for Fifo {
    fn freed(&mut self, id: u32, _erases: u32) {
        self.0.push_back(id);
    }

    fn allocate(&mut self, _class: Class) -> Option<u32> {
        self.0.pop_front()
    }

    fn free(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }
}
