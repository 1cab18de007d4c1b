//! A run on a chip, before it is made.

use pumice_media::{ChipSpec, SimChip};

use super::{Figure, Measured, System, Work};
use crate::{LabError, run::PROGRAM};

/// A file system, a chip, and what is to be done there.
#[derive(Clone, Debug)]
pub struct Task {
    /// The file system.
    pub system: System,
    /// The chip: a name that is known, or a shape as `ChipSpec::parse_geometry` takes it.
    pub chip: String,
    /// What is done.
    pub work: Work,
}

impl Task {
    /// Makes the run.
    ///
    /// # Errors
    /// If there is no such chip, or the file system fails.
    pub fn run(&self) -> Result<Measured, LabError> {
        let spec = match self.chip.contains(':') {
            true => ChipSpec::parse_geometry(&self.chip),
            false => ChipSpec::named(&self.chip),
        };
        let spec = spec.map_err(|error| LabError::Setup(error.to_string()))?;
        let chip = self.system.format(SimChip::new(&spec))?;
        Ok(self.record(self.work.measure(self.system, chip, &spec)?))
    }

    /// True if a run by this program would be the same.
    pub(crate) fn made(&self, measured: &Measured) -> bool {
        measured.is_like(&self.record([]))
    }

    fn record(&self, figures: impl IntoIterator<Item = (Figure, f64)>) -> Measured {
        Measured {
            file_system: self.system.name().to_owned(),
            chip: self.chip.clone(),
            work: self.work.to_string(),
            program: PROGRAM.to_owned(),
            figures: figures.into_iter().map(|(figure, value)| (figure.name().to_owned(), value)).collect(),
        }
    }
}
