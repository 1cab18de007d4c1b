//! Power cuts after operations of random workloads that clean and wrap around the log.
//!
//! # The paper's promises
//!
//! Directory updates are applied to flash at once, and an operation that is not complete is undone (4.2, 4.5). The
//! names found are those after the last call that returned, or after the one that was cut. That is more than fsync
//! promises. It promises less of files than a file system that orders all writes. Each inode is found as it was at some
//! call since it was last written for sure: by fsync, by a checkpoint, or because one of its names changed. Two files
//! may be of different calls. Within one file nothing is torn: all its blocks are those of that call. The attributes of
//! directories other than links (mode, times) may be of different calls, too.

use std::collections::BTreeSet;

use crate::common::Chip;
use crate::common::support::{
    cut::{Cuts, Verdict, Workload, dir, path},
    image::{Image, Node},
    step::Step,
    tree::{judge_names, same},
};
use pumice_knobs::SCALEFFS_CUTS;
use pumice_media::CutMode;
use pumice_vfs::{FileKind, Ino, RenameMode};

/// 896 KiB of log: the workloads write it more than once.
pub(crate) const CUTS: Cuts<Chip> = Cuts {
    subject: Chip(64),
    campaign: &SCALEFFS_CUTS,
    steps: 260,
    spread: 60,
    erases: 64 * 3 / 2,
    own: step,
    judge: |workload| {
        let promises = promises(workload);
        Box::new(move |found, done| judge(workload, &promises, found, done))
    },
};

fn step(rng: &mut fastrand::Rng, kind: u8) -> Step {
    match kind {
        30 => Step::Rename(path(rng), path(rng), RenameMode::Exchange),
        31 => Step::Rename(dir(rng), dir(rng), RenameMode::Replace),
        32 => Step::Link(path(rng), path(rng)),
        33 => Step::Chmod(path(rng), rng.u32(0..0o1000)),
        _ => Step::SetXattr(path(rng), 1, rng.u32(1..3000)),
    }
}

/// The inode of a path.
fn inode_of(image: &Image, path: &str) -> Option<Ino> {
    let mut names = path.split('/').filter(|name| !name.is_empty());
    names.try_fold(Ino::ROOT, |dir, name| image.0.get(&dir)?.entries.get(name.as_bytes()).copied())
}

/// The inodes of the model that each call promises: they may not be found as they were before it.
fn promises(workload: &Workload) -> Vec<BTreeSet<Ino>> {
    let around = workload.images.iter().zip(&workload.images[1..]);
    let promised = |(step, (before, after)): (&Step, (&Image, &Image))| {
        let naming = matches!(
            step,
            Step::Create(_)
                | Step::Make(..)
                | Step::Unlink(_)
                | Step::Rmdir(_)
                | Step::Rename(..)
                | Step::Link(..)
        );
        let written = |ino: &Ino| match step {
            Step::Sync | Step::Remount => true,
            Step::Fsync(path) => inode_of(after, path) == Some(*ino),
            _ => naming && before.0.get(ino) != after.0.get(ino),
        };
        after.0.keys().copied().filter(written).collect()
    };
    workload.steps.iter().zip(around).map(promised).collect()
}

/// The states of an inode that may be found are those since its last promise.
fn judge(workload: &Workload, promises: &[BTreeSet<Ino>], found: &Image, done: usize) -> Verdict {
    let cut = (done + 1).min(workload.steps.len());
    judge_names(workload, found, done, &|_, ino, have| {
        let last = promises[..done].iter().rposition(|inos| inos.contains(&ino)).map_or(0, |at| at + 1);
        let then = workload.images[last..=cut].iter().filter_map(|image| image.0.get(&ino));
        let alike = if have.attr.kind == FileKind::Dir { alike } else { same };
        then.into_iter().any(|then| alike(then, have))
    })
}

/// Directories: kind, owner and birth.
fn alike(a: &Node, b: &Node) -> bool {
    (a.attr.kind, a.attr.uid, a.attr.btime) == (b.attr.kind, b.attr.uid, b.attr.btime)
}

/// An unmount behind a sync writes a checkpoint and nothing else: its torn page looks erased.
#[test]
fn a_torn_checkpoint_that_nothing_announces() {
    let (workload, start) = CUTS.workload(29_927_287);
    CUTS.cut(&workload, &start, 494, CutMode::Half { seed: 494 }).unwrap();
}

#[test]
fn odd_workloads() {
    CUTS.workloads(0);
}

#[test]
fn even_workloads() {
    CUTS.workloads(1);
}
