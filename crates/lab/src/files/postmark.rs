//! PostMark (Katcher, 1997): files of random sizes; each transaction reads one or appends to it, and creates one or removes
//! one, each with equal chance; at the end all go.

use core::ops::RangeInclusive;

use pumice_vfs::{FileSystem, Ino};
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

use super::{SEED, append, make, read_all};
use crate::LabError;

/// A run on its way.
pub(crate) struct PostMark<'a> {
    fs: &'a dyn FileSystem,
    random: Xoshiro256PlusPlus,
    files: Vec<(String, Ino, u64)>,
    made: u32,
    /// Bytes of a file.
    sizes: RangeInclusive<u64>,
}

impl<'a> PostMark<'a> {
    /// Runs it whole, and writes out the cache.
    pub(crate) fn run(
        fs: &'a dyn FileSystem,
        (files, transactions): (u32, u32),
        sizes: RangeInclusive<u64>,
    ) -> Result<(), LabError> {
        let random = Xoshiro256PlusPlus::seed_from_u64(SEED);
        let mut postmark = PostMark { fs, random, files: Vec::new(), made: 0, sizes };
        for _ in 0..files {
            postmark.create()?;
        }
        for _ in 0..transactions {
            postmark.transaction()?;
        }
        while !postmark.files.is_empty() {
            postmark.remove()?;
        }
        Ok(fs.sync()?)
    }

    fn transaction(&mut self) -> Result<(), LabError> {
        let at = self.random.random_range(..self.files.len());
        let grows: bool = self.random.random();
        if let Some((_, ino, bytes)) = self.files.get_mut(at) {
            if !grows {
                read_all(self.fs, *ino, *bytes)?;
            } else if *bytes < *self.sizes.end() {
                let more = self.random.random_range(1..=*self.sizes.end() - *bytes);
                append(self.fs, *ino, *bytes, more)?;
                *bytes += more;
            }
        }
        // The last file stays, so that the next transaction finds one.
        if self.random.random::<bool>() || self.files.len() == 1 { self.create() } else { self.remove() }
    }

    fn create(&mut self) -> Result<(), LabError> {
        self.made += 1;
        let (name, bytes) = (self.made.to_string(), self.random.random_range(self.sizes.clone()));
        let ino = make(self.fs, Ino::ROOT, &name)?;
        append(self.fs, ino, 0, bytes)?;
        self.files.push((name, ino, bytes));
        Ok(())
    }

    fn remove(&mut self) -> Result<(), LabError> {
        let at = self.random.random_range(..self.files.len());
        let (name, ..) = self.files.swap_remove(at);
        Ok(self.fs.unlink(Ino::ROOT, name.as_bytes())?)
    }
}
