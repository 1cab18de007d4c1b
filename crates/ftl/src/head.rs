//! Open heads: the segments that are being written, each with the page being filled.

use alloc::{vec, vec::Vec};

use pumice_cleaning::placement::MAX_CLASSES;

use crate::shape::{Addr, Place, Shape};
use crate::summary::Contents;
use crate::tag::Entry;
use crate::trims::Trims;

/// Heads: one for each class, and one for data moved to level wear.
pub(crate) const HEADS: usize = MAX_CLASSES as usize + 1;
/// The head of data moved to level wear.
pub(crate) const MOVING: usize = MAX_CLASSES as usize;

/// The index segment: the heads of all classes, with all that was accepted and is not on the chip yet.
pub(crate) struct Heads {
    open: Vec<Option<Head>>,
    /// Heads of segments in which a program failed; their live blocks have to move.
    failing: Vec<Head>,
    /// Trims that no page tells of yet.
    pub(crate) trims: Trims,
}

impl Heads {
    /// No head is open.
    pub(crate) fn new() -> Heads {
        let mut open = Vec::new();
        open.resize_with(HEADS, || None);
        Heads { open, failing: Vec::new(), trims: Trims::default() }
    }

    /// All heads in order, where they are open.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Option<&Head>> {
        self.open.iter().map(Option::as_ref)
    }

    /// The open heads with their numbers.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, &Head)> {
        self.open.iter().enumerate().filter_map(|(at, head)| Some((at, head.as_ref()?)))
    }

    /// The open heads.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Head> {
        self.open.iter().flatten()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Head> {
        self.open.iter_mut().flatten()
    }

    /// Head `at`, if it is open.
    pub(crate) fn get(&self, at: usize) -> Option<&Head> {
        self.open.get(at)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, at: usize) -> Option<&mut Head> {
        self.open.get_mut(at)?.as_mut()
    }

    /// Opens head `at`, or goes on with it.
    pub(crate) fn put(&mut self, at: usize, head: Head) {
        if let Some(slot) = self.open.get_mut(at) {
            *slot = Some(head);
        }
    }

    /// Takes head `at` out.
    pub(crate) fn take(&mut self, at: usize) -> Option<Head> {
        self.open.get_mut(at)?.take()
    }

    /// Takes the first open head out.
    pub(crate) fn take_first(&mut self) -> Option<(usize, Head)> {
        self.open.iter_mut().enumerate().find_map(|(at, head)| Some((at, head.take()?)))
    }

    /// Takes head `at` out, if this is true of it.
    pub(crate) fn take_if(&mut self, at: usize, is_so: impl FnOnce(&mut Head) -> bool) -> Option<Head> {
        self.open.get_mut(at)?.take_if(is_so)
    }

    /// Takes the first of those that belong to no class of a placement with so many, if one is open.
    pub(crate) fn take_unwanted(&mut self, classes: usize) -> Option<Head> {
        self.open.get_mut(classes..MOVING)?.iter_mut().find_map(Option::take)
    }

    /// Takes out all of which this is true.
    pub(crate) fn take_all(&mut self, mut is_so: impl FnMut(&Head) -> bool) -> Vec<Head> {
        self.open.iter_mut().filter_map(|slot| slot.take_if(|head| is_so(head))).collect()
    }

    /// A program failed in the segment of this head.
    pub(crate) fn fail(&mut self, head: Head) {
        self.failing.push(head);
    }

    /// Takes one of those with a program that failed.
    pub(crate) fn take_failing(&mut self) -> Option<Head> {
        self.failing.pop()
    }

    pub(crate) fn failing(&self) -> &[Head] {
        &self.failing
    }

    /// The bytes that wait for this address in the page of a head, if they do.
    pub(crate) fn waiting(&self, shape: &Shape, addr: Addr) -> Option<&[u8]> {
        let mut heads = self.iter().chain(&self.failing);
        let (head, slot) = heads.find_map(|head| Some((head, head.buffered(shape, addr)?)))?;
        head.buffer.get(shape.slot_range(slot))
    }

    /// True if a power cut now would lose something that was accepted.
    pub(crate) fn has_pending(&self, shape: &Shape) -> bool {
        !self.trims.is_empty() || self.has_pending_blocks(shape)
    }

    /// The same for blocks alone.
    pub(crate) fn has_pending_blocks(&self, shape: &Shape) -> bool {
        self.has_unwritten(shape) || self.iter().any(|head| head.is_at_risk(shape))
    }

    /// True if pages have to be programmed for a commit.
    pub(crate) fn has_unwritten(&self, shape: &Shape) -> bool {
        let short = !shape.tagged;
        let is_unwritten = |head: &Head| !head.filled.is_empty() || (short && head.covered < head.index);
        !self.failing.is_empty() || self.iter().any(is_unwritten)
    }
}

