//! The notes on nodes.

use alloc::vec::Vec;

use pumice_vfs::FileKind;

use crate::node::Node;

/// The owner of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// A name in a directory.
    Name { dir: u32, name: Vec<u8> },
    /// The map of an inode.
    Map { ino: u32 },
}

/// The kind of a node, as found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// It cannot be read or makes no sense.
    Damaged,
    Index {
        owner: u32,
        height: u8,
    },
    Inode(FileKind),
}

/// The notes on a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) what: What,
    /// Places that point at an index node, names of an inode, users of hidden attributes.
    pub(super) refs: u32,
    pub(super) names: u32,
    pub(super) attribute_of: u32,
    /// Subdirectories that have a name here.
    pub(super) subdirs: u32,
    /// The directory in which a directory has its name.
    pub(super) named_in: u32,
    /// It is on the list of inodes without a name.
    pub(super) orphan: bool,
    pub(super) nlink: u32,
    pub(super) parent: u32,
    /// The print of its birth in the names of an inode.
    pub(super) born: u8,
}

impl Known {
    pub(super) fn of(node: Option<&Node>) -> Known {
        let (what, nlink, parent, born) = match node {
            None => (What::Damaged, 0, 0, 0),
            Some(Node::Index(index)) => (What::Index { owner: index.owner, height: index.height() }, 0, 0, 0),
            Some(Node::Inode(inode)) => (What::Inode(inode.kind), inode.nlink, inode.parent, inode.born()),
        };
        let (refs, names, subdirs, named_in, attribute_of) = (0, 0, 0, 0, 0);
        Known { what, refs, names, attribute_of, subdirs, named_in, orphan: false, nlink, parent, born }
    }
}
