//! Runs of file systems on simulated media, measured by what the media count.

mod figure;
mod hot;
mod outcome;

pub use figure::Figure;
pub use hot::hot_share;
pub use outcome::Measured;

use crate::{LabError, run::PROGRAM};

/// A run, before it is made. Nothing about it is random.
pub trait Job {
    /// The file system, the medium, and what is done, with its sizes.
    fn names(&self) -> [String; 3];

    /// Makes the run.
    ///
    /// # Errors
    /// If there is no such medium, or the file system fails.
    fn figures(&self) -> Result<Vec<(Figure, f64)>, LabError>;

    /// Makes the run, and puts down what it was.
    fn run(&self) -> Result<Measured, LabError> {
        Ok(self.record(self.figures()?))
    }

    /// True if a run by this program would be the same.
    fn made(&self, measured: &Measured) -> bool {
        measured.is_like(&self.record(Vec::new()))
    }

    /// This run with these figures.
    fn record(&self, figures: Vec<(Figure, f64)>) -> Measured {
        let [file_system, medium, work] = self.names();
        let figures = figures.into_iter().map(|(figure, value)| (figure.name().to_owned(), value)).collect();
        Measured { file_system, medium, work, program: PROGRAM.to_owned(), figures }
    }
}
