//! One byte of metadata changed at a time: an answer or an error from the reader and from the check. There is never a
//! panic, never more work or memory than the volume could need, never a case without an end.
//!
//! `PUMICE_BYTES=all` changes every byte of every block of metadata (minutes, with `--release`); without it each 509th
//! is. A number says from which block of the list on. Progress stands on stderr, block by block.
//!
//! A program of its own: it measures the most memory that it had, and ends itself if a case never ends.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, missing_docs)]

mod blocks;
#[allow(dead_code, reason = "the other tests use all of it")]
#[path = "../it/common/image.rs"]
mod image;
#[path = "../it/common/medium.rs"]
mod medium;
#[path = "../it/common/visit.rs"]
mod visit;

use std::sync::Arc;

use blocks::{BLOCK, Metadata};
use image::Golden;
use medium::Medium;
use pumice_f2fs::{F2fs, MountOptions, check::check, crypt::Keyring};
use pumice_knobs::{F2FS_BYTES, watched};
use pumice_vfs::Timestamp;

/// Bytes from one change to the next where nothing else is asked for: a prime, so that all places of a block have
/// their turn.
const STRIDE: u64 = 509;

/// More than this program has ever needed, with the image of 64 MiB in memory.
const MEMORY_MAX_KIB: u64 = 512 << 10;

/// The parts of a volume that its reader finds, and whether the check complains.
fn examine(medium: &Arc<Medium>) -> (Option<usize>, bool) {
    let options =
        MountOptions { cache_bytes: 1 << 20, keys: Keyring::default(), recover: Some(Timestamp::default()) };
    let found = F2fs::mount(vec![Box::new(medium.clone())], options).ok().map(|fs| visit::visit(&fs));
    let complains = !check(vec![Box::new(medium.clone())], 1, &mut |_, _| ())
        .is_ok_and(|report| report.findings.is_empty());
    assert!(!medium.is_exhausted(), "more was read than a volume of this size could need");
    (found, complains)
}

/// The most memory that this program had.
fn memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.trim().parse().ok())
}

/// The results for the bytes of one volume.
#[derive(Default, Debug)]
struct Tally {
    changed: usize,
    /// Changes that the reader felt: less can be read than of the sound volume.
    felt: usize,
    /// Changes that the check found.
    told: usize,
}

fn torment(name: &str) {
    let sound = Arc::new(Medium::new(Golden::own(name).bytes()));
    let (whole, complains) = examine(&sound);
    assert!(whole.is_some() && !complains, "{name}: the sound volume");
    let metadata = Metadata::of(&sound);
    let first = F2FS_BYTES.count().map_or(0, |first| usize::try_from(first).unwrap());
    let which = F2FS_BYTES.sample(if first > 0 { 1 } else { STRIDE });
    let mut tally = Tally::default();
    for at in which.pick(first * BLOCK..metadata.blocks.len() * BLOCK) {
        let (addr, byte) = (metadata.blocks[at / BLOCK], at % BLOCK);
        if byte == 0 {
            eprintln!("{name}: list {} of {}, block {addr}, {tally:?}", at / BLOCK, metadata.blocks.len());
        }
        for damaged in metadata.damages(&sound, addr, byte) {
            let damaged = Arc::new(damaged);
            let name = format!("{name}: byte {byte} of block {addr}, PUMICE_BYTES={}", at / BLOCK);
            let (found, complains) =
                watched(&name, || examine(&damaged)).unwrap_or_else(|_| panic!("{name}"));
            tally.changed += 1;
            tally.felt += usize::from(found != whole);
            tally.told += usize::from(complains);
        }
    }
    eprintln!("{name}: {tally:?}, {:?} KiB", memory_kib());
    F2FS_BYTES.ran_part(tally.changed as u64);
    assert!(tally.felt > 0 && tally.told > 0, "{name}: no damage was ever felt: {tally:?}");
    assert!(memory_kib().is_none_or(|kib| kib < MEMORY_MAX_KIB), "{:?} KiB", memory_kib());
}

#[test]
fn every_byte_may_be_wrong() {
    torment("xattrs");
}
