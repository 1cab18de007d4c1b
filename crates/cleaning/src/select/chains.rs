//! Doubly linked lists threaded through arrays: one list for each valid count, members in order of arrival.

use crate::packed::{NONE, Packed};

/// `lists` lists over the members 0 to `members - 1`; each member is in one list at most. 8 bytes a member and a list.
#[derive(Clone, Debug)]
pub(super) struct Chains {
    before: Packed,
    after: Packed,
    first: Packed,
    last: Packed,
}

impl Chains {
    pub(super) fn new(members: u32, lists: u32) -> Self {
        Self {
            before: Packed::new(members),
            after: Packed::new(members),
            first: Packed::new(lists),
            last: Packed::new(lists),
        }
    }

    /// The member that is longest in the list, or [`NONE`].
    pub(super) fn first(&self, list: u32) -> u32 {
        self.first.get(list)
    }

    /// The member that came last, or [`NONE`].
    pub(super) fn last(&self, list: u32) -> u32 {
        self.last.get(list)
    }

    /// The member that came after `member`, or [`NONE`].
    pub(super) fn after(&self, member: u32) -> u32 {
        self.after.get(member)
    }

    /// Appends a member that is in no list.
    pub(super) fn push(&mut self, list: u32, member: u32) {
        let end = self.last.get(list);
        self.before.set(member, end);
        self.after.set(member, NONE);
        match end {
            NONE => self.first.set(list, member),
            end => self.after.set(end, member),
        }
        self.last.set(list, member);
    }

    /// Takes out a member of the list.
    pub(super) fn remove(&mut self, list: u32, member: u32) {
        let (before, after) = (self.before.get(member), self.after.get(member));
        match before {
            NONE => self.first.set(list, after),
            id => self.after.set(id, after),
        }
        match after {
            NONE => self.last.set(list, before),
            id => self.before.set(id, before),
        }
    }
}
