//! Names in the log: their changes since the last checkpoint or the last record, and the records that make them durable
//! (SPEC, "Names").
//!
//! There is one order of all changes of names. A record tells their outcome so far, in absolute terms. So changes
//! between two records need not be told, and none of them is ever promised in part.

use alloc::{collections::BTreeMap, vec::Vec};

use pumice_vfs::{FileKind, Timestamp, check_name};

use crate::codec::{Put, Reader, len16};
use crate::node::{Inode, kind_and_born, kind_and_born_from};

/// The most names on a page of records, so that the next page can name all of them if it is lost.
pub(crate) const NAMES_OF_PAGE: usize = 2;
/// The most names in records; a checkpoint costs no more than more of them.
const NAMES_MAX: usize = 3 * NAMES_OF_PAGE;

/// The changes of an inode.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Touch {
    /// It is new.
    pub(crate) made: bool,
    /// It got or lost a name, or as a directory lost or moved one.
    pub(crate) moved: bool,
    /// A directory that got or lost a directory, or may have.
    pub(crate) relinked: bool,
}

/// A name in a directory.
pub(crate) type Name<'a> = (u32, &'a [u8]);
/// The inode that a name leads to, and its kind.
pub(crate) type Named = (u32, FileKind);
/// The meaning of a name; none if it is gone.
pub(crate) type Meaning = Option<Named>;

/// A name with its present meaning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Change {
    pub(crate) dir: u32,
    pub(crate) name: Vec<u8>,
    pub(crate) meaning: Meaning,
    /// The print of the inode's birth, 0 if it is not told.
    pub(crate) born: u8,
}

/// Changes of names that are not durable.
#[derive(Default)]
pub(crate) struct Names {
    changes: BTreeMap<(u32, Vec<u8>), Meaning>,
    touched: BTreeMap<u32, Touch>,
    /// More changed than records tell.
    too_many: bool,
}

impl Names {
    /// Gives a name another meaning.
    pub(crate) fn change(&mut self, dir: u32, name: &[u8], meaning: Meaning) {
        self.touch(dir, Touch::default());
        self.changes.insert((dir, name.to_vec()), meaning);
        if self.too_many || self.changes.len() > NAMES_MAX {
            self.too_many = true;
            self.changes.clear();
        }
    }

    /// An inode changed together with its names.
    pub(crate) fn touch(&mut self, ino: u32, how: Touch) {
        let touch = self.touched.entry(ino).or_default();
        touch.made |= how.made;
        touch.moved |= how.moved;
        touch.relinked |= how.relinked;
    }

    /// The changes of an inode.
    pub(crate) fn of(&self, ino: u32) -> Option<Touch> {
        self.touched.get(&ino).copied()
    }

    /// True if a changed name leads to an inode now.
    pub(crate) fn lead_to(&self, ino: u32) -> bool {
        self.changes.values().flatten().any(|(meant, _)| *meant == ino)
    }

    /// True if nothing changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.touched.is_empty()
    }

    /// Everything is durable.
    pub(crate) fn clear(&mut self) {
        *self = Names::default();
    }

    /// True if records have room for all changes.
    pub(crate) fn fit(&self) -> bool {
        !self.too_many
    }

    /// The inodes that changed.
    pub(crate) fn touched(&self) -> Vec<(u32, Touch)> {
        self.touched.iter().map(|(ino, touch)| (*ino, *touch)).collect()
    }

    /// The changed names, a page's worth at a time; at least one page.
    pub(crate) fn pages(&self) -> Vec<Vec<Change>> {
        let changes: Vec<Change> = self
            .changes
            .iter()
            .map(|((dir, name), meaning)| Change {
                dir: *dir,
                name: name.clone(),
                meaning: *meaning,
                born: 0,
            })
            .collect();
        let mut pages: Vec<Vec<Change>> = changes.chunks(NAMES_OF_PAGE).map(<[Change]>::to_vec).collect();
        if pages.is_empty() {
            pages.push(Vec::new());
        }
        pages
    }
}

/// A directory: its attributes but for links and extended ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Directory {
    pub(crate) ino: u32,
    pub(crate) perm: u16,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// atime, mtime, ctime.
    pub(crate) times: [Timestamp; 3],
}

impl Directory {
    pub(crate) fn of(ino: u32, inode: &Inode) -> Directory {
        let Inode { perm, uid, gid, .. } = *inode;
        Directory { ino, perm, uid, gid, times: [inode.atime, inode.mtime, inode.ctime] }
    }

    /// Gives an inode these attributes.
    pub(crate) fn put_in(&self, inode: &mut Inode) {
        (inode.perm, inode.uid, inode.gid) = (self.perm, self.uid, self.gid);
        [inode.atime, inode.mtime, inode.ctime] = self.times;
    }
}

/// Further changes of an inode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Link {
    pub(crate) ino: u32,
    /// Everything that the log has of the inode up to this page is promised, too.
    pub(crate) whole: bool,
    /// Names left; 0: the inode is gone.
    pub(crate) nlink: u32,
    pub(crate) ctime: Timestamp,
}

