//! Files of the host, with everything that belongs to them. Links are never followed.

use std::{
    fs::{self, File},
    io,
    os::{
        fd::AsRawFd,
        unix::{
            ffi::OsStrExt,
            fs::{FileTypeExt, MetadataExt, PermissionsExt, fchown},
        },
    },
    path::Path,
};

use pumice_vfs::{Attr, FileKind, Timestamp};
use rustix::{
    fs::{AtFlags, FileType, Gid, Mode, OFlags, Timespec, Timestamps, Uid, XattrFlags, openat},
    io::Errno,
};

const SET_USER_ID: u32 = 0o4000;
const SET_GROUP_ID: u32 = 0o2000;

/// True if owners can be set and devices made.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The kind of a host file.
pub(crate) fn kind(found: &fs::Metadata) -> FileKind {
    let kind = found.file_type();
    if kind.is_dir() {
        FileKind::Dir
    } else if kind.is_symlink() {
        FileKind::Symlink
    } else if kind.is_fifo() {
        FileKind::Fifo
    } else if kind.is_socket() {
        FileKind::Socket
    } else if kind.is_char_device() {
        FileKind::CharDevice
    } else if kind.is_block_device() {
        FileKind::BlockDevice
    } else {
        FileKind::File
    }
}

/// A device number as an image has it: the 32 bits of Linux's `st_rdev` that its tools use.
pub(crate) fn rdev(found: &fs::Metadata) -> u32 {
    let (major, minor) = (rustix::fs::major(found.rdev()), rustix::fs::minor(found.rdev()));
    (minor & 0xff) | ((major & 0xfff) << 8) | ((minor & 0xf_ff00) << 12)
}

/// Times of last access and change.
pub(crate) fn times(found: &fs::Metadata) -> (Timestamp, Timestamp) {
    let time = |seconds, nanos| Timestamp { seconds, nanos: u32::try_from(nanos).unwrap_or_default() };
    (time(found.atime(), found.atime_nsec()), time(found.mtime(), found.mtime_nsec()))
}

/// Flags of a file or directory, as `lsattr` shows them; none where the host has none, or does not show them.
pub(crate) fn flags(path: &Path) -> io::Result<u32> {
    let options = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, options, Mode::empty()) {
        Ok(file) => file,
        // Whoever reads its content says so.
        Err(Errno::ACCESS) => return Ok(0),
        Err(error) => return Err(error.into()),
    };
    match rustix::fs::ioctl_getflags(&file) {
        Ok(flags) => Ok(flags.bits()),
        Err(Errno::NOTTY | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::PERM) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// Names and values of all extended attributes that may be read; none where the host has none.
pub(crate) fn xattrs(path: &Path) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    // Most files have none, and need no room for them.
    if let Ok(0) = rustix::fs::llistxattr_query(path) {
        return Ok(Vec::new());
    }
    let mut list = vec![0; 1 << 16];
    let length = match rustix::fs::llistxattr(path, list.as_mut_slice()) {
        Ok(length) => length,
        Err(Errno::OPNOTSUPP) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    list.truncate(length);
    let mut found = Vec::new();
    for name in list.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let mut value = vec![0; 1 << 16];
        match rustix::fs::lgetxattr(path, name, value.as_mut_slice()) {
            Ok(length) => {
                value.truncate(length);
                found.push((name.to_vec(), value));
            }
            // Gone since it was listed, or made up by a security module that does not show it.
            Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::PERM) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(found)
}

/// Sets an extended attribute of an open file; false if the host or this user cannot.
pub(crate) fn set_xattr(file: &File, name: &[u8], value: &[u8]) -> io::Result<bool> {
    is_set(rustix::fs::fsetxattr(file, name, value, XattrFlags::empty()))
}

/// The same for a link or a node in `dir`, which cannot be opened.
pub(crate) fn set_xattr_at(dir: &File, entry: &Path, name: &[u8], value: &[u8]) -> io::Result<bool> {
    let path = Path::new("/proc/self/fd").join(dir.as_raw_fd().to_string()).join(entry);
    is_set(rustix::fs::lsetxattr(path, name, value, XattrFlags::empty()))
}

fn is_set(result: rustix::io::Result<()>) -> io::Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::PERM | Errno::ACCESS | Errno::INVAL) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Makes a new file in `dir`, for writing.
pub(crate) fn make_file(dir: &File, name: &Path, attr: &Attr) -> io::Result<File> {
    // Mostly the final mode already, and writable by its maker for now.
    let mode = Mode::from_raw_mode(attr.perm & 0o777) | Mode::RUSR | Mode::WUSR;
    Ok(openat(dir, name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC, mode)?.into())
}

/// Makes a device node, pipe or socket in `dir`.
pub(crate) fn make_node(dir: &File, name: &Path, attr: &Attr) -> io::Result<()> {
    let kind = match attr.kind {
        FileKind::CharDevice => FileType::CharacterDevice,
        FileKind::BlockDevice => FileType::BlockDevice,
        FileKind::Socket => FileType::Socket,
        _ => FileType::Fifo,
    };
    let (major, minor) = crate::text::device(attr.rdev);
    let device = rustix::fs::makedev(major, minor);
    Ok(rustix::fs::mknodat(dir, name, kind, Mode::from_raw_mode(0o600), device)?)
}

/// Owner, permissions and times of a link or a node in `dir`, in the order in which none undoes another.
pub(crate) fn set_attributes_at(dir: &File, name: &Path, attr: &Attr) -> io::Result<()> {
    if is_root() {
        let owner = (Some(Uid::from_raw(attr.uid)), Some(Gid::from_raw(attr.gid)));
        rustix::fs::chownat(dir, name, owner.0, owner.1, AtFlags::SYMLINK_NOFOLLOW)?;
    }
    if attr.kind != FileKind::Symlink {
        rustix::fs::chmodat(dir, name, Mode::from_raw_mode(attr.perm), AtFlags::empty())?;
    }
    Ok(rustix::fs::utimensat(dir, name, &stamps(attr), AtFlags::SYMLINK_NOFOLLOW)?)
}

/// The same for an open file or directory. Attributes that are right already, as of most files, are left: to look costs
/// less than to set.
pub(crate) fn set_attributes_of(file: &File, attr: &Attr) -> io::Result<()> {
    let found = file.metadata()?;
    let is_given = is_root() && (found.uid(), found.gid()) != (attr.uid, attr.gid);
    if is_given {
        fchown(file, Some(attr.uid), Some(attr.gid))?;
    }
    let owner = if is_root() { (attr.uid, attr.gid) } else { (found.uid(), found.gid()) };
    let perm = perm_under(attr, owner);
    // A new owner takes bits of the mode away.
    if is_given || found.mode() & 0o7777 != perm {
        file.set_permissions(fs::Permissions::from_mode(perm))?;
    }
    Ok(rustix::fs::futimens(file, &stamps(attr))?)
}

/// The permissions under an owner and a group: nobody else's file runs as its new owner.
fn perm_under(attr: &Attr, (uid, gid): (u32, u32)) -> u32 {
    let mut perm = attr.perm;
    if uid != attr.uid {
        perm &= !SET_USER_ID;
    }
    if gid != attr.gid {
        perm &= !SET_GROUP_ID;
    }
    perm
}

fn stamps(attr: &Attr) -> Timestamps {
    let spec = |time: Timestamp| Timespec { tv_sec: time.seconds, tv_nsec: i64::from(time.nanos) };
    Timestamps { last_access: spec(attr.atime), last_modification: spec(attr.mtime) }
}

/// The bytes of a path.
pub(crate) fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}
