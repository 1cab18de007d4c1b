//! Section 4.2: directory operations. Each writes its directory blocks at once, those that gain a name before those that lose
//! one, and then the inodes; the last of these completes it.

use pumice_vfs::{DirEntry, Errno, FileKind, Ino, NewNode, RenameMode, Result, check_name};

use super::Volume;
use crate::directory::{self, Change, Operation};
use crate::error::damaged;
use crate::inode::{BLOCKS_MAX, Inode, Step};
use crate::layout::BLOCK_BYTES;
use crate::spare::{Kind, Owner};

/// The depth of directories; only a damaged volume has deeper ones.
const DEPTH_MAX: u32 = 1 << 20;
/// Blocks that an operation on names writes at the most, symbolic links included.
const BLOCKS: u32 = 16;

/// An entry that was found.
#[derive(Clone, Copy)]
struct Found {
    block: u32,
    at: usize,
    ino: u32,
    kind: FileKind,
}

/// Directory blocks of one operation, in the order in which they are written.
#[derive(Default)]
struct Edits(Vec<(Owner, Vec<u8>)>);

fn nonsense(owner: Owner) -> pumice_vfs::FsError {
    damaged(format_args!("block {} of directory {} makes no sense", owner.offset, owner.ino))
}

fn dir_block(dir: u32, block: u32) -> Owner {
    Owner { ino: dir, kind: Kind::Dir, offset: block }
}

impl Edits {
    /// The block, as the operation has it so far.
    fn block(&mut self, volume: &mut Volume<'_>, owner: Owner) -> Result<&mut Vec<u8>> {
        let at = if let Some(at) = self.0.iter().position(|(of, _)| *of == owner) {
            at
        } else {
            let bytes = volume.dir_bytes(owner)?;
            self.0.push((owner, bytes));
            self.0.len() - 1
        };
        Ok(&mut self.0[at].1)
    }

    fn remove(&mut self, volume: &mut Volume<'_>, dir: u32, found: Found) -> Result<()> {
        let owner = dir_block(dir, found.block);
        directory::remove(self.block(volume, owner)?, found.at).ok_or_else(|| nonsense(owner))
    }

    fn redirect(&mut self, volume: &mut Volume<'_>, dir: u32, found: Found, to: Found) -> Result<()> {
        let owner = dir_block(dir, found.block);
        let block = self.block(volume, owner)?;
        directory::redirect(block, found.at, to.ino, to.kind).ok_or_else(|| nonsense(owner))
    }

    /// Puts a name into the first block with room, or into a new one.
    fn insert(
        &mut self,
        volume: &mut Volume<'_>,
        dir: u32,
        name: &[u8],
        (ino, kind): (u32, FileKind),
    ) -> Result<()> {
        let mut inode = volume.inode(dir)?;
        let blocks = blocks_of(&inode);
        for block in 0..blocks {
            let owner = dir_block(dir, block);
            let mut bytes = volume.dir_bytes(owner)?;
            if directory::insert(&mut bytes, name, ino, kind).ok_or_else(|| nonsense(owner))? {
                *self.block(volume, owner)? = bytes;
                return Ok(());
            }
        }
        if blocks >= BLOCKS_MAX {
            return Err(Errno::NoSpace.into());
        }
        let mut bytes = directory::empty();
        directory::insert(&mut bytes, name, ino, kind).ok_or_else(|| nonsense(dir_block(dir, blocks)))?;
        self.0.push((dir_block(dir, blocks), bytes));
        inode.size += BLOCK_BYTES as u64;
        volume.index.set_inode(dir, &inode)
    }

    /// Writes the blocks. Each names inode `ino`, which completes the operation when written, and the changes of its
    /// directory's own inode.
    fn write(self, volume: &mut Volume<'_>, change: Change, ino: u32) -> Result<()> {
        for (owner, mut bytes) in self.0 {
            let dir = volume.inode(owner.ino)?;
            let (nlink, blocks, time) = (dir.nlink, blocks_of(&dir), dir.times[1]);
            directory::set_operation(&mut bytes, change, &Operation { ino, nlink, blocks, time });
            volume.index.write_dir(owner, bytes)?;
        }
        Ok(())
    }
}

