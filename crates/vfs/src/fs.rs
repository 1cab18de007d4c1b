//! The trait.

use alloc::vec::Vec;
use core::ops::Range;

use crate::{Attr, Errno, FileKind, FlagChange, Flags, Ino, Result, SetAttr, SpaceInfo};

/// A new inode, as `create`, `mkdir`, `mknod` and `symlink` make it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewNode<'a> {
    /// The kind.
    pub kind: FileKind,
    /// Permission bits (`0o7777`), umask already applied.
    pub perm: u32,
    /// Owner.
    pub uid: u32,
    /// Group; the front end has already looked at the parent's set-gid bit.
    pub gid: u32,
    /// Device number of a device node, otherwise 0.
    pub rdev: u32,
    /// Target of a symbolic link (1 to 4095 bytes, no NUL), otherwise empty. Longer is
    /// [`Errno::NameTooLong`], empty or with NUL [`Errno::Invalid`].
    pub target: &'a [u8],
}

impl NewNode<'static> {
    /// What overlayfs takes for a name that is gone.
    pub fn whiteout(uid: u32, gid: u32) -> NewNode<'static> {
        NewNode { kind: FileKind::CharDevice, perm: 0, uid, gid, rdev: 0, target: &[] }
    }
}

/// The behaviour of `rename` if the target exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RenameMode {
    /// Replace it, as `rename(2)` does.
    Replace,
    /// Fail with [`Errno::Exists`].
    NoReplace,
    /// Swap the two names; both must exist.
    Exchange,
    /// Replace it, and leave a whiteout of this owner under the old name: a character device with the number 0, which
    /// tells overlayfs that a name is gone. File systems that cannot do both at once answer [`Errno::Invalid`].
    Whiteout {
        /// User.
        uid: u32,
        /// Group.
        gid: u32,
    },
}

/// The behaviour of `setxattr` if the attribute exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum XattrMode {
    /// Set it in both cases.
    Either,
    /// Fail with [`Errno::Exists`] if it exists.
    Create,
    /// Fail with [`Errno::NoData`] if it does not.
    Replace,
}

/// The effect of `fallocate` on a range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpaceMode {
    /// Reserve space; the file grows to the end of the range unless `keep_size`.
    Reserve {
        /// Leave the length as it is.
        keep_size: bool,
    },
    /// Make a hole; the length stays.
    PunchHole,
    /// Make it read as zeros with space reserved; the file grows unless `keep_size`.
    Zero {
        /// Leave the length as it is.
        keep_size: bool,
    },
}

/// The use that a file is opened for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Its content is read.
    Read,
    /// It is written to, behind its end only.
    Append,
    /// It is written to.
    Write,
}

/// The target of `seek`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seek {
    /// The next byte that is not in a hole.
    Data,
    /// The next byte that is in a hole; the end of the file counts as one.
    Hole,
}

/// Bytes of a file that a device of the file system holds unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stored {
    /// The device, from 0 in the order in which the file system was given them.
    pub device: usize,
    /// The place on it, in bytes.
    pub offset: u64,
    /// The number of bytes; never 0.
    pub length: u64,
}

/// A directory entry as `readdir` hands it out; `.` and `..` are not among them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DirEntry<'a> {
    /// The name: 1 to 255 bytes, neither `/` nor NUL.
    pub name: &'a [u8],
    /// Its inode.
    pub ino: Ino,
    /// The kind of the inode.
    pub kind: FileKind,
    /// Pass it to [`FileSystem::readdir`] to go on behind this entry; never 0.
    pub cookie: u64,
}

