//! One call of a file system, as data: the same step runs on a chip and on the model.

use std::collections::BTreeMap;

use pumice_vfs::conformance::resolve;
use pumice_vfs::{
    Errno, FileKind, FileSystem, FsError, Ino, NewNode, RenameMode, Result, SetAttr, SpaceMode, XattrMode,
};

/// The largest write of one step: longer calls are cut into pieces, between which a checkpoint may come.
pub const WRITE_MAX: u32 = 64 << 10;

/// One call. Data is made up from the number of the step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    Create(String),
    Make(String, FileKind),
    Write(String, u64, u32),
    Truncate(String, u64),
    Allocate(String, SpaceMode, u64, u64),
    Chmod(String, u32),
    SetXattr(String, u8, u32),
    RemoveXattr(String, u8),
    Link(String, String),
    Rename(String, String, RenameMode),
    Unlink(String),
    Rmdir(String),
    /// Keeps an inode alive under a number of its own.
    Hold(String, u8),
    Release(u8),
    Fsync(String),
    Sync,
    Maintain,
    /// Unmount and mount; the runner does it.
    Remount,
}

/// Inodes that are held.
pub type Held = BTreeMap<u8, Ino>;

/// Bytes that no other step writes; those of two steps of three can be compressed.
pub fn bytes_of(step: usize, len: u32) -> Vec<u8> {
    let mut state = (step as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let times = if step.is_multiple_of(3) { 1 } else { 3 };
    let mut bytes = Vec::with_capacity(len as usize + 24);
    while bytes.len() < len as usize {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        bytes.extend((state ^ (state >> 29)).to_le_bytes().repeat(times));
    }
    bytes.truncate(len as usize);
    bytes
}

fn place<'a>(fs: &dyn FileSystem, path: &'a str) -> Result<(Ino, &'a [u8])> {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    Ok((resolve(fs, above)?.ino, name.as_bytes()))
}

fn xattr_name(number: u8) -> Vec<u8> {
    format!("user.x{number}").into_bytes()
}

fn make(fs: &dyn FileSystem, path: &str, kind: FileKind) -> Result<()> {
    let (dir, name) = place(fs, path)?;
    let target: &[u8] = if kind == FileKind::Symlink { path.as_bytes() } else { b"" };
    let perm = if kind == FileKind::Dir { 0o755 } else { 0o644 };
    let rdev = if kind == FileKind::CharDevice { 0x0501 } else { 0 };
    fs.create(dir, name, &NewNode { kind, perm, uid: 7, gid: 8, rdev, target }).map(|_| ())
}

impl Step {
    /// Whether a full volume may refuse it; calls that keep a promise or free space it may not refuse.
    pub fn may_need_space(&self) -> bool {
        use Step::{Allocate, Chmod, Create, Link, Make, Rename, SetXattr, Truncate, Write};
        matches!(
            self,
            Create(..)
                | Make(..)
                | Write(..)
                | Truncate(..)
                | Allocate(..)
                | Chmod(..)
                | SetXattr(..)
                | Link(..)
                | Rename(..)
        )
    }

    /// Makes the call.
    pub fn apply(&self, fs: &dyn FileSystem, number: usize, held: &mut Held) -> Result<()> {
        let ino = |path: &str| resolve(fs, path).map(|attr| attr.ino);
        match self {
            Step::Create(path) => make(fs, path, FileKind::File),
            Step::Make(path, kind) => make(fs, path, *kind),
            Step::Write(path, offset, len) => fs.write(ino(path)?, *offset, &bytes_of(number, *len)),
            Step::Truncate(path, size) => {
                fs.set_attr(ino(path)?, &SetAttr { size: Some(*size), ..SetAttr::default() }).map(|_| ())
            }
            Step::Allocate(path, mode, offset, length) => fs.allocate(ino(path)?, *mode, *offset, *length),
            Step::Chmod(path, perm) => {
                fs.set_attr(ino(path)?, &SetAttr { perm: Some(*perm), ..SetAttr::default() }).map(|_| ())
            }
            Step::SetXattr(path, name, len) => {
                let value = bytes_of(number, *len);
                fs.set_xattr(ino(path)?, &xattr_name(*name), &value, XattrMode::Either)
            }
            Step::RemoveXattr(path, name) => fs.remove_xattr(ino(path)?, &xattr_name(*name)),
            Step::Link(from, to) => {
                let (dir, name) = place(fs, to)?;
                fs.link(ino(from)?, dir, name).map(|_| ())
            }
            Step::Rename(from, to, mode) => {
                let ((dir, name), (to_dir, to_name)) = (place(fs, from)?, place(fs, to)?);
                fs.rename(dir, name, to_dir, to_name, *mode)
            }
            Step::Unlink(path) => place(fs, path).and_then(|(dir, name)| fs.unlink(dir, name)),
            Step::Rmdir(path) => place(fs, path).and_then(|(dir, name)| fs.rmdir(dir, name)),
            Step::Hold(path, slot) => {
                if held.contains_key(slot) {
                    return Err(FsError::from(Errno::Busy));
                }
                let ino = ino(path)?;
                fs.hold(ino)?;
                held.insert(*slot, ino);
                Ok(())
            }
            Step::Release(slot) => held.remove(slot).map_or(Ok(()), |ino| fs.release(ino)),
            Step::Fsync(path) => fs.fsync(ino(path)?, false),
            Step::Sync => fs.sync(),
            Step::Maintain => fs.maintain().map(|_| ()),
            Step::Remount => Ok(()),
        }
    }
}
