//! PostMark (Katcher, 1997): files of random sizes; each transaction reads one or appends to it, and creates one or removes
//! one, each with equal chance; at the end all go.

use core::ops::RangeInclusive;

use pumice_media::ChipSpec;
use pumice_vfs::{FileSystem, Ino};
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

use super::{append, float, make, read_all};
use crate::LabError;

/// A run on its way.
pub(crate) struct PostMark<'a> {
    fs: &'a dyn FileSystem,
    random: Xoshiro256PlusPlus,
    files: Vec<(String, Ino, u64)>,
    made: u32,
    /// Bytes of a file.
    sizes: RangeInclusive<u64>,
    /// Bytes of a page of the chip.
    page: u64,
    yaffs_pages: u64,
}

/// The time of YAFFS on a chip for so many pages, with their share of an erase. It programs each page of data, and a
/// header when a file is made, closed, changed and removed.
pub(crate) fn yaffs_seconds(pages: f64, spec: &ChipSpec) -> f64 {
    let timing = spec.timing();
    let erase = float(timing.erase_ns) / f64::from(spec.geometry().pages_per_block);
    pages * (float(timing.program_ns) + erase) / 1e9
}

impl<'a> PostMark<'a> {
    /// Runs it whole, with files of these sizes on a chip of such pages, and writes out the cache. Returns the pages that
    /// YAFFS would write: those of data, of headers for a new file and its close, and one for an append and for a removal.
    pub(crate) fn run(
        fs: &'a dyn FileSystem,
        (files, transactions): (u32, u32),
        (sizes, page): (RangeInclusive<u64>, u64),
        seed: u64,
    ) -> Result<u64, LabError> {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut postmark = PostMark { fs, random, files: Vec::new(), made: 0, sizes, page, yaffs_pages: 0 };
        for _ in 0..files {
            postmark.create()?;
        }
        for _ in 0..transactions {
            postmark.transaction()?;
        }
        while !postmark.files.is_empty() {
            postmark.remove()?;
        }
        fs.sync()?;
        Ok(postmark.yaffs_pages)
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
                self.yaffs_pages += (*bytes + more).div_ceil(self.page) - *bytes / self.page + 1;
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
        self.yaffs_pages += bytes.div_ceil(self.page) + 2;
        Ok(())
    }

    fn remove(&mut self) -> Result<(), LabError> {
        let at = self.random.random_range(..self.files.len());
        let (name, ..) = self.files.swap_remove(at);
        self.yaffs_pages += 1;
        Ok(self.fs.unlink(Ino::ROOT, name.as_bytes())?)
    }
}
