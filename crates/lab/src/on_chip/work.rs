//! The work on a file system, and its measurements.

use core::fmt;

use pumice_media::{BlockId, ChipSpec, Nand, NandStats, SimChip};
use pumice_vfs::Ino;

use super::{
    BlockType, Damage, Scenario, System,
    damage::{lost, repair, scrub},
    index::{index, lookups},
    large::{large, reread},
    share::share,
    system::Mounted,
};
use crate::{
    LabError,
    files::{
        POSTMARK_BYTES, POSTMARKS, Population, PostMark, SEEK, append, float, make, make_dir, read, seek,
        write, yaffs_seconds,
    },
    measured::{Figure, hot_share},
};

/// Bytes of a file of the ring.
const SONG: u64 = 5 << 20;

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
    /// Writes so many files of so many bytes, then removes every second and writes it again, so many times; mounts and reads
    /// them.
    Refill {
        /// Files.
        files: u32,
        /// Bytes of each.
        bytes: u64,
        /// Rounds.
        rounds: u32,
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
    /// Fills so many percent of the volume with files of all sizes, unmounts and mounts, loses power and mounts.
    Scan {
        /// Percent.
        percent: u64,
    },
    /// An equation of the CFFS paper for the mount of such a volume.
    ScanBy {
        /// Percent.
        percent: u64,
        /// The equation.
        equation: ScanEquation,
    },
    /// PostMark with so many files and transactions.
    PostMark {
        /// Files at the beginning.
        files: u32,
        /// Transactions.
        transactions: u32,
        /// Bytes of a file, least and most.
        sizes: (u64, u64),
    },
    /// Writes a file of so many bytes by 8 KiB, reads it, writes it over, then half as often at random places, and reads there.
    Large {
        /// Bytes.
        bytes: u64,
        /// Bytes of each 4 KiB that do not compress.
        noise: usize,
    },
    /// Writes a file of so many bytes by 8 KiB and reads it twice, with so many bytes of memory for cached data.
    Reread {
        /// Bytes.
        bytes: u64,
        /// Bytes of memory.
        cache_bytes: usize,
    },
    /// PostMark with so many files, so many times.
    Wear {
        /// Files.
        files: u32,
        /// Times.
        rounds: u64,
    },
    /// So many files of 16 KiB, and this happens to the chip while it lies on the shelf; then all are read.
    Damaged {
        /// Files.
        files: u32,
        /// The damage.
        damage: Damage,
    },
    /// Reads a page that has to be brought back by the parity of its erase block, or of its segment.
    Repair {
        /// A page of its segment is lost, too.
        in_segment: bool,
    },
    /// So many files of 16 KiB, and a scrub.
    Scrub {
        /// Files.
        files: u32,
        /// The scrub looks at signatures alone.
        is_quick: bool,
    },
    /// So many files of one byte: finds 500 inodes just after a mount, and changes 500, so many before each sync.
    Index {
        /// Files.
        files: u32,
        /// Changes for a sync.
        together: u32,
    },
    /// So many files of one byte, whose inodes are looked up in any order.
    Lookups {
        /// Files.
        files: u32,
        /// Bytes of memory for cached data.
        cache_bytes: usize,
    },
    /// Writes so many bytes in files of 5 MB, each removed before the next, so that victims hold nothing live.
    Reclaim {
        /// Bytes.
        bytes: u64,
    },
    /// Writes so many bytes in files of 5 MB, each removed when the next is there, and counts checkpoints.
    Ring {
        /// Bytes.
        bytes: u64,
    },
}

/// The pages that a mount reads (CFFS, section 3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScanEquation {
    /// Equation (1), of YAFFS.
    Yaffs,
    /// Equation (2), of CFFS.
    Cffs,
}

