//! Section 4.2: directory operations. Each writes its directory blocks at once, those that gain a name before those that lose
//! one, and then the inodes; the last of these completes it.

use pumice_common::{Attributes, Found as _, In, Inodes, Names, damaged};
use pumice_vfs::{DirEntry, Errno, FileKind, Ino, NewNode, Result};

use super::Volume;
use crate::directory::{self, Change, Operation};
use crate::inode::{BLOCKS_MAX, Inode, Step};
use crate::layout::BLOCK_BYTES;
use crate::spare::{Kind, Owner};

/// Blocks that an operation on names writes at the most, symbolic links included.
const BLOCKS: u32 = 16;

/// An entry that was found.
#[derive(Clone, Copy)]
pub struct Found {
    block: u32,
    at: usize,
    ino: u32,
    kind: FileKind,
}

impl pumice_common::Found for Found {
    fn ino(&self) -> u32 {
        self.ino
    }

    fn kind(&self) -> FileKind {
        self.kind
    }
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

impl Names for Volume<'_> {
    type Dir = Inode;
    type Found = Found;

    fn dir(&mut self, ino: u32) -> Result<Inode> {
        let inode = self.inode(ino)?;
        if inode.kind == FileKind::Dir { Ok(inode) } else { Err(Errno::NotDir.into()) }
    }

    fn above(&self, _ino: u32, dir: &Inode) -> Option<u32> {
        (dir.nlink > 0).then_some(dir.parent)
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

    fn is_empty(&mut self, dir: u32) -> Result<bool> {
        let mut empty = true;
        self.readdir(dir, 0, &mut |_| {
            empty = false;
            false
        })?;
        Ok(empty)
    }

    fn make(&mut self, (dir, _): In<Inode>, name: &[u8], node: &NewNode<'_>) -> Result<(u32, Inode)> {
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

    fn add(&mut self, (ino, inode): In<Inode>, dir: u32, name: &[u8]) -> Result<Inode> {
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

    fn remove(&mut self, dir: u32, found: &Found) -> Result<()> {
        self.change(BLOCKS, 0, |volume| {
            let mut edits = Edits::default();
            edits.remove(volume, dir, *found)?;
            volume.touch_dir(dir, -i32::from(found.is_dir()))?;
            edits.write(volume, Change::Remove, found.ino)?;
            volume.lose_name(*found, Step::Last)
        })
    }

    fn relocate(&mut self, from: In<&Found>, to: In<(&[u8], Option<&Found>)>) -> Result<()> {
        self.change(BLOCKS, BLOCKS, |volume| volume.move_name(from, to))
    }

    fn exchange(&mut self, (dir, from): In<&Found>, (to_dir, to): In<&Found>) -> Result<()> {
        self.change(BLOCKS, 0, |volume| {
            let mut edits = Edits::default();
            edits.redirect(volume, to_dir, *to, *from)?;
            edits.redirect(volume, dir, *from, *to)?;
            let more = i32::from(from.is_dir()) - i32::from(to.is_dir());
            volume.touch_dir(dir, -more)?;
            volume.touch_dir(to_dir, more)?;
            edits.write(volume, Change::Rename, from.ino)?;
            volume.rehome(to, dir)?;
            volume.flush_file(to.ino, Step::Within)?;
            volume.rehome(from, to_dir)?;
            volume.flush_file(from.ino, Step::Last)
        })
    }

    fn readdir(&mut self, dir: u32, cookie: u64, each: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
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
}

impl Volume<'_> {
    fn dir_bytes(&mut self, owner: Owner) -> Result<Vec<u8>> {
        match self.index.block(owner)? {
            Some(bytes) => Ok(bytes.to_vec()),
            None => Err(damaged(format_args!("directory {} has no block {}", owner.ino, owner.offset))),
        }
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

    fn new_inode(&mut self, parent: u32, node: &NewNode<'_>) -> Result<Inode> {
        let is_dir = node.kind == FileKind::Dir;
        Ok(Inode {
            attributes: Attributes::new(node, self.now()),
            nlink: if is_dir { 2 } else { 1 },
            // No two inodes are made at the same time of the log.
            generation: self.index.log().tick()?,
            blocks: 0,
            parent: if is_dir { parent } else { 0 },
            xattrs: 0,
        })
    }

    /// Takes one name from an inode, and writes it.
    fn lose_name(&mut self, found: Found, step: Step) -> Result<()> {
        let all = if found.is_dir() { u32::MAX } else { 1 };
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

    fn move_name(
        &mut self,
        (dir, from): In<&Found>,
        (to_dir, (to_name, to)): In<(&[u8], Option<&Found>)>,
    ) -> Result<()> {
        let mut edits = Edits::default();
        match to {
            Some(to) => edits.redirect(self, to_dir, *to, *from)?,
            None => edits.insert(self, to_dir, to_name, (from.ino, from.kind))?,
        }
        edits.remove(self, dir, *from)?;
        let moves = i32::from(from.is_dir());
        let replaced = i32::from(to.is_some_and(pumice_common::Found::is_dir));
        self.touch_dir(dir, -moves)?;
        self.touch_dir(to_dir, moves - replaced)?;
        edits.write(self, Change::Rename, from.ino)?;
        if let Some(to) = to {
            self.lose_name(*to, Step::Within)?;
        }
        self.rehome(from, to_dir)?;
        self.flush_file(from.ino, Step::Last)
    }

    /// Notes that an inode's name moved into a directory.
    fn rehome(&mut self, moved: &Found, dir: u32) -> Result<()> {
        self.edit_inode(moved.ino, |inode| {
            if moved.is_dir() {
                inode.parent = dir;
            }
        })
    }
}
