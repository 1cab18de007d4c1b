//! Inode flags and projects, as `chattr` sets them.

use pumice_vfs::{Errno, FileKind, FlagChange, Timestamp};

use super::{blocks::Blocks, content, directory, tree::Tree};
use crate::{
    error::{Error, Result},
    layout::{EXTRA_BYTES, Features, InlineFlags, Inode, InodeFlags, Nid},
};

/// Flags of any inode, and those that all but directories lack.
const OF_ALL: InodeFlags = InodeFlags::NODUMP.with(InodeFlags::NOATIME);
const OF_DIRECTORIES: InodeFlags =
    InodeFlags::DIRSYNC.with(InodeFlags::PROJECT_INHERIT).with(InodeFlags::CASEFOLD);
/// Bytes of extra attributes up to the end of the project.
const WITH_PROJECT: u16 = 8;

/// Changes flags and project of an inode, by Linux's rules and in its order.
pub(super) fn set(tree: &mut Tree, nid: Nid, change: &FlagChange, now: Timestamp) -> Result<()> {
    let mut inode = tree.inode(nid)?;
    let unsupported = Err(Error::Errno(Errno::NotSupported));
    if change.bits & !Inode::SHOWN_FLAGS != 0 {
        return unsupported;
    }
    let asked = change.bits & InodeFlags::SETTABLE.0;
    let possible = match inode.kind {
        FileKind::Dir => asked,
        FileKind::File => asked & !OF_DIRECTORIES.0,
        _ => asked & OF_ALL.0,
    };
    if asked != possible {
        return unsupported;
    }
    let mask = InodeFlags::SETTABLE.0 & change.mask;
    let wanted = InodeFlags(inode.flags.0 & !mask | asked & mask);
    let differs = |flag: InodeFlags| (inode.flags.0 ^ wanted.0) & flag.0 != 0;
    let (folds, compresses) = (differs(InodeFlags::CASEFOLD), differs(InodeFlags::COMPRESSED));
    if folds {
        may_fold(tree.blocks(), &inode, wanted)?;
    }
    may_compress(tree.blocks(), &inode, InodeFlags(asked & mask))?;
    if compresses {
        compress(tree, &mut inode)?;
    }
    inode.flags = wanted;
    if let Some(project) = change.project {
        set_project(&mut inode, project, tree.blocks().nodes().features())?;
    }
    inode.ctime = now;
    let nodes = tree.blocks_mut().nodes_mut();
    // Names in it, or the addresses of its blocks, may be others from now on.
    nodes.promises_mut().unsettle(nid);
    nodes.put(&inode)
}

/// Checks that names in a directory may begin, or cease, to ignore case.
fn may_fold(blocks: &Blocks, dir: &Inode, wanted: InodeFlags) -> Result<()> {
    if !blocks.nodes().features().has(Features::CASEFOLD) {
        return Err(Error::Errno(Errno::NotSupported));
    }
    if dir.is_encrypted() && wanted.has(InodeFlags::CASEFOLD) {
        let key = blocks.keys().of(blocks.nodes(), dir)?.ok_or(Error::Errno(Errno::NoKey))?;
        // Policies of version 1 have no key for the hashes of folded names.
        key.directory_hash_key().ok_or(Error::Errno(Errno::Invalid))?;
    }
    if directory::is_empty(blocks, dir)? { Ok(()) } else { Err(Error::Errno(Errno::NotEmpty)) }
}

/// Checks that flags of compression, if any are asked for, are flags of this inode.
fn may_compress(blocks: &Blocks, inode: &Inode, asked: InodeFlags) -> Result<()> {
    let both = InodeFlags::COMPRESSED.with(InodeFlags::NOT_COMPRESSED);
    let has_room = inode.extra.is_some_and(|extra| usize::from(extra.bytes) >= EXTRA_BYTES);
    if asked.0 & both.0 != 0 && !(blocks.nodes().features().has(Features::COMPRESSION) && has_room) {
        return Err(Error::Errno(Errno::NotSupported));
    }
    if asked.has(both) { Err(Error::Errno(Errno::Invalid)) } else { Ok(()) }
}

/// Begins or ends compression: of a file without blocks, or of files that are made in a directory.
fn compress(tree: &mut Tree, inode: &mut Inode) -> Result<()> {
    if inode.has_inline_data() {
        content::spill(tree.blocks_mut(), inode)?;
    }
    let own = 1 + u64::from(!inode.xattr_nid.is_null());
    let has_content = inode.kind == FileKind::File && inode.blocks > own;
    if has_content || inode.inline.has(InlineFlags::PIN) {
        return Err(Error::Errno(Errno::Invalid));
    }
    if !inode.flags.has(InodeFlags::COMPRESSED) {
        tree.compression().mark(inode);
    }
    Ok(())
}

/// Gives an inode another project.
fn set_project(inode: &mut Inode, project: u32, features: Features) -> Result<()> {
    let unsupported = Err(Error::Errno(Errno::NotSupported));
    if !features.has(Features::PROJECT_QUOTA) {
        return if project == 0 { Ok(()) } else { unsupported };
    }
    if project == u32::MAX {
        return Err(Error::Errno(Errno::Invalid));
    }
    match inode.extra.as_mut().filter(|extra| extra.bytes >= WITH_PROJECT) {
        Some(extra) => extra.project = project,
        None => return unsupported,
    }
    Ok(())
}
