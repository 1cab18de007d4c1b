//! Pairing heaps threaded through arrays: one heap for each cell, the lowest key on top.

use alloc::{vec, vec::Vec};

use crate::packed::{NONE, Packed};

/// `heaps` heaps over the members 0 to `members - 1`; each member is in one heap at most. Insertion is O(1), removal
/// O(log n) amortised. 20 bytes a member, 4 a heap.
#[derive(Clone, Debug)]
pub(super) struct Heaps {
    key: Vec<u64>,
    /// The first child of a member.
    child: Packed,
    /// Its next sibling.
    next: Packed,
    /// Its previous sibling or, of a first child, its parent; [`NONE`] at the top.
    back: Packed,
    top: Packed,
    /// Roots being merged, kept for its memory.
    roots: Vec<u32>,
}

impl Heaps {
    pub(super) fn new(members: u32, heaps: u32) -> Self {
        Self {
            key: vec![0; members as usize],
            child: Packed::new(members),
            next: Packed::new(members),
            back: Packed::new(members),
            top: Packed::new(heaps),
            roots: Vec::new(),
        }
    }

    /// The member with the lowest key of a heap, or [`NONE`].
    pub(super) fn top(&self, heap: u32) -> u32 {
        self.top.get(heap)
    }

    /// Adds a member that is in no heap.
    pub(super) fn push(&mut self, heap: u32, member: u32, key: u64) {
        let Some(slot) = self.key.get_mut(member as usize) else { return };
        *slot = key;
        self.child.set(member, NONE);
        let top = self.merge(self.top.get(heap), member);
        self.crown(heap, top);
    }

    /// Takes out a member of the heap.
    pub(super) fn remove(&mut self, heap: u32, member: u32) {
        let below = self.merge_children(member);
        let back = self.back.get(member);
        let mut top = below;
        if back != NONE {
            self.cut(member, back);
            top = self.merge(self.top.get(heap), below);
        }
        self.crown(heap, top);
    }

    fn crown(&mut self, heap: u32, top: u32) {
        self.top.set(heap, top);
        self.back.set(top, NONE);
        self.next.set(top, NONE);
    }

    /// Takes a member that is not on top out of its siblings.
    fn cut(&mut self, member: u32, back: u32) {
        let next = self.next.get(member);
        match self.child.get(back) == member {
            true => self.child.set(back, next),
            false => self.next.set(back, next),
        }
        self.back.set(next, back);
    }

    /// The higher of two roots becomes the first child of the lower.
    fn merge(&mut self, a: u32, b: u32) -> u32 {
        if a == NONE || b == NONE {
            return if a == NONE { b } else { a };
        }
        let (low, high) = if self.key(b) < self.key(a) { (b, a) } else { (a, b) };
        let first = self.child.get(low);
        self.next.set(high, first);
        self.back.set(first, high);
        self.back.set(high, low);
        self.child.set(low, high);
        low
    }

    /// Two passes: pairs from left to right, then all from right to left.
    fn merge_children(&mut self, member: u32) -> u32 {
        let mut roots = core::mem::take(&mut self.roots);
        let mut at = self.child.get(member);
        while at != NONE {
            let (second, rest) = match self.next.get(at) {
                NONE => (NONE, NONE),
                second => (second, self.next.get(second)),
            };
            roots.push(self.merge(at, second));
            at = rest;
        }
        let mut top = NONE;
        while let Some(root) = roots.pop() {
            top = self.merge(top, root);
        }
        self.roots = roots;
        self.child.set(member, NONE);
        top
    }

    fn key(&self, member: u32) -> u64 {
        self.key.get(member as usize).copied().unwrap_or(u64::MAX)
    }
}
