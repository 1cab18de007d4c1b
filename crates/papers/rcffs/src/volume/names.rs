//! Names: the directory inode's entries (table 1). The changes of a call wait together, and are written together.

use pumice_common::{Attributes, Found, In, Inodes, Names, damaged};
use pumice_vfs::{DirEntry, Errno, FileKind, Ino, NewNode, Result};

use super::{DIRECTORIES, Volume};
use crate::directory::{Directory, Entry};
use crate::inode::Inode;
use crate::layout::{CHUNK_MAX, count};
use crate::mutree::Key;

impl Found for Entry {
    fn ino(&self) -> u32 {
        self.ino
    }

    fn kind(&self) -> FileKind {
        self.kind
    }
}

impl Names for Volume<'_> {
    type Dir = Inode;
    type Found = Entry;

    fn dir(&mut self, ino: u32) -> Result<Inode> {
        let inode = self.inode(ino)?;
        if inode.kind == FileKind::Dir { Ok(inode) } else { Err(Errno::NotDir.into()) }
    }

    fn above(&self, _ino: u32, dir: &Inode) -> Option<u32> {
        (dir.nlink > 0).then_some(dir.parent)
    }

    fn find(&mut self, dir: u32, name: &[u8]) -> Result<Option<Entry>> {
        self.dir(dir)?;
        Ok(self.entries(dir)?.find(name).cloned())
    }

    fn is_empty(&mut self, dir: u32) -> Result<bool> {
        Ok(self.entries(dir)?.is_empty())
    }

    fn make(&mut self, (dir, above): In<Inode>, name: &[u8], node: &NewNode<'_>) -> Result<(u32, Inode)> {
        self.admit_name(node.target)?;
        let ino = self.tree.state().highest.checked_add(1).ok_or(Errno::NoSpace)?;
        let is_dir = node.kind == FileKind::Dir;
        let inode = Inode {
            attributes: Attributes::new(node, self.now()),
            nlink: if is_dir { 2 } else { 1 },
            parent: if is_dir { dir } else { 0 },
            packed: above.packed,
            chunks: u32::from(!node.target.is_empty()),
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

    fn add(&mut self, (ino, inode): In<Inode>, dir: u32, name: &[u8]) -> Result<Inode> {
        self.admit_name(b"")?;
        self.edit(dir, |all| Some(all.insert(Entry { ino, kind: inode.kind, name: name.to_vec() })))?;
        self.touch_dir(dir, 0)?;
        self.edit_inode(ino, |inode| inode.nlink += 1)?;
        self.write_back()?;
        self.inode(ino)
    }

    fn remove(&mut self, dir: u32, found: &Entry) -> Result<()> {
        self.writable()?;
        self.edit(dir, |all| all.remove(&found.name))?;
        self.touch_dir(dir, -i32::from(found.is_dir()))?;
        self.lose_name(found)?;
        self.write_back()
    }

    fn relocate(
        &mut self,
        (dir, from): In<&Entry>,
        (to_dir, (to_name, to)): In<(&[u8], Option<&Entry>)>,
    ) -> Result<()> {
        self.admit_name(b"")?;
        self.edit(dir, |all| all.remove(&from.name))?;
        if let Some(to) = to {
            self.edit(to_dir, |all| all.redirect(&to.name, from.ino, from.kind))?;
        } else {
            let entry = Entry { name: to_name.to_vec(), ..from.clone() };
            self.edit(to_dir, |all| Some(all.insert(entry)))?;
        }
        let moves = i32::from(from.is_dir());
        let replaced = i32::from(to.is_some_and(Found::is_dir));
        self.touch_dir(dir, -moves)?;
        self.touch_dir(to_dir, moves - replaced)?;
        if let Some(to) = to {
            self.lose_name(to)?;
        }
        self.rehome(from, to_dir)?;
        self.write_back()
    }

    fn exchange(&mut self, (dir, from): In<&Entry>, (to_dir, to): In<&Entry>) -> Result<()> {
        self.writable()?;
        self.edit(to_dir, |all| all.redirect(&to.name, from.ino, from.kind))?;
        self.edit(dir, |all| all.redirect(&from.name, to.ino, to.kind))?;
        let more = i32::from(from.is_dir()) - i32::from(to.is_dir());
        self.touch_dir(dir, -more)?;
        self.touch_dir(to_dir, more)?;
        self.rehome(to, dir)?;
        self.rehome(from, to_dir)?;
        self.write_back()
    }

    fn readdir(&mut self, dir: u32, cookie: u64, each: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
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
}

impl Volume<'_> {
    /// The entries of a directory; read from flash where they are not in memory.
    fn entries(&mut self, dir: u32) -> Result<&mut Directory> {
        if !self.directories.contains_key(&dir) {
            let mut loaded = Directory::default();
            let mut at = Key::entries(dir, 0);
            while let Some(key) = self.next_key(at)?.filter(|key| *key <= Key::last(dir)) {
                let bytes = self.chunk(key)?.ok_or_else(|| damaged(format_args!("{key:?} has no chunk")))?;
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

    /// Notes that names of a directory changed, and how many directories it holds more or fewer.
    fn touch_dir(&mut self, dir: u32, links: i32) -> Result<()> {
        let mut inode = self.inode(dir)?;
        inode.nlink = inode.nlink.saturating_add_signed(links);
        inode.touch(self.now());
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

    /// Takes one name from an inode; it goes with the last, or when nobody holds it any more.
    fn lose_name(&mut self, found: &Entry) -> Result<()> {
        let all = if found.is_dir() { u32::MAX } else { 1 };
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

    /// Notes that an inode's name moved into a directory.
    fn rehome(&mut self, moved: &Entry, dir: u32) -> Result<()> {
        self.edit_inode(moved.ino, |inode| {
            if moved.is_dir() {
                inode.parent = dir;
            }
        })
    }
}
