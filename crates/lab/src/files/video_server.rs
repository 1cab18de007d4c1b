//! A video server as filebench has it: films are shown while others are replaced.

use pumice_vfs::{FileSystem, Ino};
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

use super::{append, make, read_all};
use crate::LabError;

/// Films that are written for each one that is shown: a fifth of the traffic is reads (F2FS, table 3).
const WRITTEN: u32 = 4;

/// Films, all of one size.
pub(super) struct VideoServer<'a> {
    fs: &'a dyn FileSystem,
    random: Xoshiro256PlusPlus,
    films: Vec<Ino>,
    bytes: u64,
}

impl<'a> VideoServer<'a> {
    /// Makes so many films.
    pub(super) fn prepare(
        fs: &'a dyn FileSystem,
        films: u32,
        bytes: u64,
        seed: u64,
    ) -> Result<Self, LabError> {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut server = VideoServer { fs, random, films: Vec::new(), bytes };
        for film in 0..films {
            server.add(film)?;
        }
        Ok(server)
    }

    /// Replaces so many films, the oldest first, and shows others.
    pub(super) fn run(mut self, replaced: u32) -> Result<(), LabError> {
        for film in 0..replaced {
            self.fs.unlink(Ino::ROOT, name(film).as_bytes())?;
            let films =
                u32::try_from(self.films.len()).map_err(|error| LabError::Setup(error.to_string()))?;
            self.films.remove(0);
            self.add(films + film)?;
            let at = self.random.random_range(..self.films.len());
            if let Some(shown) = self.films.get(at).filter(|_| film % WRITTEN == 0) {
                read_all(self.fs, *shown, self.bytes)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, film: u32) -> Result<(), LabError> {
        let ino = make(self.fs, Ino::ROOT, &name(film))?;
        append(self.fs, ino, 0, self.bytes)?;
        self.films.push(ino);
        Ok(())
    }
}

fn name(film: u32) -> String {
    format!("film {film}")
}
