//! Cleaning a segment, and moving cold data for wear.

use alloc::{vec, vec::Vec};

use super::{Sim, SimError};
use crate::{Cleaned, Placement, Relocation, Selector, Wear};

impl<S: Selector, P: Placement, W: Wear> Sim<S, P, W> {
    /// Cleans as many segments as are cleaned at once; false if none has anything to reclaim.
    pub(super) fn clean(&mut self) -> Result<bool, SimError> {
        let Some(id) = self.victim() else { return Ok(false) };
        match self.params.together {
            0 | 1 => self.evacuate(id)?,
            many => self.evacuate_with(id, many)?,
        }
        if let Some(relocation) = self.wear.relocation() {
            self.relocate(relocation);
        }
        Ok(true)
    }

    /// True if more of the written pages are dead than the parameters allow.
    pub(super) fn has_garbage(&self) -> bool {
        let open = self.heads.iter().filter_map(|id| self.segments.get(*id as usize));
        let (mut segments, mut written, mut dead) = (0, 0, 0);
        for segment in open {
            segments += 1;
            written += u64::from(segment.used);
            dead += u64::from(segment.used - segment.valid);
        }
        let sealed = self.params.segments - self.wear.free() - segments - self.stats.deaths;
        let all = u64::from(sealed) * u64::from(self.params.pages) + written;
        (all - u64::from(self.live) - dead) * 100 > all * u64::from(self.params.garbage)
    }

    /// Moves the live pages of a segment to the heads, and erases it.
    pub(super) fn evacuate(&mut self, id: u32) -> Result<(), SimError> {
        self.wear.unsealed(id);
        let from = self.cleaned(id);
        let survivors = self.survivors(id);
        // Without a reserve the survivors wait in memory until their own segment is erased.
        let early = self.wear.free() == 0 && self.params.reserve == 0 && !self.is_last_erase(id);
        if early {
            self.erase(id);
        }
        self.rescue(&from, survivors)?;
        if !early {
            self.erase(id);
        }
        Ok(())
    }

    /// Moves the live pages of a segment and of the next victims, so many in all, sorted together, after all were erased.
    fn evacuate_with(&mut self, id: u32, many: u32) -> Result<(), SimError> {
        let mut victims = vec![(id, self.cleaned(id))];
        let mut survivors: Vec<u32> = self.live_pages(id).collect();
        for _ in 1..many {
            let Some(id) = self.victim() else { break };
            victims.push((id, self.cleaned(id)));
            survivors.extend(self.live_pages(id));
        }
        for (id, from) in &victims {
            self.wear.unsealed(*id);
            self.stats.victim(from.segment.valid);
            self.erase(*id);
        }
        self.placement.sort(self.now, &mut survivors);
        for &page in &survivors {
            let lay = self.place.get(page) >> self.shift;
            let from = victims.iter().find(|(id, _)| *id == lay).map(|(_, from)| *from);
            debug_assert!(from.is_some(), "page {page} lay in segment {lay}, which is no victim");
            let from = from.unwrap_or_default();
            let class = self.placement.cleaner_copy(self.now, page, &from);
            self.append(page, class)?;
            self.stats.blocks_copied += 1;
        }
        for (_, from) in &victims {
            self.placement.reclaimed(self.now, from);
        }
        Ok(())
    }

    /// The segment to clean next. One that the erase will kill wins no free segment, so it waits until one is to spare.
    fn victim(&mut self) -> Option<u32> {
        loop {
            let Some(id) = self.choose() else { return self.doomed.pop() };
            if !self.is_last_erase(id) {
                return Some(id);
            }
            self.doomed.push(id);
        }
    }

    fn is_last_erase(&self, id: u32) -> bool {
        self.segments.get(id as usize).is_some_and(|s| s.erases.saturating_add(1) >= self.params.endurance)
    }

    fn choose(&mut self) -> Option<u32> {
        let chosen = self.selector.take(self.now)?;
        let (segments, pages, now) = (&self.segments, self.params.pages, self.now);
        let sealed = |id| {
            let segment = segments.get(id as usize).filter(|segment| segment.used == pages);
            segment.map(|segment| segment.view(pages, now))
        };
        let other = self.wear.instead(chosen, &sealed).filter(|id| self.selector.remove(*id));
        if let (Some(_), Some(view)) = (other, sealed(chosen)) {
            self.selector.sealed(chosen, &view, now);
        }
        other.or(Some(chosen))
    }

    /// Live pages of segment `id`, in the order in which they are copied; lent memory.
    fn survivors(&mut self, id: u32) -> Vec<u32> {
        let mut survivors = core::mem::take(&mut self.survivors);
        survivors.resize(self.params.pages as usize, 0);
        let mut live = 0;
        for (page, is_live) in self.written(id) {
            // Without a branch, which would be guessed wrong as often as not.
            if let Some(slot) = survivors.get_mut(live) {
                *slot = page;
            }
            live += usize::from(is_live);
        }
        survivors.truncate(live);
        survivors
    }

    fn rescue(&mut self, from: &Cleaned, mut survivors: Vec<u32>) -> Result<(), SimError> {
        self.stats.victim(from.segment.valid);
        self.placement.sort(self.now, &mut survivors);
        for &page in &survivors {
            let class = self.placement.cleaner_copy(self.now, page, from);
            self.append(page, class)?;
            self.stats.blocks_copied += 1;
        }
        self.survivors = survivors;
        self.placement.reclaimed(self.now, from);
        Ok(())
    }

    fn cleaned(&self, id: u32) -> Cleaned {
        let segment = self.segments.get(id as usize).copied().unwrap_or_default();
        Cleaned {
            segment: segment.view(self.params.pages, self.now),
            live: self.live.into(),
            room: self.params.physical(),
        }
    }

    /// Logical numbers of the pages that live in segment `id`, as they lie in it.
    pub(super) fn live_pages(&self, id: u32) -> impl Iterator<Item = u32> {
        self.written(id).filter_map(|(page, is_live)| is_live.then_some(page))
    }

    /// Logical numbers of the pages written to segment `id`, and which of them live.
    fn written(&self, id: u32) -> impl Iterator<Item = (u32, bool)> {
        let used = self.segments.get(id as usize).map_or(0, |s| s.used);
        let first = id << self.shift;
        let pages = (first..first + used).map(|at| (at, self.owner.get(at)));
        pages.map(|(at, page)| (page, self.place.get(page) == at))
    }

    fn erase(&mut self, id: u32) {
        let Some(segment) = self.segments.get_mut(id as usize) else { return };
        segment.erases += 1;
        (segment.valid, segment.used) = (0, 0);
        self.stats.erasures += 1;
        match segment.erases >= self.params.endurance {
            true => self.stats.deaths += 1,
            false => self.wear.freed(id, segment.erases),
        }
    }

    /// Moves the live pages of one segment to another, which takes over its class and creation.
    fn relocate(&mut self, Relocation { from, to }: Relocation) {
        let Some(&source) = self.segments.get(from as usize) else { return };
        self.selector.remove(from);
        self.wear.unsealed(from);
        let pages = self.survivors(from);
        for (at, &page) in (to << self.shift..).zip(&pages) {
            self.place.set(page, at);
            self.owner.set(at, page);
        }
        if let Some(target) = self.segments.get_mut(to as usize) {
            let (erases, now) = (target.erases, self.now);
            *target = super::Segment { erases, written: now, invalidated: now, ..source };
        }
        self.stats.blocks_copied += u64::from(source.valid);
        self.stats.relocated += u64::from(source.valid);
        self.survivors = pages;
        self.seal(to);
        self.erase(from);
    }
}