/// Files of a directory, where there are many.
const IN_DIRECTORY: u32 = 1000;
/// Bytes of a checkpoint of ScaleFFS.
const CHECKPOINT: u64 = 1 << 10;

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Work::Mount { files, bytes } => write!(f, "mount with {files} files of {bytes} bytes"),
            Work::Cut { bytes } => write!(f, "mount after a power cut behind {bytes} bytes"),
            Work::Transfer { files, bytes } => write!(f, "write and read {files} files of {bytes} bytes"),
            Work::Refill { files, bytes, rounds } => {
                write!(
                    f,
                    "write {files} files of {bytes} bytes, every second {rounds} times more, and read them"
                )
            }
            Work::Lookups { files, cache_bytes } => {
                write!(f, "{files} inodes looked up with {cache_bytes} bytes of cache")
            }
            Work::Seek { bytes, reads } => write!(f, "{reads} random reads of {SEEK} bytes in {bytes}"),
            Work::Memory { bytes } => write!(f, "write {bytes} bytes"),
            Work::Share(scenario, block) => write!(f, "{scenario:?}: time for {block:?}"),
            Work::Scan { percent } => write!(f, "mount with files of all sizes on {percent} %"),
            Work::ScanBy { percent, equation } => {
                write!(f, "mount with files of all sizes on {percent} %, equation of {equation:?}")
            }
            Work::Reclaim { bytes } => write!(f, "{bytes} bytes in files, each removed before the next"),
            Work::Large { bytes, noise } => {
                write!(f, "a large file of {bytes} bytes, {noise} of 4096 without order")
            }
            Work::Reread { bytes, cache_bytes } => {
                write!(f, "a file of {bytes} bytes, read twice with {cache_bytes} bytes of cache")
            }
            Work::Wear { files, rounds } => write!(f, "PostMark with {files} files, {rounds} times"),
            Work::Damaged { files, damage } => write!(f, "{files} files; {damage}"),
            Work::Repair { in_segment: false } => write!(f, "repair of a page from its erase block"),
            Work::Repair { in_segment: true } => write!(f, "repair of a page from its segment"),
            Work::Scrub { files, is_quick } => {
                write!(f, "{files} files and a {} scrub", if *is_quick { "quick" } else { "full" })
            }
            Work::Index { files, together } => {
                write!(f, "{files} inodes, looked up and changed, {together} for a sync")
            }
            Work::PostMark { files, transactions, sizes: (least, most) } => {
                write!(
                    f,
                    "PostMark, {files} files of {least} to {most} bytes and {transactions} transactions"
                )
            }
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
        seed: u64,
    ) -> Result<Vec<(Figure, f64)>, LabError> {
        match self {
            Work::Mount { files, bytes } => mount_of_files(system, chip, files, bytes),
            Work::Cut { bytes } => mount_after_cut(system, chip, bytes),
            Work::Transfer { files, bytes } => transfer(system, chip, (files, bytes), spec),
            Work::Seek { bytes, reads } => latency(system, chip, (bytes, reads), seed),
            Work::Memory { bytes } => memory(system, chip, bytes),
            Work::Share(scenario, block) => share(system, chip, (scenario, block), spec, seed),
            Work::Scan { percent } => scan(system, chip, percent, seed),
            Work::ScanBy { percent, equation } => scan_by(system, chip, (percent, equation), spec, seed),
            Work::PostMark { files, transactions, sizes } => {
                postmark(system, chip, (files, transactions), sizes, (spec, seed))
            }
            Work::Large { bytes, noise } => large(system, chip, (bytes, noise), spec, seed),
            Work::Refill { files, bytes, rounds } => refill(system, chip, (files, bytes), rounds),
            Work::Lookups { files, cache_bytes } => lookups(system, chip, (files, cache_bytes), seed),
            Work::Reread { bytes, cache_bytes } => reread(system, chip, bytes, cache_bytes),
            Work::Wear { files, rounds } => wear(system, chip, (files, rounds), seed),
            Work::Damaged { files, damage } => lost(system, chip, (files, damage), seed),
            Work::Repair { in_segment } => repair(system, chip, in_segment),
            Work::Scrub { files, is_quick } => scrub(system, chip, files, is_quick),
            Work::Index { files, together } => index(system, chip, (files, together), seed),
            Work::Reclaim { bytes } => reclaim(system, chip, bytes, spec),
            Work::Ring { bytes } => ring(system, chip, bytes, spec),
        }
    }
}

fn mount_of_files(
    system: System,
    chip: SimChip,
    files: u32,
    bytes: u64,
) -> Result<Vec<(Figure, f64)>, LabError> {
    let mounted = system.mount(chip)?;
    let mut dir = Ino::ROOT;
    for number in 0..files {
        // Some look at all names of a directory for each new one.
        if number > 0 && number % IN_DIRECTORY == 0 {
            dir = make_dir(mounted.fs(), &format!("dir {number}"))?;
        }
        let ino = make(mounted.fs(), dir, &format!("file {number}"))?;
        append(mounted.fs(), ino, 0, bytes)?;
    }
    let (mounted, did) = mount(system, mounted.unmount()?)?;
    let mut figures = vec![(Figure::Mount, ms(did))];
    if let Mounted::ScaleFfs(fs) = &mounted {
        let maps = BlockType::MapIndex.count(fs.volume().blocks().read);
        figures.push((Figure::MapBlocks, float(maps)));
    }
    Ok(figures)
}

