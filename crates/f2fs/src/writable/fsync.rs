//! fsync: data, then their nodes in a chain that is rolled forward, or a checkpoint if that would not bring back the
//! present state.

use pumice_vfs::FileKind;

use super::commit::Commit;
use crate::{
    error::Result,
    layout::{Advise, Inode, Nid},
    names::Name,
};

/// Directories above a file that are looked at: below more of them a checkpoint is made.
const DEPTH_MAX: usize = 256;
/// Blocks of a file that an fsync writes in place, as many as the kernel.
const IN_PLACE_MAX: usize = 8;

/// Makes a file as it is now outlive a power cut. `elapsed` are the seconds that the volume was mounted in its life. With `data_only`
/// times need not be kept. If it is `strict` all other names are kept with a new one.
pub(super) fn fsync(
    commit: &mut Commit,
    ino: Nid,
    data_only: bool,
    strict: bool,
    elapsed: u64,
) -> Result<()> {
    let inode = commit.tree().inode(ino)?;
    let is_named_alone = strict && commit.tree().blocks().nodes().promises().must_name(ino);
    if is_named_alone || !is_chained(commit, &inode)? {
        commit.commit(elapsed)?;
        return commit.tree_mut().find_name(ino);
    }
    let blocks = commit.tree_mut().blocks_mut();
    let few = data_only || blocks.waiting_of(ino) <= IN_PLACE_MAX;
    blocks.flush_file(&inode, few)?;
    blocks.nodes_mut().promise(ino, data_only)
}

/// True if rolling forward brings back a file as it is now, by the kernel's rules and some more.
fn is_chained(commit: &Commit, inode: &Inode) -> Result<bool> {
    let nodes = commit.tree().blocks().nodes();
    let (writer, promises) = (nodes.writer(), nodes.promises());
    let is_plain = inode.kind == FileKind::File
        && inode.links == 1
        && inode.compression().is_none()
        && !inode.advise.has(Advise::LOST_PINO)
        && !promises.is_unsettled(inode.ino)
        && writer.has_chain();
    if !is_plain {
        return Ok(false);
    }
    if promises.must_name(inode.ino) {
        let name = Name::remembered(&nodes.inode(inode.parent)?, inode);
        if name.is_none_or(|name| promises.is_vacated(inode.parent, name.hash())) {
            return Ok(false);
        }
    }
    Ok(commit.has_room_for_chain(0) && is_below_settled(commit, inode)?)
}

/// True if the directories above an inode are where the last checkpoint has them.
fn is_below_settled(commit: &Commit, inode: &Inode) -> Result<bool> {
    let (tree, root) = (commit.tree(), commit.tree().root());
    let promises = tree.blocks().nodes().promises();
    let mut at = inode.parent;
    for _ in 0..DEPTH_MAX {
        if promises.is_made(at) || promises.is_unsettled(at) {
            return Ok(false);
        }
        if at == root {
            return Ok(true);
        }
        at = tree.parent(at)?;
    }
    Ok(false)
}
