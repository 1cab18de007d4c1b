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

use crate::{LabError, run::PROGRAM};

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

/// A run, before it is made. Nothing about it is random.
pub trait Job {
    /// The file system, the medium, and the work with its sizes.
    fn names(&self) -> [String; 3];

    /// Makes the run.
    ///
    /// # Errors
    /// If there is no such medium, or the file system fails.
    fn measure(&self) -> Result<Found, LabError>;

    /// Makes the run, and records it with its setup.
    fn run(&self) -> Result<Measured, LabError> {
        Ok(self.record(self.measure()?))
    }

    /// True if a run by this program would be the same.
    fn made(&self, measured: &Measured) -> bool {
        measured.is_like(&self.record(Found::default()))
    }

    /// This run and its outcome.
    fn record(&self, Found { figures, map }: Found) -> Measured {
        let [file_system, medium, work] = self.names();
        let figures = figures.into_iter().map(|(figure, value)| (figure.name().to_owned(), value)).collect();
        Measured { file_system, medium, work, program: PROGRAM.to_owned(), figures, map }
    }
}
