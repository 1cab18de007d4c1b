//! The quota files of a new volume: the use of users, groups and projects.

use std::collections::BTreeMap;

use crate::write::quota_file::QuotaFile;

/// Users, groups and projects.
pub(super) const KINDS: usize = 3;

/// Inodes and bytes that each id uses, for one kind of quota.
pub(super) type Usage = BTreeMap<u32, (u64, u64)>;

/// The content of the quota file of a kind.
pub(super) fn file(kind: usize, usage: &Usage) -> Vec<u8> {
    let mut file = QuotaFile::empty(kind);
    for (id, (inodes, bytes)) in usage {
        file.change(*id, inodes.cast_signed(), bytes.cast_signed());
    }
    file.to_bytes()
}