/// A record: a chunk of its own.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct NameRecord {
    pub(crate) changes: Vec<Change>,
    pub(crate) directories: Vec<Directory>,
    pub(crate) links: Vec<Link>,
}

const WHOLE: u8 = 1;

impl NameRecord {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.put_u16(len16(self.changes.len()));
        for Change { dir, name, meaning, born } in &self.changes {
            out.put_u32(*dir);
            out.put_u32(meaning.map_or(0, |(ino, _)| ino));
            out.put_u8(meaning.map_or(0, |(_, kind)| kind_and_born(kind, *born)));
            debug_assert!(u8::try_from(name.len()).is_ok(), "names are checked where they are made");
            out.put_u8(u8::try_from(name.len()).unwrap_or(u8::MAX));
            out.put(name);
        }
        out.put_u16(len16(self.directories.len()));
        for directory in &self.directories {
            out.put_u32(directory.ino);
            out.put_u16(directory.perm);
            out.put_u32(directory.uid);
            out.put_u32(directory.gid);
            directory.times.iter().for_each(|time| put_time(&mut out, *time));
        }
        out.put_u16(len16(self.links.len()));
        for link in &self.links {
            out.put_u32(link.ino);
            out.put_u8(if link.whole { WHOLE } else { 0 });
            out.put_u32(link.nlink);
            put_time(&mut out, link.ctime);
        }
        out
    }

    /// The record of these bytes; `None` if anything is out of range.
    pub(crate) fn decode(bytes: &[u8]) -> Option<NameRecord> {
        let mut reader = Reader(bytes);
        let mut record = NameRecord::default();
        for _ in 0..reader.u16()? {
            let (dir, ino, kind) = (reader.u32()?, reader.u32()?, reader.u8()?);
            let len = usize::from(reader.u8()?);
            let name = reader.bytes(len)?;
            check_name(name).ok()?;
            let (meaning, born) = match ino {
                0 => (None, 0),
                ino => kind_and_born_from(kind).map(|(kind, born)| (Some((ino, kind)), born))?,
            };
            record.changes.push(Change { dir, name: name.to_vec(), meaning, born });
        }
        for _ in 0..reader.u16()? {
            let (ino, perm) = (reader.u32()?, reader.u16()?);
            let (uid, gid) = (reader.u32()?, reader.u32()?);
            let mut times = [Timestamp::default(); 3];
            for time in &mut times {
                *time = take_time(&mut reader)?;
            }
            if perm > 0o7777 {
                return None;
            }
            record.directories.push(Directory { ino, perm, uid, gid, times });
        }
        for _ in 0..reader.u16()? {
            let (ino, flags, nlink) = (reader.u32()?, reader.u8()?, reader.u32()?);
            let ctime = take_time(&mut reader)?;
            record.links.push(Link { ino, whole: flags & WHOLE != 0, nlink, ctime });
        }
        Some(record)
    }

    /// Ids of nodes in the record.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u32> + '_ {
        let named = self.changes.iter().filter_map(|change| change.meaning.map(|(ino, _)| ino));
        named.chain(self.directories.iter().map(|directory| directory.ino))
    }
}

fn put_time(out: &mut Vec<u8>, time: Timestamp) {
    out.put_i64(time.seconds);
    out.put_u32(time.nanos);
}

fn take_time(reader: &mut Reader<'_>) -> Option<Timestamp> {
    let time = Timestamp { seconds: reader.i64()?, nanos: reader.u32()? };
    (time.nanos < 1_000_000_000).then_some(time)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn a_record_comes_back_and_its_parts_do_not() {
        let time = Timestamp { seconds: -3, nanos: 7 };
        let record = NameRecord {
            changes: vec![
                Change { dir: 1, name: b"tmp".to_vec(), meaning: None, born: 0 },
                Change { dir: 9, name: vec![b'x'; 255], meaning: Some((12, FileKind::Fifo)), born: 9 },
            ],
            directories: vec![Directory { ino: 9, perm: 0o755, uid: 3, gid: 4, times: [time; 3] }],
            links: vec![Link { ino: 12, whole: true, nlink: 1, ctime: time }],
        };
        let bytes = record.encode();
        assert_eq!(NameRecord::decode(&bytes), Some(record));
        for len in 0..bytes.len() {
            assert_eq!(NameRecord::decode(&bytes[..len]), None);
        }
    }

    #[test]
    fn what_came_of_changes_is_told_and_not_each_of_them() {
        let mut names = Names::default();
        for _ in 0..100 {
            names.change(1, b"tmp", Some((5, FileKind::File)));
            names.change(1, b"tmp", None);
            names.change(1, b"document", Some((5, FileKind::File)));
        }
        assert!(names.fit() && names.pages().len() == 1);
        for n in 0..10_u8 {
            names.change(1, &[b'a' + n], None);
        }
        assert!(!names.fit());
    }
}
