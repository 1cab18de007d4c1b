//! Power cuts after operations of random workloads that are cleaned.
//!
//! # The paper's promises
//!
//! Data, inodes and mu-tree of all files are written together, and count with the root (3.1). After a crash the root
//! before the last valid parity page is the one (3.2). So all is found as it was after one of the calls: not before the
//! last fsync or sync, which end their parity group, and not after the call that was cut. The paper's own words are
//! weaker: it may lose all writes since the last whole erase block, whoever asked for them.

use crate::common::support::{
    cut::{Cuts, Verdict, Workload, dir, path},
    image::Image,
    step::Step,
};
use crate::common::{Chip, usual};
use pumice_knobs::RCFFS_CUTS;
use pumice_vfs::RenameMode;

/// 2.5 megabytes, a third of it for files: the workloads write it more than once.
pub(crate) const CUTS: Cuts<Chip> = Cuts {
    subject: usual("2048+64:16:80"),
    campaign: &RCFFS_CUTS,
    steps: 400,
    spread: 40,
    erases: 80 * 2,
    own: step,
    judge: |workload| Box::new(|found, done| judge(workload, found, done)),
};

fn step(rng: &mut fastrand::Rng, kind: u8) -> Step {
    match kind {
        30 => Step::Rename(dir(rng), dir(rng), RenameMode::Replace),
        31 => Step::Rename(path(rng), path(rng), RenameMode::Exchange),
        32 => Step::Link(path(rng), path(rng)),
        _ => Step::Chmod(path(rng), rng.u32(0..0o1000)),
    }
}

/// All is as after one call, none before everything was last made to outlive a cut.
fn judge(workload: &Workload, found: &Image, done: usize) -> Verdict {
    let lasting = |step: &Step| matches!(step, Step::Sync | Step::Remount | Step::Fsync(_));
    let promised = workload.steps[..done].iter().rposition(lasting).map_or(0, |at| at + 1);
    let cut = (done + 1).min(workload.steps.len());
    let mut best = Vec::new();
    for after in (promised..=cut).rev() {
        match workload.images[after].compare(found) {
            Ok(()) => return Ok(()),
            Err(what) => best.push((what, after)),
        }
    }
    Err(format!("promised {promised}: {:?}", best.into_iter().max()))
}

#[test]
fn odd_workloads() {
    CUTS.workloads(0);
}

#[test]
fn even_workloads() {
    CUTS.workloads(1);
}
