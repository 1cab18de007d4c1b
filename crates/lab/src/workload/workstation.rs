//! A workstation's disk, in place of the HP traces of the CAT paper (section 6.1.2), which are not public.
//!
//! The paper says of them that 71.2 % of the writes go to metadata. The rest is assumed. Metadata are a 50th of the
//! blocks, spread evenly over the store as a file system of cylinder groups has them, and written by Zipf's law with
//! exponent 1. Data are written as whole files of 1 to 16 blocks, with places drawn by the same law.

use rand::{Rng, RngExt};

use super::zipf::Zipf;

/// The part of the writes that goes to metadata.
const METADATA_WRITES: f64 = 0.712;
/// One block in so many is metadata.
const STRIDE: u32 = 50;
/// Blocks that a file may have at most, and that its place has.
const FILE_BLOCKS: u32 = 16;

/// The state of the next write.
#[derive(Clone, Debug)]
pub(super) struct Workstation {
    metadata: Zipf,
    files: Zipf,
    /// The file that is being written: its next block and the blocks that are left.
    next: u32,
    left: u32,
    pages: u32,
}

impl Workstation {
    /// A workload on so many pages; `None` if there are too few for two files and two blocks of metadata.
    pub(super) fn new(pages: u32) -> Option<Workstation> {
        let (metadata, files) = (pages / STRIDE, pages / FILE_BLOCKS);
        if metadata < 2 {
            return None;
        }
        let (metadata, files) = (Zipf::new(metadata, 1.0)?, Zipf::new(files, 1.0)?);
        Some(Workstation { metadata, files, next: 0, left: 0, pages })
    }

    /// The next rank: a block of metadata, or the next of a file. Files pass over metadata.
    pub(super) fn draw(&mut self, rng: &mut impl Rng) -> u32 {
        if rng.random_bool(METADATA_WRITES) {
            return self.metadata.draw(rng) * STRIDE;
        }
        if self.left == 0 {
            self.next = self.files.draw(rng) * FILE_BLOCKS;
            self.left = rng.random_range(1..=FILE_BLOCKS);
        }
        self.left -= 1;
        if self.next.is_multiple_of(STRIDE) {
            self.next += 1;
        }
        let block = self.next.min(self.pages - 1);
        self.next += 1;
        block
    }
}
