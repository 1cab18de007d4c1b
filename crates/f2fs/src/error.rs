//! The errors, as callers tell them apart.

use core::fmt;

use pumice_media::BlockError;
use pumice_vfs::{Errno, FsError};

use crate::{
    compress::ClusterError,
    crypt::CryptError,
    ids::{BlockAddr, Nid, SegNo},
    verity::VerityError,
};

/// The result of every call here.
pub type Result<T> = core::result::Result<T, Error>;

/// The reason why a call failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No super block is where it should be.
    #[error("not an F2FS image (magic {found:#010x} at byte 1024, want 0xf2f52010)")]
    NotF2fs {
        /// The value found.
        found: u32,
    },
    /// The volume uses unknown features.
    #[error("feature bits {0:#010x} are unknown; a newer version is needed")]
    UnknownFeatures(u32),
    /// Something else that is not supported, in words.
    #[error("{0}")]
    Unsupported(String),
    /// A volume on several devices was opened with too few, or with one that is too small.
    #[error("{}", device(*index, path, *found, *want))]
    Device {
        /// The number, from 0.
        index: usize,
        /// Its path when the volume was made.
        path: String,
        /// Bytes it has, 0 if it was not given.
        found: u64,
        /// Bytes it needs.
        want: u64,
    },
    /// The device failed.
    #[error("block {addr}: {error}")]
    Read {
        /// The block that was read.
        addr: u64,
        /// The device's error.
        error: BlockError,
    },
    /// The device failed to write.
    #[error("block {addr}: {error}")]
    Write {
        /// The first block that was to be written.
        addr: u64,
        /// The device's error.
        error: BlockError,
    },
    /// The device failed to make its writes durable.
    #[error("flush: {0}")]
    Flush(BlockError),
    /// No segment of the main area is free any more.
    #[error("no segment is free, of {segments}")]
    NoSegment {
        /// Segments of the main area.
        segments: u32,
    },
    /// All node numbers are in use.
    #[error("no node number is free below {limit}")]
    NoNode {
        /// The first number that the NAT has no room for.
        limit: u32,
    },
    /// The contents of the medium contradict the format.
    #[error("{0}")]
    Corrupt(#[from] Corrupt),
    /// The content is encrypted and its key was not given.
    #[error("inode {0} is encrypted and its key was not given")]
    NoKey(Nid),
    /// A key does not fit the inode, or the inode's encryption makes no sense.
    #[error("inode {ino}: {error}")]
    Crypt {
        /// The inode.
        ino: Nid,
        /// The error.
        error: CryptError,
    },
    /// A compressed cluster cannot be decompressed.
    #[error("inode {ino}, byte {offset}: {error}")]
    Cluster {
        /// The inode.
        ino: Nid,
        /// The beginning of the cluster in the file.
        offset: u64,
        /// The error.
        error: ClusterError,
    },
    /// The system has no random bytes, which a new encrypted inode needs.
    #[error("no random bytes: {0}")]
    Random(String),
    /// Content differs from that which fs-verity sealed.
    #[error("inode {ino}, byte {offset}: {error}")]
    Verity {
        /// The inode.
        ino: Nid,
        /// The place in the file.
        offset: u64,
        /// The error.
        error: VerityError,
    },
    /// A directory has a name that none can be: with a slash or NUL, or one of the two that lead upwards.
    #[error("inode {dir}: no file can be called \"{name}\"")]
    Name {
        /// The directory.
        dir: Nid,
        /// The name, with all but letters escaped.
        name: String,
    },
    /// Several things at once.
    #[error("{first}; and {more} more in the same directory")]
    Several {
        /// The first of them.
        first: Box<Error>,
        /// The number of others.
        more: u64,
    },
    /// An ordinary error of file systems.
    #[error("{0}")]
    Errno(Errno),
}

/// Damage: the place, the field, and the two numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Corrupt {
    place: Place,
    what: &'static str,
    found: u64,
    want: u64,
}

/// The place of damage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// One of the two super blocks.
    SuperBlock,
    /// A checkpoint pack, 1 or 2.
    Checkpoint(u8),
    /// A block.
    Block(BlockAddr),
    /// A node.
    Node(Nid),
    /// An inode.
    Inode(Nid),
    /// A segment of the main area.
    Segment(SegNo),
}

impl Corrupt {
    /// Damage at `place`: `what` is `found`, and `want` is right or the limit, as `what` says.
    pub fn new(place: Place, what: &'static str, found: u64, want: u64) -> Corrupt {
        Corrupt { place, what, found, want }
    }

    /// The place.
    pub fn place(&self) -> Place {
        self.place
    }
}

/// An error for damage.
pub(crate) fn corrupt(
    place: Place,
    what: &'static str,
    found: impl Into<u64>,
    want: impl Into<u64>,
) -> Error {
    Error::Corrupt(Corrupt::new(place, what, found.into(), want.into()))
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::SuperBlock => f.write_str("super block"),
            Place::Checkpoint(pack) => write!(f, "checkpoint pack {pack}"),
            Place::Block(addr) => write!(f, "block {addr}"),
            Place::Node(nid) => write!(f, "node {nid}"),
            Place::Inode(ino) => write!(f, "inode {ino}"),
            Place::Segment(segno) => write!(f, "segment {segno}"),
        }
    }
}

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} {} (want {})", self.place, self.what, self.found, self.want)
    }
}

impl core::error::Error for Corrupt {}

impl Error {
    /// True if the file or disk that the volume is kept on has no room left, which is no fault of the volume.
    pub(crate) fn is_host_full(&self) -> bool {
        matches!(self, Error::Write { error, .. } | Error::Flush(error) if error.is_host_full())
    }
}

impl From<Errno> for Error {
    fn from(errno: Errno) -> Error {
        Error::Errno(errno)
    }
}

impl From<Error> for FsError {
    fn from(error: Error) -> FsError {
        match error {
            Error::Errno(errno) => errno.into(),
            Error::NoKey(_) => FsError::new(Errno::NoKey, error.to_string()),
            Error::Unsupported(_)
            | Error::UnknownFeatures(_)
            | Error::Crypt { error: CryptError::NotBuilt, .. }
            | Error::Cluster { error: ClusterError::NotBuilt(_), .. } => {
                FsError::new(Errno::NotSupported, error.to_string())
            }
            Error::NotF2fs { .. } => FsError::new(Errno::Invalid, error.to_string()),
            _ if error.is_host_full() => FsError::new(Errno::NoSpace, error.to_string()),
            Error::NoSegment { .. } | Error::NoNode { .. } => FsError::new(Errno::NoSpace, error.to_string()),
            _ => FsError::new(Errno::Io, error.to_string()),
        }
    }
}

/// A device that differs from the super block.
fn device(index: usize, path: &str, found: u64, want: u64) -> String {
    let name = if path.is_empty() { String::new() } else { format!("device {index} ({path}): ") };
    if found == 0 {
        return format!("{name}not there (want {want} bytes)");
    }
    let missing = want.saturating_sub(found);
    format!("{name}cut short: {found} of {want} bytes are there, the last {missing} are missing")
}
