//! The policies by name, for a superblock and a command line.

use alloc::{borrow::ToOwned, string::String};
use core::{fmt, str::FromStr};

use super::{CostBenefit, Greedy, RootAge, Victim};
use crate::SegmentView;

/// A victim policy chosen at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VictimPolicy {
    /// [`Greedy`].
    Greedy,
    /// [`CostBenefit`].
    CostBenefit,
    /// [`RootAge`].
    RootAge,
}

impl VictimPolicy {
    /// Every policy.
    pub const ALL: [Self; 3] = [Self::Greedy, Self::CostBenefit, Self::RootAge];

    /// The name that [`VictimPolicy::from_str`] reads back.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Greedy => "greedy",
            Self::CostBenefit => "cost-benefit",
            Self::RootAge => "root-age",
        }
    }
}

impl Victim for VictimPolicy {
    fn cost(&self, s: &SegmentView) -> u64 {
        match self {
            Self::Greedy => Greedy.cost(s),
            Self::CostBenefit => CostBenefit.cost(s),
            Self::RootAge => RootAge.cost(s),
        }
    }
}

impl fmt::Display for VictimPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for VictimPolicy {
    type Err = UnknownVictim;

    fn from_str(name: &str) -> Result<Self, UnknownVictim> {
        Self::ALL.into_iter().find(|p| p.name() == name).ok_or_else(|| UnknownVictim(name.to_owned()))
    }
}

/// A name that no victim policy has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownVictim(pub String);

impl fmt::Display for UnknownVictim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown victim policy {:?} (known:", self.0)?;
        VictimPolicy::ALL.iter().try_for_each(|p| write!(f, " {p}"))?;
        f.write_str(")")
    }
}

impl core::error::Error for UnknownVictim {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn names_come_back() {
        for policy in VictimPolicy::ALL {
            assert_eq!(policy.name().parse(), Ok(policy));
        }
    }

    #[test]
    fn a_wrong_name_is_named() {
        let error = "Greedy".parse::<VictimPolicy>().unwrap_err();
        assert_eq!(
            error.to_string(),
            r#"unknown victim policy "Greedy" (known: greedy cost-benefit root-age)"#
        );
    }
}
