//! A run on a chip, before it is made.

use pumice_media::{ChipSpec, SimChip};

use super::{System, Work};
use crate::{
    LabError,
    measured::{Found, Job},
};

/// A file system, a chip, and the work to be done there.
#[derive(Clone, Debug)]
pub struct Task {
    /// The file system.
    pub system: System,
    /// The chip: a name that is known, or a shape as `ChipSpec::parse_geometry` takes it.
    pub chip: String,
    /// The work.
    pub work: Work,
}

impl Job for Task {
    fn names(&self) -> [String; 3] {
        [self.system.name().to_owned(), self.chip.clone(), self.work.to_string()]
    }

    fn measure(&self) -> Result<Found, LabError> {
        let spec = match self.chip.contains(':') {
            true => ChipSpec::parse_geometry(&self.chip),
            false => ChipSpec::named(&self.chip),
        };
        let spec = spec.map_err(|error| LabError::Setup(error.to_string()))?;
        let chip = self.system.format(SimChip::new(&spec))?;
        self.work.measure(self.system, chip, &spec).map(Found::from)
    }
}
