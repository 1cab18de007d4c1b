//! Candidates for cleaning, in bounded memory.

use alloc::{boxed::Box, vec::Vec};

use crate::{SegmentView, Selector};

/// A fixed number of segments with exact valid counts, out of which a rule takes its victims.
///
/// A segment has a slot of the rule's while it is a candidate, so that a rule made for as many segments as there are
/// slots serves a store of any size. Candidates lie in one array in order of id: a change of a valid count is a binary
/// search and what the rule takes for it. Coming and going (once per erase block) moves half the array on average; a
/// full pool, and the choice of the emptiest, look at every candidate.
///
/// Valid counts are bytes, say; the rule is told whole units, as many as make up the capacity. `now` is the write clock.
/// All segments have the same capacity; the one that a view tells is not looked at.
pub struct CandidatePool {
    sorted: Vec<Candidate>,
    /// Slots without a segment.
    empty: Vec<u16>,
    /// No candidate holds more: a fuller segment is refused without a look at them.
    most: u32,
    capacity: u32,
    units: u32,
    rule: Box<dyn Selector + Send>,
}

/// A segment of the pool.
#[derive(Clone, Copy)]
struct Candidate {
    id: u32,
    valid: u32,
    /// The clock of the last write into it.
    written: u32,
    slot: u16,
}

impl CandidatePool {
    /// Memory per candidate besides the rule's, in bytes; all is allocated at once.
    pub const BYTES_PER_CANDIDATE: usize = size_of::<Candidate>() + size_of::<u16>();

    /// An empty pool for at most `limit` candidates, each of which holds `capacity` when full. The rule is one for as many
    /// segments of `units`.
    pub fn new(limit: u16, capacity: u32, units: u32, rule: Box<dyn Selector + Send>) -> Self {
        let sorted = Vec::with_capacity(limit.into());
        Self { sorted, empty: (0..limit).rev().collect(), most: 0, capacity: capacity.max(1), units, rule }
    }

    /// Candidates in the pool.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// True if there is no candidate.
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// True if segment `id` is in the pool.
    pub fn contains(&self, id: u32) -> bool {
        self.find(id).is_ok()
    }

    /// Offers a closed segment; true if it is in the pool afterwards.
    ///
    /// A segment already in the pool is brought up to date. A full pool drops its fullest candidate for an emptier one.
    /// Rules that go by the order of sealing take the order of offers for it.
    pub fn offer(&mut self, now: u32, id: u32, view: &SegmentView) -> bool {
        let (valid, written) = (view.valid, now.wrapping_sub(view.written));
        let found = self.find(id);
        let at =
            found.unwrap_or_else(|at| if self.empty.is_empty() { self.make_room(at, valid) } else { at });
        if found.is_err() {
            let Some(slot) = self.empty.pop() else { return false };
            self.sorted.insert(at, Candidate { id, valid, written, slot });
        }
        let Some(candidate) = self.sorted.get_mut(at) else { return false };
        (candidate.valid, candidate.written) = (valid, written);
        self.most = self.most.max(valid);
        let slot = candidate.slot;
        let view = SegmentView { valid: self.units(valid), capacity: self.units, ..*view };
        self.rule.sealed(slot.into(), &view, now);
        true
    }

    /// Segment `id` now holds only `valid`, changed at clock `now`; nothing happens if it is not in the pool.
    ///
    /// A segment that was refused or dropped earlier may be worth another offer; one that holds more has to be offered
    /// again.
    pub fn shrank(&mut self, id: u32, valid: u32, now: u32) {
        let Some(candidate) = self.find(id).ok().and_then(|at| self.sorted.get_mut(at)) else { return };
        debug_assert!(valid <= candidate.valid);
        let (before, slot) = (core::mem::replace(&mut candidate.valid, valid), candidate.slot);
        for _ in self.units(valid)..self.units(before) {
            self.rule.invalidated(slot.into(), now);
        }
    }

    /// Takes segment `id` out; false if it is not in the pool.
    pub fn remove(&mut self, id: u32) -> bool {
        let found = self.find(id);
        if let Ok(at) = found {
            let slot = self.sorted.remove(at).slot;
            self.rule.remove(slot.into());
            self.empty.push(slot);
        }
        found.is_ok()
    }

    /// Takes all out.
    pub fn clear(&mut self) {
        while let Some(id) = self.sorted.last().map(|it| it.id) {
            self.remove(id);
        }
    }

    /// Takes the rule's choice out, with the time since the last write into it; `None` if none has anything to reclaim.
    pub fn take(&mut self, now: u32) -> Option<(u32, u32)> {
        let slot = self.rule.take(now)?;
        let at = self.sorted.iter().position(|it| u32::from(it.slot) == slot);
        debug_assert!(at.is_some(), "the rule chooses among the candidates");
        self.take_at(at?, now)
    }

    /// The same with the emptiest, whatever the rule.
    pub fn take_emptiest(&mut self, now: u32) -> Option<(u32, u32)> {
        let (valid, at) = self.sorted.iter().map(|it| it.valid).zip(0..).min()?;
        if valid >= self.capacity {
            return None;
        }
        self.take_at(at, now)
    }

    fn take_at(&mut self, at: usize, now: u32) -> Option<(u32, u32)> {
        let Candidate { id, written, .. } = *self.sorted.get(at)?;
        self.remove(id);
        Some((id, now.wrapping_sub(written)))
    }

    /// Whole units of what lives: none only if nothing does.
    fn units(&self, valid: u32) -> u32 {
        let units = (u64::from(valid) * u64::from(self.units)).div_ceil(self.capacity.into());
        u32::try_from(units).unwrap_or(u32::MAX).min(self.units)
    }

    /// Drops the fullest candidate for one that holds less, which goes to place `at`; returns the place afterwards.
    fn make_room(&mut self, at: usize, valid: u32) -> usize {
        if valid >= self.most {
            return at;
        }
        let fullest = self.sorted.iter().enumerate().max_by_key(|(_, it)| it.valid);
        self.most = fullest.map_or(0, |(_, it)| it.valid);
        match fullest.filter(|(_, it)| it.valid > valid).map(|(gone, it)| (gone, it.id)) {
            Some((gone, id)) => {
                self.remove(id);
                at - usize::from(gone < at)
            }
            None => at,
        }
    }

    fn find(&self, id: u32) -> Result<usize, usize> {
        self.sorted.binary_search_by_key(&id, |it| it.id)
    }
}

const _: () = assert!(CandidatePool::BYTES_PER_CANDIDATE == 18);
