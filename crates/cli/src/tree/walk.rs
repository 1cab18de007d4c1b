//! A walk over a tree inside an image, in which unreadable entries are losses.

pub(crate) use pumice_vfs::walk::Place;
use pumice_vfs::{Attr, FileSystem, walk};

use crate::{
    failure::{Failure, Outcome},
    losses::Losses,
};

/// The step of the walk.
#[derive(Debug)]
pub(crate) enum Step {
    /// An entry; the content of a directory follows it.
    Enter,
    /// The end of a directory's content.
    Leave,
}

/// The function that is called at each step. A failure ends the walk.
pub(crate) type Visit<'a> = dyn FnMut(Step, &Place<'_>) -> Outcome + 'a;

/// Visits `start` and all below it, by name, directories before and after their content.
pub(crate) fn walk(
    fs: &dyn FileSystem,
    path: &[u8],
    start: &Attr,
    losses: &Losses,
    visit: &mut Visit<'_>,
) -> Outcome {
    walk::walk(fs, path, start, &mut |step| take(step, losses, visit))
}

/// The same for directories only: the visitor looks at their entries, and tells which are missing.
pub(crate) fn walk_directories(
    fs: &dyn FileSystem,
    path: &[u8],
    start: &Attr,
    losses: &Losses,
    visit: &mut Visit<'_>,
) -> Outcome {
    walk::walk_directories(fs, path, start, &mut |step| take(step, losses, visit))
}

fn take(step: walk::Step<'_>, losses: &Losses, visit: &mut Visit<'_>) -> Outcome {
    match step {
        walk::Step::Enter(place) => visit(Step::Enter, &place),
        walk::Step::Leave(place) => visit(Step::Leave, &place),
        walk::Step::Lost { path, error } => {
            losses.add(&Failure::inside(path, &error));
            Ok(())
        }
    }
}
