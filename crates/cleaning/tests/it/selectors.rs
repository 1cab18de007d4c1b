//! Every fast selector against its plain linear form.

use std::collections::BTreeMap;

use proptest::{prelude::*, test_runner::RngSeed};
use pumice_cleaning::{
    Cat, Cicl, Class, CostBenefit, CostBenefitWritten, CostHotness, GarbageAge, Greedy, Lfs, RootAge,
    SegmentView, Selector, Victim,
    select::{
        AgeThreshold, ByChange, Cells, Grouped, Pcmcia, Queue, RandomOf, RoundRobin, SecondChance, Windowed,
    },
    victim::{NEVER, age_score},
};
use pumice_knobs::CLEANING_SELECTORS;

const SEGMENTS: u32 = 24;
const CAPACITY: u32 = 6;

#[derive(Clone, Debug)]
enum Op {
    Seal { id: u32, valid: u32, age: u32, class: u8 },
    Invalidate { id: u32, writes: u32 },
    Take { writes: u32 },
    Remove { id: u32 },
}

fn op() -> impl Strategy<Value = Op> {
    let id = || 0..SEGMENTS;
    prop_oneof![
        4 => (id(), 0..=CAPACITY, 0..40_u32, 0..4_u8)
            .prop_map(|(id, valid, age, class)| Op::Seal { id, valid, age, class }),
        6 => (id(), 0..9_u32).prop_map(|(id, writes)| Op::Invalidate { id, writes }),
        2 => (0..30_u32).prop_map(|writes| Op::Take { writes }),
        1 => id().prop_map(|id| Op::Remove { id }),
    ]
}

/// A sealed segment; the ages are clocks.
#[derive(Clone, Copy, Debug)]
struct Fact {
    view: SegmentView,
    /// Rank by sealing.
    order: u64,
}

/// The facts for a plain form.
#[derive(Clone, Debug, Default)]
struct Facts {
    sealed: BTreeMap<u32, Fact>,
    erases: BTreeMap<u32, u32>,
    seals: u64,
    now: u32,
}

impl Facts {
    fn view(&self, id: u32) -> SegmentView {
        let view = self.sealed[&id].view;
        let age = |clock| self.now.wrapping_sub(clock);
        SegmentView {
            created: age(view.created),
            written: age(view.written),
            invalidated: age(view.invalidated),
            ..view
        }
    }

    fn views(&self) -> Vec<(u32, SegmentView)> {
        self.sealed.keys().map(|&id| (id, self.view(id))).collect()
    }

    /// Views in the order in which they were sealed.
    fn in_order(&self) -> Vec<(u32, SegmentView)> {
        let mut ids: Vec<u32> = self.sealed.keys().copied().collect();
        ids.sort_by_key(|id| self.sealed[id].order);
        ids.into_iter().map(|id| (id, self.view(id))).collect()
    }

    fn is_reclaimable(&self) -> bool {
        self.sealed.values().any(|fact| fact.view.reclaimable() > 0)
    }

    fn seal(&mut self, id: u32, valid: u32, age: u32, class: u8) -> SegmentView {
        let erases = *self.erases.entry(id).and_modify(|erases| *erases += 1).or_insert(0);
        let (now, capacity) = (self.now, CAPACITY);
        let view = SegmentView {
            valid,
            capacity,
            created: now.wrapping_sub(age),
            written: now,
            invalidated: now,
            erases,
            class: Class(class),
        };
        self.seals += 1;
        self.sealed.insert(id, Fact { view, order: self.seals });
        self.view(id)
    }

    fn invalidate(&mut self, id: u32) {
        let now = self.now;
        if let Some(fact) = self.sealed.get_mut(&id).filter(|fact| fact.view.valid > 0) {
            fact.view.valid -= 1;
            fact.view.invalidated = now;
        }
    }
}

/// The segments that a plain form would take; empty for none.
type Plain = Box<dyn FnMut(&mut Facts) -> Vec<u32>>;

