//! A volume filled as the CFFS paper fills its own (section 4), and the formulas of its section 3 for mounting.
//!
//! The paper has words only: sizes from some bytes to some megabytes, most files small, most bytes in a few large ones.
//! Here sizes are even on a logarithmic scale from 8 bytes to 4 MB, the smallest of three draws; a hundred files share
//! a directory.

use pumice_vfs::{FileSystem, Ino};
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

use super::{append, make, make_dir};
use crate::LabError;

/// Files of a directory.
const DIR_FILES: usize = 100;
/// Index entries of an inode of class 1 that are addresses of data (CFFS, table 1), and bytes of an entry.
const DIRECT: u64 = 63;
const ENTRY: u64 = 4;

/// The sizes of all files.
pub(crate) struct Population(Vec<u64>);

impl Population {
    /// Makes files until so many percent of an empty volume are taken.
    pub(crate) fn make(fs: &dyn FileSystem, percent: u64, seed: u64) -> Result<Population, LabError> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let stays_free = fs.space()?.free_bytes * (100 - percent) / 100;
        let (mut sizes, mut dir) = (Vec::new(), Ino::ROOT);
        loop {
            if sizes.len() % DIR_FILES == 0 {
                dir = make_dir(fs, &format!("dir {}", sizes.len()))?;
            }
            let bits = (0..3).map(|_| random.random_range(3..22_u32)).fold(22, u32::min);
            let bytes: u64 = random.random_range(1 << bits..2 << bits);
            // Metadata takes a tenth at most.
            if fs.space()?.free_bytes < stays_free + bytes * 11 / 10 + (64 << 10) {
                return Ok(Population(sizes));
            }
            let ino = make(fs, dir, &format!("file {}", sizes.len()))?;
            append(fs, ino, 0, bytes)?;
            sizes.push(bytes);
        }
    }

    /// Pages and spare areas that YAFFS reads by equation (1): of each file its inode's page and spare area, and each page's
    /// spare area.
    pub(crate) fn equation_1(&self, page: u64) -> u64 {
        self.0.iter().map(|bytes| 3 + bytes.div_ceil(page)).sum()
    }

    /// The same of CFFS by equation (2): the inode, and of class 2 the index pages instead.
    pub(crate) fn equation_2(&self, page: u64) -> u64 {
        let entries = page / ENTRY;
        let pages = self.0.iter().map(|bytes| match bytes.div_ceil(page) {
            data if data <= DIRECT + entries => 1,
            data => data.div_ceil(entries),
        });
        2 * pages.sum::<u64>()
    }
}
