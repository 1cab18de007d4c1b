//! Victim rules by name.

use pumice_cleaning::{Selector, VictimPolicy as Policy, placement::Groups, select::DecliningCost};

use super::{Making, VictimRule};

/// All of them; [`VictimPolicy`](Policy) says which one is which.
pub(super) const TABLE: &[VictimRule] = &[
    rule("default", "declining cost, with the default placement's rates", |m| {
        Box::new(DecliningCost::new(m.params.segments, m.params.pages, m.params.logical, m.regime()))
    }),
    rule("greedy", "fewest live blocks", |m| m.select(Policy::Greedy)),
    rule("cost-benefit", "age (1-u)/2u, age since the last change", |m| m.select(Policy::CostBenefit)),
    rule("cost-benefit-written", "the same, age since the last write: the paper's figures", |m| {
        m.select(Policy::CostBenefitWritten)
    }),
    rule("root-age", "sqrt(age) (1-u)/2u", |m| m.select(Policy::RootAge)),
    rule("lfs", "age (1-u)/(1+u)", |m| m.select(Policy::Lfs)),
    rule("cat", "u/(1-u) x 1/age' x erases", |m| m.select(Policy::Cat)),
    rule("cost-hotness", "SFS: by hotness of the group", |m| m.select(Policy::CostHotness)),
    rule("cicl", "the less even the wear, the more it counts", |m| m.select(Policy::Cicl)),
    rule("midas", "MiDAS: by the sizes of groups, with the placement of this name", |m| {
        Box::new(Groups::new(m.sizes(), m.params.segments, m.params.pages))
    }),
    rule("age-threshold", "F2FS's: old, and empty", |m| m.select(Policy::AgeThreshold)),
    rule("windowed", "greedy among the older half", |m| m.select(Policy::WindowedGreedy)),
    rule("second-chance", "oldest, unless fuller than the mean", |m| m.select(Policy::SecondChance)),
    rule("random-10", "the best of ten drawn at random", |m| m.select(Policy::RandomOfTen)),
    rule("random", "any", |m| m.select(Policy::Random)),
    rule("fifo", "in the order of writing", |m| m.select(Policy::Fifo)),
    rule("round-robin", "by number", |m| m.select(Policy::RoundRobin)),
];

const fn rule(
    name: &'static str,
    about: &'static str,
    make: fn(&Making) -> Box<dyn Selector + Send>,
) -> VictimRule {
    VictimRule { name, about, make }
}

impl Making {
    fn select(&self, policy: Policy) -> Box<dyn Selector + Send> {
        policy.selector(&self.params, self.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_has_its_name_here() {
        for policy in Policy::ALL {
            assert!(TABLE.iter().any(|rule| rule.name == policy.name()), "{policy}");
        }
        assert_eq!(TABLE.len(), Policy::ALL.len() + 2);
    }
}
