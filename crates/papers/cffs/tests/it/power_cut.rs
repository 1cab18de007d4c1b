//! Power cuts after operations of random workloads that collect.
//!
//! # The paper's promises
//!
//! A write of data leads to an update of the inode (3): the last page written, and the only one that makes the others
//! count. A change of names is one inode page (2.1). So all is found as it was after the last call that returned, or
//! after the one that was cut. That is more than fsync promises. The times of directories may be older: no page is
//! written to the parent, and they wait for fsync, sync or an unmount. A call that writes more than 64 chunks may be
//! done in part; none here does.

use crate::common::Chip;
use crate::common::support::{
    cut::{Cuts, dir, path},
    image::Node,
    step::Step,
    tree::{judge_names, same},
};
use pumice_knobs::CFFS_CUTS;
use pumice_vfs::{FileKind, RenameMode};

/// A megabyte: the workloads write it more than once.
pub(crate) const CUTS: Cuts<Chip> = Cuts {
    subject: Chip("512+16:32:64"),
    campaign: &CFFS_CUTS,
    steps: 260,
    spread: 60,
    erases: 64 * 3 / 2,
    own: step,
    judge: |workload| {
        Box::new(|found, done| {
            judge_names(workload, found, done, &|after, ino, have| {
                let alike = if have.attr.kind == FileKind::Dir { alike } else { same };
                alike(&workload.images[after].0[&ino], have)
            })
        })
    },
};

fn step(rng: &mut fastrand::Rng, kind: u8) -> Step {
    match kind {
        30 | 31 => Step::Rename(dir(rng), dir(rng), RenameMode::Replace),
        _ => Step::Chmod(path(rng), rng.u32(0..0o1000)),
    }
}

/// Directories: all but the times of their names.
fn alike(a: &Node, b: &Node) -> bool {
    (a.attr.kind, a.attr.perm, a.attr.uid, a.attr.btime)
        == (b.attr.kind, b.attr.perm, b.attr.uid, b.attr.btime)
}

#[test]
fn odd_workloads() {
    CUTS.workloads(0);
}

#[test]
fn even_workloads() {
    CUTS.workloads(1);
}
