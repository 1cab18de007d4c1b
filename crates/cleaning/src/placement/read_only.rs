//! Read-only data apart.

use alloc::{vec, vec::Vec};

use super::{Class, Cleaned, Old, Placement};

/// Pages of a byte.
const IN_BYTE: u32 = 4;
/// Bits of a page.
const BITS: u32 = 2;
/// The state of a page that was copied so often and never written over: it is read-only. Below are its copies so far.
const READ_ONLY: u8 = 2;
/// The state of a page that was written over.
const WRITABLE: u8 = 3;

/// Data that is written once and never again goes to a head of its own, all else to those of another rule (CAT paper,
/// sections 3.2 and 4). A segment full of it loses no page, so it is never cleaned.
///
/// The paper's server knows such data when it is created. A caller that does not say so has it learnt: a page that was
/// never written over and has been copied twice is taken for read-only. Once it is written over it is writable, until
/// it is trimmed. 2 bits a page, and the other rule's memory.
#[derive(Clone, Debug)]
pub struct ReadOnly<P> {
    rest: P,
    /// The states of pages, four to a byte.
    states: Vec<u8>,
}

impl<P: Placement> ReadOnly<P> {
    /// A rule that learns which of the pages 0 to `pages - 1` are read-only. `rest`, which places all others, must keep
    /// its number of classes.
    pub fn learning(rest: P, pages: u32) -> Self {
        Self { rest, states: vec![0; pages.div_ceil(IN_BYTE) as usize] }
    }

    /// A rule that is told them.
    pub fn told(rest: P, pages: u32, read_only: impl IntoIterator<Item = u32>) -> Self {
        let mut rule = Self { rest, states: vec![u8::MAX; pages.div_ceil(IN_BYTE) as usize] };
        read_only.into_iter().for_each(|page| rule.set(page, READ_ONLY));
        rule
    }

    fn state(&self, page: u32) -> u8 {
        let byte = self.states.get((page / IN_BYTE) as usize).copied().unwrap_or(u8::MAX);
        byte >> (page % IN_BYTE * BITS) & WRITABLE
    }

    fn set(&mut self, page: u32, state: u8) {
        if let Some(byte) = self.states.get_mut((page / IN_BYTE) as usize) {
            let shift = page % IN_BYTE * BITS;
            *byte = *byte & !(WRITABLE << shift) | state << shift;
        }
    }

    /// The class of a page that would otherwise have another.
    fn apart(&self, page: u32, class: Class) -> Class {
        if self.state(page) == READ_ONLY { Class(self.rest.classes()) } else { class }
    }

    /// A class as the other rule may know it: to it read-only data is its coldest.
    fn within(&self, class: Class) -> Class {
        Class(class.0.min(self.rest.classes() - 1))
    }

    fn old_within(&self, old: Old) -> Old {
        Old { class: self.within(old.class), ..old }
    }

    fn cleaned_within(&self, from: &Cleaned) -> Cleaned {
        let mut within = *from;
        within.segment.class = self.within(from.segment.class);
        within
    }
}

impl<P: Placement> Placement for ReadOnly<P> {
    fn classes(&self) -> u8 {
        self.rest.classes() + 1
    }

    fn user_write(&mut self, now: u32, page: u32, old: Option<Old>) -> Class {
        let class = self.rest.user_write(now, page, old.map(|old| self.old_within(old)));
        if old.is_some() {
            self.set(page, WRITABLE);
        }
        self.apart(page, class)
    }

    fn cleaner_copy(&mut self, now: u32, page: u32, from: &Cleaned) -> Class {
        let class = self.rest.cleaner_copy(now, page, &self.cleaned_within(from));
        let state = self.state(page);
        if state < READ_ONLY {
            self.set(page, state + 1);
        }
        self.apart(page, class)
    }

    fn sort(&mut self, now: u32, survivors: &mut [u32]) {
        self.rest.sort(now, survivors);
    }

