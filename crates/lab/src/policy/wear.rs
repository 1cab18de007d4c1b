//! Wear rules by name.

use pumice_cleaning::{Wear, WearPolicy};

use super::{Making, WearRule};

/// All of them.
pub(super) const TABLE: &[WearRule] = &[
    rule("default", "the same as even", |m| WearPolicy::Even.rule(&m.params)),
    rule("none", "free segments in the order of their erasing", |m| WearPolicy::None.rule(&m.params)),
    rule("least-worn", "the least worn free segment first", |m| WearPolicy::LeastWorn.rule(&m.params)),
    rule("end-of-life", "the paper's swap", |m| WearPolicy::EndOfLife.rule(&m.params)),
    rule("dual-pool", "cold data moves into worn segments", |m| WearPolicy::DualPool.rule(&m.params)),
    rule("even", "of old segments that cost about the same a less worn one is cleaned", |m| {
        WearPolicy::Even.rule(&m.params)
    }),
];

const fn rule(
    name: &'static str,
    about: &'static str,
    make: fn(&Making) -> Box<dyn Wear + Send>,
) -> WearRule {
    WearRule { name, about, make }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_has_its_name_here() {
        for policy in WearPolicy::ALL {
            assert!(TABLE.iter().any(|rule| rule.name == policy.name()), "{policy}");
        }
        assert_eq!(TABLE.len(), WearPolicy::ALL.len() + 1);
    }
}