/// Runs the operations on both; the fast form must take a victim that the plain form allows.
fn agree(mut fast: impl Selector, mut plain: Plain, start: u32, ops: &[Op]) {
    let mut facts = Facts { now: start, ..Facts::default() };
    for op in ops {
        match *op {
            Op::Seal { id, valid, age, class } => {
                let view = facts.seal(id, valid, age, class);
                fast.sealed(id, &view, facts.now);
            }
            Op::Invalidate { id, writes } => {
                facts.now = facts.now.wrapping_add(writes);
                facts.invalidate(id);
                fast.invalidated(id, facts.now);
            }
            Op::Remove { id } => assert_eq!(fast.remove(id), facts.sealed.remove(&id).is_some()),
            Op::Take { writes } => {
                facts.now = facts.now.wrapping_add(writes);
                let allowed = plain(&mut facts);
                match fast.take(facts.now) {
                    Some(id) => {
                        assert!(allowed.contains(&id), "took {id} of {allowed:?}: {:?}", facts.views());
                        facts.sealed.remove(&id);
                    }
                    None => assert!(allowed.is_empty(), "took none of {allowed:?}"),
                }
            }
        }
    }
}

/// The cheapest by the rule.
fn cheapest(rule: &impl Victim, facts: &Facts) -> Vec<u32> {
    let costs: Vec<(u64, u32)> = facts.views().iter().map(|(id, view)| (rule.cost(view), *id)).collect();
    let least = costs.iter().map(|(cost, _)| *cost).min().unwrap_or(NEVER);
    costs.into_iter().filter(|(cost, _)| *cost == least && *cost != NEVER).map(|(_, id)| id).collect()
}

fn by_change(rule: impl Victim + Clone + 'static, ops: &[Op]) {
    let plain = rule.clone();
    let fast = ByChange::new(rule, SEGMENTS, CAPACITY);
    agree(fast, Box::new(move |facts| cheapest(&plain, facts)), u32::MAX - 99, ops);
}

fn cells(rule: impl Grouped + Clone + 'static, ops: &[Op]) {
    let plain = rule.clone();
    let fast = Cells::new(rule, SEGMENTS, CAPACITY);
    agree(fast, Box::new(move |facts| cheapest(&plain, facts)), u32::MAX - 99, ops);
}

fn first(found: Option<&(u32, SegmentView)>) -> Vec<u32> {
    found.map(|(id, _)| *id).into_iter().collect()
}

