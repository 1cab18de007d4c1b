//! The work on a volume of F2FS, and its counters.

use core::fmt;

use pumice_vfs::Ino;
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

use super::{
    Mount,
    mounted::{Mounted, Segment},
    watched::Watched,
};
use crate::{
    LabError,
    disk::BLOCK,
    files::{FileServer, MailServer, append, float, make},
    measured::Figure,
};

/// One thing to do on an empty volume.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// Fills parts of a user's space, in thousandths, with a cold and a hot file. Ten times, it then writes 4 KiB at
    /// random places of the hot one until a sixth of the volume's bytes are written (F2FS, 3.2.4).
    Overwrite {
        /// Cold part.
        cold: u64,
        /// Hot part.
        hot: u64,
        /// All that idle time allows is done in front of each time; those writes are not counted.
        idle: bool,
    },
    /// A file server, when the volume is full to so many thousandths (F2FS, 3.2.5).
    FileServer {
        /// Full part.
        full: u64,
    },
    /// A mail server, while photographs are copied, and mails alone until so many times as many are written (F2FS, 3.2.3).
    Mail {
        /// Times.
        age: u64,
    },
}

/// Bytes of a volume, and of the one for mails, which is not cleaned.
const VOLUME: u64 = 256 << 20;
const MAIL_VOLUME: u64 = 1 << 30;
/// Times that the hot file is written over, and of each time the part of the volume.
const RUNS: u64 = 10;
const RUN: u64 = VOLUME / 6 / BLOCK as u64;
/// Rounds of a file server when the volume is full, and the blocks that users write in each.
const ROUNDS: usize = 4;
const SERVED: u64 = 20_000;
/// Mails and their directories; bytes that the server writes, and bytes for each photograph.
const MAILS: u32 = 3000;
const MAIL_DIRS: u32 = 30;
const MAIL_BYTES: u64 = 200 << 20;
const PHOTO: u64 = 500 << 10;
/// Photographs are 2.5 of each 9 bytes.
const MAIL_FOR_A_PHOTO: u64 = PHOTO * 65 / 25;

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Work::Overwrite { cold, hot, idle } => {
                let pauses = if *idle { ", idle in between" } else { "" };
                write!(
                    f,
                    "{RUNS} times {RUN} random blocks of a file on {hot} of 1000, beside {cold} that stay{pauses}"
                )
            }
            Work::FileServer { full } => {
                write!(f, "file server, {ROUNDS} times {SERVED} blocks at {full} of 1000")
            }
            Work::Mail { age } => {
                write!(f, "{MAIL_BYTES} bytes of mails, and photographs; {age} times as many mails in all")
            }
        }
    }
}

impl Work {
    pub(super) fn volume_bytes(self) -> u64 {
        if matches!(self, Work::Mail { .. }) { MAIL_VOLUME } else { VOLUME }
    }

    pub(super) fn measure(self, mount: Mount, seed: u64) -> Result<Vec<(Figure, f64)>, LabError> {
        let mounted = Mounted::in_memory(self.volume_bytes(), mount)?;
        match self {
            Work::Overwrite { cold, hot, idle } => overwrite(&mounted, [cold, hot], idle, seed),
            Work::FileServer { full } => serve(&mounted, full, seed),
            Work::Mail { age } => mail(&mounted, age, seed),
        }
    }
}

/// A file server in rounds.
fn serve(mounted: &Mounted<Watched>, full: u64, seed: u64) -> Result<Vec<(Figure, f64)>, LabError> {
    let mut server = FileServer::fill(mounted.fs(), full, seed)?;
    mounted.fs().sync()?;
    let (before, start) = (mounted.written(), holes(&mounted.segments()?));
    let (mut all, mut ns, mut rates) = (0, 0, Vec::new());
    for _ in 0..ROUNDS {
        let before = mounted.ns();
        let asked = server.go_on(SERVED)?;
        mounted.fs().sync()?;
        let took = mounted.ns() - before;
        rates.push(rate(asked, took));
        (all, ns) = (all + asked, ns + took);
    }
    let [first, second, ..] = rates[..] else { return Err(LabError::Setup("two rounds".to_owned())) };
    let end = holes(&mounted.segments()?);
    Ok(vec![
        (Figure::Written, ratio(mounted.written() - before, all)),
        (Figure::Throughput, rate(all, ns)),
        (Figure::Drop, 100.0 * (1.0 - second / first)),
        (Figure::Threaded, 100.0 * ratio(end[0] - start[0], end[1] - start[1])),
    ])
}

