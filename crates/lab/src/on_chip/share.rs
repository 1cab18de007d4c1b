//! Device time by type of block, as the ScaleFFS paper's section 5.5 counts it.

use pumice_media::{ChipSpec, SimChip};
use rand::{SeedableRng, rngs::Xoshiro256PlusPlus, seq::SliceRandom};

use super::System;
use crate::{
    LabError,
    files::{float, read, seek, write},
    measured::Figure,
};

/// Bytes of the head of a file that a player reads first.
const HEAD: u64 = 4 << 10;
/// Files of music, and how many are downloaded.
const SONG: u64 = 5 << 20;
const SONGS: u32 = 20;
/// The film of the random reads.
const FILM: u64 = 100 << 20;
const FILM_READS: u32 = 1000;

/// An activity of a music player (ScaleFFS, 5.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scenario {
    /// Writes 20 files of 5 MB.
    Download,
    /// Reads the heads of all of them, then each as a whole, in a random order.
    Play,
    /// Reads 4 KiB at 1,000 random places of a file of 100 MB.
    Seek,
}

/// A type of block, as the ScaleFFS paper's table VI has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockType {
    /// Content of files.
    Data,
    /// Directories, which the paper does not list.
    Directory,
    /// Inodes.
    Inode,
    /// Addresses of data.
    Indirect,
    /// The inode map.
    Map,
    /// Addresses of the inode map.
    MapIndex,
    /// Checkpoints.
    Checkpoint,
}

impl BlockType {
    /// Its blocks, of all types as ScaleFFS counts them.
    pub(super) fn count(self, all: [u64; 7]) -> u64 {
        let [data, directory, inode, indirect, map, map_index, checkpoint] = all;
        match self {
            BlockType::Data => data,
            BlockType::Directory => directory,
            BlockType::Inode => inode,
            BlockType::Indirect => indirect,
            BlockType::Map => map,
            BlockType::MapIndex => map_index,
            BlockType::Checkpoint => checkpoint,
        }
    }
}

/// ScaleFFS alone counts blocks by type.
pub(super) fn share(
    system: System,
    chip: SimChip,
    (scenario, block): (Scenario, BlockType),
    spec: &ChipSpec,
    seed: u64,
) -> Result<Vec<(Figure, f64)>, LabError> {
    let mut mounted = system.mount(chip)?;
    match scenario {
        Scenario::Download => {
            for number in 0..SONGS {
                write(mounted.fs(), number, SONG)?;
            }
            mounted.fs().sync()?;
        }
        Scenario::Play => {
            for number in 0..SONGS {
                write(mounted.fs(), number, SONG)?;
            }
            mounted = system.mount(mounted.unmount()?)?;
            for number in 0..SONGS {
                read(mounted.fs(), number, HEAD)?;
            }
            let mut order: Vec<u32> = (0..SONGS).collect();
            order.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
            for number in order {
                read(mounted.fs(), number, u64::MAX)?;
            }
        }
        Scenario::Seek => {
            write(mounted.fs(), 0, FILM)?;
            mounted = system.mount(mounted.unmount()?)?;
            seek(mounted.fs(), FILM, FILM_READS, seed)?;
        }
    }
    let fs = mounted.scaleffs()?;
    let (blocks, timing) = (fs.volume().blocks(), spec.timing());
    let [written, read] = [block.count(blocks.written), block.count(blocks.read)];
    let time = |written: u64, read: u64| float(written * timing.program_ns + read * timing.read_page_ns);
    let all = time(blocks.written.iter().sum(), blocks.read.iter().sum());
    Ok(vec![(Figure::TimeShare, 100.0 * time(written, read) / all)])
}