/// A mounted file system. Every call is atomic towards others; errors leave everything as it was.
///
/// Nothing is checked against permissions: that is the front end's work. Calls that change anything fail
/// with [`Errno::ReadOnly`] on a read-only mount. Times are set by the file system from the clock it was
/// given; reading does not change `atime`.
///
/// An unused inode number is [`Errno::Stale`]; numbers stay the same from mount to mount. A name in something that is
/// not a directory is [`Errno::NotDir`]; a missing name is [`Errno::NoEntry`], and so is a new name in a directory that
/// is open but removed. Names to be made, moved or removed pass [`check_name`]. Where several errors apply, any of them
/// may be returned.
///
/// Times are as in POSIX. A change of names sets `mtime` and `ctime` of the directories, and `ctime` of the inode that
/// gains, changes or loses a name. A change of content sets `mtime` and `ctime`; of attributes, `ctime`.
///
/// Calls with a default may be left out of a file system that cannot be written: changes answer [`Errno::ReadOnly`],
/// every file is all data, and nothing has extended attributes.
pub trait FileSystem: AsFileSystem {
    /// Space and inodes.
    fn space(&self) -> Result<SpaceInfo>;

    /// Space and inodes for what is below `dir`: a quota may leave it less than there is.
    fn space_at(&self, _dir: Ino) -> Result<SpaceInfo> {
        self.space()
    }

    /// The same file system for callers that quotas limit: what would exceed one fails with [`Errno::Quota`].
    fn limited(&self) -> &dyn FileSystem {
        self.as_file_system()
    }

    /// Attributes of an inode; [`Errno::Stale`] if there is none of that number.
    fn attr(&self, ino: Ino) -> Result<Attr>;

    /// Says that the attributes of these inodes will be asked for soon, so that they can be read together. Nothing is
    /// promised.
    fn expect(&self, _inos: &[Ino]) {}

    /// Changes attributes and returns the new ones; a change that names none changes nothing. A length on a
    /// directory is [`Errno::IsDir`], on anything else but a regular file [`Errno::Invalid`], and one that
    /// no file can have [`Errno::FileTooBig`]. Setting the length it has sets `mtime` all the same.
    fn set_attr(&self, _ino: Ino, _change: &SetAttr) -> Result<Attr> {
        Err(Errno::ReadOnly.into())
    }

    /// The inode behind a name, and its attributes. `.` and `..` work in every directory that has a name.
    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Attr>;

    /// The directory that holds directory `dir`; the root's is itself.
    fn parent(&self, dir: Ino) -> Result<Ino>;

    /// The target of a symbolic link; [`Errno::Invalid`] for anything else.
    fn readlink(&self, _ino: Ino) -> Result<Vec<u8>> {
        Err(Errno::Invalid.into())
    }

    /// Makes an inode of any kind under a new name ([`Errno::Exists`] if it is taken).
    fn create(&self, _dir: Ino, _name: &[u8], _node: &NewNode<'_>) -> Result<Attr> {
        Err(Errno::ReadOnly.into())
    }

    /// Gives an inode one more name. The errors are [`Errno::Perm`] for directories, [`Errno::NoEntry`] for an inode
    /// that has lost its last name, [`Errno::Exists`] if the name is taken.
    fn link(&self, _ino: Ino, _dir: Ino, _name: &[u8]) -> Result<Attr> {
        Err(Errno::ReadOnly.into())
    }

    /// Removes a name that is not a directory's ([`Errno::IsDir`]). The inode goes with its last name,
    /// or, while it is held, with the last [`FileSystem::release`].
    fn unlink(&self, _dir: Ino, _name: &[u8]) -> Result<()> {
        Err(Errno::ReadOnly.into())
    }

    /// Removes an empty directory ([`Errno::NotEmpty`], [`Errno::NotDir`]). It goes, like other inodes, with the
    /// last [`FileSystem::release`]; until then it is empty, without links, and nothing can be made in it.
    fn rmdir(&self, _dir: Ino, _name: &[u8]) -> Result<()> {
        Err(Errno::ReadOnly.into())
    }

    /// Moves a name, as `renameat2(2)`. A directory under itself is [`Errno::Invalid`], one over something else
    /// [`Errno::NotDir`] or over a full one [`Errno::NotEmpty`], anything else over a directory [`Errno::IsDir`]. Two
    /// names of one inode are left alone, with no time changed. An exchange moves two names, of any kinds.
    fn rename(
        &self,
        _dir: Ino,
        _name: &[u8],
        _to_dir: Ino,
        _to_name: &[u8],
        _mode: RenameMode,
    ) -> Result<()> {
        Err(Errno::ReadOnly.into())
    }

