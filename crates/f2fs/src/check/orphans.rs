//! The list of orphans: inodes without a name that were open when the checkpoint was made.

use std::collections::HashMap;

use super::{
    codes::Code,
    facts::Inodes,
    findings::{Findings, Object},
};
use crate::{layout::Nid, volume::Volume};

/// The orphans, with how often the list has each.
pub(super) fn check(volume: &Volume, inodes: &Inodes<'_>, findings: &mut Findings) -> HashMap<Nid, u32> {
    let mut orphans = HashMap::new();
    let blocks = match volume.orphan_blocks() {
        Ok(blocks) => blocks,
        Err(error) => {
            let pack = volume.checkpoint().pack();
            findings.add(Code::OrphanInode, Object::Checkpoint(pack), || error.to_string());
            return orphans;
        }
    };
    for ino in blocks.iter().flat_map(|block| &block.inodes) {
        let times = orphans.entry(*ino).or_insert(0);
        *times += 1;
        if *times == 2 {
            findings.add(Code::OrphanInode, Object::Inode(*ino), || {
                "the list of orphans has it twice".to_owned()
            });
        } else if *times == 1 && inodes.file_type(*ino).is_none() {
            findings.add(Code::OrphanInode, Object::Inode(*ino), || {
                "it is on the list of orphans and does not exist".to_owned()
            });
        }
    }
    orphans
}
