//! Quota files, which are hidden inodes that the super block names.

use super::{
    codes::Code,
    facts::Inodes,
    findings::{Findings, Object},
};
use crate::{
    layout::{Features, Nid},
    volume::Volume,
};

/// The quota files are there.
pub(super) fn check(volume: &Volume, inodes: &Inodes, findings: &mut Findings) {
    if !volume.features().has(Features::QUOTA_INO) {
        return;
    }
    for ino in volume.super_block().quota_inodes() {
        check_file(volume, inodes, ino, findings);
    }
}

fn check_file(_volume: &Volume, inodes: &Inodes, ino: Nid, findings: &mut Findings) {
    if !ino.is_null() && inodes.find(ino).is_none() {
        findings.add(Code::QuotaInode, Object::Inode(ino), || {
            "the super block names it, and it does not exist".to_owned()
        });
    }
}
