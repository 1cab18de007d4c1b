//! Bad blocks, failed programs and erases, wrong bits, and images that are damaged on purpose.

use core::ops::Range;
use std::collections::BTreeMap;

use pumice_media::{BitFlip, BlockId, Nand, PageId, Rate, SimChip};
use pumice_vfs::{Errno, FileSystem, Ino, Timestamp};

use super::{FILE, Subject, mount, try_mount};

/// Files that [`churn`] makes.
const FILES: u64 = 23;

fn bytes_of(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    fastrand::Rng::with_seed(seed).fill(&mut bytes);
    bytes
}

/// Writes files over and over until all blocks were used some times; returns the contents that must be found.
fn churn(fs: &dyn FileSystem, rounds: u64) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for round in 0..rounds {
        let name = std::format!("file{}", round % FILES);
        if round >= FILES {
            fs.unlink(Ino::ROOT, name.as_bytes()).unwrap();
        }
        let ino = fs.create(Ino::ROOT, name.as_bytes(), &FILE).unwrap().ino;
        let bytes = bytes_of(round, 30_000 + usize::try_from(round % 7).unwrap() * 5000);
        fs.write(ino, 0, &bytes).unwrap();
        files.insert(name, bytes);
    }
    files
}

fn holds(fs: &dyn FileSystem, files: &BTreeMap<String, Vec<u8>>) {
    for (name, bytes) in files {
        let attr = fs.lookup(Ino::ROOT, name.as_bytes()).unwrap();
        let mut found = vec![0; bytes.len() + 1];
        assert_eq!(fs.read(attr.ino, 0, &mut found).unwrap(), bytes.len(), "{name}");
        assert!(found[..bytes.len()] == bytes[..], "{name}");
    }
}

/// Makes a file and removes it.
fn pass(fs: &dyn FileSystem, round: u64, length: usize) {
    let ino = fs.create(Ino::ROOT, b"more", &FILE).unwrap().ino;
    fs.write(ino, 0, &bytes_of(round, length)).unwrap();
    fs.unlink(Ino::ROOT, b"more").unwrap();
}

/// Blocks are bad, and so many programs of a billion fail.
pub(crate) fn bad_and_failing_blocks_lose_nothing<S: Subject>(subject: &S, program_failures: u32) {
    let mut chip = subject.chip();
    let faults = chip.faults_mut();
    faults.factory_bad.extend([0, 3, 4, 100, 250, 254].map(BlockId));
    faults.program_fail_rate = Some(Rate { per_billion: program_failures, seed: 5 });
    faults.erase_fail_rate = Some(Rate { per_billion: 4_000_000, seed: 6 });
    let fs = mount::<S>(subject.format(chip, Timestamp::default()));
    let files = churn(&fs, 400);
    let chip = fs.unmount().unwrap();
    let counts = chip.fault_counts();
    assert!(counts.program_failures > 0 && counts.erase_failures > 0, "{counts:?}");
    assert_eq!(chip.stats().violations, 0);
    assert_eq!(S::check(chip.clone()).unwrap().findings, []);
    holds(&mount::<S>(chip), &files);
}

/// A bit of each `step`th page's spare area is wrong, among its first bits.
pub(crate) fn wrong_bits_are_put_right<S: Subject>(subject: &S, step: usize, bits: u32) {
    let fs = mount::<S>(subject.formatted(Timestamp::default()));
    let files = churn(&fs, 60);
    let mut chip = fs.unmount().unwrap();
    let (pages, data) = (u32::try_from(chip.geometry().pages()).unwrap(), chip.geometry().page_bytes * 8);
    let mut rng = fastrand::Rng::with_seed(9);
    for page in (0..pages).step_by(step) {
        chip.faults_mut().flips.insert(BitFlip { page: PageId(page), bit: data + rng.u32(..bits) });
    }
    assert_eq!(S::check(chip.clone()).unwrap().findings, []);
    let fs = mount::<S>(chip);
    holds(&fs, &files);
    // Cleaning believes them, too.
    for round in 0..400 {
        pass(&fs, round, 20_000);
    }
    holds(&fs, &files);
}

/// ECC gives up a page of the first file's data, among these: a check has one finding, of this code.
#[allow(dead_code, reason = "RCFFS brings it back")]
pub(crate) fn what_cannot_be_read_stays_so<S: Subject>(subject: &S, mut among: Range<u32>, code: &str) {
    let fs = mount::<S>(subject.formatted(Timestamp::default()));
    let mut files = churn(&fs, FILES);
    let mut chip = fs.unmount().unwrap();
    let page = among.find(|page| {
        let (mut data, mut spare) = (vec![0; 512], vec![0; 8]);
        chip.read(PageId(*page), &mut data, &mut spare).unwrap();
        data == files["file0"][1024..1536]
    });
    chip.faults_mut().unreadable.insert(PageId(page.unwrap()));
    let report = S::check(chip.clone()).unwrap();
    assert_eq!(report.findings.len(), 1, "{report:?}");
    assert_eq!(report.findings[0].code, code);
    let fs = mount::<S>(chip);
    for round in 0..700 {
        let lost = fs.lookup(Ino::ROOT, b"file0").unwrap().ino;
        let mut bytes = vec![0; 1024];
        assert_eq!(fs.read(lost, 1024, &mut bytes).unwrap_err().errno(), Errno::Io);
        assert_eq!(fs.read(lost, 0, &mut bytes).unwrap(), 1024);
        assert_eq!(bytes, files["file0"][..1024]);
        pass(&fs, round, 10_000);
    }
    files.remove("file0");
    holds(&fs, &files);
}

/// Every call ends with an answer or an error, whatever the pages say. `copy` makes a chip that is one to the other but
/// for some pages, changed and proved anew.
pub(crate) fn damaged_images_are_answered<S: Subject>(
    subject: &S,
    copy: impl Fn(&mut SimChip, &mut SimChip, &mut fastrand::Rng),
) {
    let fs = mount::<S>(subject.formatted(Timestamp::default()));
    churn(&fs, 40);
    let start = fs.unmount().unwrap();
    for seed in 0..60 {
        let mut chip = SimChip::new(start.spec());
        copy(&mut start.clone(), &mut chip, &mut fastrand::Rng::with_seed(seed));
        let _ = S::check(chip.clone());
        if let Ok(fs) = try_mount::<S, _>(chip, Box::new(Timestamp::default)) {
            for number in 0..FILES {
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

#[allow(dead_code, reason = "ScaleFFS copies two pages at a time")]
/// Copies a chip page by page, but for those that were never programmed; `change` may change data and spare area.
pub(crate) fn copy_pages(from: &mut SimChip, to: &mut SimChip, mut change: impl FnMut(&mut [u8], &mut [u8])) {
    let geometry = from.geometry();
    for page in (0..u32::try_from(geometry.pages()).unwrap()).map(PageId) {
        let (mut data, mut spare) =
            (vec![0; geometry.page_bytes as usize], vec![0; geometry.free_spare_bytes as usize]);
        from.read(page, &mut data, &mut spare).unwrap();
        if spare.iter().any(|byte| *byte != 0xff) {
            change(&mut data, &mut spare);
            to.program(page, &data, &spare).unwrap();
        }
    }
}
