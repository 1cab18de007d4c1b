//! Names: the directory inode's entries (table 1). The changes of a call wait together, and are written together.

use pumice_vfs::{DirEntry, Errno, FileKind, Ino, NewNode, RenameMode, Result, check_name};

use super::{DIRECTORIES, ROOT, Volume};
use crate::directory::{Directory, Entry};
use crate::error::damaged;
use crate::inode::Inode;
use crate::layout::{CHUNK_BYTES, CHUNK_MAX, count};
use crate::mutree::Key;

/// The depth of directories; only a damaged volume has deeper ones.
const DEPTH_MAX: u32 = 1 << 20;

impl Volume<'_> {
    /// A directory's inode.
    fn dir(&mut self, ino: u32) -> Result<Inode> {
        let inode = self.inode(ino)?;
        if inode.kind == FileKind::Dir { Ok(inode) } else { Err(Errno::NotDir.into()) }
    }

    /// A directory in which names can be made.
    fn living_dir(&mut self, ino: u32) -> Result<Inode> {
        let inode = self.dir(ino)?;
        if inode.nlink == 0 { Err(Errno::NoEntry.into()) } else { Ok(inode) }
    }

    /// The entries of a directory; read from flash where they are not in memory.
    fn entries(&mut self, dir: u32) -> Result<&mut Directory> {
        if !self.directories.contains_key(&dir) {
            let mut loaded = Directory::default();
            let mut at = Key::entries(dir, 0);
            while let Some(key) = self.next_key(at)?.filter(|key| *key <= Key::last(dir)) {
                let bytes = self.chunk(key)?.unwrap_or_default();
                let number = count(usize::try_from(key.number()).unwrap_or(usize::MAX)) - 1;
                loaded.load(number, &bytes).ok_or_else(|| {
                    damaged(format_args!("entries {number} of directory {dir} make no sense"))
                })?;
                at = key.next();
            }
            if self.directories.len() >= DIRECTORIES {
                // Their chunks are on flash or wait to be written.
                self.directories.clear();
            }
            self.directories.insert(dir, loaded);
        }
        self.directories.get_mut(&dir).ok_or_else(|| Errno::Stale.into())
    }

    /// Changes a directory's entries in memory, and the chunk that tells of them.
    fn edit(&mut self, dir: u32, edit: impl FnOnce(&mut Directory) -> Option<u32>) -> Result<()> {
        let entries = self.entries(dir)?;
        let chunk = edit(entries).ok_or_else(|| damaged(format_args!("directory {dir} lost a name")))?;
        let bytes = entries.chunk(chunk);
        self.put(Key::entries(dir, chunk), bytes)
    }

    fn find(&mut self, dir: u32, name: &[u8]) -> Result<Option<Entry>> {
        self.dir(dir)?;
        Ok(self.entries(dir)?.find(name).cloned())
    }

    fn must_find(&mut self, dir: u32, name: &[u8]) -> Result<Entry> {
        self.find(dir, name)?.ok_or_else(|| Errno::NoEntry.into())
    }

    pub(crate) fn lookup(&mut self, dir: u32, name: &[u8]) -> Result<(u32, Inode)> {
        let inode = self.dir(dir)?;
        let ino = match name {
            b"." => dir,
            b".." if inode.nlink == 0 => return Err(Errno::NoEntry.into()),
            b".." => inode.parent,
            _ if name.len() > 255 => return Err(Errno::NameTooLong.into()),
            _ => self.must_find(dir, name)?.ino,
        };
        Ok((ino, self.inode(ino)?))
    }

    pub(crate) fn parent(&mut self, dir: u32) -> Result<u32> {
        Ok(self.living_dir(dir)?.parent)
    }

    pub(crate) fn readlink(&mut self, ino: u32) -> Result<Vec<u8>> {
        let inode = self.inode(ino)?;
        let length = usize::try_from(inode.size).ok().filter(|length| *length < CHUNK_BYTES);
        let (FileKind::Symlink, Some(length)) = (inode.kind, length) else {
            return Err(Errno::Invalid.into());
        };
        let mut target = vec![0; length];
        self.read_chunks(ino, 0, &mut target)?;
        Ok(target)
    }

    pub(crate) fn readdir(
        &mut self,
        dir: u32,
        cookie: u64,
        each: &mut dyn FnMut(DirEntry<'_>) -> bool,
    ) -> Result<()> {
        if self.dir(dir)?.nlink == 0 {
            return Ok(());
        }
        let Ok(from) = u32::try_from(cookie) else { return Ok(()) };
        for (number, entry) in self.entries(dir)?.from(from) {
            let (ino, cookie) = (Ino(u64::from(entry.ino)), u64::from(number) + 1);
            if !each(DirEntry { name: &entry.name, ino, kind: entry.kind, cookie }) {
                break;
            }
        }
        Ok(())
    }

    /// Notes that names of a directory changed, and how many directories it holds more or fewer.
    fn touch_dir(&mut self, dir: u32, links: i32) -> Result<()> {
        let mut inode = self.inode(dir)?;
        inode.nlink = inode.nlink.saturating_add_signed(links);
        (inode.times[1], inode.times[2]) = (self.now(), self.now());
        self.put_inode(dir, &inode)
    }

    fn edit_inode(&mut self, ino: u32, edit: impl FnOnce(&mut Inode)) -> Result<()> {
        let mut inode = self.inode(ino)?;
        edit(&mut inode);
        inode.times[2] = self.now();
        self.put_inode(ino, &inode)
    }

    /// Refuses a name without room for an inode, and for chunks of a directory and of a link's target.
    fn admit_name(&mut self, target: &[u8]) -> Result<()> {
        self.admit(CHUNK_MAX + 200 + target.len())
    }

    pub(crate) fn create(&mut self, dir: u32, name: &[u8], node: &NewNode<'_>) -> Result<(u32, Inode)> {
        check_name(name)?;
        let packed = self.living_dir(dir)?.packed;
        if self.find(dir, name)?.is_some() {
            return Err(Errno::Exists.into());
        }
        if node.kind == FileKind::Symlink {
            check_target(node.target)?;
        }
        self.admit_name(node.target)?;
        let ino = self.tree.state().highest.checked_add(1).ok_or(Errno::NoSpace)?;
        let is_dir = node.kind == FileKind::Dir;
        let inode = Inode {
            kind: node.kind,
            perm: node.perm & 0o7777,
            nlink: if is_dir { 2 } else { 1 },
            uid: node.uid,
            gid: node.gid,
            rdev: node.rdev,
            parent: if is_dir { dir } else { 0 },
            packed,
            size: node.target.len() as u64,
            chunks: u32::from(!node.target.is_empty()),
            times: [self.now(); 4],
        };
        self.edit(dir, |all| Some(all.insert(Entry { ino, kind: node.kind, name: name.to_vec() })))?;
        if !node.target.is_empty() {
            self.put(Key::data(ino, 0), Some(node.target.to_vec()))?;
        }
        self.put_inode(ino, &inode)?;
        self.touch_dir(dir, i32::from(is_dir))?;
        self.tree.state_mut().highest = ino;
        self.inodes += 1;
        self.write_back()?;
        Ok((ino, inode))
    }

    pub(crate) fn link(&mut self, ino: u32, dir: u32, name: &[u8]) -> Result<Inode> {
        check_name(name)?;
        self.living_dir(dir)?;
        let inode = self.inode(ino)?;
        if inode.kind == FileKind::Dir {
            return Err(Errno::Perm.into());
        }
        if inode.nlink == 0 {
            return Err(Errno::NoEntry.into());
        }
        if self.find(dir, name)?.is_some() {
            return Err(Errno::Exists.into());
        }
        self.admit_name(b"")?;
        self.edit(dir, |all| Some(all.insert(Entry { ino, kind: inode.kind, name: name.to_vec() })))?;
        self.touch_dir(dir, 0)?;
        self.edit_inode(ino, |inode| inode.nlink += 1)?;
        self.write_back()?;
        self.inode(ino)
    }

    pub(crate) fn unlink(&mut self, dir: u32, name: &[u8]) -> Result<()> {
        check_name(name)?;
        let found = self.must_find(dir, name)?;
        if found.kind == FileKind::Dir {
            return Err(Errno::IsDir.into());
        }
        self.remove(dir, &found, 0)
    }

    pub(crate) fn rmdir(&mut self, dir: u32, name: &[u8]) -> Result<()> {
        check_name(name)?;
        let found = self.must_find(dir, name)?;
        if found.kind != FileKind::Dir {
            return Err(Errno::NotDir.into());
        }
        self.must_be_empty(found.ino)?;
        self.remove(dir, &found, -1)
    }

    fn must_be_empty(&mut self, dir: u32) -> Result<()> {
        if self.entries(dir)?.is_empty() { Ok(()) } else { Err(Errno::NotEmpty.into()) }
    }

    fn remove(&mut self, dir: u32, found: &Entry, links: i32) -> Result<()> {
        self.writable()?;
        self.edit(dir, |all| all.remove(&found.name))?;
        self.touch_dir(dir, links)?;
        self.lose_name(found)?;
        self.write_back()
    }

    /// Takes one name from an inode; it goes with the last, or when nobody holds it any more.
    fn lose_name(&mut self, found: &Entry) -> Result<()> {
        let all = if found.kind == FileKind::Dir { u32::MAX } else { 1 };
        self.edit_inode(found.ino, |inode| inode.nlink = inode.nlink.saturating_sub(all))?;
        if self.inode(found.ino)?.nlink > 0 {
            return Ok(());
        }
        if self.held.contains_key(&found.ino) {
            self.orphans.insert(found.ino);
            return self.note_orphans();
        }
        self.drop_inode(found.ino)
    }

    pub(crate) fn rename(
        &mut self,
        (dir, name): (u32, &[u8]),
        (to_dir, to_name): (u32, &[u8]),
        mode: RenameMode,
    ) -> Result<()> {
        check_name(name)?;
        check_name(to_name)?;
        self.living_dir(dir)?;
        self.living_dir(to_dir)?;
        let from = self.must_find(dir, name)?;
        let to = self.find(to_dir, to_name)?;
        if self.is_within(to_dir, from.ino)? {
            return Err(Errno::Invalid.into());
        }
        match (mode, to) {
            (RenameMode::Whiteout { .. }, _) => Err(Errno::Invalid.into()),
            (RenameMode::NoReplace, Some(_)) => Err(Errno::Exists.into()),
            (RenameMode::Exchange, None) => Err(Errno::NoEntry.into()),
            (RenameMode::Exchange, Some(to)) => self.exchange((dir, &from), (to_dir, &to)),
            (_, Some(to)) if to.ino == from.ino => Ok(()),
            (_, to) => {
                if let Some(to) = &to {
                    self.may_replace(&from, to)?;
                }
                self.admit_name(b"")?;
                self.move_name((dir, &from), (to_dir, to_name, to.as_ref()))
            }
        }
    }

    fn may_replace(&mut self, from: &Entry, to: &Entry) -> Result<()> {
        match (from.kind == FileKind::Dir, to.kind == FileKind::Dir) {
            (true, false) => Err(Errno::NotDir.into()),
            (false, true) => Err(Errno::IsDir.into()),
            (true, true) => self.must_be_empty(to.ino),
            (false, false) => Ok(()),
        }
    }

    /// True if `dir` is the directory `top`, or below it.
    fn is_within(&mut self, dir: u32, top: u32) -> Result<bool> {
        let mut at = dir;
        for _ in 0..DEPTH_MAX {
            if at == top {
                return Ok(true);
            }
            if at == ROOT {
                return Ok(false);
            }
            at = self.parent(at)?;
        }
        Err(damaged(format_args!("directory {dir} lies within itself")))
    }

    fn move_name(
        &mut self,
        (dir, from): (u32, &Entry),
        (to_dir, to_name, to): (u32, &[u8], Option<&Entry>),
    ) -> Result<()> {
        self.edit(dir, |all| all.remove(&from.name))?;
        if let Some(to) = to {
            self.edit(to_dir, |all| all.redirect(&to.name, from.ino, from.kind))?;
        } else {
            let entry = Entry { name: to_name.to_vec(), ..from.clone() };
            self.edit(to_dir, |all| Some(all.insert(entry)))?;
        }
        let moves = i32::from(from.kind == FileKind::Dir);
        let replaced = i32::from(to.is_some_and(|to| to.kind == FileKind::Dir));
        self.touch_dir(dir, -moves)?;
        self.touch_dir(to_dir, moves - replaced)?;
        if let Some(to) = to {
            self.lose_name(to)?;
        }
        self.rehome(from, to_dir)?;
        self.write_back()
    }

    /// Notes that an inode's name moved into a directory.
    fn rehome(&mut self, moved: &Entry, dir: u32) -> Result<()> {
        self.edit_inode(moved.ino, |inode| {
            if moved.kind == FileKind::Dir {
                inode.parent = dir;
            }
        })
    }

    fn exchange(&mut self, (dir, from): (u32, &Entry), (to_dir, to): (u32, &Entry)) -> Result<()> {
        if from.ino == to.ino {
            return Ok(());
        }
        if self.is_within(dir, to.ino)? {
            return Err(Errno::Invalid.into());
        }
        self.writable()?;
        self.edit(to_dir, |all| all.redirect(&to.name, from.ino, from.kind))?;
        self.edit(dir, |all| all.redirect(&from.name, to.ino, to.kind))?;
        let more = i32::from(from.kind == FileKind::Dir) - i32::from(to.kind == FileKind::Dir);
        self.touch_dir(dir, -more)?;
        self.touch_dir(to_dir, more)?;
        self.rehome(to, dir)?;
        self.rehome(from, to_dir)?;
        self.write_back()
    }
}

fn check_target(target: &[u8]) -> Result<()> {
    match target.len() {
        4096.. => Err(Errno::NameTooLong.into()),
        0 => Err(Errno::Invalid.into()),
        _ if target.contains(&0) => Err(Errno::Invalid.into()),
        _ => Ok(()),
    }
}
