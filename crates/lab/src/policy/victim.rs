//! Victim rules by name.

use pumice_cleaning::{
    Cat, Cicl, CostBenefit, CostBenefitWritten, CostHotness, Greedy, Lfs, RootAge, Selector, Victim,
    select::{
        AgeThreshold, ByChange, Cells, DecliningCost, Grouped, Queue, RandomOf, RoundRobin, SecondChance,
        Windowed,
    },
};

use super::{Making, VictimRule};

/// Segments that random choice draws at a time.
const DRAWS: u32 = 10;

/// One in so many segments is in the window of windowed greedy.
const WINDOW: u32 = 4;

/// Erases between the most and the least worn segment at which CICL weighs wear and emptiness about equally.
const EVEN: f64 = 10.0;

/// All of them.
pub(super) const TABLE: &[VictimRule] = &[
    rule("default", "declining cost, with the default placement's rates", |m| {
        Box::new(DecliningCost::new(m.params.segments, m.params.pages, m.params.logical, m.regime()))
    }),
    rule("greedy", "fewest live blocks", |m| by_change(m, Greedy)),
    rule("cost-benefit", "age (1-u)/2u, age since the last invalidation", |m| by_change(m, CostBenefit)),
    rule("cost-benefit-written", "the same, age since the last write: the paper's figures", |m| {
        cells(m, CostBenefitWritten)
    }),
    rule("root-age", "sqrt(age) (1-u)/2u", |m| by_change(m, RootAge)),
    rule("lfs", "age (1-u)/(1+u)", |m| cells(m, Lfs)),
    rule("cat", "u/(1-u) x 1/age' x erases", |m| cells(m, Cat::new(m.params.logical))),
    rule("cost-hotness", "SFS: by hotness of the group", |m| cells(m, CostHotness)),
    rule("cicl", "wear counts the more, the less even it is", |m| {
        cells(m, Cicl::new(m.params.segments, EVEN))
    }),
    rule("age-threshold", "F2FS's: old, and empty", |m| {
        Box::new(AgeThreshold::new(m.params.logical, m.params.segments, m.params.pages))
    }),
    rule("windowed", "greedy among the oldest quarter", |m| {
        Box::new(Windowed::new(m.params.segments / WINDOW, m.params.segments, m.params.pages))
    }),
    rule("second-chance", "oldest, unless fuller than the mean", |m| {
        Box::new(SecondChance::new(m.params.segments, m.params.pages))
    }),
    rule("random", "the best of ten drawn at random", |m| {
        Box::new(RandomOf::new(DRAWS, m.seed, m.params.segments, m.params.pages))
    }),
    rule("fifo", "in the order of writing", |m| Box::new(Queue::new(m.params.segments, m.params.pages))),
    rule("round-robin", "by number", |m| Box::new(RoundRobin::new(m.params.segments, m.params.pages))),
];

const fn rule(
    name: &'static str,
    about: &'static str,
    make: fn(&Making) -> Box<dyn Selector + Send>,
) -> VictimRule {
    VictimRule { name, about, make }
}

fn by_change<V: Victim + Send + 'static>(making: &Making, rule: V) -> Box<dyn Selector + Send> {
    Box::new(ByChange::new(rule, making.params.segments, making.params.pages))
}

fn cells<R: Grouped + Send + 'static>(making: &Making, rule: R) -> Box<dyn Selector + Send> {
    Box::new(Cells::new(rule, making.params.segments, making.params.pages))
}
