//! The attributes of inodes and of the volume for callers, and attributes that they set.

use std::ops::Range;

use pumice_vfs::{Attr, Errno, FileKind, Ino, SetAttr, SpaceInfo, Timestamp};

use super::{
    FILE_MAX,
    commit::{Commit, Need},
    content, directory,
    permission::{may_own, may_resize},
    tree::Tree,
};
use crate::{
    crypt::NoKeyName,
    error::{Error, Result},
    layout::{ExtraAttr, InodeFlags, Nid},
    quota::QuotaKind,
};

/// Entries of a directory that are looked up at a time.
const BATCH: usize = 256;
/// Nodes that may be made on the way to a range, besides those that hold its addresses.
const WAY: u64 = 8;

/// An entry of a directory.
pub(super) struct Entry {
    pub(super) name: Vec<u8>,
    pub(super) ino: Ino,
    pub(super) file_type: u8,
    pub(super) cookie: u64,
}

/// The number of an inode as callers know it.
pub(super) fn ino(tree: &Tree, nid: Nid) -> Ino {
    if nid == tree.root() { Ino::ROOT } else { Ino(u64::from(nid.0)) }
}

/// Attributes of an inode.
pub(super) fn attr(tree: &Tree, nid: Nid) -> Result<Attr> {
    let inode = tree.inode(nid)?;
    let block = tree.blocks().nodes().inode_block(nid)?;
    // An encrypted target is longer than its shown form.
    let size = match inode.kind {
        FileKind::Symlink if inode.is_encrypted() => target(tree, nid)?.len() as u64,
        _ => inode.size,
    };
    Ok(Attr {
        ino: ino(tree, nid),
        kind: inode.kind,
        perm: inode.perm(),
        nlink: inode.links,
        uid: inode.uid,
        gid: inode.gid,
        rdev: inode.device(&block),
        size,
        allocated: inode.allocated(),
        atime: inode.atime,
        mtime: inode.mtime,
        ctime: inode.ctime,
        btime: inode.extra.filter(ExtraAttr::has_crtime).map(|extra| extra.crtime).unwrap_or_default(),
        generation: inode.generation,
    })
}

/// Changes attributes.
pub(super) fn set(tree: &mut Tree, nid: Nid, change: &SetAttr, now: Timestamp) -> Result<()> {
    let mut inode = tree.inode(nid)?;
    if *change == SetAttr::default() {
        return Ok(());
    }
    may_own(&inode, change)?;
    if let Some(size) = change.size {
        match inode.kind {
            FileKind::File => {}
            FileKind::Dir => return Err(Error::Errno(Errno::IsDir)),
            _ => return Err(Error::Errno(Errno::Invalid)),
        }
        may_resize(tree.blocks(), &inode, size, tree.blocks().nodes().size().bytes_u64())?;
        if size > FILE_MAX || size > most(tree) {
            return Err(Error::Errno(Errno::FileTooBig));
        }
        content::set_size(tree.blocks_mut(), &mut inode, size)?;
        inode.mtime = now;
    }
    if let Some(perm) = change.perm {
        inode.mode = inode.mode & !0o7777 | crate::word::half(perm & 0o7777);
    }
    inode.uid = change.uid.unwrap_or(inode.uid);
    inode.gid = change.gid.unwrap_or(inode.gid);
    inode.atime = change.atime.unwrap_or(inode.atime);
    inode.mtime = change.mtime.unwrap_or(inode.mtime);
    inode.ctime = change.ctime.unwrap_or(now);
    tree.blocks_mut().nodes_mut().put(&inode)
}

/// Bytes that every file can have.
fn most(tree: &Tree) -> u64 {
    let size = tree.blocks().nodes().size();
    let words = u64::from(size.node_words());
    (words * words * words).saturating_mul(size.bytes_u64())
}

