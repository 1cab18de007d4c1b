//! Files of a volume as a file system of their own: under names in directories that are made here.

use std::collections::BTreeMap;

use pumice_vfs::{
    Access, Attr, DirEntry, Errno, FileKind, FileSystem, Ino, Result, Seek, SpaceInfo, Stored, Timestamp,
};

use crate::fs::F2fs;

/// Numbers of directories that are made here are above all others.
const MADE: u64 = 1 << 32;

/// The attributes of directories, where no others are known.
const PLAIN: Attr = {
    let never = Timestamp { seconds: 0, nanos: 0 };
    Attr {
        ino: Ino::ROOT,
        kind: FileKind::Dir,
        perm: 0o755,
        nlink: 2,
        uid: 0,
        gid: 0,
        rdev: 0,
        size: 0,
        allocated: 0,
        atime: never,
        mtime: never,
        ctime: never,
        btime: never,
        generation: 0,
    }
};

/// Directories that are made here: their entries, by name. The first is the root.
pub(super) struct Made {
    directories: Vec<Directory>,
    root: Ino,
    like: Attr,
}

struct Directory {
    parent: Ino,
    entries: BTreeMap<Vec<u8>, Ino>,
}

impl Made {
    /// A root with nothing in it, over a volume.
    pub(super) fn new(fs: &F2fs) -> Made {
        let root = Ino(fs.volume().super_block().root().0.into());
        let like = fs.attr(root).unwrap_or(PLAIN);
        let top = Directory { parent: Ino::ROOT, entries: BTreeMap::new() };
        Made { directories: vec![top], root, like }
    }

    /// Puts an inode at a path, with the directories that lead there.
    pub(super) fn add<'p>(&mut self, path: impl IntoIterator<Item = &'p [u8]>, ino: Ino) {
        let (mut dir, mut names) = (0, path.into_iter().peekable());
        while let Some(name) = names.next() {
            match names.peek() {
                Some(_) => dir = self.enter(dir, name),
                None => self.put(dir, name, ino),
            }
        }
    }

    /// The directory of a name in a made one. If something else has that name it gets another.
    fn enter(&mut self, dir: usize, name: &[u8]) -> usize {
        let known = self.entry(dir, name).and_then(|ino| self.index(ino));
        if let Some(known) = known {
            return known;
        }
        let index = self.directories.len();
        let parent = number(dir);
        self.directories.push(Directory { parent, entries: BTreeMap::new() });
        self.put(dir, name, number(index));
        index
    }

    /// Puts an entry into a made directory; under another name, if that one is taken.
    fn put(&mut self, dir: usize, name: &[u8], ino: Ino) {
        let Some(dir) = self.directories.get_mut(dir) else { return };
        let mut free = name.to_vec();
        while dir.entries.contains_key(&free) {
            free = [b"#", ino.0.to_string().as_bytes(), b" ", &free].concat();
            free.truncate(255);
        }
        dir.entries.insert(free, ino);
    }

    fn entry(&self, dir: usize, name: &[u8]) -> Option<Ino> {
        self.directories.get(dir)?.entries.get(name).copied()
    }

    fn index(&self, ino: Ino) -> Option<usize> {
        let index = if ino == Ino::ROOT { 0 } else { ino.0.checked_sub(MADE)? };
        usize::try_from(index).ok().filter(|index| *index < self.directories.len())
    }

    fn get(&self, ino: Ino) -> Option<&Directory> {
        self.directories.get(self.index(ino)?)
    }

    /// The attributes of a made directory: those of the volume's root, where that is known.
    fn attr(&self, ino: Ino) -> Option<Attr> {
        let nlink = u32::try_from(self.get(ino)?.entries.len()).unwrap_or(u32::MAX).saturating_add(2);
        Some(Attr { ino, nlink, ..self.like })
    }

    /// The number here of an inode of the volume.
    fn shown(&self, ino: Ino) -> Ino {
        if ino == Ino::ROOT { self.root } else { ino }
    }
}

fn number(index: usize) -> Ino {
    if index == 0 { Ino::ROOT } else { Ino(MADE + index as u64) }
}

/// The volume below, and the directories that are made over it.
pub(super) struct View {
    pub(super) fs: F2fs,
    pub(super) made: Made,
}

impl View {
    fn shown(&self, attr: Attr) -> Attr {
        Attr { ino: self.made.shown(attr.ino), ..attr }
    }
}

impl FileSystem for View {
    fn space(&self) -> Result<SpaceInfo> {
        self.fs.space()
    }

    fn attr(&self, ino: Ino) -> Result<Attr> {
        match self.made.attr(ino) {
            Some(attr) => Ok(attr),
            None => Ok(self.shown(self.fs.attr(ino)?)),
        }
    }

    fn expect(&self, inos: &[Ino]) {
        self.fs.expect(inos);
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Attr> {
        let Some(made) = self.made.get(dir) else { return Ok(self.shown(self.fs.lookup(dir, name)?)) };
        match name {
            b"." => self.attr(dir),
            b".." => self.attr(made.parent),
            _ => self.attr(*made.entries.get(name).ok_or(Errno::NoEntry)?),
        }
    }

    fn parent(&self, dir: Ino) -> Result<Ino> {
        match self.made.get(dir) {
            Some(made) => Ok(made.parent),
            None if dir == self.made.root => Ok(Ino::ROOT),
            None => Ok(self.made.shown(self.fs.parent(dir)?)),
        }
    }

    fn readlink(&self, ino: Ino) -> Result<Vec<u8>> {
        self.fs.readlink(ino)
    }

    fn guards_files(&self) -> bool {
        self.fs.guards_files()
    }

    fn open(&self, ino: Ino, access: Access) -> Result<()> {
        self.fs.open(ino, access)
    }

    fn read(&self, ino: Ino, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        self.fs.read(ino, offset, buffer)
    }

    fn seek(&self, ino: Ino, offset: u64, what: Seek) -> Result<u64> {
        self.fs.seek(ino, offset, what)
    }

    fn stored(&self, ino: Ino, offset: u64) -> Result<Option<Stored>> {
        self.fs.stored(ino, offset)
    }

    fn content_max(&self) -> u64 {
        self.fs.content_max()
    }

    fn behind_damage(&self, ino: Ino, offset: u64) -> u64 {
        self.fs.behind_damage(ino, offset)
    }

    fn readdir(&self, dir: Ino, cookie: u64, each: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        let Some(made) = self.made.get(dir) else {
            return self.fs.readdir(dir, cookie, &mut |entry| {
                each(DirEntry { ino: self.made.shown(entry.ino), ..entry })
            });
        };
        let from = usize::try_from(cookie).unwrap_or(usize::MAX);
        for (cookie, (name, ino)) in (1..).zip(&made.entries).skip(from) {
            let kind = self.attr(*ino)?.kind;
            if !each(DirEntry { name, ino: *ino, kind, cookie }) {
                break;
            }
        }
        Ok(())
    }

    fn xattr(&self, ino: Ino, name: &[u8]) -> Result<Vec<u8>> {
        if self.made.get(ino).is_some() { Err(Errno::NoData.into()) } else { self.fs.xattr(ino, name) }
    }

    fn list_xattr(&self, ino: Ino) -> Result<Vec<Vec<u8>>> {
        if self.made.get(ino).is_some() { Ok(Vec::new()) } else { self.fs.list_xattr(ino) }
    }
}