    /// Keeps an inode alive though its last name may go, until the matching [`FileSystem::release`].
    fn hold(&self, _ino: Ino) -> Result<()> {
        Ok(())
    }

    /// Ends one [`FileSystem::hold`].
    fn release(&self, _ino: Ino) -> Result<()> {
        Ok(())
    }

    /// True if [`FileSystem::open`] refuses some files: front ends then call it for each that is opened.
    fn guards_files(&self) -> bool {
        false
    }

    /// Checks that the content of a regular file can be used; whoever opens it is told, as by reading and writing.
    fn open(&self, _ino: Ino, _access: Access) -> Result<()> {
        Ok(())
    }

    /// Reads from a regular file; returns how many bytes, fewer only at its end. This and the next three
    /// calls fail with [`Errno::IsDir`] on a directory, with [`Errno::Invalid`] on other inodes.
    fn read(&self, ino: Ino, offset: u64, buffer: &mut [u8]) -> Result<usize>;

    /// Writes all of `data`, growing the file as needed ([`Errno::FileTooBig`]); no data, no change.
    fn write(&self, _ino: Ino, _offset: u64, _data: &[u8]) -> Result<()> {
        Err(Errno::ReadOnly.into())
    }

    /// Writes as much of `data` as there is room for, from its start; returns how many bytes. [`Errno::NoSpace`] or
    /// [`Errno::Quota`] if there is room for none.
    fn write_part(&self, ino: Ino, offset: u64, data: &[u8]) -> Result<usize> {
        self.write(ino, offset, data)?;
        Ok(data.len())
    }

    /// Reserves, punches or zeroes a range of a regular file, `length` at least 1 ([`Errno::Invalid`]). Counts
    /// as a change of content in every mode, even where nothing was to be done. [`Errno::FileTooBig`] if no
    /// file reaches so far.
    fn allocate(&self, _ino: Ino, _mode: SpaceMode, _offset: u64, _length: u64) -> Result<()> {
        Err(Errno::ReadOnly.into())
    }

    /// The next data or hole at or behind `offset`; [`Errno::NoAddress`] if `offset` is at or behind the
    /// end, or no data follows. Holes may be reported in whole blocks, and zeros as data.
    fn seek(&self, ino: Ino, offset: u64, what: Seek) -> Result<u64> {
        let attr = self.attr(ino)?;
        match (attr.kind, what) {
            (FileKind::Dir, _) => Err(Errno::IsDir.into()),
            (FileKind::File, _) if offset >= attr.size => Err(Errno::NoAddress.into()),
            (FileKind::File, Seek::Data) => Ok(offset),
            (FileKind::File, Seek::Hole) => Ok(attr.size),
            _ => Err(Errno::Invalid.into()),
        }
    }

    /// The device and place of the bytes of a regular file from `offset` on, so that they can be copied from there
    /// while nothing changes. `None` for a hole, for bytes that are stored in another form, and if it is not known.
    fn stored(&self, _ino: Ino, _offset: u64) -> Result<Option<Stored>> {
        Ok(None)
    }

    /// Bytes of content that all files together can have, as long as no two of them share blocks. Copying more than
    /// that out of a damaged volume fills a disk with the same bytes again and again.
    fn content_max(&self) -> u64 {
        u64::MAX
    }

    /// The place where reading may go on after [`FileSystem::read`] or [`FileSystem::seek`] has failed at `offset`
    /// because of damage: the first byte behind it that the same damage does not reach.
    fn behind_damage(&self, _ino: Ino, offset: u64) -> u64 {
        const SMALLEST: u64 = 4096;
        (offset / SMALLEST).saturating_add(1).saturating_mul(SMALLEST)
    }

