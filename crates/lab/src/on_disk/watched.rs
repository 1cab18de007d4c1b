//! A disk in memory that watches its requests: by the time of the F2FS paper's SATA SSD, and by segments written.
//!
//! The paper's table 2 has 471 MB/s for writes in order and 140 MB/s at random places of 4 KiB, 486 and 40 MB/s for reads.
//! So a request that follows none of the last ones costs 20.6 or 94 us beside its bytes. Discards cost nothing here.

use std::collections::VecDeque;

use pumice_media::{BlockDevice, BlockError, Lba, MemDisk};

use crate::disk::BLOCK;

/// Blocks of a segment.
pub(super) const SEGMENT: u64 = 512;
/// Nanoseconds of a block that is written in order, and beside that of a request elsewhere.
const WRITE_NS: [u64; 2] = [8_696, 20_561];
/// The same of reads.
const READ_NS: [u64; 2] = [8_428, 93_972];
/// Requests that one more may follow: Linux and the device put together the blocks of each of six logs.
const OPEN: usize = 8;

/// The last requests of a kind.
#[derive(Default)]
struct Last {
    ends: VecDeque<u64>,
}

impl Last {
    /// Nanoseconds of one more.
    fn take(&mut self, first: u64, blocks: u64, [block_ns, elsewhere_ns]: [u64; 2]) -> u64 {
        let follows = self.ends.iter().position(|end| *end == first);
        if let Some(at) = follows {
            self.ends.remove(at);
        } else if self.ends.len() == OPEN {
            self.ends.pop_front();
        }
        self.ends.push_back(first + blocks);
        blocks * block_ns + if follows.is_some() { 0 } else { elsewhere_ns }
    }
}

/// The writes to a segment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Written {
    /// Blocks that follow the one before, from the segment's first on.
    pub(super) in_order: u64,
    /// Other blocks: in holes.
    pub(super) in_holes: u64,
    /// The block after the last one written.
    next: u64,
    /// The log in it began at its first block and has left out none.
    is_whole: bool,
}

/// The disk.
pub(super) struct Watched {
    disk: MemDisk,
    ns: u64,
    reads: Last,
    writes: Last,
    segments: Vec<Written>,
}

impl Watched {
    /// An empty disk of so many blocks.
    pub(super) fn new(blocks: u64) -> Watched {
        let segments = usize::try_from(blocks.div_ceil(SEGMENT)).unwrap_or(usize::MAX);
        let disk = MemDisk::new(BLOCK, blocks);
        let (reads, writes) = (Last::default(), Last::default());
        Watched { disk, ns: 0, reads, writes, segments: vec![Written::default(); segments] }
    }

    /// Nanoseconds that all requests took.
    pub(super) fn ns(&self) -> u64 {
        self.ns
    }

    /// The writes to each segment.
    pub(super) fn segments(&self) -> &[Written] {
        &self.segments
    }

    fn note(&mut self, first: u64, blocks: u64) {
        self.ns += self.writes.take(first, blocks, WRITE_NS);
        for block in first..first + blocks {
            let Some(segment) =
                usize::try_from(block / SEGMENT).ok().and_then(|at| self.segments.get_mut(at))
            else {
                debug_assert!(false, "block {block} lies beyond the disk");
                continue;
            };
            let at = block % SEGMENT;
            segment.is_whole = at == 0 || segment.is_whole && at == segment.next;
            segment.next = at + 1;
            if segment.is_whole {
                segment.in_order += 1;
            } else {
                segment.in_holes += 1;
            }
        }
    }
}

impl BlockDevice for Watched {
    fn block_bytes(&self) -> u32 {
        self.disk.block_bytes()
    }

    fn blocks(&self) -> u64 {
        self.disk.blocks()
    }

    fn read(&mut self, first: Lba, buffer: &mut [u8]) -> Result<(), BlockError> {
        self.disk.read(first, buffer)?;
        self.ns += self.reads.take(first.0, buffer.len() as u64 / u64::from(BLOCK), READ_NS);
        Ok(())
    }

    fn write(&mut self, first: Lba, buffer: &[u8]) -> Result<(), BlockError> {
        self.disk.write(first, buffer)?;
        self.note(first.0, buffer.len() as u64 / u64::from(BLOCK));
        Ok(())
    }

    fn flush(&mut self) -> Result<(), BlockError> {
        self.disk.flush()
    }

    fn discard(&mut self, first: Lba, count: u64) -> Result<(), BlockError> {
        self.disk.discard(first, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_in_order_cost_less_than_blocks_in_holes() {
        let mut disk = Watched::new(2 * SEGMENT);
        let block = [1; BLOCK as usize];
        // Two logs in turn, each in order; then every second block of a segment, and its first again.
        for at in 0..4 {
            disk.write(Lba(at), &block).unwrap();
            disk.write(Lba(SEGMENT + at), &block).unwrap();
        }
        let ns = |blocks, elsewhere, [block_ns, elsewhere_ns]: [u64; 2]| {
            blocks * block_ns + elsewhere * elsewhere_ns
        };
        assert_eq!(disk.ns(), ns(8, 2, WRITE_NS));
        for at in [6, 8, 10] {
            disk.write(Lba(at), &block).unwrap();
        }
        disk.write(Lba(0), &[block, block].concat()).unwrap();
        let written = ns(13, 6, WRITE_NS);
        assert_eq!(disk.ns(), written);
        for at in [20, 21, 30] {
            disk.read(Lba(at), &mut [0; BLOCK as usize]).unwrap();
        }
        assert_eq!(disk.ns(), written + ns(3, 2, READ_NS));
        let found = disk.segments().iter().map(|it| (it.in_order, it.in_holes)).collect::<Vec<_>>();
        assert_eq!(found, [(6, 3), (4, 0)]);
    }
}
