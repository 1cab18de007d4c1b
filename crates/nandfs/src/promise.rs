//! The promise of a page of fsync. The page after it repeats it: an unreadable page cannot name itself.

use crate::codec::Reader;

/// Bytes of a promise.
pub(crate) const PROMISE_BYTES: usize = 8;

/// The promise of a page, as far as its loss must be named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Promise {
    /// Blocks of a file: inode, the first, how many.
    Blocks { ino: u32, first: u32, count: u16 },
    /// A node of an inode; 0 stands for several.
    Node { ino: u32, nid: u32 },
    /// The inode of a file that is newer than the checkpoint, and the directory of its name.
    New { ino: u32, dir: u32 },
    /// Names: their directory, 0 for several, and prints of them.
    Names { dir: u32, prints: [u16; 2] },
}

/// Ids of nodes are below this: the bit tells names from a node in a promise.
pub(crate) const ID_END: u32 = 1 << 31;

/// Nodes that an fsync writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Promised {
    /// Nodes of an inode that the checkpoint knows.
    Old,
    /// Nodes of a newer one, with its name in this directory.
    New { dir: u32 },
    /// None, but a record of names: their directory, 0 for several, and prints of them.
    Names { dir: u32, prints: [u16; 2] },
}

impl Promise {
    /// The number of its kind; 0 is no promise.
    pub(crate) fn kind(self) -> u8 {
        match self {
            Promise::Blocks { .. } => 1,
            Promise::Node { .. } | Promise::Names { .. } => 2,
            Promise::New { .. } => 3,
        }
    }

    /// Blocks promised.
    pub(crate) fn count(self) -> u16 {
        if let Promise::Blocks { count, .. } = self { count } else { 0 }
    }

    pub(crate) fn encode(self) -> [u8; PROMISE_BYTES] {
        let (ino, what) = match self {
            Promise::Blocks { ino, first: what, .. }
            | Promise::Node { ino, nid: what }
            | Promise::New { ino, dir: what } => (ino, what),
            Promise::Names { dir, prints: [one, other] } => {
                (dir | ID_END, u32::from(one) | u32::from(other) << 16)
            }
        };
        (u64::from(ino) | u64::from(what) << 32).to_le_bytes()
    }

    /// The promise of this kind; the count of blocks stands elsewhere.
    pub(crate) fn decode(kind: u8, bytes: [u8; PROMISE_BYTES], count: u16) -> Option<Promise> {
        let mut reader = Reader(&bytes);
        let (ino, what) = (reader.u32()?, reader.u32()?);
        Some(match kind {
            1 => Promise::Blocks { ino, first: what, count },
            2 if ino & ID_END != 0 => {
                let [a, b, c, d] = what.to_le_bytes();
                let prints = [u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d])];
                Promise::Names { dir: ino & !ID_END, prints }
            }
            2 => Promise::Node { ino, nid: what },
            3 => Promise::New { ino, dir: what },
            _ => return None,
        })
    }
}
