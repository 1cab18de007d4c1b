//! Options of a run of experiments.

use core::str::FromStr;
use std::path::PathBuf;

use super::Line;
use crate::{LabError, Medium};

/// Seeds of a point, at most: the list of runs is in memory.
pub const SEEDS_MAX: u64 = 10_000;

/// Options for all experiments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Seeds of each point, from 1.
    pub seeds: u64,
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
    fn shards_are_all_there_is() {
        let part = |text: &str| text.parse::<Shard>().unwrap().part((0..7).collect());
        assert_eq!([part("1/3"), part("2/3"), part("3/3")], [vec![0, 3, 6], vec![1, 4], vec![2, 5]]);
        assert_eq!((part("1/1").len(), part("8/9").len()), (7, 0));
        for wrong in ["0/3", "4/3", "1", "1/0", "a/3", "-1/3"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
