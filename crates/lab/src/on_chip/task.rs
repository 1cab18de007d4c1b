//! A run on a chip, before it is made.

use pumice_media::{BlockId, ChipSpec, SimChip};
use pumice_vfs::Errno;
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

use super::{System, Work};
use crate::{
    LabError, Medium, Sources,
    measured::{Found, Job},
};

/// A file system, a chip, and the work to be done there.
#[derive(Clone, Debug)]
pub struct Task {
    /// The file system.
    pub system: System,
    /// The chip: a name that is known, or a shape as `ChipSpec::parse_geometry` takes it.
    pub chip: String,
    /// The chip in its place, if one was asked for.
    pub medium: Medium,
    /// The work.
    pub work: Work,
}

impl Job for Task {
    fn names(&self) -> [String; 3] {
        [self.system.name(), self.medium.name(&self.chip, None), self.work.to_string()]
    }

    fn sources(&self) -> Sources {
        self.system.sources()
    }

    fn measure(&self, seed: u64) -> Result<Found, LabError> {
        let spec = self.medium.spec(&self.chip, None)?;
        let chip = match self.system.format(chip(&spec, seed)) {
            // Not every file system is for every chip that may be asked for: there it has no figures.
            Err(LabError::Fs(error)) if error.errno() == Errno::NotSupported && !self.medium.is_own() => {
                return Ok(Found::default());
            }
            chip => chip?,
        };
        self.work.measure(self.system, chip, &spec, seed).map(Found::from)
    }
}

/// Blocks for each that is bad from the factory, of all seeds but the first.
const BLOCKS_FOR_A_BAD_ONE: u32 = 128;
/// Blocks at the chip's beginning and end that are good: makers promise the first, and the papers put roots at both.
const GOOD: u32 = 64;

/// A chip without bad blocks by the first seed, and by every other one another specimen, with bad blocks elsewhere.
fn chip(spec: &ChipSpec, seed: u64) -> SimChip {
    let mut chip = SimChip::new(spec);
    let blocks = spec.geometry().blocks;
    if seed > 1 && blocks > 2 * GOOD {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let bad = (0..blocks / BLOCKS_FOR_A_BAD_ONE).map(|_| random.random_range(GOOD..blocks - GOOD));
        chip.faults_mut().factory_bad.extend(bad.map(BlockId));
    }
    chip
}
