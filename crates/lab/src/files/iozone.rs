//! iozone's patterns: one file, written or read from its beginning or at random places.

use pumice_vfs::{FileSystem, Ino};
use rand::{SeedableRng, rngs::Xoshiro256PlusPlus, seq::SliceRandom};

use super::{CONTENT, SEEK, append, make, read_all};
use crate::LabError;

/// The accesses to the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pattern {
    SequentialWrite,
    SequentialRead,
    RandomWrite,
    RandomRead,
}

/// One run on one file.
pub(super) struct Iozone<'a> {
    fs: &'a dyn FileSystem,
    pattern: Pattern,
    ino: Ino,
    bytes: u64,
    seed: u64,
}

impl<'a> Iozone<'a> {
    /// Makes the file, and writes it unless that is the run.
    pub(super) fn prepare(
        fs: &'a dyn FileSystem,
        pattern: Pattern,
        bytes: u64,
        seed: u64,
    ) -> Result<Self, LabError> {
        let ino = make(fs, Ino::ROOT, "iozone")?;
        if pattern != Pattern::SequentialWrite {
            append(fs, ino, 0, bytes)?;
        }
        Ok(Iozone { fs, pattern, ino, bytes, seed })
    }

    pub(super) fn run(self) -> Result<(), LabError> {
        match self.pattern {
            Pattern::SequentialWrite => append(self.fs, self.ino, 0, self.bytes),
            Pattern::SequentialRead => read_all(self.fs, self.ino, self.bytes),
            Pattern::RandomWrite => {
                let (part, _) = CONTENT.split_at(SEEK);
                self.everywhere(|at| Ok(self.fs.write(self.ino, at, part)?))
            }
            Pattern::RandomRead => {
                let mut part = vec![0; SEEK];
                self.everywhere(|at| Ok(self.fs.read(self.ino, at, &mut part).map(drop)?))
            }
        }
    }

    /// All places of the file, each once, in a random order.
    fn everywhere(&self, mut each: impl FnMut(u64) -> Result<(), LabError>) -> Result<(), LabError> {
        let mut places: Vec<u64> = (0..self.bytes / SEEK as u64).collect();
        places.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(self.seed));
        places.into_iter().try_for_each(|place| each(place * SEEK as u64))
    }
}