fn mount_after_cut(system: System, chip: SimChip, bytes: u64) -> Result<Vec<(Figure, f64)>, LabError> {
    let mounted = system.mount(chip)?;
    let ino = write(mounted.fs(), 0, bytes)?;
    mounted.fs().fsync(ino, false)?;
    let (_, did) = mount(system, mounted.cut()?)?;
    let looks = did.page_reads + did.spare_reads;
    Ok(vec![(Figure::MountAfterCut, ms(did)), (Figure::MountReads, float(looks))])
}

/// The latency of reads at random places of a file.
fn latency(
    system: System,
    chip: SimChip,
    (bytes, reads): (u64, u32),
    seed: u64,
) -> Result<Vec<(Figure, f64)>, LabError> {
    let mounted = system.mount(chip)?;
    write(mounted.fs(), 0, bytes)?;
    let mounted = system.mount(mounted.unmount()?)?;
    let before = mounted.stats()?.device_ns;
    seek(mounted.fs(), bytes, reads, seed)?;
    let ns = mounted.stats()?.device_ns - before;
    Ok(vec![(Figure::Latency, float(ns) / f64::from(reads) / 1e6)])
}

fn memory(system: System, chip: SimChip, bytes: u64) -> Result<Vec<(Figure, f64)>, LabError> {
    let mounted = system.mount(chip)?;
    write(mounted.fs(), 0, bytes)?;
    let memory = match &mounted {
        Mounted::ScaleFfs(fs) => fs.volume().memory().metadata_most,
        Mounted::Cffs(_) | Mounted::Rcffs(_) => {
            return Err(LabError::Setup("only scaleffs and nandfs count their memory".to_owned()));
        }
        Mounted::Nandfs(fs) => fs.info()?.fixed_memory_bytes,
    };
    Ok(vec![(Figure::Memory, float(memory as u64) / 1024.0)])
}

/// The mount of a file system that scans the chip: in good order, and after a power cut.
fn scan(system: System, chip: SimChip, percent: u64, seed: u64) -> Result<Vec<(Figure, f64)>, LabError> {
    let mounted = system.mount(chip)?;
    Population::make(mounted.fs(), percent, seed)?;
    let (mounted, clean) = mount(system, mounted.unmount()?)?;
    let (_, cut) = mount(system, mounted.cut()?)?;
    let looks = clean.page_reads + clean.spare_reads;
    Ok(vec![(Figure::Mount, ms(clean)), (Figure::MountAfterCut, ms(cut)), (Figure::MountReads, float(looks))])
}

/// The results of the paper's equations for the same files.
fn scan_by(
    system: System,
    chip: SimChip,
    (percent, equation): (u64, ScanEquation),
    spec: &ChipSpec,
    seed: u64,
) -> Result<Vec<(Figure, f64)>, LabError> {
    let population = Population::make(system.mount(chip)?.fs(), percent, seed)?;
    let page = u64::from(spec.geometry().page_bytes);
    let looks = match equation {
        ScanEquation::Yaffs => population.equation_1(page),
        ScanEquation::Cffs => population.equation_2(page),
    };
    Ok(vec![(Figure::MountReads, float(looks))])
}

/// Mounts; the chip's counters of the mount.
fn mount(system: System, chip: SimChip) -> Result<(Mounted, NandStats), LabError> {
    let before = chip.stats();
    let mounted = system.mount(chip)?;
    let did = mounted.stats()? - before;
    Ok((mounted, did))
}

fn ms(did: NandStats) -> f64 {
    float(did.device_ns) / 1e6
}

fn postmark(
    system: System,
    chip: SimChip,
    (files, transactions): (u32, u32),
    (least, most): (u64, u64),
    (spec, seed): (&ChipSpec, u64),
) -> Result<Vec<(Figure, f64)>, LabError> {
    let mounted = system.mount(chip)?;
    let before = mounted.stats()?;
    let page = u64::from(spec.geometry().page_bytes);
    let yaffs_pages = PostMark::run(mounted.fs(), (files, transactions), (least..=most, page), seed)?;
    let did = mounted.stats()? - before;
    let mut figures = vec![
        (Figure::Programs, float(did.programs)),
        (Figure::TransactionRate, f64::from(transactions) / (float(did.device_ns) / 1e9)),
    ];
    let rate = f64::from(transactions) / yaffs_seconds(float(yaffs_pages), spec);
    figures.push((Figure::YaffsRate, rate));
    if let Some((copied, reclaimed)) = mounted.cleaned()?.filter(|(_, reclaimed)| *reclaimed > 0) {
        figures.push((Figure::ExtraWrites, float(copied) / float(reclaimed)));
    }
    let (_, programs) = mounted.unmount_counted()?;
    figures.extend(hot_share(programs).map(|share| (Figure::HotShare, share)));
    Ok(figures)
}

