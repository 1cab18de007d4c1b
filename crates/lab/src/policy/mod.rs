//! The rules by name: the one table for each of the three axes.

mod making;
mod placement;
mod victim;
mod wear;

use std::fmt;

use pumice_cleaning::{Placement, Selector, Wear};

pub use making::Making;

/// A rule on the first axis.
pub type VictimRule = Rule<Box<dyn Selector + Send>>;
/// A rule on the second axis.
pub type PlacementRule = Rule<Box<dyn Placement + Send>>;
/// A rule on the third axis.
pub type WearRule = Rule<Box<dyn Wear + Send>>;

/// A rule by name.
#[derive(Clone, Copy)]
pub struct Rule<T: 'static> {
    /// As on the command line.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Makes one.
    pub make: fn(&Making) -> T,
}

/// A name that no rule has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {axis} `{name}` (known: {known})")]
pub struct UnknownRule {
    axis: &'static str,
    name: String,
    known: String,
}

impl<T> fmt::Debug for Rule<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl<T> Rule<T> {
    fn find(
        axis: &'static str,
        table: &'static [Rule<T>],
        name: &str,
    ) -> Result<&'static Rule<T>, UnknownRule> {
        table.iter().find(|rule| rule.name == name).ok_or_else(|| UnknownRule {
            axis,
            name: name.to_owned(),
            known: table.iter().map(|rule| rule.name).collect::<Vec<_>>().join(", "),
        })
    }
}

impl VictimRule {
    /// All victim rules.
    pub const ALL: &'static [VictimRule] = victim::TABLE;

    /// The one of this name.
    pub fn named(name: &str) -> Result<&'static VictimRule, UnknownRule> {
        Rule::find("victim", Self::ALL, name)
    }
}

impl PlacementRule {
    /// All placements.
    pub const ALL: &'static [PlacementRule] = placement::TABLE;

    /// The one of this name.
    pub fn named(name: &str) -> Result<&'static PlacementRule, UnknownRule> {
        Rule::find("placement", Self::ALL, name)
    }

    /// True for the one that has to be told every write beforehand.
    pub fn is_oracle(&self) -> bool {
        self.name == placement::ORACLE
    }
}

impl WearRule {
    /// All wear rules.
    pub const ALL: &'static [WearRule] = wear::TABLE;

    /// The one of this name.
    pub fn named(name: &str) -> Result<&'static WearRule, UnknownRule> {
        Rule::find("wear rule", Self::ALL, name)
    }

    /// Free segments that the rule needs to judge by. Without levelling there need be none: that is the paper's store.
    pub fn reserve(&self) -> u32 {
        u32::from(self.name != "none")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_wrong_ones_are_named() {
        assert_eq!(VictimRule::named("greedy").map(|rule| rule.name), Ok("greedy"));
        assert_eq!(PlacementRule::named("m1").map(|rule| rule.name), Ok("m1"));
        assert_eq!(WearRule::named("none").map(|rule| rule.name), Ok("none"));
        let error = WearRule::named("all").unwrap_err().to_string();
        assert!(error.starts_with("unknown wear rule `all` (known: "), "{error}");
    }
}
