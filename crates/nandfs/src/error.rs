//! Damage, told with its place; callers only see an I/O error and the line.

use alloc::format;
use core::fmt;

use pumice_flashlog::Fault;
use pumice_media::NandError;
use pumice_vfs::{Errno, FsError};

use crate::addr::Addr;

/// The damaged thing. One kind for each place that can find it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Damage {
    /// A log page cannot be read, or its tag makes no sense.
    Page(Fault),
    /// A log page does not hold the chunk that an index says it holds.
    NotThere { page: u32, offset: u16 },
    /// An address points outside the log.
    Address { page: u32, offset: u16, len: u16 },
    /// A compressed block does not unpack.
    Packed { page: u32, offset: u16 },
    /// Compressed content that an inode holds itself does not unpack.
    Inline,
    /// A node does not decode.
    Node(u32),
    /// The node table has no such node though something points at it.
    NoNode(u32),
    /// A node is of another kind than the pointer to it says.
    NodeKind(u32),
    /// A directory bucket does not decode: directory, bucket.
    Directory(u32, u32),
    /// The extended attributes of an inode do not decode.
    Xattr(u32),
    /// A promise of fsync for an inode or index node cannot be read.
    Lost(u32),
    /// Promised names in this directory cannot be read, or a promised new inode with its name there.
    LostNames(u32),
    /// No valid anchor, or no valid checkpoint.
    Root(&'static str),
}

impl Damage {
    /// A compressed block at this place.
    pub(crate) fn packed(addr: Addr) -> Damage {
        Damage::Packed { page: addr.page, offset: addr.offset }
    }

    /// A page that could not be read, as callers see it.
    pub(crate) fn of_page(fault: Fault) -> FsError {
        match fault {
            Fault::Chip(error) => device(error),
            fault => Damage::Page(fault).into(),
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::Page(fault) => fault.fmt(f),
            Damage::NotThere { page, offset } => {
                write!(f, "log page {page} holds another chunk at byte {offset}")
            }
            Damage::Address { page, offset, len } => {
                write!(f, "address outside the log (page {page}, byte {offset}, {len} bytes)")
            }
            Damage::Packed { page, offset } => {
                write!(f, "compressed block at byte {offset} of log page {page} does not unpack")
            }
            Damage::Inline => write!(f, "compressed content of an inode does not unpack"),
            Damage::Node(nid) => write!(f, "node {nid} is damaged"),
            Damage::NoNode(nid) => write!(f, "node {nid} is not in the node table"),
            Damage::NodeKind(nid) => write!(f, "node {nid} is of the wrong kind"),
            Damage::Directory(ino, bucket) => write!(f, "directory {ino} is damaged in bucket {bucket}"),
            Damage::Xattr(ino) => write!(f, "extended attributes of inode {ino} are damaged"),
            Damage::Lost(nid) => write!(f, "promises of fsync for node {nid} cannot be read"),
            Damage::LostNames(dir) => {
                write!(f, "names in directory {dir}, promised by fsync, cannot be read")
            }
            Damage::Root(what) => write!(f, "{what}"),
        }
    }
}

impl From<Damage> for FsError {
    fn from(damage: Damage) -> FsError {
        FsError::new(Errno::Io, format!("{damage}"))
    }
}

/// A failure of the chip as callers see it.
pub(crate) fn device(error: NandError) -> FsError {
    let errno = if error.is_host_full() { Errno::NoSpace } else { Errno::Io };
    FsError::new(errno, format!("{error}"))
}
