//! What is done to a file system, and what is measured of it.

use core::fmt;

use pumice_media::{ChipSpec, Nand, SimChip};
use pumice_vfs::{FileKind, FileSystem, Ino, NewNode};
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus, seq::SliceRandom};

use super::{Figure, System, system::Mounted};
use crate::LabError;

/// Bytes that programs read and write at a time.
const STEP: usize = 64 << 10;
/// Bytes of a read at a random place.
const SEEK: usize = 4 << 10;
/// Bytes of the head of a file that a player reads first.
const HEAD: usize = 4 << 10;
/// Seed of everything that is random here.
const SEED: u64 = 1;

/// One thing to do on an empty volume.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// Makes so many files of so many bytes, unmounts and mounts.
    Mount {
        /// Files.
        files: u32,
        /// Bytes of each.
        bytes: u64,
    },
    /// Writes a file of so many bytes with an fsync at its end, loses power and mounts.
    Cut {
        /// Bytes.
        bytes: u64,
    },
    /// Writes so many files of so many bytes, mounts again and reads them.
    Transfer {
        /// Files.
        files: u32,
        /// Bytes of each.
        bytes: u64,
    },
    /// Reads 4 KiB at so many random places of a file of so many bytes, just after a mount.
    Seek {
        /// Bytes of the file.
        bytes: u64,
        /// Reads.
        reads: u32,
    },
    /// Writes a file of so many bytes and looks at the memory that metadata takes.
    Memory {
        /// Bytes of the file.
        bytes: u64,
    },
    /// The part of the time that blocks of one type take.
    Share(Scenario, BlockType),
    /// Writes so many bytes in files of 5 MB, each removed when the next is there, and counts checkpoints.
    Ring {
        /// Bytes.
        bytes: u64,
    },
}

/// What a player of music does (ScaleFFS, 5.5).
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
    fn count(self, all: [u64; 7]) -> u64 {
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

/// Files of music, and how many are downloaded.
const SONG: u64 = 5 << 20;
const SONGS: u32 = 20;
/// The film of the random reads.
const FILM: u64 = 100 << 20;
const FILM_READS: u32 = 1000;
/// Bytes of a checkpoint of ScaleFFS.
const CHECKPOINT: u64 = 1 << 10;

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Work::Mount { files, bytes } => write!(f, "mount with {files} files of {bytes} bytes"),
            Work::Cut { bytes } => write!(f, "mount after a power cut behind {bytes} bytes"),
            Work::Transfer { files, bytes } => write!(f, "write and read {files} files of {bytes} bytes"),
            Work::Seek { bytes, reads } => write!(f, "{reads} random reads of {SEEK} bytes in {bytes}"),
            Work::Memory { bytes } => write!(f, "write {bytes} bytes"),
            Work::Share(scenario, block) => write!(f, "{scenario:?}: time for {block:?}"),
            Work::Ring { bytes } => write!(f, "checkpoints of {bytes} bytes, files removed"),
        }
    }
}

impl Work {
    /// Does it on a chip that was formatted; returns figures.
    pub(super) fn measure(
        self,
        system: System,
        chip: SimChip,
        spec: &ChipSpec,
    ) -> Result<Vec<(Figure, f64)>, LabError> {
        match self {
            Work::Mount { files, bytes } => {
                let mounted = system.mount(chip)?;
                for number in 0..files {
                    write(mounted.fs(), number, bytes)?;
                }
                let (_, took) = mount(system, mounted.unmount()?)?;
                Ok(vec![(Figure::Mount, took)])
            }
            Work::Cut { bytes } => {
                let mounted = system.mount(chip)?;
                let ino = write(mounted.fs(), 0, bytes)?;
                mounted.fs().fsync(ino, false)?;
                let (_, took) = mount(system, mounted.cut()?)?;
                Ok(vec![(Figure::MountAfterCut, took)])
            }
            Work::Transfer { files, bytes } => transfer(system, chip, (files, bytes), spec),
            Work::Seek { bytes, reads } => {
                let mounted = system.mount(chip)?;
                write(mounted.fs(), 0, bytes)?;
                let mounted = system.mount(mounted.unmount()?)?;
                let before = mounted.stats()?.device_ns;
                seek(mounted.fs(), bytes, reads)?;
                let ns = mounted.stats()?.device_ns - before;
                Ok(vec![(Figure::Latency, float(ns) / f64::from(reads) / 1e6)])
            }
            Work::Memory { bytes } => {
                let mounted = system.mount(chip)?;
                write(mounted.fs(), 0, bytes)?;
                let memory = match &mounted {
                    Mounted::ScaleFfs(fs) => fs.memory().metadata_most,
                    Mounted::Nandfs(fs) => fs.info()?.fixed_memory_bytes,
                };
                Ok(vec![(Figure::Memory, float(memory as u64) / 1024.0)])
            }
            Work::Share(scenario, block) => share(system, chip, (scenario, block), spec),
            Work::Ring { bytes } => ring(system, chip, bytes, spec),
        }
    }
}

/// Mounts; milliseconds that the chip took.
fn mount(system: System, chip: SimChip) -> Result<(Mounted, f64), LabError> {
    let before = chip.stats().device_ns;
    let mounted = system.mount(chip)?;
    let took = mounted.stats()?.device_ns - before;
    Ok((mounted, float(took) / 1e6))
}

