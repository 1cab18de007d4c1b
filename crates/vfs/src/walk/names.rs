//! The names in a directory, in their order, in bounded memory.

use alloc::{boxed::Box, format, string::String, vec::Vec};

use crate::{Errno, FileKind, FileSystem, FsError, Ino};

/// Names kept at a time. A directory that has more is read again for the next ones.
pub(super) const BATCH: usize = 1 << 15;

/// Inodes that the file system is told to expect at a time.
const AHEAD: usize = 128;

/// A name, and where in the directory it stands.
type Key = (Box<[u8]>, u64);

/// An entry that is still to come.
struct Entry {
    key: Key,
    ino: Ino,
    kind: FileKind,
}

/// An entry: its name, its inode, and its kind in the directory.
pub type Named = (Vec<u8>, Ino, FileKind);

/// The entries of one directory that are still to come.
pub struct Names {
    dir: Ino,
    /// The next ones, the first one last.
    batch: Vec<Entry>,
    /// The last one that was handed out.
    after: Option<Key>,
    /// The directory has more than the batch.
    more: bool,
    /// A second pass: unreadable entries have been reported.
    is_known: bool,
    /// The number of next ones that the file system was told to expect.
    expected: usize,
}

impl Names {
    /// All of a directory.
    pub fn of(dir: Ino) -> Names {
        Names { dir, batch: Vec::new(), after: None, more: true, is_known: false, expected: 0 }
    }

    /// The next entry. An error is something that is missing; more entries may follow it.
    pub fn next(&mut self, fs: &dyn FileSystem) -> Option<Result<Named, FsError>> {
        if self.batch.is_empty()
            && self.more
            && let Err(error) = self.read(fs)
        {
            return Some(Err(error));
        }
        if self.expected == 0 {
            self.expect(fs);
        }
        let Entry { key, ino, kind } = self.batch.pop()?;
        self.expected = self.expected.saturating_sub(1);
        let name = key.0.to_vec();
        let is_second = self.after.as_ref().is_some_and(|(before, _)| *before == key.0);
        self.after = Some(key);
        Some(if is_second { Err(second(&name, ino)) } else { Ok((name, ino, kind)) })
    }

    /// Tells the file system which inodes will be asked for, so that it reads them together.
    fn expect(&mut self, fs: &dyn FileSystem) {
        let next: Vec<Ino> = self.batch.iter().rev().take(AHEAD).map(|entry| entry.ino).collect();
        fs.expect(&next);
        self.expected = next.len();
    }

    /// The number of names in memory.
    pub(super) fn kept(&self) -> usize {
        self.batch.len()
    }

    /// Forgets those in memory; they are read again when they are needed.
    pub(super) fn forget(&mut self) {
        self.more |= !self.batch.is_empty();
        self.batch = Vec::new();
        self.expected = 0;
    }

    /// Reads the directory for the next batch. An error is told the first time; the readable entries are there all the
    /// same.
    fn read(&mut self, fs: &dyn FileSystem) -> Result<(), FsError> {
        let mut batch: Vec<Entry> = Vec::new();
        let mut more = false;
        let after = self.after.as_ref();
        let read = fs.readdir(self.dir, 0, &mut |entry| {
            let is_due = after.is_none_or(|(name, cookie)| (&**name, *cookie) < (entry.name, entry.cookie));
            if is_due {
                let key = (entry.name.into(), entry.cookie);
                batch.push(Entry { key, ino: entry.ino, kind: entry.kind });
            }
            if batch.len() == 2 * BATCH {
                keep_first(&mut batch);
                more = true;
            }
            true
        });
        if batch.len() > BATCH {
            keep_first(&mut batch);
            more = true;
        }
        batch.sort_unstable_by(|one, other| other.key.cmp(&one.key));
        (self.batch, self.more) = (batch, more);
        if core::mem::replace(&mut self.is_known, true) { Ok(()) } else { read }
    }
}

/// Keeps the first entries of a batch by name.
fn keep_first(batch: &mut Vec<Entry>) {
    batch.select_nth_unstable_by(BATCH, |one, other| one.key.cmp(&other.key));
    batch.truncate(BATCH);
}

fn second(name: &[u8], ino: Ino) -> FsError {
    let name = String::from_utf8_lossy(name);
    FsError::new(
        Errno::Io,
        format!("the name {name} is there twice; the second, of inode {}, is left out", ino.0),
    )
}
