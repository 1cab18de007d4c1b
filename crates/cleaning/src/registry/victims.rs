//! Victim rules by name.

use alloc::boxed::Box;

use super::{Entry, Store};
use crate::{
    Cat, Cicl, CostBenefit, CostBenefitWritten, CostHotness, GarbageAge, Greedy, Lfs, RootAge, Selector,
    Victim,
    placement::Groups,
    select::{
        AgeThreshold, ByChange, Cells, DecliningCost, Grouped, Pcmcia, Queue, RandomOf, RoundRobin,
        SecondChance, Windowed,
    },
};

type AnySelector = Box<dyn Selector + Send>;

const ROOT_AGE: Entry<AnySelector> =
    Entry::plain("root-age", "sqrt(age) (1-u)/2u", |s, _| by_change(s, RootAge));

/// The usual rule of nandfs.
pub(super) const USUAL: &[Entry<AnySelector>] = &[ROOT_AGE];

/// All victim rules.
pub(super) const TABLE: &[Entry<AnySelector>] = &[
    Entry::plain(
        "declining-cost",
        "where waiting stops to pay, by the rates that `adaptive` measures",
        |s, _| Box::new(DecliningCost::new(s.slots, s.units, s.params.logical, s.regime())),
    ),
    Entry::plain("greedy", "fewest live blocks", |s, _| by_change(s, Greedy)),
    Entry::plain("cost-benefit", "age (1-u)/2u, age since the last change", |s, _| by_change(s, CostBenefit)),
    Entry::plain(
        "cost-benefit-written",
        "the same, age since the last write: the CAT paper's figures",
        |s, _| cells(s, CostBenefitWritten),
    ),
    ROOT_AGE,
    Entry::plain("lfs", "age (1-u)/(1+u)", |s, _| cells(s, Lfs)),
    Entry::plain("cat", "u/(1-u) x 1/age' x erases", |s, _| cells(s, Cat::new(s.params.logical))),
    Entry::plain("cost-hotness", "SFS: by hotness of the group", |s, _| cells(s, CostHotness)),
    Entry::with("cicl", "CICL, k = N: the less even the wear, the more it counts", (1, 1000, 10), |s, n| {
        cells(s, Cicl::new(s.slots, f64::from(n)))
    }),
    Entry::with(
        "garbage-age",
        "SepBIT's: sqrt(age) (1-u)/2u among segments with N % of garbage, age since the last write",
        (1, 99, 15),
        |s, n| cells(s, GarbageAge::new(n)),
    ),
    Entry::plain("midas", "MiDAS: by the sizes of groups, with the placement `midas`", |s, _| {
        Box::new(Groups::new(s.plan(), s.slots, s.units))
    }),
    Entry::with("age-threshold", "F2FS's: the emptiest above 1/N turnover of age", (1, 1024, 8), |s, n| {
        Box::new(AgeThreshold::new(s.params.logical / n.max(1), s.slots, s.units))
    }),
    Entry::with("pcmcia", "greedy, but each Nth time a least worn one", (1, 1000, 20), |s, n| {
        Box::new(Pcmcia::new(n, s.slots, s.units))
    }),
    Entry::with("windowed", "greedy among the oldest N %", (1, 100, 50), |s, n| {
        let window = u64::from(s.slots) * u64::from(n) / 100;
        let window = u32::try_from(window).unwrap_or(s.slots);
        Box::new(Windowed::new(window, s.slots, s.units))
    }),
    Entry::plain("second-chance", "oldest, unless fuller than the mean", |s, _| {
        Box::new(SecondChance::new(s.slots, s.units))
    }),
    Entry::with("random", "the best of N drawn at random", (1, 1000, 1), |s, n| {
        Box::new(RandomOf::new(n, s.seed, s.slots, s.units))
    }),
    Entry::plain("fifo", "in the order of writing", |s, _| Box::new(Queue::new(s.slots, s.units))),
    Entry::plain("round-robin", "by number", |s, _| Box::new(RoundRobin::new(s.slots, s.units))),
];

/// An exact, fast selector, for a rule whose cost changes only when pages die.
fn by_change<V: Victim + Send + 'static>(store: &Store, rule: V) -> AnySelector {
    Box::new(ByChange::new(rule, store.slots, store.units))
}

/// The same for a rule that uses other ages.
fn cells<V: Grouped + Send + 'static>(store: &Store, rule: V) -> AnySelector {
    Box::new(Cells::new(rule, store.slots, store.units))
}
