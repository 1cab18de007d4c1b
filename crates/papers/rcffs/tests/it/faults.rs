//! Bad blocks, failed programs and erases, wrong bits, and images that are damaged on purpose.

use std::collections::BTreeMap;

use crate::common::{CACHE_BYTES, FILE, chip, formatted, mount, small};
use pumice_ecc::{Signature, Width, crc32c};
use pumice_media::{BitFlip, BlockId, Nand, PageId, Rate, SimChip};
use pumice_rcffs::{MountOptions, Rcffs, check, format};
use pumice_vfs::{FileSystem, Ino, Timestamp};

const CHIP: &str = "2048+64:16:256";
/// Free spare bytes of its pages.
const FREE: usize = 38;

fn clock() -> pumice_vfs::Clock {
    Box::new(Timestamp::default)
}

fn bytes_of(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    fastrand::Rng::with_seed(seed).fill(&mut bytes);
    bytes
}

/// Writes files over and over until all blocks were used some times; returns the contents that must be found.
fn churn(fs: &Rcffs<SimChip>, rounds: u64) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for round in 0..rounds {
        let name = std::format!("file{}", round % 23);
        if round >= 23 {
            fs.unlink(Ino::ROOT, name.as_bytes()).unwrap();
        }
        let ino = fs.create(Ino::ROOT, name.as_bytes(), &FILE).unwrap().ino;
        let bytes = bytes_of(round, 30_000 + usize::try_from(round % 7).unwrap() * 5000);
        fs.write(ino, 0, &bytes).unwrap();
        files.insert(name, bytes);
    }
    files
}

fn holds(fs: &Rcffs<SimChip>, files: &BTreeMap<String, Vec<u8>>) {
    for (name, bytes) in files {
        let attr = fs.lookup(Ino::ROOT, name.as_bytes()).unwrap();
        let mut found = vec![0; bytes.len() + 1];
        assert_eq!(fs.read(attr.ino, 0, &mut found).unwrap(), bytes.len(), "{name}");
        assert!(found[..bytes.len()] == bytes[..], "{name}");
    }
}

#[test]
fn factory_bad_blocks_and_failing_ones_lose_nothing() {
    let mut chip = chip(CHIP);
    let faults = chip.faults_mut();
    faults.factory_bad.extend([0, 3, 4, 100, 250, 254].map(BlockId));
    faults.program_fail_rate = Some(Rate { per_billion: 2_000_000, seed: 5 });
    faults.erase_fail_rate = Some(Rate { per_billion: 4_000_000, seed: 6 });
    let chip = format(chip, &small(Timestamp::default())).unwrap();
    let fs = mount(chip, clock());
    let files = churn(&fs, 400);
    let chip = fs.unmount().unwrap();
    let counts = chip.fault_counts();
    assert!(counts.program_failures > 0 && counts.erase_failures > 0, "{counts:?}");
    assert_eq!(chip.stats().violations, 0);
    assert_eq!(check(chip.clone()).unwrap().findings, []);
    holds(&mount(chip, clock()), &files);
}

#[test]
fn a_wrong_bit_in_every_spare_area_is_put_right() {
    let fs = mount(formatted(CHIP, Timestamp::default()), clock());
    let files = churn(&fs, 60);
    let mut chip = fs.unmount().unwrap();
    let pages = u32::try_from(chip.geometry().pages()).unwrap();
    let mut rng = fastrand::Rng::with_seed(9);
    // Of the map, too: it is not believed then, and every block is looked at.
    for page in 0..pages {
        chip.faults_mut().flips.insert(BitFlip { page: PageId(page), bit: 2048 * 8 + rng.u32(..24 * 8) });
    }
    assert_eq!(check(chip.clone()).unwrap().findings, []);
    let fs = mount(chip, clock());
    holds(&fs, &files);
    // Collection believes them, too.
    for round in 0..400 {
        let ino = fs.create(Ino::ROOT, b"more", &FILE).unwrap().ino;
        fs.write(ino, 0, &bytes_of(round, 20_000)).unwrap();
        fs.unlink(Ino::ROOT, b"more").unwrap();
    }
    holds(&fs, &files);
}

/// Makes the proofs of a page anew.
fn prove(data: &[u8], spare: &mut [u8]) {
    let signature = Signature::of(data, Width::Bits48).unwrap();
    spare[..6].copy_from_slice(signature.bytes());
    let sum = crc32c(0, &spare[..20]);
    spare[20..24].copy_from_slice(&sum.to_le_bytes());
}

/// Every call ends with an answer or an error, whatever the pages say.
#[test]
fn damaged_images_are_answered() {
    let fs = mount(formatted(CHIP, Timestamp::default()), clock());
    churn(&fs, 40);
    let start = fs.unmount().unwrap();
    let geometry = start.geometry();
    for seed in 0..60 {
        let mut rng = fastrand::Rng::with_seed(seed);
        // A copy with some pages changed, proofs made anew.
        let mut chip = SimChip::new(start.spec());
        let mut source = start.clone();
        for page in (0..u32::try_from(geometry.pages()).unwrap()).map(PageId) {
            let (mut data, mut spare) = (vec![0; 2048], vec![0; FREE]);
            source.read(page, &mut data, &mut spare).unwrap();
            if spare.iter().all(|byte| *byte == 0xff) {
                continue;
            }
            // Metadata more often than data.
            let often = if [2, 3, 4].contains(&spare[12]) { 3 } else { 60 };
            if rng.u32(..often) == 0 {
                for _ in 0..rng.u32(1..4) {
                    let at = if rng.bool() { rng.usize(..60) * 4 } else { rng.usize(..512) * 4 };
                    let value = [u32::MAX, u32::MAX - 1, 0, 7, rng.u32(..8192), rng.u32(..)][rng.usize(..6)];
                    data[at..at + 4].copy_from_slice(&value.to_le_bytes());
                }
                prove(&data, &mut spare);
            }
            chip.program(page, &data, &spare).unwrap();
        }
        let _ = check(chip.clone());
        let options = MountOptions { read_only: false, cache_bytes: CACHE_BYTES, clock: clock() };
        if let Ok(fs) = Rcffs::mount(chip, options) {
            for number in 0..23 {
                let name = std::format!("file{number}");
                if let Ok(attr) = fs.lookup(Ino::ROOT, name.as_bytes()) {
                    let _ = fs.read(attr.ino, 0, &mut vec![0; 60_000]);
                }
                let _ = fs.unlink(Ino::ROOT, name.as_bytes());
            }
            let _ =
                fs.create(Ino::ROOT, b"new", &FILE).and_then(|attr| fs.write(attr.ino, 0, &vec![1; 50_000]));
            let _ = fs.unmount();
        }
    }
}
