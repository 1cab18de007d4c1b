//! Attributes: the results of `stat` and `statfs`.

use alloc::boxed::Box;

/// An inode number. 1 is the root of every file system; 0 is never used.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ino(pub u64);

impl Ino {
    /// The root directory.
    pub const ROOT: Ino = Ino(1);
}

/// The kind of an inode.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character device.
    CharDevice,
    /// A block device.
    BlockDevice,
}

impl FileKind {
    /// The `S_IFMT` bits of `st_mode`.
    pub fn mode_bits(self) -> u32 {
        match self {
            FileKind::Fifo => 0o010_000,
            FileKind::CharDevice => 0o020_000,
            FileKind::Dir => 0o040_000,
            FileKind::BlockDevice => 0o060_000,
            FileKind::File => 0o100_000,
            FileKind::Symlink => 0o120_000,
            FileKind::Socket => 0o140_000,
        }
    }

    /// The kind that the `S_IFMT` bits of `mode` name; `None` for any other pattern.
    pub fn from_mode(mode: u32) -> Option<FileKind> {
        Some(match mode & 0o170_000 {
            0o010_000 => FileKind::Fifo,
            0o020_000 => FileKind::CharDevice,
            0o040_000 => FileKind::Dir,
            0o060_000 => FileKind::BlockDevice,
            0o100_000 => FileKind::File,
            0o120_000 => FileKind::Symlink,
            0o140_000 => FileKind::Socket,
            _ => return None,
        })
    }
}

/// A moment: seconds since 1970 (negative before) and nanoseconds, 0 to 999,999,999.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Timestamp {
    /// Seconds since 1970-01-01 00:00 UTC.
    pub seconds: i64,
    /// Nanoseconds within the second.
    pub nanos: u32,
}

/// Tells the time; a file system is given one, so that a run can be repeated.
pub type Clock = Box<dyn Fn() -> Timestamp + Send + Sync>;

/// The attributes of an inode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attr {
    /// Inode number.
    pub ino: Ino,
    /// The kind.
    pub kind: FileKind,
    /// Permission bits, set-uid, set-gid and sticky: `mode & 0o7777`.
    pub perm: u32,
    /// Hard links; 0 once unlinked and still held.
    pub nlink: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Device number of a device node, as Linux encodes `st_rdev` in 32 bits; otherwise 0.
    pub rdev: u32,
    /// Length in bytes: of a file, of a link's target; for directories whatever the file system likes.
    pub size: u64,
    /// Space taken, in bytes; reserved space counts.
    pub allocated: u64,
    /// Last read.
    pub atime: Timestamp,
    /// Last change of content.
    pub mtime: Timestamp,
    /// Last change of content or attributes.
    pub ctime: Timestamp,
    /// Birth.
    pub btime: Timestamp,
    /// Changes whenever an inode number is used again.
    pub generation: u32,
}

/// Changes of attributes; `None` leaves a field as it is. `ctime` is set to now by every change unless given.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SetAttr {
    /// New permission bits (`0o7777`).
    pub perm: Option<u32>,
    /// New owner.
    pub uid: Option<u32>,
    /// New group.
    pub gid: Option<u32>,
    /// New length of a regular file; longer leaves a hole. Sets `mtime` too.
    pub size: Option<u64>,
    /// New access time.
    pub atime: Option<Timestamp>,
    /// New modification time.
    pub mtime: Option<Timestamp>,
    /// New change time, in place of now.
    pub ctime: Option<Timestamp>,
}

/// The flags of an inode and its project, as `lsattr -p` shows them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags {
    /// Those of [`flag`](crate::flag).
    pub bits: u32,
    /// The project; 0 where there are none.
    pub project: u32,
}

/// A change of flags and project.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlagChange {
    /// The new flags, of [`flag`](crate::flag).
    pub bits: u32,
    /// The flags that may change; others stay as they are.
    pub mask: u32,
    /// The new project; `None` leaves it as it is.
    pub project: Option<u32>,
}

/// Space and inodes of a whole file system.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SpaceInfo {
    /// The unit in which the file system allocates, in bytes.
    pub block_bytes: u32,
    /// Size of the file system, in bytes.
    pub total_bytes: u64,
    /// Bytes that can still be written.
    pub free_bytes: u64,
    /// Inodes that can exist.
    pub inodes: u64,
    /// Inodes that can still be made.
    pub free_inodes: u64,
    /// Longest name, in bytes.
    pub name_max: u32,
}
