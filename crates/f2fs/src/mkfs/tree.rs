//! The contents of a new volume: a tree of names and attributes, without the content of files.

use std::collections::BTreeMap;

use pumice_vfs::{FileKind, Timestamp};

use super::FormatError;
use crate::layout::{InodeFlags, NAME_MAX};

/// Longest target of a symbolic link, in bytes.
const TARGET_MAX: usize = 4095;

/// A file, directory, link or device of a tree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EntryId(usize);

impl EntryId {
    /// The root directory.
    pub const ROOT: EntryId = EntryId(0);

    /// Its place among all entries, in the order in which they were added.
    pub fn index(self) -> usize {
        self.0
    }
}

/// An entry's attributes, its content and its names aside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attributes {
    /// The kind.
    pub kind: FileKind,
    /// Permissions, set-uid, set-gid and sticky: `mode & 0o7777`.
    pub perm: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Device number of a device, as Linux encodes it in 32 bits.
    pub rdev: u32,
    /// Last change of content.
    pub mtime: Timestamp,
    /// Length of a file, in bytes.
    pub size: u64,
    /// The file may have holes: its source is asked where its data are.
    pub sparse: bool,
    /// Target of a symbolic link.
    pub target: Vec<u8>,
    /// Extended attributes by name, as programs see them.
    pub xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Flags as `chattr` sets them; of a directory that ignores case [`InodeFlags::CASEFOLD`] is among them.
    pub flags: InodeFlags,
    /// The file is sealed with fs-verity.
    pub is_sealed: bool,
}

impl Attributes {
    /// An empty directory.
    pub fn directory(perm: u32, uid: u32, gid: u32, mtime: Timestamp) -> Attributes {
        Attributes {
            kind: FileKind::Dir,
            perm,
            uid,
            gid,
            rdev: 0,
            mtime,
            size: 0,
            sparse: false,
            target: Vec::new(),
            xattrs: BTreeMap::new(),
            flags: InodeFlags(0),
            is_sealed: false,
        }
    }
}

/// Names of a directory, in the order of their bytes.
pub(super) type Names = BTreeMap<Box<[u8]>, EntryId>;

struct Entry {
    attributes: Attributes,
    names: Names,
}

/// A tree; the order in which it was put together leaves no trace in the volume.
pub struct Tree {
    entries: Vec<Entry>,
}

impl Tree {
    /// A root directory with nothing in it.
    pub fn new(root: Attributes) -> Tree {
        debug_assert_eq!(root.kind, FileKind::Dir);
        Tree { entries: vec![Entry { attributes: root, names: Names::new() }] }
    }

    /// Adds something under a new name.
    pub fn add(&mut self, dir: EntryId, name: &[u8], what: Attributes) -> Result<EntryId, FormatError> {
        if what.target.len() > TARGET_MAX {
            return Err(wrong(
                name,
                format!("a target of {} bytes is too long (want at most {TARGET_MAX})", what.target.len()),
            ));
        }
        let made = EntryId(self.entries.len());
        self.name(dir, name, made)?;
        self.entries.push(Entry { attributes: what, names: Names::new() });
        Ok(made)
    }

    /// Gives something that is no directory another name.
    pub fn link(&mut self, dir: EntryId, name: &[u8], what: EntryId) -> Result<(), FormatError> {
        if self.attributes(what).is_none_or(|what| what.kind == FileKind::Dir) {
            return Err(wrong(name, "a directory cannot have a second name".to_owned()));
        }
        self.name(dir, name, what)
    }

    /// Takes a name away, and whatever has no other.
    pub fn remove(&mut self, dir: EntryId, name: &[u8]) {
        if let Some(entry) = self.entries.get_mut(dir.0) {
            entry.names.remove(name);
        }
    }

    /// The entry of a name in a directory.
    pub fn find(&self, dir: EntryId, name: &[u8]) -> Option<EntryId> {
        self.entries.get(dir.0)?.names.get(name).copied()
    }

    /// The attributes of an entry.
    pub fn attributes(&self, what: EntryId) -> Option<&Attributes> {
        self.entries.get(what.0).map(|entry| &entry.attributes)
    }

    /// The same, to change them. The kind stays.
    pub fn attributes_mut(&mut self, what: EntryId) -> Option<&mut Attributes> {
        self.entries.get_mut(what.0).map(|entry| &mut entry.attributes)
    }

    /// Shows every name with its path, its parts joined by `/`, and its attributes, to change them. The root's path is
    /// empty.
    pub fn each_mut(&mut self, mut look: impl FnMut(&[u8], &mut Attributes)) {
        let mut open = vec![(EntryId::ROOT, Vec::new())];
        while let Some((entry, path)) = open.pop() {
            let Some(Entry { attributes, names }) = self.entries.get_mut(entry.0) else { continue };
            look(&path, attributes);
            for (name, below) in names.iter() {
                let path = if path.is_empty() { name.to_vec() } else { [&path, &b"/"[..], name].concat() };
                open.push((*below, path));
            }
        }
    }

    /// All entries' attributes, to change them.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Attributes> {
        self.entries.iter_mut().map(|entry| &mut entry.attributes)
    }

    /// Entries that were added, the root among them.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// False: there is always a root.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The bytes of each entry, and how many names are in it.
    pub(super) fn each_size(&self) -> impl Iterator<Item = (u64, u64)> {
        self.entries.iter().map(|entry| (entry.attributes.size, entry.names.len() as u64))
    }

    /// The attributes of the entry that was added so many after the root.
    pub(super) fn at(&self, index: usize) -> Option<&Attributes> {
        self.attributes(EntryId(index))
    }

    /// The names in a directory.
    pub(super) fn names(&self, dir: EntryId) -> Option<&Names> {
        self.entries.get(dir.0).map(|entry| &entry.names)
    }

    fn name(&mut self, dir: EntryId, name: &[u8], what: EntryId) -> Result<(), FormatError> {
        let is_bad = name.is_empty()
            || name == b"."
            || name == b".."
            || name.iter().any(|byte| matches!(byte, 0 | b'/'));
        if is_bad || name.len() > NAME_MAX {
            return Err(wrong(
                name,
                format!("cannot be a name of {} bytes (want 1 to {NAME_MAX})", name.len()),
            ));
        }
        let Some(dir) = self.entries.get_mut(dir.0).filter(|dir| dir.attributes.kind == FileKind::Dir) else {
            return Err(wrong(name, "its parent is no directory".to_owned()));
        };
        match dir.names.insert(name.into(), what) {
            None => Ok(()),
            Some(_) => Err(wrong(name, "is there twice".to_owned())),
        }
    }
}

pub(super) fn wrong(path: &[u8], what: String) -> FormatError {
    FormatError::Tree { path: path.escape_ascii().to_string(), what }
}

/// The source of the content of files.
pub trait Source: Sync {
    /// Opens a file.
    fn open(&self, file: EntryId) -> std::io::Result<Box<dyn Content + '_>>;
}

/// The content of a file that was opened.
pub trait Content: Send {
    /// Fills `buffer` with the bytes from `at` on. That there are fewer is an error.
    fn read(&mut self, at: u64, buffer: &mut [u8]) -> std::io::Result<()>;

    /// The first range at or behind `from` that is no hole; `None` if there is none. Asked of sparse files only.
    fn next_data(&mut self, from: u64) -> std::io::Result<Option<(u64, u64)>>;
}

/// No file has content.
pub struct NoContent;

impl Source for NoContent {
    fn open(&self, _file: EntryId) -> std::io::Result<Box<dyn Content + '_>> {
        Err(std::io::ErrorKind::NotFound.into())
    }
}