    fn trimmed(&mut self, now: u32, page: u32, old: Old) {
        self.set(page, 0);
        self.rest.trimmed(now, page, self.old_within(old));
    }

    fn sealed(&mut self, now: u32, class: Class) {
        self.rest.sealed(now, self.within(class));
    }

    fn reclaimed(&mut self, now: u32, from: &Cleaned) {
        self.rest.reclaimed(now, &self.cleaned_within(from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Chain, SegmentView, Static};

    const OLD: Option<Old> = Some(Old { class: Class(0), age: 1 });

    fn copied(rule: &mut impl Placement, page: u32) -> u8 {
        rule.cleaner_copy(0, page, &Cleaned::default()).0
    }

    #[test]
    fn pages_that_are_told_have_their_own_head_until_they_are_written_over() {
        let mut rule = ReadOnly::told(Static, 65, [3, 64]);
        assert_eq!(rule.classes(), 3);
        assert_eq!([2, 3, 64, 65, 1 << 31].map(|page| rule.user_write(0, page, None).0), [0, 2, 2, 0, 0]);
        assert_eq!([2, 2, 2, 3].map(|page| copied(&mut rule, page)), [1, 1, 1, 2]);
        assert_eq!((rule.user_write(0, 3, OLD).0, copied(&mut rule, 3), copied(&mut rule, 64)), (0, 1, 2));
    }

    #[test]
    fn what_was_copied_twice_and_never_written_over_is_learnt() {
        let mut rule = ReadOnly::learning(Static, 9);
        let creating = |rule: &mut ReadOnly<_>| [7, 8].map(|page| rule.user_write(0, page, None).0);
        assert_eq!(creating(&mut rule), [0, 0]);
        assert_eq!([8; 4].map(|page| copied(&mut rule, page)), [1, 2, 2, 2]);
        assert_eq!(copied(&mut rule, 7), 1, "its neighbour is another page");
        // Written over once it is so for good.
        assert_eq!(rule.user_write(0, 8, OLD).0, 0);
        assert_eq!([8; 3].map(|page| copied(&mut rule, page)), [1, 1, 1]);
        // What comes after a trim is new.
        rule.trimmed(0, 8, Old { class: Class(0), age: 1 });
        assert_eq!(creating(&mut rule)[1], 0);
        assert_eq!([8; 2].map(|page| copied(&mut rule, page)), [1, 2]);
    }

    /// The other rule takes its segments for its own coldest.
    #[test]
    fn the_other_rule_sees_no_class_that_it_does_not_have() {
        struct Seen(Vec<u8>);
        impl Placement for Seen {
            fn classes(&self) -> u8 {
                2
            }
            fn user_write(&mut self, _: u32, _: u32, old: Option<Old>) -> Class {
                self.0.extend(old.map(|old| old.class.0));
                Class(0)
            }
            fn cleaner_copy(&mut self, _: u32, _: u32, from: &Cleaned) -> Class {
                self.0.push(from.segment.class.0);
                Class(1)
            }
            fn trimmed(&mut self, _: u32, _: u32, old: Old) {
                self.0.push(old.class.0);
            }
            fn sealed(&mut self, _: u32, class: Class) {
                self.0.push(class.0);
            }
            fn reclaimed(&mut self, _: u32, from: &Cleaned) {
                self.0.push(from.segment.class.0);
            }
        }
        let mut rule = ReadOnly::learning(Seen(Vec::new()), 4);
        for class in [Class(0), Class(2)] {
            let segment = SegmentView { class, ..SegmentView::default() };
            let (from, old) = (Cleaned { segment, ..Cleaned::default() }, Old { class, age: 1 });
            rule.user_write(0, 0, Some(old));
            rule.cleaner_copy(0, 0, &from);
            rule.trimmed(0, 0, old);
            rule.sealed(0, class);
            rule.reclaimed(0, &from);
        }
        assert_eq!(rule.rest.0, [[0; 5], [1; 5]].concat());
        assert_eq!(ReadOnly::learning(Chain::new(15), 1).classes(), super::super::MAX_CLASSES);
    }
}
