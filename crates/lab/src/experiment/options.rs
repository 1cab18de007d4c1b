//! Options of a run of experiments.

use core::{fmt, str::FromStr};
use std::path::PathBuf;

use super::Line;
use crate::{LabError, Medium};

/// Options for all experiments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Seeds of each point.
    pub seeds: Seeds,
    /// The directory of traces; each file is one.
    pub traces: PathBuf,
    /// Run every point, also those on record.
    pub fresh: bool,
    /// The chip.
    pub medium: Medium,
    /// The part of the runs that is made.
    pub shard: Shard,
}

impl Options {
    /// Lines as they would be named on the experiment's own chip: its statements are judged by them.
    pub fn own(&self, lines: &[Line]) -> Vec<Line> {
        let own = |line: &Line| {
            let mut line = line.clone();
            line.series = self.medium.own_series(&line.series).to_owned();
            line
        };
        lines.iter().map(own).collect()
    }
}

/// Seeds that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    first: u64,
    last: u64,
}

/// Seeds of a point, at most: the list of runs is in memory.
const SEEDS_MAX: u64 = 10_000;

/// The seed 1.
impl Default for Seeds {
    fn default() -> Seeds {
        Seeds { first: 1, last: 1 }
    }
}

/// `5` for the first five, or `6..10`.
impl FromStr for Seeds {
    type Err = LabError;

    fn from_str(text: &str) -> Result<Seeds, LabError> {
        let ends = match text.split_once("..") {
            Some((first, last)) => first.parse().ok().zip(last.parse().ok()),
            None => text.parse().ok().map(|last| (1, last)),
        };
        match ends {
            Some((first, last)) if first <= last && last - first < SEEDS_MAX => Ok(Seeds { first, last }),
            Some(_) | None => {
                let want = format!("a number of seeds, or a range such as 6..10; {SEEDS_MAX} at most");
                Err(LabError::Setup(format!("want {want}, not `{text}`")))
            }
        }
    }
}

/// As it is read.
impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Seeds { first: 1, last } => write!(f, "{last}"),
            Seeds { first, last } => write!(f, "{first}..{last}"),
        }
    }
}

impl Seeds {
    /// This one alone.
    pub fn one(seed: u64) -> Seeds {
        Seeds { first: seed, last: seed }
    }

    /// The range that those of `lines` lie in; the seed 1 if there is no line.
    pub fn of(lines: &[Line]) -> Seeds {
        let seeds = || lines.iter().map(|line| line.outcome.seed());
        match (seeds().min(), seeds().max()) {
            (Some(first), Some(last)) => Seeds { first, last },
            _ => Seeds::default(),
        }
    }

    /// The first and the last.
    pub fn ends(self) -> (u64, u64) {
        (self.first, self.last)
    }

    pub(super) fn iter(self) -> impl Iterator<Item = u64> + Clone {
        self.first..=self.last
    }
}

/// One of several parts of all runs: every nth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 0.
    index: usize,
    of: usize,
}

impl Default for Shard {
    fn default() -> Shard {
        Shard { index: 0, of: 1 }
    }
}

impl FromStr for Shard {
    type Err = LabError;

    fn from_str(text: &str) -> Result<Shard, LabError> {
        let parts =
            text.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((index, of)) if (1..=of).contains(&index) => Ok(Shard { index: index - 1, of }),
            Some(_) | None => Err(LabError::Setup(format!("want I/N with I from 1 to N, not `{text}`"))),
        }
    }
}

impl Shard {
    /// Its part of all.
    pub(super) fn part<T>(self, all: Vec<T>) -> Vec<T> {
        all.into_iter().skip(self.index).step_by(self.of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_a_number_or_a_range() {
        let ends = |text: &str| text.parse::<Seeds>().map(Seeds::ends).ok();
        assert_eq!(["5", "1", "6..10"].map(ends), [Some((1, 5)), Some((1, 1)), Some((6, 10))]);
        assert_eq!(
            ["5", "6..10", "1..5"].map(|text| text.parse::<Seeds>().unwrap().to_string()),
            ["5", "6..10", "5"]
        );
        for wrong in ["0", "5..4", "", "1..10001", "-1", "a"] {
            assert!(wrong.parse::<Seeds>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn shards_are_all_there_is() {
        let part = |text: &str| text.parse::<Shard>().unwrap().part((0..7).collect());
        assert_eq!([part("1/3"), part("2/3"), part("3/3")], [vec![0, 3, 6], vec![1, 4], vec![2, 5]]);
        assert_eq!((part("1/1").len(), part("8/9").len()), (7, 0));
        for wrong in ["0/3", "4/3", "1", "1/0", "a/3", "-1/3"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