    /// Returns once the content and attributes of an inode, and a name it was created under, will survive
    /// a power cut. With `data_only`, attributes that are not needed to read the content may be lost.
    /// On a directory: the names in it.
    fn fsync(&self, _ino: Ino, _data_only: bool) -> Result<()> {
        Ok(())
    }

    /// Returns once everything will survive a power cut.
    fn sync(&self) -> Result<()> {
        Ok(())
    }

    /// Passes the entries of a directory behind `cookie` (0: from the start) to `each` until it returns `false`; the
    /// next call begins with the entry it refused. Entries that stay while others come and go are passed once.
    /// The readable entries of a damaged directory are passed all the same. The error comes afterwards, once for all
    /// damaged parts, and the call may go on behind the last entry.
    fn readdir(&self, dir: Ino, cookie: u64, each: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()>;

    /// The value of an extended attribute; [`Errno::NoData`] if there is none.
    fn xattr(&self, _ino: Ino, _name: &[u8]) -> Result<Vec<u8>> {
        Err(Errno::NoData.into())
    }

    /// Sets an extended attribute. Names have 1 to 255 bytes in the namespaces `user.`, `trusted.`, `security.` and
    /// `system.`, values up to 65,536 bytes; [`Errno::Range`] for either length. Other namespaces, and names in
    /// `system.` that the format has no place for, are [`Errno::NotSupported`]; a format that holds less answers
    /// [`Errno::NoSpace`].
    fn set_xattr(&self, _ino: Ino, _name: &[u8], _value: &[u8], _mode: XattrMode) -> Result<()> {
        Err(Errno::ReadOnly.into())
    }

    /// The names of all extended attributes.
    fn list_xattr(&self, _ino: Ino) -> Result<Vec<Vec<u8>>> {
        Ok(Vec::new())
    }

    /// Removes an extended attribute; [`Errno::NoData`] if there is none.
    fn remove_xattr(&self, _ino: Ino, _name: &[u8]) -> Result<()> {
        Err(Errno::ReadOnly.into())
    }

    /// Flags and project of an inode; [`Errno::NotSupported`] if the file system keeps none.
    fn flags(&self, _ino: Ino) -> Result<Flags> {
        Err(Errno::NotSupported.into())
    }

    /// Changes flags and project. A flag that an inode of this kind cannot have is [`Errno::NotSupported`]. Flags that
    /// are shown and cannot be set may be among the new ones: they stay as they are.
    fn set_flags(&self, _ino: Ino, _change: &FlagChange) -> Result<()> {
        Err(Errno::NotSupported.into())
    }

    /// Tells the device, once everything survives a power cut, of what is free within a range of its bytes, in pieces of
    /// `least` bytes at least. Returns how many bytes these are.
    fn trim(&self, _range: Range<u64>, _least: u64) -> Result<u64> {
        Err(Errno::NotSupported.into())
    }

    /// Does a small piece of deferred work (write back, clean, erase); true if more is left. Front ends call it when
    /// idle.
    fn maintain(&self) -> Result<bool> {
        Ok(false)
    }
}

/// Any file system as a trait object.
pub trait AsFileSystem {
    /// The same file system.
    fn as_file_system(&self) -> &dyn FileSystem;
}

impl<F: FileSystem> AsFileSystem for F {
    fn as_file_system(&self) -> &dyn FileSystem {
        self
    }
}

/// Checks a name that is to be made: [`Errno::NameTooLong`] over 255 bytes, [`Errno::Invalid`] when empty,
/// `.`, `..`, or with `/` or NUL in it.
pub fn check_name(name: &[u8]) -> Result<()> {
    if name.len() > 255 {
        return Err(Errno::NameTooLong.into());
    }
    // Counted, not sought: that takes sixteen bytes at a time, and each name in a directory that is searched comes here.
    let odd = name.iter().filter(|byte| matches!(byte, 0 | b'/')).count();
    if name.is_empty() || name == b"." || name == b".." || odd > 0 {
        return Err(Errno::Invalid.into());
    }
    Ok(())
}