/// The target of a symbolic link.
pub(super) fn target(tree: &Tree, nid: Nid) -> Result<Vec<u8>> {
    let inode = tree.inode(nid)?;
    if inode.kind != FileKind::Symlink {
        return Err(Error::Errno(Errno::Invalid));
    }
    let most = tree.blocks().nodes().size().width();
    let mut target = vec![0; usize::try_from(inode.size).map_or(most, |size| size.min(most))];
    let got = content::read(tree.blocks(), &inode, 0, &mut target)?;
    target.truncate(got);
    if !inode.is_encrypted() {
        return Ok(target);
    }
    let shown = match tree.blocks().keys().of(tree.blocks().nodes(), &inode)? {
        Some(key) => key.decrypt_link(&target),
        None => NoKeyName::of_link(&target).map(|name| name.encode()),
    };
    shown.map_err(|error| Error::Crypt { ino: nid, error })
}

/// The next entries of a directory behind a cookie.
pub(super) fn entries(tree: &Tree, dir: Nid, cookie: u64) -> Result<(Vec<Entry>, Result<()>)> {
    let inode = tree.dir(dir)?;
    let mut entries = Vec::new();
    let whole = directory::list(tree.blocks(), &inode, cookie, &mut |name, dentry, cookie| {
        entries.push(Entry {
            name: name.to_vec(),
            ino: ino(tree, dentry.ino),
            file_type: dentry.file_type,
            cookie,
        });
        entries.len() < BATCH
    });
    Ok((entries, whole))
}

/// The blocks that writing a range of a file may take up; [`Errno::NoSpace`] if users cannot have those that it lacks.
pub(super) fn need(commit: &Commit, inode: &crate::layout::Inode, range: Range<u64>) -> Result<Need> {
    let size = commit.tree().blocks().nodes().size();
    if range.end > most(commit.tree()) {
        return Err(Error::Errno(Errno::FileTooBig));
    }
    commit.check_more(content::missing(commit.tree().blocks(), inode, range.clone())?)?;
    let blocks = (range.end - range.start).div_ceil(size.bytes_u64()) + 1;
    let nodes = blocks / u64::from(size.node_words()) + WAY;
    Ok(Need { data: blocks + 1 + at_ends(inode), nodes })
}

/// Blocks that are written anew with the first and the last of a range: those that are compressed with them.
pub(super) fn at_ends(inode: &crate::layout::Inode) -> u64 {
    inode.cluster_blocks().map_or(0, |blocks| 2 * u64::from(blocks))
}

/// The blocks that punching `length` bytes out of a file may take up: nodes that lose addresses are written anew.
pub(super) fn need_to_punch(commit: &Commit, inode: &crate::layout::Inode, length: u64) -> Need {
    let size = commit.tree().blocks().nodes().size();
    let nodes = length / size.bytes_u64() / u64::from(size.node_words());
    Need { data: 2 + at_ends(inode), nodes: nodes.min(inode.blocks) + WAY }
}

/// Space and inodes.
pub(super) fn space(commit: &Commit) -> SpaceInfo {
    let (users, used) = commit.blocks();
    let writer = commit.tree().blocks().nodes().writer();
    let (width, free) = (writer.super_block().block().bytes_u64(), users.saturating_sub(used));
    // An inode needs a number and a block.
    let (inodes, numbers) = (writer.inodes(), writer.free_numbers().min(free));
    SpaceInfo {
        block_bytes: writer.super_block().block().bytes(),
        total_bytes: users.saturating_mul(width),
        free_bytes: free.saturating_mul(width),
        inodes: u64::from(inodes).saturating_add(numbers),
        free_inodes: numbers,
        name_max: 255,
    }
}

/// Space and inodes for files below a directory: no more than its project may have, if it hands that down.
pub(super) fn space_at(commit: &Commit, dir: Nid) -> Result<SpaceInfo> {
    let (mut space, inode) = (space(commit), commit.tree().inode(dir)?);
    let project = inode.extra.filter(|_| inode.flags.has(InodeFlags::PROJECT_INHERIT));
    let usage = commit.tree().blocks().nodes().usage();
    let Some(quota) = project.and_then(|extra| usage.quota(QuotaKind::Project, extra.project)) else {
        return Ok(space);
    };
    if let Some((limit, rest)) = quota.inodes.rest() {
        (space.inodes, space.free_inodes) = (space.inodes.min(limit), space.free_inodes.min(rest));
    }
    if let Some((limit, rest)) = quota.bytes.rest() {
        (space.total_bytes, space.free_bytes) = (space.total_bytes.min(limit), space.free_bytes.min(rest));
    }
    Ok(space)
}
