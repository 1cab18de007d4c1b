//! Victim rules by name.

use pumice_cleaning::{CostBenefit, Greedy, RootAge, Selector, Victim, select::ByChange};

use super::{Making, VictimRule};

/// All of them.
pub(super) const TABLE: &[VictimRule] = &[
    VictimRule { name: "greedy", about: "fewest live pages", make: |m| by_change(m, Greedy) },
    VictimRule { name: "cost-benefit", about: "age (1-u)/2u", make: |m| by_change(m, CostBenefit) },
    VictimRule { name: "root-age", about: "sqrt(age) (1-u)/2u", make: |m| by_change(m, RootAge) },
];

fn by_change<V: Victim + Send + 'static>(making: &Making, rule: V) -> Box<dyn Selector + Send> {
    Box::new(ByChange::new(rule, making.params.segments, making.params.pages))
}
