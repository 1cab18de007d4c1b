//! Runs of file systems on simulated media, measured by the counters of the media.

mod figure;
mod hot;
mod map;
mod outcome;
mod sizes;

pub use figure::Figure;
pub use hot::hot_share;
pub use map::RequestMap;
pub use outcome::Measured;
pub use sizes::request_figures;

use pumice_vfs::Errno;

use crate::{LabError, Sources, run::PROGRAM};

/// The outcome of a run.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Figures.
    pub figures: Vec<(Figure, f64)>,
    /// The requests to the disk, where they are to be seen.
    pub map: Option<RequestMap>,
}

impl From<Vec<(Figure, f64)>> for Found {
    fn from(figures: Vec<(Figure, f64)>) -> Found {
        Found { figures, map: None }
    }
}

/// A run, before it is made. What is random in it is drawn from a seed.
pub trait Job {
    /// The file system, the medium, and the work with its sizes.
    fn names(&self) -> [String; 3];

    /// The sources that decide its figures.
    fn sources(&self) -> Sources;

    /// Makes the run.
    ///
    /// # Errors
    /// If there is no such medium, or the file system fails.
    fn measure(&self, seed: u64) -> Result<Found, LabError>;

    /// Makes the run, and records it with its setup. One that does not fit the medium has no figures.
    fn run(&self, seed: u64) -> Result<Measured, LabError> {
        match self.measure(seed) {
            Err(LabError::Fs(error)) if error.errno() == Errno::NoSpace => {
                Ok(self.record(Found::default(), seed))
            }
            found => Ok(self.record(found?, seed)),
        }
    }

    /// True if this run would be the same.
    fn made(&self, measured: &Measured, seed: u64) -> bool {
        measured.is_like(&self.planned(seed))
    }

    /// Its record without figures.
    fn planned(&self, seed: u64) -> Measured {
        self.record(Found::default(), seed)
    }

    /// This run and its outcome.
    fn record(&self, Found { figures, map }: Found, seed: u64) -> Measured {
        let [file_system, medium, work] = self.names();
        let figures = figures.into_iter().map(|(figure, value)| (figure.name().to_owned(), value)).collect();
        Measured { file_system, medium, work, seed, program: PROGRAM.to_owned(), figures, map }
    }
}
