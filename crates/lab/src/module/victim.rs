//! A module as a victim policy.

use core::cmp::Reverse;

use pumice_cleaning::{Class, Params, SegmentView, Selector};

use super::{
    Instance, ModuleError,
    instance::{Function, Segment, fields},
};

/// Asks the price of every segment for each choice.
pub(super) struct OwnVictim {
    module: Instance,
    cost: Function<Segment, f64>,
    capacity: u32,
    members: Vec<Option<Member>>,
}

/// A sealed segment, with clocks in place of ages.
#[derive(Clone, Copy)]
struct Member {
    valid: u32,
    created: u32,
    written: u32,
    changed: u32,
    erases: u32,
    class: Class,
}

impl OwnVictim {
    pub(super) fn new(module: Instance, params: &Params) -> Result<Self, ModuleError> {
        let form = "(valid: i32, capacity: i32, created: i32, written: i32, invalidated: i32, erases: i32, class: i32) -> f64";
        let cost = module.lock().function("cost", form)?;
        Ok(Self { module, cost, capacity: params.pages, members: vec![None; params.segments as usize] })
    }

    fn best(&self, now: u32) -> Option<u32> {
        let mut module = self.module.lock();
        let mut best: Option<((f64, Reverse<u32>), u32)> = None;
        for (id, member) in (0..).zip(&self.members) {
            let Some(member) = member.filter(|member| member.valid < self.capacity) else { continue };
            let view = member.view(self.capacity, now);
            let cost = module.ask(&self.cost, fields(&view))?;
            if cost.is_nan() {
                module.fail(ModuleError::NoNumber);
                return None;
            }
            let rank = (cost, Reverse(view.invalidated));
            if cost < f64::INFINITY && best.is_none_or(|(least, _)| rank < least) {
                best = Some((rank, id));
            }
        }
        best.map(|(_, id)| id)
    }
}

impl Member {
    fn view(&self, capacity: u32, now: u32) -> SegmentView {
        SegmentView {
            valid: self.valid,
            capacity,
            created: now.wrapping_sub(self.created),
            written: now.wrapping_sub(self.written),
            invalidated: now.wrapping_sub(self.changed),
            erases: self.erases,
            class: self.class,
        }
    }
}

impl Selector for OwnVictim {
    fn sealed(&mut self, id: u32, view: &SegmentView, now: u32) {
        if let Some(slot) = self.members.get_mut(id as usize) {
            *slot = Some(Member {
                valid: view.valid.min(self.capacity),
                created: now.wrapping_sub(view.created),
                written: now.wrapping_sub(view.written),
                changed: now.wrapping_sub(view.invalidated),
                erases: view.erases,
                class: view.class,
            });
        }
    }

    fn invalidated(&mut self, id: u32, now: u32) {
        if let Some(Some(member)) = self.members.get_mut(id as usize) {
            member.valid = member.valid.saturating_sub(1);
            member.changed = now;
        }
    }

    fn take(&mut self, now: u32) -> Option<u32> {
        let id = self.best(now)?;
        self.remove(id);
        Some(id)
    }

    fn remove(&mut self, id: u32) -> bool {
        self.members.get_mut(id as usize).and_then(Option::take).is_some()
    }
}