/// So many sequences for each policy, from a seed.
fn config() -> ProptestConfig {
    let (seed, sequences) = (CLEANING_SELECTORS.first_seed(1), CLEANING_SELECTORS.count().unwrap_or(256));
    CLEANING_SELECTORS.begin(seed);
    CLEANING_SELECTORS.ran(seed..seed + 1, sequences);
    ProptestConfig {
        cases: u32::try_from(sequences).unwrap(),
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(seed),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn greedy(ops in prop::collection::vec(op(), 0..150)) {
        by_change(Greedy, &ops);
    }

    #[test]
    fn cost_benefit(ops in prop::collection::vec(op(), 0..150)) {
        by_change(CostBenefit, &ops);
    }

    #[test]
    fn root_age(ops in prop::collection::vec(op(), 0..150)) {
        by_change(RootAge, &ops);
    }

    #[test]
    fn lfs(ops in prop::collection::vec(op(), 0..150)) {
        cells(Lfs, &ops);
    }

    #[test]
    fn cost_benefit_written(ops in prop::collection::vec(op(), 0..150)) {
        cells(CostBenefitWritten, &ops);
    }

    #[test]
    fn garbage_age(ops in prop::collection::vec(op(), 0..150), percent in 0..100_u32) {
        cells(GarbageAge::new(percent), &ops);
    }

    #[test]
    fn cost_hotness(ops in prop::collection::vec(op(), 0..150)) {
        cells(CostHotness, &ops);
    }

    #[test]
    fn cat(ops in prop::collection::vec(op(), 0..150), turnover in 1..150_u32) {
        cells(Cat::new(turnover), &ops);
    }

    #[test]
    fn cicl(ops in prop::collection::vec(op(), 0..150)) {
        let plain = |facts: &mut Facts| {
            let mut rule = Cicl::new(SEGMENTS, 3.0);
            facts.erases.iter().for_each(|(id, erases)| rule.saw(*id, *erases));
            cheapest(&rule, facts)
        };
        agree(Cells::new(Cicl::new(SEGMENTS, 3.0), SEGMENTS, CAPACITY), Box::new(plain), 0, &ops);
    }

    #[test]
    fn fifo(ops in prop::collection::vec(op(), 0..150)) {
        let plain = |facts: &mut Facts| match facts.is_reclaimable() {
            true => first(facts.in_order().first()),
            false => Vec::new(),
        };
        agree(Queue::new(SEGMENTS, CAPACITY), Box::new(plain), 0, &ops);
    }

    #[test]
    fn pcmcia(ops in prop::collection::vec(op(), 0..150), every in 1..5_u32) {
        let mut choices = 0;
        let plain = move |facts: &mut Facts| {
            if !facts.is_reclaimable() {
                return Vec::new();
            }
            choices += 1;
            if choices % every != 0 {
                return cheapest(&Greedy, facts);
            }
            let views = facts.views();
            let least = views.iter().map(|(_, view)| view.erases).min();
            views.iter().filter(|(_, view)| Some(view.erases) == least).map(|(id, _)| *id).collect()
        };
        agree(Pcmcia::new(every, SEGMENTS, CAPACITY), Box::new(plain), 0, &ops);
    }

    #[test]
    fn round_robin(ops in prop::collection::vec(op(), 0..150)) {
        let mut next = 0;
        let plain = move |facts: &mut Facts| {
            if !facts.is_reclaimable() {
                return Vec::new();
            }
            let views = facts.views();
            let taken = first(views.iter().find(|(id, _)| *id >= next).or(views.first()));
            next = taken[0] + 1;
            taken
        };
        agree(RoundRobin::new(SEGMENTS, CAPACITY), Box::new(plain), 0, &ops);
    }

    #[test]
    fn random(ops in prop::collection::vec(op(), 0..150), draws in 0..5_u32, seed: u64) {
        let plain = |facts: &mut Facts| {
            if facts.is_reclaimable() { facts.sealed.keys().copied().collect() } else { Vec::new() }
        };
        agree(RandomOf::new(draws, seed, SEGMENTS, CAPACITY), Box::new(plain), 0, &ops);
    }

    #[test]
    fn second_chance(ops in prop::collection::vec(op(), 0..150)) {
        let mut passed: BTreeMap<u32, u64> = BTreeMap::new();
        let plain = move |facts: &mut Facts| {
            if !facts.is_reclaimable() {
                return Vec::new();
            }
            loop {
                let views = facts.in_order();
                let mean = views.iter().map(|(_, view)| f64::from(view.valid)).sum::<f64>() / f64::from(u32::try_from(views.len()).unwrap());
                let (id, view) = views[0];
                let order = facts.sealed[&id].order;
                let had = passed.get(&id) == Some(&order);
                if view.reclaimable() > 0 && (had || f64::from(view.valid) <= mean + 1e-9) {
                    return vec![id];
                }
                facts.seals += 1;
                facts.sealed.get_mut(&id).unwrap().order = facts.seals;
                passed.insert(id, facts.seals);
            }
        };
        agree(SecondChance::new(SEGMENTS, CAPACITY), Box::new(plain), 0, &ops);
    }

    #[test]
    fn age_threshold(ops in prop::collection::vec(op(), 0..150), threshold in 0..60_u32) {
        let plain = move |facts: &mut Facts| {
            let all = facts.in_order();
            let ages = all.iter().map(|(_, view)| view.written);
            let (oldest, youngest) = (ages.clone().max().unwrap_or(0), ages.min().unwrap_or(0));
            let count = (all.len() / 5).max(10);
            let old: Vec<_> = all.into_iter().filter(|(_, view)| view.reclaimable() > 0).take(count).collect();
            let score = |view: &SegmentView| age_score(view, oldest, youngest);
            let ripe: Vec<_> = old.iter().filter(|(_, view)| view.written >= threshold).collect();
            let best = ripe.iter().map(|(_, view)| score(view)).fold(f64::MIN, f64::max);
            let taken: Vec<u32> = ripe.iter().filter(|(_, view)| score(view) >= best).map(|(id, _)| *id).take(1).collect();
            if taken.is_empty() { first(old.iter().min_by_key(|(_, view)| view.valid)) } else { taken }
        };
        agree(AgeThreshold::new(threshold, SEGMENTS, CAPACITY), Box::new(plain), 5, &ops);
    }

    #[test]
    fn windowed(ops in prop::collection::vec(op(), 0..150), size in 1..9_usize) {
        let plain = move |facts: &mut Facts| {
            if !facts.is_reclaimable() {
                return Vec::new();
            }
            loop {
                let order = facts.in_order();
                let inside: Vec<_> = order.into_iter().take(size).collect();
                let best = inside.iter().filter(|(_, view)| view.reclaimable() > 0).min_by_key(|(_, view)| view.valid);
                if best.is_some() {
                    return first(best);
                }
                facts.seals += 1;
                facts.sealed.get_mut(&inside[0].0).unwrap().order = facts.seals;
            }
        };
        agree(Windowed::new(u32::try_from(size).unwrap(), SEGMENTS, CAPACITY), Box::new(plain), 0, &ops);
    }
}