/// Makes a file of so many bytes.
fn write(fs: &dyn FileSystem, number: u32, bytes: u64) -> Result<Ino, LabError> {
    let new = NewNode { kind: FileKind::File, perm: 0o644, uid: 0, gid: 0, rdev: 0, target: b"" };
    let ino = fs.create(Ino::ROOT, format!("file {number}").as_bytes(), &new)?.ino;
    let part = vec![0xa5; STEP];
    for at in (0..bytes).step_by(STEP) {
        let length = usize::try_from(bytes - at).map_or(STEP, |left| left.min(STEP));
        let (now, _) = part.split_at(length);
        fs.write(ino, at, now)?;
    }
    Ok(ino)
}

/// Reads a file from its beginning, at most `most` bytes.
fn read(fs: &dyn FileSystem, number: u32, most: u64) -> Result<(), LabError> {
    let attr = fs.lookup(Ino::ROOT, format!("file {number}").as_bytes())?;
    let mut part = vec![0; STEP.min(usize::try_from(most).unwrap_or(STEP))];
    for at in (0..attr.size.min(most)).step_by(part.len()) {
        fs.read(attr.ino, at, &mut part)?;
    }
    Ok(())
}

fn seek(fs: &dyn FileSystem, bytes: u64, reads: u32) -> Result<(), LabError> {
    let ino = fs.lookup(Ino::ROOT, b"file 0")?.ino;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut part = vec![0; SEEK];
    for _ in 0..reads {
        fs.read(ino, random.random_range(0..bytes / SEEK as u64) * SEEK as u64, &mut part)?;
    }
    Ok(())
}

fn transfer(
    system: System,
    chip: SimChip,
    (files, bytes): (u32, u64),
    spec: &ChipSpec,
) -> Result<Vec<(Figure, f64)>, LabError> {
    let mounted = system.mount(chip)?;
    let before = mounted.stats()?.device_ns;
    for number in 0..files {
        write(mounted.fs(), number, bytes)?;
    }
    let chip = mounted.unmount()?;
    let written = chip.stats().device_ns - before;
    let mounted = system.mount(chip)?;
    let before = mounted.stats()?.device_ns;
    for number in 0..files {
        read(mounted.fs(), number, u64::MAX)?;
    }
    let read = mounted.stats()?.device_ns - before;
    let all = float(u64::from(files) * bytes);
    let pages = all / f64::from(spec.geometry().page_bytes);
    let rate = |ns: u64| all / 1024.0 / (float(ns) / 1e9);
    let percent = |ns: u64, page_ns: u64| 100.0 * pages * float(page_ns) / float(ns);
    let timing = spec.timing();
    Ok(vec![
        (Figure::WriteRate, rate(written)),
        (Figure::ReadRate, rate(read)),
        (Figure::WriteShare, percent(written, timing.program_ns)),
        (Figure::ReadShare, percent(read, timing.read_page_ns)),
    ])
}

/// ScaleFFS alone counts blocks by type.
fn share(
    system: System,
    chip: SimChip,
    (scenario, block): (Scenario, BlockType),
    spec: &ChipSpec,
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
                read(mounted.fs(), number, HEAD as u64)?;
            }
            let mut order: Vec<u32> = (0..SONGS).collect();
            order.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(SEED));
            for number in order {
                read(mounted.fs(), number, u64::MAX)?;
            }
        }
        Scenario::Seek => {
            write(mounted.fs(), 0, FILM)?;
            mounted = system.mount(mounted.unmount()?)?;
            seek(mounted.fs(), FILM, FILM_READS)?;
        }
    }
    let fs = mounted.scaleffs()?;
    let (blocks, timing) = (fs.blocks(), spec.timing());
    let [written, read] = [block.count(blocks.written), block.count(blocks.read)];
    let time = |written: u64, read: u64| float(written * timing.program_ns + read * timing.read_page_ns);
    let all = time(blocks.written.iter().sum(), blocks.read.iter().sum());
    Ok(vec![(Figure::TimeShare, 100.0 * time(written, read) / all)])
}

/// Years that the checkpoint region lasts if 4 GB are written in a day (ScaleFFS, 4.4 and equation 1). The other file systems
/// have none.
fn ring(system: System, chip: SimChip, bytes: u64, spec: &ChipSpec) -> Result<Vec<(Figure, f64)>, LabError> {
    const DAY: f64 = 4e9;
    let mounted = system.mount(chip)?;
    let songs = u32::try_from(bytes / SONG).unwrap_or(u32::MAX);
    for number in 0..songs {
        write(mounted.fs(), number, SONG)?;
        if let Some(before) = number.checked_sub(1) {
            mounted.fs().unlink(Ino::ROOT, format!("file {before}").as_bytes())?;
        }
    }
    let fs = mounted.scaleffs()?;
    let written = BlockType::Checkpoint.count(fs.blocks().written) * CHECKPOINT;
    let geometry = spec.geometry();
    let region =
        u64::from(fs.info().checkpoint_blocks) * u64::from(geometry.pages_per_block * geometry.page_bytes);
    let in_a_day = float(written) * DAY / float(u64::from(songs) * SONG);
    let days = f64::from(spec.endurance_erases()) * float(region) / in_a_day;
    Ok(vec![(Figure::Lifetime, days / 365.0)])
}

#[expect(clippy::cast_precision_loss, reason = "for the eye")]
fn float(number: u64) -> f64 {
    number as f64
}
