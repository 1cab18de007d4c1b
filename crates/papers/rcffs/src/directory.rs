//! Table 1: the directory inode, which contains the directory entries: chunks of metadata behind the inode, with 32 entries
//! each at the most. An entry keeps its number as long as it is there.
//!
//! An entry: number in the directory (4), inode (4), kind as `mode >> 12` (1), length of the name (1), name. Entry n is in
//! chunk n / 32.

use std::collections::BTreeMap;

use pumice_common::{get_u32, put_u32};
use pumice_vfs::FileKind;

use crate::layout::count;

/// Numbers of entries in a chunk.
const EACH: u32 = 32;

/// An entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub(crate) ino: u32,
    pub(crate) kind: FileKind,
    pub(crate) name: Vec<u8>,
}

/// A directory in memory.
#[derive(Clone, Default, Debug)]
pub(crate) struct Directory {
    entries: BTreeMap<u32, Entry>,
    names: BTreeMap<Vec<u8>, u32>,
    /// No number below it is free.
    free_from: u32,
}

impl Directory {
    /// Adds the entries of a chunk; `None` if they make no sense.
    pub(crate) fn load(&mut self, chunk: u32, bytes: &[u8]) -> Option<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (head, behind) = rest.split_at_checked(10)?;
            let (name, behind) = behind.split_at_checked(usize::from(head[9]))?;
            let number = get_u32(head, 0);
            let kind = FileKind::from_mode(u32::from(head[8]) << 12)?;
            let is_new = !self.entries.contains_key(&number) && !self.names.contains_key(name);
            if number / EACH != chunk || name.is_empty() || !is_new {
                return None;
            }
            self.put(number, Entry { ino: get_u32(head, 4), kind, name: name.to_vec() });
            rest = behind;
        }
        Some(())
    }

    /// The bytes of a chunk; `None` if no entry is in it.
    pub(crate) fn chunk(&self, chunk: u32) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        for (number, entry) in self.entries.range(chunk * EACH..(chunk + 1) * EACH) {
            let mut head = [0; 10];
            put_u32(&mut head, 0, *number);
            put_u32(&mut head, 4, entry.ino);
            head[8] = (entry.kind.mode_bits() >> 12).to_le_bytes()[0];
            head[9] = count(entry.name.len()).to_le_bytes()[0];
            bytes.extend_from_slice(&head);
            bytes.extend_from_slice(&entry.name);
        }
        (!bytes.is_empty()).then_some(bytes)
    }

    fn put(&mut self, number: u32, entry: Entry) {
        self.names.insert(entry.name.clone(), number);
        self.entries.insert(number, entry);
    }

    /// Adds an entry; tells the chunk it is in.
    pub(crate) fn insert(&mut self, entry: Entry) -> u32 {
        let mut number = self.free_from;
        while self.entries.contains_key(&number) {
            number += 1;
        }
        self.free_from = number + 1;
        self.put(number, entry);
        number / EACH
    }

    /// Removes a name; tells the chunk it was in.
    pub(crate) fn remove(&mut self, name: &[u8]) -> Option<u32> {
        let number = self.names.remove(name)?;
        self.entries.remove(&number);
        self.free_from = self.free_from.min(number);
        Some(number / EACH)
    }

    /// Lets a name lead to another inode; tells the chunk it is in.
    pub(crate) fn redirect(&mut self, name: &[u8], ino: u32, kind: FileKind) -> Option<u32> {
        let number = *self.names.get(name)?;
        let entry = self.entries.get_mut(&number)?;
        (entry.ino, entry.kind) = (ino, kind);
        Some(number / EACH)
    }

    pub(crate) fn find(&self, name: &[u8]) -> Option<&Entry> {
        self.entries.get(self.names.get(name)?)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries from a number on.
    pub(crate) fn from(&self, number: u32) -> impl Iterator<Item = (u32, &Entry)> {
        self.entries.range(number..).map(|(number, entry)| (*number, entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_kept_and_used_again() {
        let mut all = Directory::default();
        for number in 0..100 {
            let name = format!("name{number}").into_bytes();
            assert_eq!(all.insert(Entry { ino: number, kind: FileKind::File, name }), number / EACH);
        }
        assert_eq!(all.remove(b"name40"), Some(1));
        assert_eq!(all.remove(b"name7"), Some(0));
        let entry = Entry { ino: 500, kind: FileKind::Dir, name: b"new".to_vec() };
        assert_eq!(all.insert(entry.clone()), 0);
        let mut again = Directory::default();
        for chunk in 0..4 {
            again.load(chunk, &all.chunk(chunk).unwrap()).unwrap();
        }
        assert!(again.from(0).eq(all.from(0)));
        assert_eq!(again.find(b"new"), Some(&entry));
        assert_eq!(again.load(0, &all.chunk(0).unwrap()), None, "each name is there once");
    }
}
