//! Section 4.2: directory blocks, each with the operation that it is part of.
//!
//! A block begins with the operation: its type, the inode that completes it when written, and its changes of the
//! directory's own inode, so that this one need not be written each time. Entries follow as in ext2 (2.4): an entry
//! stays in its place until it is removed.
//!
//! - 0: type of the operation, 1 byte, a number of [`Change`]
//! - 4: the inode that completes it when written, 4 bytes
//! - 8, 12, 16: the directory's links (4 bytes), blocks (4) and time (8 + 4) afterwards
//! - 32: entries
//!
//! An entry has the inode (4 bytes; 0: room), its length (2), the length of the name (1), bits 12 to 15 of the mode (1),
//! and the name. Lengths of entries are multiples of 4 and fill the block.

use pumice_common::{get_time, get_u32, put_time, put_u32};
use pumice_vfs::{FileKind, Timestamp};

use crate::layout::BLOCK_BYTES;

/// Bytes before the first entry.
const HEAD: usize = 32;
/// Bytes of an entry before its name.
const ENTRY: usize = 8;

/// The type of a directory operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    Create = 1,
    Link = 2,
    Remove = 3,
    Rename = 4,
}

/// The operation that wrote a directory block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Operation {
    /// The inode that completes it when written.
    pub(crate) ino: u32,
    /// The directory's links afterwards.
    pub(crate) nlink: u32,
    /// The directory's length afterwards, in blocks.
    pub(crate) blocks: u32,
    /// The directory's time of change.
    pub(crate) time: Timestamp,
}

/// Notes an operation in a directory block.
pub(crate) fn set_operation(block: &mut [u8], change: Change, operation: &Operation) {
    block[0] = change as u8;
    put_u32(block, 4, operation.ino);
    put_u32(block, 8, operation.nlink);
    put_u32(block, 12, operation.blocks);
    put_time(block, 16, operation.time);
}

/// The operation in a directory block; `None` if there is none.
pub(crate) fn operation(block: &[u8]) -> Option<Operation> {
    if !(1..=4).contains(block.first()?) {
        return None;
    }
    let [ino, nlink, blocks] = [4, 8, 12].map(|at| get_u32(block, at));
    Some(Operation { ino, nlink, blocks, time: get_time(block, 16) })
}

/// An entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry<'a> {
    /// The place in its block.
    pub(crate) at: usize,
    /// 0 for room without an entry.
    pub(crate) ino: u32,
    pub(crate) kind: Option<FileKind>,
    pub(crate) name: &'a [u8],
    length: usize,
}

impl Entry<'_> {
    fn used(&self) -> usize {
        if self.ino == 0 { 0 } else { bytes_of(self.name) }
    }
}

fn bytes_of(name: &[u8]) -> usize {
    (ENTRY + name.len()).next_multiple_of(4)
}

/// A directory block without entries.
pub(crate) fn empty() -> Vec<u8> {
    let mut block = vec![0; BLOCK_BYTES];
    put_entry(&mut block, HEAD, BLOCK_BYTES - HEAD, 0, 0, b"");
    block
}

fn put_entry(block: &mut [u8], at: usize, length: usize, ino: u32, kind: u8, name: &[u8]) {
    put_u32(block, at, ino);
    let [low, high, ..] = length.to_le_bytes();
    (block[at + 4], block[at + 5]) = (low, high);
    block[at + 6] = name.len().to_le_bytes()[0];
    block[at + 7] = kind;
    block[at + ENTRY..at + ENTRY + name.len()].copy_from_slice(name);
}

/// The entries of a block, room without one included; `None` if they make no sense.
pub(crate) fn entries(block: &[u8]) -> Option<Vec<Entry<'_>>> {
    let mut found = Vec::new();
    let mut at = HEAD;
    while at < BLOCK_BYTES {
        let head = block.get(at..at + ENTRY)?;
        let length = usize::from(u16::from_le_bytes([head[4], head[5]]));
        let name = block.get(at + ENTRY..at + ENTRY + usize::from(head[6]))?;
        let ino = get_u32(head, 0);
        let kind = FileKind::from_mode(u32::from(head[7]) << 12);
        let fits = length.is_multiple_of(4) && length >= ENTRY.max(if ino == 0 { 0 } else { bytes_of(name) });
        if !fits || at + length > BLOCK_BYTES || (ino != 0 && (kind.is_none() || name.is_empty())) {
            return None;
        }
        found.push(Entry { at, ino, kind, name, length });
        at += length;
    }
    Some(found)
}

/// Puts an entry where there is room; false if there is none.
pub(crate) fn insert(block: &mut [u8], name: &[u8], ino: u32, kind: FileKind) -> Option<bool> {
    let need = bytes_of(name);
    let all = entries(block)?;
    let Some(room) = all.iter().find(|entry| entry.length - entry.used() >= need) else {
        return Some(false);
    };
    let (at, used, length) = (room.at, room.used(), room.length);
    let code = u8::try_from(kind.mode_bits() >> 12).ok()?;
    if used > 0 {
        let [low, high, ..] = used.to_le_bytes();
        (block[at + 4], block[at + 5]) = (low, high);
    }
    put_entry(block, at + used, length - used, ino, code, name);
    Some(true)
}

/// Removes the entry at a place; the room joins the free room around it.
pub(crate) fn remove(block: &mut [u8], at: usize) -> Option<()> {
    put_u32(block, at, 0);
    let free: Vec<(usize, usize)> =
        entries(block)?.iter().filter(|entry| entry.ino == 0).map(|entry| (entry.at, entry.length)).collect();
    let mut joined: Vec<(usize, usize)> = Vec::new();
    for (at, length) in free {
        match joined.last_mut() {
            Some((start, sum)) if *start + *sum == at => *sum += length,
            _ => joined.push((at, length)),
        }
    }
    for (at, length) in joined {
        put_entry(block, at, length, 0, 0, b"");
    }
    Some(())
}

/// Lets the entry at a place lead to another inode.
pub(crate) fn redirect(block: &mut [u8], at: usize, ino: u32, kind: FileKind) -> Option<()> {
    put_u32(block, at, ino);
    block[at + 7] = u8::try_from(kind.mode_bits() >> 12).ok()?;
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(block: &[u8]) -> Vec<(usize, Vec<u8>)> {
        let all = entries(block).unwrap_or_default();
        all.iter().filter(|entry| entry.ino != 0).map(|entry| (entry.at, entry.name.to_vec())).collect()
    }

    #[test]
    fn entries_keep_their_places_and_room_is_used_again() {
        let mut block = empty();
        let long = [b'n'; 255];
        for number in 1..=60 {
            let name = format!("name{number}");
            assert_eq!(insert(&mut block, name.as_bytes(), number, FileKind::File), Some(number <= 62));
        }
        assert_eq!(insert(&mut block, &long, 99, FileKind::Dir), Some(false));
        let before = names(&block);
        for (at, _) in before.iter().skip(10).take(17) {
            remove(&mut block, *at);
        }
        let after = names(&block);
        assert_eq!(after.len(), 43);
        assert!(after.iter().all(|entry| before.contains(entry)));
        assert_eq!(insert(&mut block, &long, 99, FileKind::Dir), Some(true));
        assert_eq!(names(&block).len(), 44);
    }

    #[test]
    fn nonsense_is_no_directory_block() {
        for (at, byte) in [(HEAD + 4, 6), (HEAD + 4, 0), (HEAD + 5, 9), (HEAD, 1)] {
            let mut block = empty();
            block[at] = byte;
            assert_eq!(entries(&block), None, "byte {at}");
        }
        assert_eq!(operation(&empty()), None);
    }
}