/// A head: an entry of the index segment (CAT paper, section 4).
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) block: u32,
    /// The page being filled; all before it are programmed, or passed over.
    pub(crate) index: u32,
    /// Pages before this one are named by a summary, or have tags of their own.
    pub(crate) covered: u32,
    /// The page behind the last one that was programmed.
    pub(crate) written: u32,
    /// Pages before this one are promised: none is programmed that shares cells with them.
    pub(crate) kept: u32,
    /// The contents of the programmed pages.
    pub(crate) contents: Contents,
    /// The bytes of the page being filled.
    pub(crate) buffer: Vec<u8>,
    /// The contents of the buffer, slot by slot.
    pub(crate) filled: Vec<Entry>,
}

impl Head {
    pub(crate) fn new(shape: &Shape, block: u32, class: u8, erases: u32, opened: u32) -> Head {
        Head {
            block,
            index: 0,
            covered: 0,
            written: 0,
            kept: 0,
            contents: Contents { class, erases, opened, ..Contents::default() },
            buffer: vec![0; shape.payload()],
            filled: Vec::with_capacity(shape.slots as usize),
        }
    }

    /// The page being filled.
    pub(crate) fn place(&self) -> Place {
        Place { block: self.block, index: self.index }
    }

    /// Puts a block into the next slot of the page.
    pub(crate) fn put(&mut self, shape: &Shape, entry: Entry, data: &[u8]) -> Addr {
        let slot = u32::try_from(self.filled.len()).unwrap_or(u32::MAX);
        self.filled.push(entry);
        self.buffer_slot(shape, slot, |bytes| bytes.copy_from_slice(data));
        shape.addr(self.place(), slot)
    }

    /// Works on the bytes of a buffered slot.
    pub(crate) fn buffer_slot<R>(
        &mut self,
        shape: &Shape,
        slot: u32,
        work: impl FnOnce(&mut [u8]) -> R,
    ) -> Option<R> {
        self.buffer.get_mut(shape.slot_range(slot)).map(work)
    }

    /// The slot of the buffer that an address names, if it does.
    pub(crate) fn buffered(&self, shape: &Shape, addr: Addr) -> Option<u32> {
        let (place, slot) = shape.place(addr);
        (place == self.place() && (slot as usize) < self.filled.len()).then_some(slot)
    }

    /// Makes the block at an address garbage, if it waits in the page being filled.
    pub(crate) fn blank(&mut self, shape: &Shape, addr: Addr) {
        let slot = self.buffered(shape, addr);
        if let Some(entry) = slot.and_then(|slot| self.filled.get_mut(slot as usize)) {
            *entry = Entry::NONE;
        }
    }

    /// The page was programmed.
    pub(crate) fn advance(&mut self, shape: &Shape, sequence: u64) {
        self.contents.push(shape, sequence, &self.filled);
        self.filled.clear();
        self.buffer.fill(0);
        self.index += 1;
        self.written = self.index;
    }

    /// The page stays erased, for it shares cells with promised ones.
    pub(crate) fn pass(&mut self, shape: &Shape, sequence: u64) {
        debug_assert!(self.filled.is_empty(), "page {} of segment {} holds blocks", self.index, self.block);
        self.contents.push(shape, sequence, &[]);
        self.index += 1;
    }

    /// True if a cut may destroy programmed pages, as far as the chip's pages share cells.
    pub(crate) fn is_at_risk(&self, shape: &Shape) -> bool {
        shape.is_paired() && self.kept < self.written
    }
}
