//! Whether the tables agree.

use alloc::{format, string::String};

use super::Sim;
use crate::{Placement, Selector, Wear, packed::NONE};

impl<S: Selector, P: Placement, W: Wear> Sim<S, P, W> {
    /// The first fault in the store's tables, if any: for tests of rules and of the simulator itself. Looks at every
    /// page.
    pub fn check(&self) -> Result<(), String> {
        let mut live = 0;
        for page in 0..self.params.logical {
            let at = self.place.get(page);
            if at == NONE {
                continue;
            }
            live += 1;
            if self.owner.get(at) != page {
                return Err(format!(
                    "page {page} is said to be at {at:#x}, where page {} is",
                    self.owner.get(at)
                ));
            }
        }
        if live != self.live {
            return Err(format!("{live} live pages, {} counted", self.live));
        }
        for (id, segment) in (0..).zip(&self.segments) {
            let found = self.live_pages(id).count();
            if u32::try_from(found) != Ok(segment.valid) {
                return Err(format!("segment {id} has {found} live pages, {} counted", segment.valid));
            }
        }
        Ok(())
    }
}