/// How evenly the blocks are erased, and the pages copied for each.
fn wear(
    system: System,
    chip: SimChip,
    (files, rounds): (u32, u64),
    seed: u64,
) -> Result<Vec<(Figure, f64)>, LabError> {
    let (least, most) = POSTMARK_BYTES;
    let page = u64::from(chip.geometry().page_bytes);
    let mounted = system.mount(chip)?;
    for round in 0..rounds {
        let seed = seed * rounds + round;
        PostMark::run(mounted.fs(), (files, POSTMARKS), (least..=most, page), seed)?;
    }
    let mut figures = Vec::new();
    if let Some((copied, reclaimed)) = mounted.cleaned()?.filter(|(_, reclaimed)| *reclaimed > 0) {
        figures.push((Figure::ExtraWrites, float(copied) / float(reclaimed)));
    }
    let mut chip = mounted.unmount()?;
    let mut erases = Vec::new();
    for block in (0..chip.geometry().blocks).map(BlockId) {
        if !chip.is_bad(block).map_err(|error| LabError::Setup(error.to_string()))? {
            erases.push(f64::from(chip.erase_count(block)));
        }
    }
    let mean = erases.iter().sum::<f64>() / float(erases.len() as u64);
    let square =
        erases.iter().map(|erases| (erases - mean).powi(2)).sum::<f64>() / float(erases.len() as u64);
    figures.push((Figure::WearSpread, 100.0 * square.sqrt() / mean));
    Ok(figures)
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

/// The mount of a volume whose log lies in any order, and the throughput there.
fn refill(
    system: System,
    chip: SimChip,
    (files, bytes): (u32, u64),
    rounds: u32,
) -> Result<Vec<(Figure, f64)>, LabError> {
    let mounted = system.mount(chip)?;
    for number in 0..files {
        write(mounted.fs(), number, bytes)?;
    }
    for round in 0..rounds {
        let some = || (round % 2..files).step_by(2);
        for number in some() {
            mounted.fs().unlink(Ino::ROOT, format!("file {number}").as_bytes())?;
        }
        for number in some() {
            write(mounted.fs(), number, bytes)?;
        }
    }
    let (mounted, did) = mount(system, mounted.unmount()?)?;
    let before = mounted.stats()?.device_ns;
    for number in 0..files {
        read(mounted.fs(), number, u64::MAX)?;
    }
    let seconds = float(mounted.stats()?.device_ns - before) / 1e9;
    let rate = float(u64::from(files) * bytes) / 1024.0 / seconds;
    Ok(vec![(Figure::Mount, ms(did)), (Figure::ReadRate, rate)])
}

/// Spare areas looked at and the erase, for each erase block that was reclaimed.
fn reclaim(
    system: System,
    chip: SimChip,
    bytes: u64,
    spec: &ChipSpec,
) -> Result<Vec<(Figure, f64)>, LabError> {
    let mounted = system.mount(chip)?;
    for number in 0..u32::try_from(bytes / SONG).unwrap_or(u32::MAX) {
        write(mounted.fs(), number, SONG)?;
        mounted.fs().sync()?;
        mounted.fs().unlink(Ino::ROOT, format!("file {number}").as_bytes())?;
    }
    let (did, timing) = (mounted.stats()?, spec.timing());
    let spent = did.spare_reads * timing.read_spare_ns + did.erases * timing.erase_ns;
    Ok(vec![(Figure::Reclaim, float(spent) / float(did.erases) / 1e6)])
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
    let written = BlockType::Checkpoint.count(fs.volume().blocks().written) * CHECKPOINT;
    let geometry = spec.geometry();
    let region =
        u64::from(fs.info().checkpoint_blocks) * u64::from(geometry.pages_per_block * geometry.page_bytes);
    let in_a_day = float(written) * DAY / float(u64::from(songs) * SONG);
    let days = f64::from(spec.endurance_erases()) * float(region) / in_a_day;
    Ok(vec![(Figure::Lifetime, days / 365.0)])
}