/// Blocks that were written in holes, and all blocks.
fn holes(segments: &[Segment]) -> [u64; 2] {
    let in_holes = segments.iter().map(|segment| segment.written.in_holes).sum::<u64>();
    [in_holes, in_holes + segments.iter().map(|segment| segment.written.in_order).sum::<u64>()]
}

/// MB in a second.
fn rate(blocks: u64, ns: u64) -> f64 {
    1000.0 * ratio(blocks * u64::from(BLOCK), ns)
}

fn overwrite(
    mounted: &Mounted<Watched>,
    [cold, hot]: [u64; 2],
    idle: bool,
    seed: u64,
) -> Result<Vec<(Figure, f64)>, LabError> {
    let fs = mounted.fs();
    let free = fs.space()?.free_bytes / u64::from(BLOCK);
    let blocks = free * hot / 1000;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    for (name, blocks) in [("cold", free * cold / 1000), ("hot", blocks)] {
        let ino = make(fs, Ino::ROOT, name)?;
        append(fs, ino, 0, blocks * u64::from(BLOCK))?;
    }
    fs.sync()?;
    let hot = fs.lookup(Ino::ROOT, b"hot")?.ino;
    let (mut all, mut most, mut ns) = (0, 0, 0);
    for _ in 0..RUNS {
        while idle && fs.maintain()? {}
        let (before, start) = (mounted.written(), mounted.ns());
        for _ in 0..RUN {
            let block = random.random_range(0..blocks);
            fs.write(hot, block * u64::from(BLOCK), &[0x5a; BLOCK as usize])?;
        }
        fs.sync()?;
        let written = mounted.written() - before;
        all += written;
        most = most.max(written);
        ns += mounted.ns() - start;
    }
    Ok(vec![
        (Figure::Written, ratio(all, RUNS * RUN)),
        (Figure::WrittenMost, ratio(most, RUN)),
        (Figure::Throughput, rate(RUNS * RUN, ns)),
    ])
}

/// Mails and photographs in turn, then mails; then how full the segments are that were written.
fn mail(mounted: &Mounted<Watched>, age: u64, seed: u64) -> Result<Vec<(Figure, f64)>, LabError> {
    let fs = mounted.fs();
    let mut server = MailServer::fill(fs, MAILS, MAIL_DIRS, seed)?;
    let (mut written, mut photos) = (0, 0);
    while written < age * MAIL_BYTES {
        written += server.round()?;
        if written < MAIL_BYTES && written / MAIL_FOR_A_PHOTO > photos {
            let ino = make(fs, Ino::ROOT, &format!("{photos}.jpg"))?;
            append(fs, ino, 0, PHOTO)?;
            photos += 1;
        }
    }
    fs.sync()?;
    let segments = mounted.segments()?;
    let written = segments.iter().filter(|it| it.in_use > 0 || it.written.in_order + it.written.in_holes > 0);
    let written: Vec<u32> = written.map(|segment| segment.in_use).collect();
    let in_use: Vec<u32> = written.iter().copied().filter(|blocks| *blocks > 0).collect();
    let share = |is_meant: &dyn Fn(u32) -> bool| {
        let count = in_use.iter().filter(|blocks| is_meant(**blocks)).count();
        100.0 * ratio(count as u64, in_use.len() as u64)
    };
    Ok(vec![
        (Figure::SegmentsEmpty, 100.0 * (1.0 - ratio(in_use.len() as u64, written.len() as u64))),
        (Figure::SegmentsOverHalf, share(&|blocks| blocks > 256)),
        (Figure::SegmentsSparse, share(&|blocks| (1..=128).contains(&blocks))),
        (Figure::SegmentsDense, share(&|blocks| (384..512).contains(&blocks))),
        (Figure::SegmentsFull, share(&|blocks| blocks == 512)),
    ])
}

fn ratio(part: u64, of: u64) -> f64 {
    float(part) / float(of)
}
