//! Names that a directory has twice: of each entry a digest is kept, and entries with a digest that is there twice are
//! looked up again.

use super::{
    codes::Code,
    findings::{Findings, Object},
    worker::Twin,
};

/// The digests that are there more than once, each once, sorted.
pub(super) fn repeated(mut digests: Vec<u64>) -> Vec<u64> {
    digests.sort_unstable();
    let mut found: Vec<u64> = digests
        .windows(2)
        .filter_map(|pair| match pair {
            [first, second] if first == second => Some(*first),
            _ => None,
        })
        .collect();
    found.dedup();
    found
}

/// Tells of each entry that repeats another.
pub(super) fn tell(mut twins: Vec<Twin>, findings: &mut Findings) {
    twins.sort_unstable();
    for pair in twins.windows(2) {
        if let [first, second] = pair
            && (first.digest, first.directory) == (second.digest, second.directory)
        {
            let Twin { directory, block, slot, .. } = *second;
            findings.add(Code::DentryTwice, Object::Entry { directory, block, slot }, || {
                format!("slot {} of block {} has the same name", first.slot, first.block)
            });
        }
    }
}
