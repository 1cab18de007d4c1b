//! Bad blocks, failed programs and erases, wrong bits, and images that are damaged on purpose.

use std::collections::BTreeMap;

use crate::common::{CACHE_BYTES, FILE, chip, formatted, mount};
use pumice_media::{BitFlip, BlockId, Nand, PageId, Rate, SimChip};
use pumice_scaleffs::{FormatOptions, MountOptions, ScaleFs, check, format};
use pumice_vfs::{Errno, FileSystem, Ino, Timestamp};

const ERASE_BLOCKS: u32 = 256;

fn clock() -> pumice_vfs::Clock {
    Box::new(Timestamp::default)
}

fn bytes_of(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    fastrand::Rng::with_seed(seed).fill(&mut bytes);
    bytes
}

/// Writes files over and over until the log went around some times; returns the contents that must be found.
fn churn(fs: &ScaleFs<SimChip>, rounds: u64) -> BTreeMap<String, Vec<u8>> {
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

fn holds(fs: &ScaleFs<SimChip>, files: &BTreeMap<String, Vec<u8>>) {
    for (name, bytes) in files {
        let attr = fs.lookup(Ino::ROOT, name.as_bytes()).unwrap();
        let mut found = vec![0; bytes.len() + 1];
        assert_eq!(fs.read(attr.ino, 0, &mut found).unwrap(), bytes.len(), "{name}");
        assert!(found[..bytes.len()] == bytes[..], "{name}");
    }
}

#[test]
fn factory_bad_blocks_and_failing_ones_lose_nothing() {
    let mut chip = chip(ERASE_BLOCKS);
    let faults = chip.faults_mut();
    faults.factory_bad.extend([0, 3, 4, 100, 250, 254].map(BlockId));
    faults.program_fail_rate = Some(Rate { per_billion: 100_000, seed: 5 });
    faults.erase_fail_rate = Some(Rate { per_billion: 4_000_000, seed: 6 });
    let chip = format(chip, &FormatOptions::default()).unwrap();
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
    let fs = mount(formatted(ERASE_BLOCKS, Timestamp::default()), clock());
    let files = churn(&fs, 60);
    let mut chip = fs.unmount().unwrap();
    let pages = u32::try_from(chip.geometry().pages()).unwrap();
    let mut rng = fastrand::Rng::with_seed(9);
    // The first page of each block: a bit of the owner. The search for the checkpoint believes the second.
    for page in (0..pages).step_by(2) {
        chip.faults_mut().flips.insert(BitFlip { page: PageId(page), bit: 512 * 8 + rng.u32(..64) });
    }
    assert_eq!(check(chip.clone()).unwrap().findings, []);
    let fs = mount(chip, clock());
    holds(&fs, &files);
    // Cleaning believes them, too.
    for round in 0..400 {
        let ino = fs.create(Ino::ROOT, b"more", &FILE).unwrap().ino;
        fs.write(ino, 0, &bytes_of(round, 20_000)).unwrap();
        fs.unlink(Ino::ROOT, b"more").unwrap();
    }
    holds(&fs, &files);
}

#[test]
fn what_cannot_be_read_is_an_error_and_stays_one_when_it_is_moved() {
    let fs = mount(formatted(ERASE_BLOCKS, Timestamp::default()), clock());
    let mut files = churn(&fs, 23);
    let mut chip = fs.unmount().unwrap();
    // A page of the first file's data: directory block, inode, then its blocks.
    let page = (0..64).map(PageId).find(|page| {
        let (mut data, mut spare) = (vec![0; 512], vec![0; 8]);
        chip.read(*page, &mut data, &mut spare).unwrap();
        data == files["file0"][1024..1536]
    });
    chip.faults_mut().unreadable.insert(page.unwrap());
    let report = check(chip.clone()).unwrap();
    assert_eq!(report.findings.len(), 1, "{report:?}");
    assert_eq!(report.findings[0].code, "block");
    let fs = mount(chip, clock());
    for round in 0..700 {
        let lost = fs.lookup(Ino::ROOT, b"file0").unwrap().ino;
        let mut bytes = vec![0; 1024];
        assert_eq!(fs.read(lost, 1024, &mut bytes).unwrap_err().errno(), Errno::Io);
        assert_eq!(fs.read(lost, 0, &mut bytes).unwrap(), 1024);
        assert_eq!(bytes, files["file0"][..1024]);
        let ino = fs.create(Ino::ROOT, b"more", &FILE).unwrap().ino;
        fs.write(ino, 0, &bytes_of(round, 10_000)).unwrap();
        fs.unlink(Ino::ROOT, b"more").unwrap();
    }
    files.remove("file0");
    holds(&fs, &files);
}

/// Every call ends with an answer or an error, whatever the pages say.
#[test]
fn damaged_images_are_answered() {
    let fs = mount(formatted(ERASE_BLOCKS, Timestamp::default()), clock());
    churn(&fs, 40);
    let start = fs.unmount().unwrap();
    let geometry = start.geometry();
    for seed in 0..60 {
        let mut rng = fastrand::Rng::with_seed(seed);
        // A copy with some blocks changed, proofs made anew.
        let mut chip = SimChip::new(start.spec());
        let mut source = start.clone();
        for block in 0..geometry.blocks {
            for index in (0..geometry.pages_per_block).step_by(2) {
                let pages = [0, 1].map(|part| geometry.page(BlockId(block), index + part));
                let (mut data, mut spare) = (vec![0; 1024], vec![0; 16]);
                for (part, page) in pages.iter().enumerate() {
                    let (data, spare) = (&mut data[part * 512..][..512], &mut spare[part * 8..][..8]);
                    source.read(*page, data, spare).unwrap();
                }
                if spare.iter().all(|byte| *byte == 0xff) {
                    continue;
                }
                if rng.u32(..30) == 0 {
                    let at = rng.usize(..255) * 4;
                    let value = [u32::MAX, u32::MAX - 1, 0, 7, rng.u32(..)][rng.usize(..5)];
                    data[at..at + 4].copy_from_slice(&value.to_le_bytes());
                    // Proved anew: three bytes of a CRC-32 over fields and data.
                    let sum = crc32fast::hash(&[&spare[..13], &data].concat());
                    spare[13..].copy_from_slice(&sum.to_le_bytes()[..3]);
                }
                for (part, page) in pages.iter().enumerate() {
                    chip.program(*page, &data[part * 512..][..512], &spare[part * 8..][..8]).unwrap();
                }
            }
        }
        let _ = check(chip.clone());
        let options = MountOptions { read_only: false, cache_bytes: CACHE_BYTES, clock: clock() };
        if let Ok(fs) = ScaleFs::mount(chip, options) {
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
