//! The conformance suite.

use crate::common::{Chip, support::conformance};
use pumice_knobs::CFFS_CALLS;
use pumice_vfs::RenameMode;
use pumice_vfs::conformance::{Name, Op};

/// Chips of both columns of table 1.
const CHIPS: [Chip; 2] = [Chip("512+16:32:1024"), Chip("2048+64:64:128")];

/// Features that the paper does not have.
const LEFT_OUT: [&str; 22] = [
    // Space is taken when a chunk is written, and nothing can be reserved.
    "reserved space counts as allocated and can be given back",
    // A name has the rest of 256 bytes beside the attributes.
    "names of 255 bytes work, of 256 not",
    // An inode has one name, and its directory is part of it.
    "link adds a name and counts it",
    "link refuses taken names and missing inodes",
    "links share them",
    "link works for every kind but directories",
    "link and unlink set times",
    "content goes with the last name only",
    "two names of one inode are left alone",
    "a replaced file is gone, a replaced link lives on",
    // Two inodes cannot be written at once.
    "exchange of any two kinds",
    // A file has 12 MB (table 1).
    "far offsets work or are too big",
    "a punched range reads as zeros, the rest stays",
    // There are no extended attributes.
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

/// An inode has one name (no links), in the rest of 256 bytes beside the attributes; two inodes cannot be written at
/// once (no exchange); there are no extended attributes.
fn gives(op: &Op) -> bool {
    const LONG: Name = Name(Name::GOOD);
    /// A file of the first chip has 12,224 KiB.
    const FAR: u64 = 12 << 20;
    let end = match op {
        Op::SetAttr { change, .. } => change.size.unwrap_or_default(),
        Op::Write { offset, len, .. } => offset + u64::from(*len),
        Op::Allocate { offset, length, .. } => offset + length,
        _ => 0,
    };
    let is_given = !matches!(
        op,
        Op::Link { .. }
            | Op::SetXattr { .. }
            | Op::Create { name: LONG, .. }
            | Op::Rename { to_name: LONG, .. }
            | Op::Rename { mode: RenameMode::Exchange, .. }
    );
    is_given && end < FAR - (1 << 20)
}

#[test]
fn scripted() {
    conformance::scripted(&CHIPS, &LEFT_OUT);
}

#[test]
fn random() {
    conformance::random(&CHIPS, &CFFS_CALLS, 40, &gives);
}
