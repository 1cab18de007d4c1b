//! The checks of a chip after a power cut, whatever ran before.

use pumice_media::{Nand, SimChip};
use pumice_nandfs::{MountOptions, NandFs, check};
use pumice_vfs::conformance::TestClock;
use pumice_vfs::{Errno, FileSystem, Ino, Result};

use super::image::Image;
use super::step::{Held, Step};

/// Memory of the mounts under test, in bytes: the least, so that caches spill.
pub const CACHE_BYTES: usize = 256 << 10;

/// Pages that a mount may find spoiled: a torn page that looks erased is written again where the next anchor or the
/// next checkpoint goes, read back, and given up.
const SPOILED_MAX: u64 = 2;

type Outcome<T> = std::result::Result<T, String>;

pub fn mount<N: Nand + Send + 'static>(nand: N, clock: &TestClock) -> Result<NandFs<N>> {
    NandFs::mount(nand, MountOptions::new(CACHE_BYTES, clock.clock()))
}

/// Mounts, and syncs: what a power cut has left is written again then, not by the mount.
pub fn settle<N: Nand + Send + 'static>(nand: N, clock: &TestClock) -> Result<NandFs<N>> {
    let fs = mount(nand, clock)?;
    fs.sync().map(|()| fs)
}

/// The checker finds nothing.
pub fn sound(chip: &SimChip, when: &str) -> Outcome<()> {
    let report = check(chip.clone(), &mut |_, _| {}).map_err(|error| format!("check {when}: {error}"))?;
    match report.findings.as_slice() {
        [] => Ok(()),
        findings => Err(format!("check {when} (recovered: {}): {findings:?}", report.recovered)),
    }
}

/// Mounts a chip that lost its power, judges its tree, works with it, and mounts it once more. Returns the tree that
/// was found.
pub fn verify(chip: SimChip, judge: &dyn Fn(&Image) -> Outcome<()>) -> Outcome<Image> {
    let spoiled = chip.fault_counts().spoiled_programs;
    let clock = TestClock::new();
    sound(&chip, "before the mount")?;
    let before = chip.stats();
    let fs = mount(chip, &clock).map_err(|error| format!("mount: {error}"))?;
    let took = fs.stats().map_err(|error| error.to_string())? - before;
    if took.programs + took.erases > 0 {
        return Err(format!("a mount wrote to the chip: {took:?}"));
    }
    let found = Image::take(&fs, &Image::default()).map_err(|error| format!("reading the tree: {error}"))?;
    judge(&found)?;
    work(&fs).map_err(|error| format!("work after the cut: {error}"))?;
    let chip = fs.unmount().map_err(|error| format!("unmount: {error}"))?;
    if chip.stats().violations > 0 {
        return Err("a rule of the chip was broken".into());
    }
    if chip.fault_counts().spoiled_programs > spoiled + SPOILED_MAX {
        return Err("pages were programmed that only looked erased".into());
    }
    sound(&chip, "after the unmount")?;
    let fs = mount(chip, &clock).map_err(|error| format!("second mount: {error}"))?;
    let mut again = Image::take(&fs, &Image::default()).map_err(|error| format!("reading again: {error}"))?;
    // Work came and went in the root.
    if let (Some(root), Some(before)) = (again.edit(Ino::ROOT), found.0.get(&Ino::ROOT)) {
        (root.attr.mtime, root.attr.ctime) = (before.attr.mtime, before.attr.ctime);
    }
    found.compare(&again).map_err(|what| format!("after the second mount: {what:?}"))?;
    Ok(found)
}

/// Some calls of every sort that leave nothing behind; the volume may be full.
fn work(fs: &dyn FileSystem) -> Result<()> {
    let [file, other, dir] = ["/.work", "/.other", "/.dir"].map(str::to_string);
    let steps = [
        Step::Create(file.clone()),
        Step::Write(file.clone(), 0, 5000),
        Step::Fsync(file.clone()),
        Step::Make(dir.clone(), pumice_vfs::FileKind::Dir),
        Step::Rename(file.clone(), other.clone(), pumice_vfs::RenameMode::Replace),
        Step::Write(other.clone(), 3000, 9000),
        Step::Fsync(other.clone()),
        Step::Sync,
    ];
    for (number, step) in steps.iter().enumerate() {
        match step.apply(fs, 1_000_000 + number, &mut Held::new()) {
            Err(error) if !matches!(error.errno(), Errno::NoSpace | Errno::NoEntry) => return Err(error),
            _ => {}
        }
    }
    for step in [Step::Unlink(file), Step::Unlink(other), Step::Rmdir(dir)] {
        match step.apply(fs, 0, &mut Held::new()) {
            Err(error) if error.errno() != Errno::NoEntry => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
