//! The conformance suite.

use crate::common::{Chip, support::conformance};
use pumice_knobs::RCFFS_CALLS;
use pumice_vfs::conformance::Op;

const CHIPS: [Chip; 3] = [
    Chip("2048+64:64:256", 1, 1, true),
    Chip("2048+64:16:512", 2, 0, false),
    Chip("4096+224:32:256", 1, 2, true),
];

/// Features that the paper does not have.
const LEFT_OUT: [&str; 11] = [
    // Space is taken when a chunk is written, and nothing can be reserved.
    "reserved space counts as allocated and can be given back",
    // There are no extended attributes.
    "links share them",
    "reading sets no time",
    "set, get, list and remove",
    "every kind of inode has them",
    "setting by mode",
    "names and namespaces",
    "values of any size",
    "many on one inode",
    "they set ctime alone",
    "a held file lives on without a name",
];

/// There are no extended attributes.
fn gives(op: &Op) -> bool {
    !matches!(op, Op::SetXattr { .. })
}

#[test]
fn scripted() {
    conformance::scripted(&CHIPS, &LEFT_OUT);
}

#[test]
fn random() {
    conformance::random(&CHIPS, &RCFFS_CALLS, 30, &gives);
}
