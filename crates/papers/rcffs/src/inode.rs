//! Table 1: the inode, with the compression of its file; a chunk of metadata of its own.
//!
//! Its bytes: mode, links, user, group, device, parent (of directories), 1 if its data is compressed, chunks of data, 4
//! each; length (8, at 32); access, modification, change, birth (8 + 4 each, at 40). Unused bytes to 96 are zeros.

use pumice_vfs::{Attr, FileKind, Ino, Timestamp};

use crate::layout::{CHUNK_BYTES, get_u32, get_u64, put_u32, put_u64};
use crate::mutree::CHUNKS;

/// Bytes of an inode.
const BYTES: usize = 96;

/// An inode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Inode {
    pub(crate) kind: FileKind,
    pub(crate) perm: u32,
    pub(crate) nlink: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) rdev: u32,
    /// A directory's parent.
    pub(crate) parent: u32,
    /// The algorithm of its chunks: none or LZ4. An inode made in a directory takes over the directory's.
    pub(crate) packed: bool,
    pub(crate) size: u64,
    /// Chunks of data.
    pub(crate) chunks: u32,
    /// Access, modification, change, birth.
    pub(crate) times: [Timestamp; 4],
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
            bytes[40 + 12 * number..48 + 12 * number].copy_from_slice(&time.seconds.to_le_bytes());
            put_u32(&mut bytes, 48 + 12 * number, time.nanos);
        }
        bytes
    }

    /// Reads an inode; `None` if it makes no sense.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Inode> {
        if bytes.len() != BYTES {
            return None;
        }
        let word = |number: usize| get_u32(bytes, 4 * number);
        let time = |number: usize| Timestamp {
            seconds: i64::from_le_bytes(get_u64(bytes, 40 + 12 * number).to_le_bytes()),
            nanos: get_u32(bytes, 48 + 12 * number) % 1_000_000_000,
        };
        let inode = Inode {
            kind: FileKind::from_mode(word(0))?,
            perm: word(0) & 0o7777,
            nlink: word(1),
            uid: word(2),
            gid: word(3),
            rdev: word(4),
            parent: word(5),
            packed: word(6) == 1,
            chunks: word(7),
            size: get_u64(bytes, 32),
            times: [0, 1, 2, 3].map(time),
        };
        (inode.size <= CHUNKS * CHUNK_BYTES as u64).then_some(inode)
    }

    /// As callers of the file system see it.
    pub(crate) fn attr(&self, ino: u32) -> Attr {
        let [atime, mtime, ctime, btime] = self.times;
        Attr {
            ino: Ino(u64::from(ino)),
            kind: self.kind,
            perm: self.perm,
            nlink: self.nlink,
            uid: self.uid,
            gid: self.gid,
            rdev: self.rdev,
            size: self.size,
            allocated: u64::from(self.chunks) * CHUNK_BYTES as u64,
            atime,
            mtime,
            ctime,
            btime,
            // Numbers are not given twice.
            generation: 0,
        }
    }
}
