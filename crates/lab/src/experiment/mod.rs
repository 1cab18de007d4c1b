//! The experiments: the papers', and our own.

mod again;
mod cat;
mod cffs;
mod f2fs;
mod lifetime;
mod line;
mod look;
mod merge;
mod metric;
mod options;
mod outcome;
mod peers;
mod point;
mod rcffs;
mod records;
mod run;
mod scaleffs;
mod scheme;
mod series;
mod theory;
mod traces;
mod wanted;
mod zipf;

pub use again::{Again, again};
pub use line::Line;
pub use look::Look;
pub use merge::merge;
pub use metric::Metric;
pub use options::{Options, Seeds, Shard};
pub use outcome::Outcome;
pub(crate) use peers::maps;
pub use peers::{PEERS, PeerMap};
pub use point::{Point, Points};
pub(crate) use records::read;
pub use records::{PassedOver, Stored};
pub use run::{Ran, run};
pub use series::{Cell, Series, Summary};

use crate::LabError;

/// An experiment: many runs, and how to show them.
#[derive(Clone, Copy, Debug)]
pub struct Experiment<'a> {
    /// Its name on a command line.
    pub name: &'a str,
    /// The subject, in one line.
    pub about: &'a str,
    /// The variable along the horizontal axis.
    pub x: &'a str,
    /// The form in which it is drawn.
    pub look: Look,
    /// The metrics shown, the most telling first.
    pub metrics: &'a [Metric],
    /// All its runs.
    pub points: Points<'a>,
    /// Published or computed figures to compare the runs with.
    pub known: fn() -> Vec<Known>,
}

/// A figure that was not measured here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// The curve it belongs to.
    pub series: &'static str,
    /// Its place on the horizontal axis.
    pub x: &'static str,
    /// The metric.
    pub metric: Metric,
    /// The figure.
    pub value: f64,
    /// The day on which it was measured elsewhere, of a figure that is kept; by [`PEERS`].
    pub kept: Option<&'static str>,
}

impl Experiment<'static> {
    /// All experiments of the laboratory.
    pub const ALL: [Experiment<'static>; 59] = [
        cat::TABLE4,
        cat::TABLE6,
        cat::FIG11,
        cat::FIG12,
        cat::FIG13,
        cat::FIG13_SEQUENTIAL,
        cat::FIG13_RANDOM,
        cat::FIG14,
        cat::FIG15,
        cat::FIG16,
        cat::FIG17,
        cat::FIG18,
        cat::TABLE7,
        cat::MARKS,
        cat::TOGETHER,
        cat::READ_ONLY,
        cat::READ_ONLY_LEARNT,
        theory::THEORY,
        zipf::ZIPF,
        traces::TRACES,
        lifetime::LIFETIME,
        scaleffs::FIG5,
        scaleffs::FIG6,
        scaleffs::FIG7,
        scaleffs::FIG8,
        scaleffs::FIG9,
        scaleffs::TABLE5,
        scaleffs::TABLE6,
        scaleffs::CRASH,
        scaleffs::EQUATION1,
        scaleffs::RECLAIM,
        scaleffs::REFILL,
        cffs::TABLE3,
        cffs::TABLE4,
        cffs::FIG4,
        cffs::EQUATIONS,
        cffs::CACHE,
        cffs::WEAR,
        rcffs::FIG3,
        rcffs::CRASH,
        rcffs::TABLE2,
        rcffs::REREAD,
        rcffs::FIG4,
        rcffs::SMALL,
        rcffs::ERRORS,
        rcffs::PARITY,
        rcffs::REPAIR,
        rcffs::SCRUB,
        rcffs::INDEX,
        rcffs::CACHE,
        rcffs::COMPRESS,
        f2fs::FIG3,
        f2fs::FIG4,
        f2fs::FIG5,
        f2fs::FIG6,
        f2fs::AGED,
        f2fs::FIG7,
        f2fs::FIG8,
        f2fs::IDLE,
    ];

    /// The one of this name.
    pub fn named(name: &str) -> Result<&'static Experiment<'static>, LabError> {
        const ALL: &[Experiment<'static>] = &Experiment::ALL;
        ALL.iter().find(|experiment| experiment.name == name).ok_or_else(|| {
            LabError::Setup(format!("unknown experiment `{name}` (`pumice lab list` shows all)"))
        })
    }
}

impl Experiment<'_> {
    /// True of the experiments of the five papers; the others are our own.
    pub fn is_of_a_paper(&self) -> bool {
        ["scaleffs", "cffs", "rcffs", "cat", "f2fs"].iter().any(|paper| self.is_of(paper))
    }

    /// True of the experiments of the paper of this short name.
    pub fn is_of(&self, paper: &str) -> bool {
        self.name.strip_prefix(paper).is_some_and(|rest| rest.starts_with('-'))
    }
}
