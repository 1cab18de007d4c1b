//! The measurements of a mount.

use std::{
    fs::{self, File},
    io::Read,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};

use rustix::mount::{MountFlags, mount_remount};

use crate::{
    forget,
    mounts::Server,
    tree::{self, BIG_BYTES, LISTED},
};

const RANDOM_READS: u32 = 20_000;
const LISTINGS: u32 = 20;

/// The pass-through keeps a file open for every name that the kernel keeps, and may have 20,000.
const STATS_AT_A_TIME: usize = 10_000;
const PAUSE_AFTER_FORGETTING: Duration = Duration::from_millis(500);

/// A figure: more is better.
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    /// The number of turns: short ones depend on where the kernel puts reader and server.
    pub(crate) turns: usize,
    /// Measures in a fresh mount.
    pub(crate) measure: fn(&Server, &Path) -> f64,
}

pub(crate) const FIGURES: [Figure; 5] = [
    Figure { name: "sequential read of 600 MiB, cold", unit: "MB/s", turns: 5, measure: cold },
    Figure { name: "the same, in the host's cache", unit: "MB/s", turns: 5, measure: warm },
    Figure { name: "20,000 random reads of 4 KiB", unit: "reads/s", turns: 25, measure: random },
    Figure { name: "stat of 40,000 files", unit: "files/s", turns: 5, measure: stat },
    Figure { name: "readdir of 20,000 entries, 20 times", unit: "entries/s", turns: 5, measure: readdir },
];

/// Neither the host nor the mount has the content in memory.
fn cold(server: &Server, dir: &Path) -> f64 {
    forget(&server.source);
    read_through(&dir.join("big"))
}

/// The host has the content in memory, the mount has not.
fn warm(server: &Server, dir: &Path) -> f64 {
    read_through(&server.source);
    read_through(&dir.join("big"))
}

/// Megabytes in a second.
fn read_through(path: &Path) -> f64 {
    let mut file = File::open(path).unwrap();
    let mut buffer = vec![0; 1 << 20];
    let (start, mut bytes) = (Instant::now(), 0_usize);
    while bytes < usize::try_from(BIG_BYTES).unwrap() {
        let count = file.read(&mut buffer).unwrap();
        assert!(count > 0, "the file has {bytes} bytes");
        bytes += count;
    }
    rate(u32::try_from(bytes).unwrap(), start) / 1e6
}

/// The host has the content in memory.
fn random(server: &Server, dir: &Path) -> f64 {
    read_through(&server.source);
    let file = File::open(dir.join("big")).unwrap();
    let (mut state, mut buffer) = (7, [0; 4096]);
    let start = Instant::now();
    for _ in 0..RANDOM_READS {
        let block = tree::next(&mut state) % (BIG_BYTES / 4096);
        file.read_exact_at(&mut buffer, block * 4096).unwrap();
    }
    rate(RANDOM_READS, start)
}

/// Each file once, in parts that the kernel forgets in between, off the clock.
fn stat(_: &Server, dir: &Path) -> f64 {
    let paths: Vec<PathBuf> = tree::small_files().map(|path| dir.join(path)).collect();
    let mut time = Duration::ZERO;
    for part in paths.chunks(STATS_AT_A_TIME) {
        let start = Instant::now();
        for path in part {
            assert_eq!(fs::symlink_metadata(path).unwrap().len(), 100);
        }
        time += start.elapsed();
        // Mounting it once more drops all names that the kernel keeps, and tells the server.
        mount_remount(dir, MountFlags::RDONLY, c"").unwrap();
        sleep(PAUSE_AFTER_FORGETTING);
    }
    f64::from(u32::try_from(paths.len()).unwrap()) / time.as_secs_f64()
}

/// Several times, for once takes 10 ms.
fn readdir(_: &Server, dir: &Path) -> f64 {
    let start = Instant::now();
    for _ in 0..LISTINGS {
        let count = fs::read_dir(dir.join("list")).unwrap().map(Result::unwrap).count();
        assert_eq!(count, usize::try_from(LISTED).unwrap());
    }
    rate(LISTED * LISTINGS, start)
}

fn rate(count: u32, start: Instant) -> f64 {
    f64::from(count) / start.elapsed().as_secs_f64()
}
