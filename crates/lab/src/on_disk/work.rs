//! The work on a volume of F2FS, and its counters.

use core::fmt;

use pumice_media::MemDisk;
use pumice_vfs::Ino;
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

use super::{Mount, mounted::Mounted};
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
    /// A mail server, while photographs are copied (F2FS, 3.2.3).
    Mail,
}

/// Bytes of a volume, and of the one for mails, which is not cleaned.
const VOLUME: u64 = 256 << 20;
const MAIL_VOLUME: u64 = 1 << 30;
/// Times that the hot file is written over, and of each time the part of the volume.
const RUNS: u64 = 10;
const RUN: u64 = VOLUME / 6 / BLOCK as u64;
/// Blocks that users write to a file server when the volume is full.
const SERVED: u64 = 50_000;
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
            Work::FileServer { full } => write!(f, "file server, {SERVED} blocks at {full} of 1000"),
            Work::Mail => write!(f, "{MAIL_BYTES} bytes of mails, and photographs"),
        }
    }
}

impl Work {
    pub(super) fn volume_bytes(self) -> u64 {
        if self == Work::Mail { MAIL_VOLUME } else { VOLUME }
    }

    pub(super) fn measure(self, mount: Mount, seed: u64) -> Result<Vec<(Figure, f64)>, LabError> {
        let mounted = Mounted::in_memory(self.volume_bytes(), mount)?;
        match self {
            Work::Overwrite { cold, hot, idle } => overwrite(&mounted, [cold, hot], idle, seed),
            Work::FileServer { full } => {
                let mut server = FileServer::fill(mounted.fs(), full, seed)?;
                let before = mounted.written();
                let asked = server.go_on(SERVED)?;
                mounted.fs().sync()?;
                Ok(vec![(Figure::Written, ratio(mounted.written() - before, asked))])
            }
            Work::Mail => mail(mounted, seed),
        }
    }
}

fn overwrite(
    mounted: &Mounted<MemDisk>,
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
    let (mut all, mut most) = (0, 0);
    for _ in 0..RUNS {
        while idle && fs.maintain()? {}
        let before = mounted.written();
        for _ in 0..RUN {
            let block = random.random_range(0..blocks);
            fs.write(hot, block * u64::from(BLOCK), &[0x5a; BLOCK as usize])?;
        }
        fs.sync()?;
        let written = mounted.written() - before;
        all += written;
        most = most.max(written);
    }
    Ok(vec![(Figure::Written, ratio(all, RUNS * RUN)), (Figure::WrittenMost, ratio(most, RUN))])
}

/// Mails and photographs in turn; then how full the segments are that were written.
fn mail(mounted: Mounted<MemDisk>, seed: u64) -> Result<Vec<(Figure, f64)>, LabError> {
    let fs = mounted.fs();
    let mut server = MailServer::fill(fs, MAILS, MAIL_DIRS, seed)?;
    let (mut written, mut photos) = (0, 0);
    while written < MAIL_BYTES {
        written += server.round()?;
        if written / MAIL_FOR_A_PHOTO > photos {
            let ino = make(fs, Ino::ROOT, &format!("{photos}.jpg"))?;
            append(fs, ino, 0, PHOTO)?;
            photos += 1;
        }
    }
    let segments = mounted.segments()?;
    let share = |is_meant: &dyn Fn(u32) -> bool| {
        let count = segments.iter().filter(|blocks| is_meant(**blocks)).count();
        100.0 * ratio(count as u64, segments.len() as u64)
    };
    Ok(vec![
        (Figure::SegmentsSparse, share(&|blocks| (1..=128).contains(&blocks))),
        (Figure::SegmentsDense, share(&|blocks| (384..512).contains(&blocks))),
        (Figure::SegmentsFull, share(&|blocks| blocks == 512)),
    ])
}

fn ratio(part: u64, of: u64) -> f64 {
    float(part) / float(of)
}
