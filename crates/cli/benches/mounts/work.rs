//! What is done in a mount to measure it. Each returns rates.

use std::{
    fs::{self, File, OpenOptions},
    io::{Read, Write},
    os::unix::fs::FileExt,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Instant,
};

use crate::{forget, tree};

const BIG_BYTES: u64 = 512 << 20;
pub(crate) const PIECE: usize = 1 << 20;
const FILE_BYTES: u64 = 64 << 20;
const WRITES: u32 = 1000;
const TRANSACTIONS: u32 = 1000;
const JOBS: u64 = 4;
const READS: u32 = 5000;

/// A large file, written and read in pieces of 1 MiB.
pub(crate) fn sequential(dir: &Path) -> Vec<f64> {
    let path = dir.join("big");
    let piece: Vec<u8> = (0..PIECE).map(|at| u8::try_from(at % 251).unwrap()).collect();
    let start = Instant::now();
    let mut file = File::create(&path).unwrap();
    (0..BIG_BYTES / piece.len() as u64).for_each(|_| file.write_all(&piece).unwrap());
    let write = megabytes(start);
    file.sync_all().unwrap();
    drop(file);
    forget(&path);
    vec![write, read(&path)]
}

/// The same read of a file of which nothing is in memory, neither here nor on the host.
pub(crate) fn uncached(dir: &Path) -> Vec<f64> {
    sequential(dir);
    fs::write("/proc/sys/vm/drop_caches", "1").unwrap();
    vec![read(&dir.join("big"))]
}

fn read(path: &Path) -> f64 {
    let start = Instant::now();
    let (mut file, mut buffer, mut bytes) = (File::open(path).unwrap(), vec![0; PIECE], 0);
    while bytes < BIG_BYTES {
        let count = file.read(&mut buffer).unwrap();
        assert!(count > 0, "the file has {bytes} bytes");
        bytes += count as u64;
    }
    megabytes(start)
}

fn megabytes(start: Instant) -> f64 {
    f64::from(u32::try_from(BIG_BYTES).unwrap()) / start.elapsed().as_secs_f64() / 1e6
}

/// Blocks anywhere in a file, each with fsync.
pub(crate) fn random(dir: &Path) -> Vec<f64> {
    let path = dir.join("file");
    let piece = vec![7; PIECE];
    let mut file = File::create(&path).unwrap();
    (0..FILE_BYTES / piece.len() as u64).for_each(|_| file.write_all(&piece).unwrap());
    file.sync_all().unwrap();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    let (mut state, block) = (7, [9; 4096]);
    let start = Instant::now();
    for _ in 0..WRITES {
        let at = tree::next(&mut state) % (FILE_BYTES / 4096) * 4096;
        file.write_all_at(&block, at).unwrap();
        file.sync_all().unwrap();
    }
    vec![rate(WRITES, start)]
}

/// Blocks anywhere in a large file, read by four jobs at a time.
pub(crate) fn jobs(dir: &Path) -> Vec<f64> {
    sequential(dir);
    let path = dir.join("big");
    forget(&path);
    let file = File::open(&path).unwrap();
    let start = Instant::now();
    thread::scope(|scope| {
        for job in 0..JOBS {
            let file = &file;
            scope.spawn(move || {
                let (mut state, mut block) = (job, [0; 4096]);
                for _ in 0..READS {
                    let at = tree::next(&mut state) % (BIG_BYTES / 4096) * 4096;
                    file.read_exact_at(&mut block, at).unwrap();
                }
            });
        }
    });
    vec![rate(READS * u32::try_from(JOBS).unwrap(), start)]
}

/// Transactions of SQLite.
pub(crate) fn database(dir: &Path) -> Vec<f64> {
    let mut program = Command::new("sqlite3")
        .arg(dir.join("database"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let inserts: Vec<String> = (0..TRANSACTIONS)
        .map(|number| format!("INSERT INTO t VALUES({number}, '{:0>100}');\n", number * 7))
        .collect();
    let head = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE t(id, text);\n";
    let words = [head, &inserts.concat()].concat();
    let start = Instant::now();
    program.stdin.take().unwrap().write_all(words.as_bytes()).unwrap();
    assert!(program.wait().unwrap().success());
    vec![rate(TRANSACTIONS, start)]
}

fn rate(count: u32, start: Instant) -> f64 {
    f64::from(count) / start.elapsed().as_secs_f64()
}