fn blocks_of(dir: &Inode) -> u32 {
    u32::try_from(dir.size / BLOCK_BYTES as u64).unwrap_or(BLOCKS_MAX)
}

impl Volume<'_> {
    fn dir_bytes(&mut self, owner: Owner) -> Result<Vec<u8>> {
        match self.index.block(owner)? {
            Some(bytes) => Ok(bytes.to_vec()),
            None => Err(damaged(format_args!("directory {} has no block {}", owner.ino, owner.offset))),
        }
    }

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

    fn find(&mut self, dir: u32, name: &[u8]) -> Result<Option<Found>> {
        let blocks = blocks_of(&self.dir(dir)?);
        for block in 0..blocks {
            let owner = dir_block(dir, block);
            let Some(bytes) = self.index.block(owner)? else { return Err(nonsense(owner)) };
            let entries = directory::entries(bytes).ok_or_else(|| nonsense(owner))?;
            for entry in entries {
                if let Some(kind) = entry.kind.filter(|_| entry.ino != 0 && entry.name == name) {
                    return Ok(Some(Found { block, at: entry.at, ino: entry.ino, kind }));
                }
            }
        }
        Ok(None)
    }

    fn must_find(&mut self, dir: u32, name: &[u8]) -> Result<Found> {
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
        if inode.kind != FileKind::Symlink || inode.size > 4095 {
            return Err(Errno::Invalid.into());
        }
        let mut target = vec![0; usize::try_from(inode.size).unwrap_or_default()];
        self.read_blocks(ino, 0, &mut target)?;
        Ok(target)
    }

    pub(crate) fn readdir(
        &mut self,
        dir: u32,
        cookie: u64,
        each: &mut dyn FnMut(DirEntry<'_>) -> bool,
    ) -> Result<()> {
        let inode = self.dir(dir)?;
        if inode.nlink == 0 {
            return Ok(());
        }
        let bytes_each = BLOCK_BYTES as u64;
        let first = u32::try_from(cookie / bytes_each).unwrap_or(u32::MAX);
        for block in first..blocks_of(&inode) {
            let owner = dir_block(dir, block);
            let bytes = self.dir_bytes(owner)?;
            let entries = directory::entries(&bytes).ok_or_else(|| nonsense(owner))?;
            for entry in entries {
                let here = u64::from(block) * bytes_each + entry.at as u64;
                let Some(kind) = entry.kind.filter(|_| entry.ino != 0 && here > cookie) else { continue };
                let ino = Ino(u64::from(entry.ino));
                if !each(DirEntry { name: entry.name, ino, kind, cookie: here }) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Notes that names of a directory changed, and how many directories it holds more or fewer.
    fn touch_dir(&mut self, dir: u32, links: i32) -> Result<()> {
        let mut inode = self.inode(dir)?;
        inode.nlink = inode.nlink.saturating_add_signed(links);
        self.touch(dir, inode)
    }

    fn edit_inode(&mut self, ino: u32, edit: impl FnOnce(&mut Inode)) -> Result<()> {
        let mut inode = self.inode(ino)?;
        edit(&mut inode);
        inode.times[2] = self.now();
        self.index.set_inode(ino, &inode)
    }

    pub(crate) fn create(&mut self, dir: u32, name: &[u8], node: &NewNode<'_>) -> Result<(u32, Inode)> {
        check_name(name)?;
        self.living_dir(dir)?;
        if self.find(dir, name)?.is_some() {
            return Err(Errno::Exists.into());
        }
        if node.kind == FileKind::Symlink {
            check_target(node.target)?;
        }
        self.writable()?;
        let ino = self.index.unused_inode(self.unused_from)?;
        let is_dir = node.kind == FileKind::Dir;
        self.change(BLOCKS, BLOCKS, |volume| {
            let inode = volume.new_inode(dir, node)?;
            volume.index.add_inode(ino, &inode)?;
            volume.unused_from = ino + 1;
            for (number, part) in (0..).zip(node.target.chunks(BLOCK_BYTES)) {
                let mut block = part.to_vec();
                block.resize(BLOCK_BYTES, 0);
                volume.index.write(Owner { ino, kind: Kind::Data, offset: number }, &block)?;
            }
            let mut edits = Edits::default();
            edits.insert(volume, dir, name, (ino, node.kind))?;
            volume.touch_dir(dir, i32::from(is_dir))?;
            edits.write(volume, Change::Create, ino)?;
            volume.flush_file(ino, Step::Last)?;
            Ok((ino, volume.inode(ino)?))
        })
    }

    fn new_inode(&mut self, parent: u32, node: &NewNode<'_>) -> Result<Inode> {
        let is_dir = node.kind == FileKind::Dir;
        Ok(Inode {
            kind: node.kind,
            perm: node.perm & 0o7777,
            nlink: if is_dir { 2 } else { 1 },
            uid: node.uid,
            gid: node.gid,
            rdev: node.rdev,
            // No two inodes are made at the same time of the log.
            generation: self.index.log().tick()?,
            size: node.target.len() as u64,
            blocks: 0,
            parent: if is_dir { parent } else { 0 },
            xattrs: 0,
            times: [self.now(); 4],
        })
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
        self.change(BLOCKS, BLOCKS, |volume| {
            let mut edits = Edits::default();
            edits.insert(volume, dir, name, (ino, inode.kind))?;
            volume.touch_dir(dir, 0)?;
            volume.edit_inode(ino, |inode| inode.nlink += 1)?;
            edits.write(volume, Change::Link, ino)?;
            volume.flush_file(ino, Step::Last)?;
            volume.inode(ino)
        })
    }

    pub(crate) fn unlink(&mut self, dir: u32, name: &[u8]) -> Result<()> {
        check_name(name)?;
        let found = self.must_find(dir, name)?;
        if found.kind == FileKind::Dir {
            return Err(Errno::IsDir.into());
        }
        self.remove(dir, found, 0)
    }

    pub(crate) fn rmdir(&mut self, dir: u32, name: &[u8]) -> Result<()> {
        check_name(name)?;
        let found = self.must_find(dir, name)?;
        if found.kind != FileKind::Dir {
            return Err(Errno::NotDir.into());
        }
        self.must_be_empty(found.ino)?;
        self.remove(dir, found, -1)
    }

    fn must_be_empty(&mut self, dir: u32) -> Result<()> {
        let mut empty = true;
        self.readdir(dir, 0, &mut |_| {
            empty = false;
            false
        })?;
        if empty { Ok(()) } else { Err(Errno::NotEmpty.into()) }
    }

    fn remove(&mut self, dir: u32, found: Found, links: i32) -> Result<()> {
        self.change(BLOCKS, 0, |volume| {
            let mut edits = Edits::default();
            edits.remove(volume, dir, found)?;
            volume.touch_dir(dir, links)?;
            edits.write(volume, Change::Remove, found.ino)?;
            volume.lose_name(found, Step::Last)
        })
    }

    /// Takes one name from an inode, and writes it.
    fn lose_name(&mut self, found: Found, step: Step) -> Result<()> {
        let all = if found.kind == FileKind::Dir { u32::MAX } else { 1 };
        self.edit_inode(found.ino, |inode| inode.nlink = inode.nlink.saturating_sub(all))?;
        if self.inode(found.ino)?.nlink > 0 {
            return self.flush_file(found.ino, step);
        }
        let held = self.held.contains_key(&found.ino);
        if !held {
            self.forget_buffer(found.ino);
            self.unused_from = self.unused_from.min(found.ino);
        }
        self.index.bury(found.ino, step, held)
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
        if self.is_within(to_dir, from)? {
            return Err(Errno::Invalid.into());
        }
        match (mode, to) {
            (RenameMode::Whiteout { .. }, _) => Err(Errno::Invalid.into()),
            (RenameMode::NoReplace, Some(_)) => Err(Errno::Exists.into()),
            (RenameMode::Exchange, None) => Err(Errno::NoEntry.into()),
            (RenameMode::Exchange, Some(to)) => self.exchange((dir, from), (to_dir, to)),
            (_, Some(to)) if to.ino == from.ino => Ok(()),
            (_, to) => {
                if let Some(to) = to {
                    self.may_replace(from, to)?;
                }
                self.change(BLOCKS, BLOCKS, |volume| volume.move_name((dir, from), (to_dir, to_name, to)))
            }
        }
    }

    fn may_replace(&mut self, from: Found, to: Found) -> Result<()> {
        match (from.kind == FileKind::Dir, to.kind == FileKind::Dir) {
            (true, false) => Err(Errno::NotDir.into()),
            (false, true) => Err(Errno::IsDir.into()),
            (true, true) => self.must_be_empty(to.ino),
            (false, false) => Ok(()),
        }
    }

    /// True if `dir` is the directory `top`, or below it.
    fn is_within(&mut self, dir: u32, top: Found) -> Result<bool> {
        let mut at = dir;
        for _ in 0..DEPTH_MAX {
            if at == top.ino {
                return Ok(true);
            }
            let parent = self.parent(at)?;
            if parent == at {
                return Ok(false);
            }
            at = parent;
        }
        Err(damaged(format_args!("directory {dir} lies within itself")))
    }

    fn move_name(
        &mut self,
        (dir, from): (u32, Found),
        (to_dir, to_name, to): (u32, &[u8], Option<Found>),
    ) -> Result<()> {
        let mut edits = Edits::default();
        match to {
            Some(to) => edits.redirect(self, to_dir, to, from)?,
            None => edits.insert(self, to_dir, to_name, (from.ino, from.kind))?,
        }
        edits.remove(self, dir, from)?;
        let moves = i32::from(from.kind == FileKind::Dir);
        let replaced = i32::from(to.is_some_and(|to| to.kind == FileKind::Dir));
        self.touch_dir(dir, -moves)?;
        self.touch_dir(to_dir, moves - replaced)?;
        edits.write(self, Change::Rename, from.ino)?;
        if let Some(to) = to {
            self.lose_name(to, Step::Within)?;
        }
        self.rehome(from, to_dir)?;
        self.flush_file(from.ino, Step::Last)
    }

    /// Notes that an inode's name moved into a directory.
    fn rehome(&mut self, moved: Found, dir: u32) -> Result<()> {
        self.edit_inode(moved.ino, |inode| {
            if moved.kind == FileKind::Dir {
                inode.parent = dir;
            }
        })
    }

    fn exchange(&mut self, (dir, from): (u32, Found), (to_dir, to): (u32, Found)) -> Result<()> {
        if from.ino == to.ino {
            return Ok(());
        }
        if self.is_within(dir, to)? {
            return Err(Errno::Invalid.into());
        }
        self.change(BLOCKS, 0, |volume| {
            let mut edits = Edits::default();
            edits.redirect(volume, to_dir, to, from)?;
            edits.redirect(volume, dir, from, to)?;
            let more = i32::from(from.kind == FileKind::Dir) - i32::from(to.kind == FileKind::Dir);
            volume.touch_dir(dir, -more)?;
            volume.touch_dir(to_dir, more)?;
            edits.write(volume, Change::Rename, from.ino)?;
            volume.rehome(to, dir)?;
            volume.flush_file(to.ino, Step::Within)?;
            volume.rehome(from, to_dir)?;
            volume.flush_file(from.ino, Step::Last)
        })
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
