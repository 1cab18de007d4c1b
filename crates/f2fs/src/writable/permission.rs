//! Changes that an inode's flags and its encryption allow.

use pumice_vfs::{Access, Errno, SetAttr};

use super::{blocks::Blocks, keys};
use crate::{
    error::{Error, Result},
    layout::{Features, Inode},
};

/// Checks that an inode may be changed at all: it is not immutable.
pub(super) fn may_change(inode: &Inode) -> Result<()> {
    if inode.is_immutable() { Err(Error::Errno(Errno::Perm)) } else { Ok(()) }
}

/// Checks that an inode may be changed in other ways than by adding to it.
pub(super) fn may_redo(inode: &Inode) -> Result<()> {
    may_change(inode)?;
    if inode.is_added_to() { Err(Error::Errno(Errno::Perm)) } else { Ok(()) }
}

/// Checks that owner and permissions may become others. Of a file that is added to, the set-id bits can go: a write
/// by somebody else takes them.
pub(super) fn may_own(inode: &Inode, change: &SetAttr) -> Result<()> {
    const SET_ID: u32 = 0o6000;
    let perm = inode.perm();
    let (taken, given) = change.perm.map_or((0, 0), |new| (perm & !new, new & !perm));
    let stays = change.uid.or(change.gid).is_none() && given == 0 && taken & !SET_ID == 0;
    if stays { may_change(inode) } else { may_redo(inode) }
}

/// Checks that the content of a file may be changed from `offset` on.
pub(super) fn may_write(blocks: &Blocks, inode: &Inode, offset: u64) -> Result<()> {
    may_change(inode)?;
    // The room that compression gave back would be needed.
    if inode.is_verity() || inode.is_released() || !inode.takes_bytes_at(offset) {
        return Err(Error::Errno(Errno::Perm));
    }
    may_read(blocks, inode)
}

/// Checks that a file may be opened.
pub(super) fn may_open(blocks: &Blocks, inode: &Inode, access: Access) -> Result<()> {
    let is_fixed = inode.is_verity() || inode.is_immutable();
    let is_refused = match access {
        Access::Read => false,
        Access::Append => is_fixed,
        Access::Write => is_fixed || inode.is_added_to(),
    };
    if is_refused { Err(Error::Errno(Errno::Perm)) } else { may_read(blocks, inode) }
}

/// Checks that the content of a file can be read: an encrypted one needs its key.
pub(super) fn may_read(blocks: &Blocks, inode: &Inode) -> Result<()> {
    blocks.secret(inode).map(drop)
}

/// Checks that a file may be made `size` bytes long, in blocks of `width` bytes.
pub(super) fn may_resize(blocks: &Blocks, inode: &Inode, size: u64, width: u64) -> Result<()> {
    may_change(inode)?;
    if inode.is_verity() || !inode.takes_bytes_at(0) {
        return Err(Error::Errno(Errno::Perm));
    }
    // Only whole clusters can go, since none can be written.
    let cluster = inode.cluster_blocks().filter(|_| inode.is_released()).map(u64::from);
    if cluster.is_some_and(|blocks| !size.is_multiple_of(blocks * width)) {
        return Err(Error::Errno(Errno::Invalid));
    }
    may_read(blocks, inode)
}

/// Checks that names can be made in a directory.
pub(super) fn may_name(blocks: &Blocks, dir: &Inode) -> Result<()> {
    blocks.keys().may_name(blocks.nodes(), dir)
}

/// Checks that an inode that is there may get a name in a directory, by their encryption and by their projects.
pub(super) fn may_hold(blocks: &Blocks, dir: &Inode, inode: &Inode) -> Result<()> {
    keys::may_hold(blocks.nodes(), dir, inode)?;
    has_project_of(blocks, dir, inode)
}

/// Checks that an inode has the project of a directory, if that hands it down.
pub(super) fn has_project_of(blocks: &Blocks, dir: &Inode, inode: &Inode) -> Result<()> {
    if blocks.nodes().features().has(Features::PROJECT_QUOTA) && !inode.fits_project_of(dir) {
        return Err(Error::Errno(Errno::CrossDevice));
    }
    Ok(())
}
