//! A bucket of a directory: entries back to back, as they lie in a block or in the inode (SPEC, "Directories").

use alloc::vec::Vec;

use pumice_vfs::{FileKind, check_name};

use crate::codec::{Put, Reader};
use crate::node::{kind_and_born, kind_and_born_from};

/// Bytes of an entry besides its name.
const ENTRY: usize = 6;

/// A directory entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) ino: u32,
    pub(crate) kind: FileKind,
    /// The print of the inode's birth, 0 if it is not told.
    pub(crate) born: u8,
    pub(crate) name: &'a [u8],
}

/// Bytes that an entry of this name takes.
pub(crate) fn entry_bytes(name: &[u8]) -> usize {
    ENTRY + name.len()
}

/// The entries of a bucket, each with its place; ends with `None` where they make no sense.
pub(crate) fn entries(bytes: &[u8]) -> impl Iterator<Item = Option<(usize, Entry<'_>)>> {
    let mut reader = Reader(bytes);
    let mut broken = false;
    core::iter::from_fn(move || {
        let place = bytes.len() - reader.0.len();
        let ino = reader.clone().u32().filter(|ino| *ino != 0 && !broken)?;
        let entry = take(&mut reader, ino);
        broken = entry.is_none();
        Some(entry.map(|entry| (place, entry)))
    })
}

fn take<'a>(reader: &mut Reader<'a>, ino: u32) -> Option<Entry<'a>> {
    reader.u32()?;
    let (kind, born) = kind_and_born_from(reader.u8()?)?;
    let len = usize::from(reader.u8()?);
    let name = reader.bytes(len)?;
    check_name(name).is_ok().then_some(Entry { ino, kind, born, name })
}

/// Bytes in use; `None` if the bucket is damaged.
pub(crate) fn used(bytes: &[u8]) -> Option<usize> {
    let mut end = 0;
    for entry in entries(bytes) {
        let (place, entry) = entry?;
        end = place + entry_bytes(entry.name);
    }
    Some(end)
}

/// The place of a name; the outer `None` if the bucket is damaged.
#[expect(clippy::option_option, reason = "damage and absence are different answers")]
pub(crate) fn find<'a>(bytes: &'a [u8], name: &[u8]) -> Option<Option<(usize, Entry<'a>)>> {
    for entry in entries(bytes) {
        let found = entry?;
        if found.1.name == name {
            return Some(Some(found));
        }
    }
    Some(None)
}

/// Appends an entry to packed entries.
pub(crate) fn push(packed: &mut Vec<u8>, entry: &Entry<'_>) {
    packed.put_u32(entry.ino);
    packed.put_u8(kind_and_born(entry.kind, entry.born));
    packed.put_u8(u8::try_from(entry.name.len()).unwrap_or(u8::MAX));
    packed.put(entry.name);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_and_damage_is_seen() {
        let mut bytes = Vec::new();
        push(&mut bytes, &Entry { ino: 7, kind: FileKind::Dir, born: 31, name: b"one" });
        push(&mut bytes, &Entry { ino: 8, kind: FileKind::File, born: 0, name: &[b'x'; 255] });
        let end = bytes.len();
        bytes.resize(400, 0);
        assert_eq!(used(&bytes), Some(end));
        let (_, one) = find(&bytes, b"one").unwrap().unwrap();
        assert_eq!((one.ino, one.kind, one.born), (7, FileKind::Dir, 31));
        assert_eq!(find(&bytes, b"two"), Some(None));
        bytes[4] &= !7;
        assert_eq!(used(&bytes), None);
    }
}
