//! Every way to choose a victim, by name.

use alloc::{borrow::ToOwned, boxed::Box, string::String};
use core::{fmt, str::FromStr};

use super::{Cat, Cicl, CostBenefit, CostBenefitWritten, CostHotness, Greedy, Lfs, RootAge};
use crate::{
    Selector,
    select::{AgeThreshold, ByChange, Cells, Queue, RandomOf, RoundRobin, SecondChance, Windowed},
    sim::Params,
};

/// A way to choose a victim, chosen at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VictimPolicy {
    /// [`RoundRobin`].
    RoundRobin,
    /// [`Queue`].
    Fifo,
    /// [`Greedy`].
    Greedy,
    /// [`CostBenefit`].
    CostBenefit,
    /// [`CostBenefitWritten`].
    CostBenefitWritten,
    /// [`Lfs`].
    Lfs,
    /// [`RootAge`].
    RootAge,
    /// [`Cat`].
    Cat,
    /// [`RandomOf`] one.
    Random,
    /// [`RandomOf`] ten.
    RandomOfTen,
    /// [`Windowed`], over half of the segments.
    WindowedGreedy,
    /// [`SecondChance`].
    SecondChance,
    /// [`CostHotness`].
    CostHotness,
    /// [`AgeThreshold`] of an eighth of a turnover.
    AgeThreshold,
    /// [`Cicl`] with k = 10.
    Cicl,
}

impl VictimPolicy {
    /// Every policy.
    pub const ALL: [Self; 15] = [
        Self::RoundRobin,
        Self::Fifo,
        Self::Greedy,
        Self::CostBenefit,
        Self::CostBenefitWritten,
        Self::Lfs,
        Self::RootAge,
        Self::Cat,
        Self::Random,
        Self::RandomOfTen,
        Self::WindowedGreedy,
        Self::SecondChance,
        Self::CostHotness,
        Self::AgeThreshold,
        Self::Cicl,
    ];

    /// The name that [`VictimPolicy::from_str`] reads back.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RoundRobin => "round-robin",
            Self::Fifo => "fifo",
            Self::Greedy => "greedy",
            Self::CostBenefit => "cost-benefit",
            Self::CostBenefitWritten => "cost-benefit-written",
            Self::Lfs => "lfs",
            Self::RootAge => "root-age",
            Self::Cat => "cat",
            Self::Random => "random",
            Self::RandomOfTen => "random-10",
            Self::WindowedGreedy => "windowed",
            Self::SecondChance => "second-chance",
            Self::CostHotness => "cost-hotness",
            Self::AgeThreshold => "age-threshold",
            Self::Cicl => "cicl",
        }
    }

    /// Its fast form for a store; only the random ones use the seed.
    pub fn selector(self, store: &Params, seed: u64) -> Box<dyn Selector + Send> {
        let (segments, pages, turnover) = (store.segments, store.pages, store.logical);
        match self {
            Self::RoundRobin => Box::new(RoundRobin::new(segments, pages)),
            Self::Fifo => Box::new(Queue::new(segments, pages)),
            Self::Greedy => Box::new(ByChange::new(Greedy, segments, pages)),
            Self::CostBenefit => Box::new(ByChange::new(CostBenefit, segments, pages)),
            Self::CostBenefitWritten => Box::new(Cells::new(CostBenefitWritten, segments, pages)),
            Self::Lfs => Box::new(Cells::new(Lfs, segments, pages)),
            Self::RootAge => Box::new(ByChange::new(RootAge, segments, pages)),
            Self::Cat => Box::new(Cells::new(Cat::new(turnover), segments, pages)),
            Self::Random => Box::new(RandomOf::new(1, seed, segments, pages)),
            Self::RandomOfTen => Box::new(RandomOf::new(10, seed, segments, pages)),
            Self::WindowedGreedy => Box::new(Windowed::new(segments / 2, segments, pages)),
            Self::SecondChance => Box::new(SecondChance::new(segments, pages)),
            Self::CostHotness => Box::new(Cells::new(CostHotness, segments, pages)),
            Self::AgeThreshold => Box::new(AgeThreshold::new(turnover / 8, segments, pages)),
            Self::Cicl => Box::new(Cells::new(Cicl::new(segments, 10.0), segments, pages)),
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
        let error = "Greedy".parse::<VictimPolicy>().unwrap_err().to_string();
        assert!(
            error.starts_with(r#"unknown victim policy "Greedy" (known: round-robin fifo greedy "#),
            "{error}"
        );
    }
}
