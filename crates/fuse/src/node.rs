//! Unix rules for making and changing inodes: set-gid directories, set-id bits that are cleared when another
//! user changes the file, and access control lists in step with the permissions.

use fuser::{Request, TimeOrNow};
use pumice_vfs::{Attr, FileKind, FileSystem, Ino, NewNode, Result, SetAttr};
use std::time::SystemTime;

use crate::{
    acl,
    attr::{asked_time, kernel_time},
};

const SET_UID: u32 = 0o4000;
const SET_GID: u32 = 0o2000;
const GROUP_EXEC: u32 = 0o0010;

/// The kernel's request for a new inode.
pub(crate) struct Wanted<'a> {
    pub(crate) kind: FileKind,
    pub(crate) mode: u32,
    /// Bits to clear in the mode where no access control list is inherited. A kernel may have cleared them
    /// already; clearing them twice does no harm.
    pub(crate) umask: u32,
    pub(crate) rdev: u32,
    pub(crate) target: &'a [u8],
}

/// Makes an inode; in a set-gid directory it takes the directory's group, and directories the bit too.
pub(crate) fn create<F: FileSystem + ?Sized>(
    fs: &F,
    request: &Request,
    dir: Ino,
    name: &[u8],
    wanted: &Wanted<'_>,
) -> Result<Attr> {
    let parent = fs.attr(dir)?;
    let inherits = parent.perm & SET_GID != 0;
    let bit = if inherits && wanted.kind == FileKind::Dir { SET_GID } else { 0 };
    let node = NewNode {
        kind: wanted.kind,
        perm: (wanted.mode & 0o7777) | bit,
        uid: request.uid(),
        gid: if inherits { parent.gid } else { request.gid() },
        rdev: wanted.rdev,
        target: wanted.target,
    };
    acl::create(fs, dir, name, &node, wanted.umask & 0o777)
}

/// All fields of a `setattr` request on Linux.
pub(crate) struct Change {
    pub(crate) mode: Option<u32>,
    pub(crate) uid: Option<u32>,
    pub(crate) gid: Option<u32>,
    pub(crate) size: Option<u64>,
    pub(crate) atime: Option<TimeOrNow>,
    pub(crate) mtime: Option<TimeOrNow>,
    pub(crate) ctime: Option<SystemTime>,
}

/// Changes attributes. If the kernel leaves set-id bits to us (`kill_priv`), a new owner, or a new length
/// by anybody but root, takes them away.
pub(crate) fn change<F: FileSystem + ?Sized>(
    fs: &F,
    request: &Request,
    ino: Ino,
    change: &Change,
    kill_priv: bool,
) -> Result<Attr> {
    let mut set = SetAttr {
        perm: change.mode.map(|mode| mode & 0o7777),
        uid: change.uid,
        gid: change.gid,
        size: change.size,
        atime: change.atime.map(asked_time),
        mtime: change.mtime.map(asked_time),
        ctime: change.ctime.map(kernel_time),
    };
    let new_owner = change.uid.is_some() || change.gid.is_some();
    let cut_by_user = change.size.is_some() && request.uid() != 0;
    if kill_priv && set.perm.is_none() && (new_owner || cut_by_user) {
        set.perm = without_set_id(&fs.attr(ino)?);
    }
    if let (Some(perm), true) = (set.perm, change.mode.is_some()) {
        acl::follow(fs, ino, perm)?;
    }
    fs.set_attr(ino, &set)
}

/// Clears the set-id bits after a write by a user who may not keep them.
pub(crate) fn kill_set_id<F: FileSystem + ?Sized>(fs: &F, ino: Ino) -> Result<()> {
    if let Some(perm) = without_set_id(&fs.attr(ino)?) {
        fs.set_attr(ino, &SetAttr { perm: Some(perm), ..SetAttr::default() })?;
    }
    Ok(())
}

/// The permissions without set-uid, and without set-gid where it means running as the group; `None` if
/// that changes nothing.
fn without_set_id(attr: &Attr) -> Option<u32> {
    let runs_as_group = attr.perm & GROUP_EXEC != 0;
    let lost = SET_UID | if runs_as_group { SET_GID } else { 0 };
    (attr.kind != FileKind::Dir && attr.perm & lost != 0).then_some(attr.perm & !lost)
}
