//! The pool against the plain form: a map of views and `choose`.

use std::collections::BTreeMap;

use fastrand::Rng;
use pumice_cleaning::{
    CandidatePool, Class, CostBenefitWritten, Params, SegmentView, Victim, registry::Store,
    registry::VictimRule,
};

const LIMIT: u16 = 24;
const IDS: u32 = 64;
const UNITS: u32 = 16;
/// Bytes of a full segment: a unit is one and a half.
const CAPACITY: u32 = 24;

fn pool_by(rule: &str) -> CandidatePool {
    let store = Store::new(Params::new(LIMIT.into(), UNITS, 1000), 5);
    let rule: VictimRule = rule.parse().unwrap();
    CandidatePool::new(LIMIT, CAPACITY, UNITS, rule.build(&store))
}

/// Views of bytes, with the clock of the last change in the ages' place.
#[derive(Default)]
struct Plain(BTreeMap<u32, SegmentView>);

impl Plain {
    /// In whole units.
    fn price(view: &SegmentView, now: u32) -> u64 {
        let valid = (view.valid * UNITS).div_ceil(CAPACITY);
        CostBenefitWritten.cost(&SegmentView { valid, capacity: UNITS, ..aged(view, now) })
    }

    /// Puts one in; of too many the fullest goes, but not for one that is no emptier.
    fn offer(&mut self, now: u32, id: u32, view: SegmentView) -> bool {
        if !self.0.contains_key(&id) && self.0.len() == usize::from(LIMIT) {
            let fullest = self.0.values().map(|view| view.valid).max().unwrap();
            if fullest <= view.valid {
                return false;
            }
            let id = *self.0.iter().find(|(_, view)| view.valid == fullest).unwrap().0;
            self.0.remove(&id);
        }
        self.0.insert(id, aged(&view, now));
        true
    }

    fn emptiest(&self) -> Option<u32> {
        let least = self.0.iter().min_by_key(|(id, view)| (view.valid, **id))?;
        (least.1.valid < CAPACITY).then_some(*least.0)
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
        capacity: 7,
        created: random.u32(100..150),
        written: random.u32(50..100),
        invalidated: random.u32(0..50),
        class: Class(random.u8(0..4)),
        erases: random.u32(0..3),
    }
}

/// One random operation on both; they must answer alike.
fn step(pool: &mut CandidatePool, plain: &mut Plain, random: &mut Rng, now: u32) {
    let id = random.u32(0..IDS);
    match random.u32(0..9) {
        0..4 => {
            let new = view(random);
            // Of several that are as full, either may go.
            let before = plain.0.len();
            assert_eq!(pool.offer(now, id, &new), plain.offer(now, id, new));
            assert_eq!(pool.len(), plain.0.len());
            if before == usize::from(LIMIT) {
                plain.0.retain(|id, _| pool.contains(*id));
                let gone: Vec<u32> =
                    (0..IDS).filter(|id| pool.contains(*id) && !plain.0.contains_key(id)).collect();
                assert!(gone.into_iter().all(|id| pool.remove(id)));
            }
        }
        4..7 => {
            if let Some(view) = plain.0.get_mut(&id) {
                view.valid = random.u32(0..=view.valid);
                pool.shrank(id, view.valid, now);
            }
        }
        7 if random.bool() => assert_eq!(pool.remove(id), plain.0.remove(&id).is_some()),
        7 => {
            let best = plain.emptiest();
            let taken = pool.take_emptiest(now);
            assert_eq!(taken.map(|(id, _)| id), best);
            best.map(|id| plain.0.remove(&id));
        }
        _ => {
            let least = plain.0.values().map(|view| Plain::price(view, now)).min();
            let taken = pool.take(now);
            let Some((id, written)) = taken else {
                return assert!(least.is_none_or(|price| price == u64::MAX));
            };
            let view = plain.0.remove(&id).unwrap();
            assert_eq!(Some(Plain::price(&view, now)), least);
            assert_eq!(written, now.wrapping_sub(view.written));
        }
    }
}

#[test]
fn the_pool_equals_the_plain_form() {
    for seed in 0..200 {
        let mut random = Rng::with_seed(seed);
        let (mut pool, mut plain) = (pool_by("cost-benefit-written"), Plain::default());
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

#[test]
fn every_rule_chooses_among_the_candidates_until_none_is_left() {
    for rule in VictimRule::all() {
        let mut random = Rng::with_seed(7);
        let mut pool = pool_by(&rule.to_string());
        for now in 0..3000 {
            let id = random.u32(0..IDS);
            let before = pool.len();
            if pool.offer(now, id, &SegmentView { valid: CAPACITY / 2, ..view(&mut random) }) && now % 3 == 0
            {
                pool.shrank(id, random.u32(0..CAPACITY / 2), now);
            }
            if before == usize::from(LIMIT) {
                let (id, _) = pool.take(now).unwrap_or_else(|| panic!("{rule}: none of {before}"));
                assert!(!pool.contains(id), "{rule}");
            }
        }
        while pool.take(4000).is_some() {}
        assert!(pool.is_empty(), "{rule}: {} left", pool.len());
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let store = Store::new(Params::new(0, UNITS, 1000), 5);
    let rule: VictimRule = "greedy".parse().unwrap();
    let mut pool = CandidatePool::new(0, CAPACITY, UNITS, rule.build(&store));
    assert!(!pool.offer(0, 1, &view(&mut Rng::with_seed(1))));
}
