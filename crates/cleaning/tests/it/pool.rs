//! The pool against the plain form: a map of views and `choose`.

use std::collections::BTreeMap;

use fastrand::Rng;
use pumice_cleaning::{CandidatePool, Class, CostBenefit, Greedy, RootAge, SegmentView, Victim, choose};

const LIMIT: u16 = 24;
const IDS: u32 = 64;
const CAPACITY: u32 = 16;

/// Views with the clock of the last change in the ages' place.
#[derive(Default)]
struct Plain(BTreeMap<u32, SegmentView>);

impl Plain {
    fn views(&self, now: u32) -> impl Iterator<Item = (u32, SegmentView)> {
        self.0.iter().map(move |(&id, v)| (id, aged(v, now)))
    }

    /// Adds, then drops the last to be chosen if there is one too many; full segments are the last of all.
    fn offer(&mut self, policy: &dyn Victim, now: u32, id: u32, view: SegmentView) -> bool {
        self.0.insert(id, aged(&view, now));
        if self.0.len() > usize::from(LIMIT) {
            self.dearest(policy, now).map(|id| self.0.remove(&id));
        }
        self.0.contains_key(&id)
    }

    fn dearest(&self, policy: &dyn Victim, now: u32) -> Option<u32> {
        let mut left: BTreeMap<u32, SegmentView> = self.views(now).collect();
        while left.len() > 1 {
            let Some(best) = choose(policy, left.iter().map(|(&id, &v)| (id, v))) else { break };
            left.remove(&best);
        }
        left.iter().max_by_key(|(id, v)| (v.erases, **id)).map(|(&id, _)| id)
    }

    fn take_best(&mut self, policy: &dyn Victim, now: u32) -> Option<(u32, SegmentView)> {
        let id = choose(policy, self.views(now))?;
        self.0.remove(&id).map(|v| (id, aged(&v, now)))
    }
}

/// Ages for clocks, and clocks for ages.
fn aged(view: &SegmentView, now: u32) -> SegmentView {
    let turn = |clock: u32| now.wrapping_sub(clock);
    let (created, written) = (turn(view.created), turn(view.written));
    SegmentView { created, written, invalidated: turn(view.invalidated), ..*view }
}

fn view(random: &mut Rng) -> SegmentView {
    SegmentView {
        valid: random.u32(0..=CAPACITY),
        capacity: CAPACITY,
        created: random.u32(100..150),
        written: random.u32(50..100),
        invalidated: random.u32(0..50),
        class: Class(random.u8(0..4)),
        erases: random.u32(0..3),
    }
}

/// One random operation on both; they must answer alike.
fn step(pool: &mut CandidatePool, plain: &mut Plain, random: &mut Rng, now: u32) {
    let policy = [&Greedy as &dyn Victim, &CostBenefit, &RootAge][random.usize(0..3)];
    let id = random.u32(0..IDS);
    match random.u32(0..8) {
        0..3 => {
            let view = view(random);
            assert_eq!(pool.offer(policy, now, id, &view), plain.offer(policy, now, id, view));
        }
        3..6 => {
            let valid = random.u32(0..=CAPACITY);
            let known = plain.0.get_mut(&id).map(|v| (v.valid, v.invalidated) = (valid, now)).is_some();
            assert_eq!(pool.update(id, valid, now), known);
        }
        6 => assert_eq!(pool.remove(id), plain.0.remove(&id).is_some()),
        _ => assert_eq!(pool.take_best(policy, now), plain.take_best(policy, now)),
    }
}

#[test]
fn the_pool_equals_the_plain_form() {
    for seed in 0..200 {
        let mut random = Rng::with_seed(seed);
        let (mut pool, mut plain) = (CandidatePool::new(LIMIT, CAPACITY), Plain::default());
        // The clock wraps on the way.
        let mut now = u32::MAX - 500;
        for _ in 0..1000 {
            now = now.wrapping_add(random.u32(0..3));
            step(&mut pool, &mut plain, &mut random, now);
            assert_eq!(pool.len(), plain.0.len(), "seed {seed}");
        }
        assert!((0..IDS).all(|id| pool.contains(id) == plain.0.contains_key(&id)), "seed {seed}");
    }
}
