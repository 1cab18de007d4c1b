//! Table 1: the inode, with the compression of its file; a chunk of metadata of its own.
//!
//! Its bytes: mode, links, user, group, device, parent (of directories), 1 if its data is compressed, chunks of data, 4
//! each; length (8, at 32); access, modification, change, birth (8 + 4 each, at 40). Unused bytes to 96 are zeros.

use core::ops::{Deref, DerefMut};

use pumice_common::{Attributes, get_time, get_u32, put_time, put_u32};
use pumice_vfs::{Attr, FileKind};

use crate::layout::{CHUNK_BYTES, get_u64, put_u64};
use crate::mutree::CHUNKS;

/// Bytes of an inode.
const BYTES: usize = 96;

/// An inode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inode {
    pub(crate) attributes: Attributes,
    pub(crate) nlink: u32,
    /// A directory's parent.
    pub(crate) parent: u32,
    /// The algorithm of its chunks: none or LZ4. An inode made in a directory takes over the directory's.
    pub(crate) packed: bool,
    /// Chunks of data.
    pub(crate) chunks: u32,
}

impl Deref for Inode {
    type Target = Attributes;

    fn deref(&self) -> &Attributes {
        &self.attributes
    }
}

impl DerefMut for Inode {
    fn deref_mut(&mut self) -> &mut Attributes {
        &mut self.attributes
    }
}

impl Inode {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; BYTES];
        let words = [
            self.kind.mode_bits() | self.perm,
            self.nlink,
            self.uid,
            self.gid,
            self.rdev,
            self.parent,
            u32::from(self.packed),
            self.chunks,
        ];
        for (number, word) in words.into_iter().enumerate() {
            put_u32(&mut bytes, 4 * number, word);
        }
        put_u64(&mut bytes, 32, self.size);
        for (number, time) in self.times.iter().enumerate() {
            put_time(&mut bytes, 40 + 12 * number, *time);
        }
        bytes
    }

    /// Reads an inode; `None` if it makes no sense.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Inode> {
        if bytes.len() != BYTES {
            return None;
        }
        let word = |number: usize| get_u32(bytes, 4 * number);
        let inode = Inode {
            attributes: Attributes {
                kind: FileKind::from_mode(word(0))?,
                perm: word(0) & 0o7777,
                uid: word(2),
                gid: word(3),
                rdev: word(4),
                size: get_u64(bytes, 32),
                times: [0, 1, 2, 3].map(|number| get_time(bytes, 40 + 12 * number)),
            },
            nlink: word(1),
            parent: word(5),
            packed: word(6) == 1,
            chunks: word(7),
        };
        (inode.size <= CHUNKS * CHUNK_BYTES as u64).then_some(inode)
    }

    /// As callers of the file system see it. Numbers are not given twice, so there are no generations.
    pub(crate) fn attr(&self, ino: u32) -> Attr {
        self.attributes.attr(ino, self.nlink, u64::from(self.chunks) * CHUNK_BYTES as u64, 0)
    }
}
