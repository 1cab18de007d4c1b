//! The open segments, one for each class.

use super::{Sim, SimError};
use crate::{Class, Placement, Selector, Wear, packed::NONE};

impl<S: Selector, P: Placement, W: Wear> Sim<S, P, W> {
    fn open(&self, class: Class) -> u32 {
        self.heads.get(usize::from(class.0)).copied().unwrap_or(NONE)
    }

    fn set(&mut self, class: Class, id: u32) {
        if let Some(head) = self.heads.get_mut(usize::from(class.0)) {
            *head = id;
        }
    }

    /// The head of `class` is full.
    pub(super) fn close(&mut self, class: Class) {
        self.set(class, NONE);
    }

    /// Makes sure that a user can write to `class` and that the cleaner's reserve is there afterwards.
    #[inline]
    pub(super) fn make_room(&mut self, class: Class) -> Result<(), SimError> {
        while self.open(class) == NONE && !self.adopt(class) {
            if self.wear.free() > self.params.reserve {
                match self.doomed.pop() {
                    Some(id) => self.evacuate(id)?,
                    None => return self.allocate(class),
                }
            } else if !self.clean()? {
                return Ok(());
            } else {
                while self.wear.free() < self.params.high_water && self.clean()? {}
            }
        }
        Ok(())
    }

    /// The head that a page of `class` goes to, and its class: the wanted one, or, with no segment free, the nearest.
    #[inline]
    pub(super) fn head(&mut self, class: Class) -> Result<(Class, u32), SimError> {
        if self.open(class) == NONE && !self.adopt(class) && self.allocate(class).is_err() {
            let near = self.nearest(class).ok_or_else(|| self.full())?;
            return Ok((near, self.open(near)));
        }
        Ok((class, self.open(class)))
    }

    /// Takes over a head that the placement wants no more; false if there is none.
    fn adopt(&mut self, class: Class) -> bool {
        let wanted = usize::from(self.placement.classes());
        let Some(head) = self.heads.iter_mut().skip(wanted).find(|head| **head != NONE) else { return false };
        let id = core::mem::replace(head, NONE);
        self.begin(class, id);
        true
    }

    fn allocate(&mut self, class: Class) -> Result<(), SimError> {
        let id = self.wear.allocate(class).ok_or_else(|| self.full())?;
        self.begin(class, id);
        Ok(())
    }

    fn begin(&mut self, class: Class, id: u32) {
        self.set(class, id);
        if let Some(segment) = self.segments.get_mut(id as usize) {
            segment.class = class;
        }
    }

    fn nearest(&self, class: Class) -> Option<Class> {
        let open = (0..).zip(&self.heads).filter(|(_, id)| **id != NONE);
        open.map(|(at, _): (u8, _)| at).min_by_key(|at| at.abs_diff(class.0)).map(Class)
    }

    pub(super) fn full(&self) -> SimError {
        SimError::Full { live: self.live, dead_segments: self.stats.deaths }
    }
}
