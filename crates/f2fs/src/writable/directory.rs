//! Entries of a directory, found, put in and taken away: inside its inode, or in the hash table of blocks.

use pumice_vfs::{Errno, FileKind, check_name};

use super::blocks::{Blocks, Stand};
use crate::{
    error::{Error, Place, Result, corrupt},
    layout::{Dentry, DentryLayout, InlineFlags, Inode, LEVELS_MAX, Nid, bucket_beside, file_type, places},
    names::{Name, Names},
};

/// An entry that is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Found {
    pub(super) ino: Nid,
    /// The number of its block in the directory.
    leaf: u64,
    slot: u32,
    slots: u32,
}

/// The bytes of a leaf that was read, and where in them entries stand.
struct Leaf {
    block: crate::volume::Block,
    start: usize,
    layout: DentryLayout,
}

impl Leaf {
    fn bytes(&self) -> &[u8] {
        self.block.get(self.start..).unwrap_or_default()
    }

    /// The entry of a hash at or behind a slot.
    fn next_of(&self, dir: &Inode, slot: u32, hash: u32) -> Result<Option<Dentry<'_>>> {
        self.layout.next_of(self.bytes(), slot, hash).map_err(|slot| broken_entry(dir, slot))
    }

    /// The hashes of all entries.
    fn hashes(&self, dir: &Inode) -> Result<Vec<u32>> {
        self.layout.hashes(self.bytes()).map_err(|slot| broken_entry(dir, slot))
    }

    /// The entry at or behind a slot.
    fn next(&self, dir: &Inode, slot: u32) -> Result<Option<Dentry<'_>>> {
        self.layout.next(self.bytes(), slot).map_err(|slot| broken_entry(dir, slot))
    }
}

/// Blocks of entries: one for an inline directory.
fn leaves(blocks: &Blocks, dir: &Inode) -> u64 {
    if dir.has_inline_dentry() { 1 } else { dir.size.div_ceil(blocks.nodes().size().bytes_u64()) }
}

fn layout(blocks: &Blocks, dir: &Inode) -> (usize, DentryLayout) {
    if dir.has_inline_dentry() {
        let range = dir.inline_range();
        return (range.start, DentryLayout::for_bytes(range.len()));
    }
    (0, DentryLayout::for_block(blocks.nodes().size()))
}

/// A leaf; `None` where there is a hole.
fn leaf(blocks: &Blocks, dir: &Inode, index: u64) -> Result<Option<Leaf>> {
    let (start, layout) = layout(blocks, dir);
    let block = if dir.has_inline_dentry() {
        Some(blocks.nodes().inode_block(dir.ino)?)
    } else {
        blocks.read(dir, index)?
    };
    Ok(block.map(|block| Leaf { block, start, layout }))
}

/// The bytes of a leaf, to be changed. The caller puts the inode.
fn edit<'a>(blocks: &'a mut Blocks, dir: &mut Inode, index: u64) -> Result<(&'a mut [u8], DentryLayout)> {
    let (start, layout) = layout(blocks, dir);
    let block =
        if dir.has_inline_dentry() { blocks.nodes_mut().edit(dir.ino)? } else { blocks.edit(dir, index)? };
    Ok((block.get_mut(start..).unwrap_or_default(), layout))
}

/// The entry of a name.
pub(super) fn find(blocks: &Blocks, dir: &Inode, name: &Name) -> Result<Option<Found>> {
    if dir.has_inline_dentry() {
        let Some(leaf) = leaf(blocks, dir, 0)? else { return Ok(None) };
        return find_in(&leaf, dir, 0, name);
    }
    let leaves = leaves(blocks, dir);
    let places = places(name.hash(), dir.dir_level.into(), dir.depth).flatten();
    let places = places.take_while(|index| *index < leaves);
    for candidate in blocks.digests().candidates(dir.ino, places, name.hash()) {
        let leaf = leaf(blocks, dir, candidate.block)?;
        if !candidate.is_known {
            let hashes = leaf.as_ref().map_or(Ok(Vec::new()), |leaf| leaf.hashes(dir))?;
            blocks.digests().learn(dir.ino, candidate.block, &hashes);
        }
        let Some(leaf) = leaf else { continue };
        let found = find_in(&leaf, dir, candidate.block, name)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

fn find_in(leaf: &Leaf, dir: &Inode, index: u64, name: &Name) -> Result<Option<Found>> {
    let mut slot = 0;
    while let Some(dentry) = leaf.next_of(dir, slot, name.hash())? {
        if name.is(&dentry) {
            let (slot, slots) = (dentry.slot, dentry.slots());
            return Ok(Some(Found { ino: dentry.ino, leaf: index, slot, slots }));
        }
        slot = dentry.slot + dentry.slots();
    }
    Ok(None)
}

/// Puts a name in, which must not be there. The caller puts the inode.
pub(super) fn insert(
    blocks: &mut Blocks,
    dir: &mut Inode,
    name: &Name,
    ino: Nid,
    kind: FileKind,
) -> Result<()> {
    let dentry = Dentry { slot: 0, hash: name.hash(), ino, file_type: file_type(kind), name: name.bytes() };
    if dir.has_inline_dentry() {
        if insert_in(blocks, dir, 0, dentry)? {
            return Ok(());
        }
        spill(blocks, dir)?;
    }
    insert_hashed(blocks, dir, dentry)
}

fn insert_hashed(blocks: &mut Blocks, dir: &mut Inode, dentry: Dentry<'_>) -> Result<()> {
    let width = blocks.nodes().size().bytes_u64();
    let mut places = places(dentry.hash, dir.dir_level.into(), LEVELS_MAX).flatten();
    while let Some(index) = blocks.digests().first_roomy(dir.ino, &mut places, dentry.slots()) {
        if insert_in(blocks, dir, index, dentry)? {
            let (level, _) = bucket_beside(index, dentry.hash, dir.dir_level.into());
            dir.depth = dir.depth.max(level + 1);
            dir.size = dir.size.max((index + 1) * width);
            return Ok(());
        }
        blocks.digests().learn_full(dir.ino, index, dentry.slots());
    }
    Err(Error::Errno(Errno::NoSpace))
}

/// Puts an entry into the first gap of a leaf that is wide enough; false if there is none.
fn insert_in(blocks: &mut Blocks, dir: &mut Inode, index: u64, dentry: Dentry<'_>) -> Result<bool> {
    let slots = dentry.slots();
    let slot = match leaf(blocks, dir, index)? {
        None => Some(0),
        Some(leaf) => leaf.layout.gap(leaf.bytes(), slots),
    };
    let Some(slot) = slot else { return Ok(false) };
    put(blocks, dir, index, &Dentry { slot, ..dentry })?;
    Ok(true)
}

/// Puts an entry into free slots of a leaf.
fn put(blocks: &mut Blocks, dir: &mut Inode, index: u64, dentry: &Dentry<'_>) -> Result<()> {
    let (bytes, layout) = edit(blocks, dir, index)?;
    layout.put(bytes, dentry);
    blocks.digests().add(dir.ino, index, dentry.hash);
    Ok(())
}

/// Moves the entries of an inline directory into blocks. They keep their slots, as far as they can.
fn spill(blocks: &mut Blocks, dir: &mut Inode) -> Result<()> {
    let Some(old) = leaf(blocks, dir, 0)? else { return Ok(()) };
    let range = dir.inline_range();
    blocks.nodes_mut().edit(dir.ino)?.get_mut(range).unwrap_or_default().fill(0);
    dir.inline = dir.inline.without(InlineFlags::DENTRY);
    dir.size = 0;
    let mut slot = 0;
    while let Some(dentry) = old.next(dir, slot)? {
        slot = dentry.slot + dentry.slots();
        if dir.dir_level > 0 {
            insert_hashed(blocks, dir, dentry)?;
            continue;
        }
        put(blocks, dir, 0, &dentry)?;
    }
    dir.size = dir.size.max(blocks.nodes().size().bytes_u64());
    dir.depth = dir.depth.max(1);
    Ok(())
}

/// Takes a name away. A block without entries becomes a hole. The caller puts the inode.
pub(super) fn remove(blocks: &mut Blocks, dir: &mut Inode, found: &Found) -> Result<()> {
    let is_inline = dir.has_inline_dentry();
    let (bytes, layout) = edit(blocks, dir, found.leaf)?;
    for slot in found.slot..found.slot + found.slots {
        layout.set_used(bytes, slot, false);
    }
    let is_empty = (0..layout.slots).all(|slot| !layout.is_used(bytes, slot));
    blocks.digests().remove(dir.ino, found.leaf);
    if is_empty && !is_inline && found.leaf > 0 {
        blocks.punch(dir, found.leaf)?;
    }
    Ok(())
}

/// Has a name lead elsewhere. The caller puts the inode.
pub(super) fn redirect(
    blocks: &mut Blocks,
    dir: &mut Inode,
    found: &Found,
    ino: Nid,
    kind: FileKind,
) -> Result<()> {
    let Some(old) = leaf(blocks, dir, found.leaf)? else { return Err(Error::Errno(Errno::Stale)) };
    let Some(dentry) = old.next(dir, found.slot)? else { return Err(Error::Errno(Errno::Stale)) };
    debug_assert_eq!(dentry.slot, found.slot);
    let (bytes, layout) = edit(blocks, dir, found.leaf)?;
    for slot in found.slot..found.slot + found.slots {
        layout.set_used(bytes, slot, false);
    }
    layout.put(bytes, &Dentry { ino, file_type: file_type(kind), ..dentry });
    Ok(())
}

/// Makes `.` and `..` in a new directory, inside its inode.
pub(super) fn begin(blocks: &mut Blocks, dir: &mut Inode, parent: Nid) -> Result<()> {
    blocks.digests().forget_all_of(dir.ino);
    dir.inline = dir.inline.with(InlineFlags::DENTRY);
    dir.size = dir.inline_range().len() as u64;
    dir.depth = 1;
    for (slot, name, ino) in [(0, &b"."[..], dir.ino), (1, b"..", parent)] {
        let dentry = Dentry { slot, hash: 0, ino, file_type: file_type(FileKind::Dir), name };
        put(blocks, dir, 0, &dentry)?;
    }
    Ok(())
}

/// Hands out the entries behind a cookie (0: all), `.` and `..` left out, until it is told to stop. Of each it gives the
/// name as it is shown, the entry, and the cookie to go on behind it. Damaged parts are passed over; an error tells of the first.
pub(super) fn list(
    blocks: &Blocks,
    dir: &Inode,
    cookie: u64,
    each: &mut dyn FnMut(&[u8], &Dentry<'_>, u64) -> bool,
) -> Result<()> {
    let names = blocks.names(dir)?;
    let (mut index, mut slot) = (cookie >> 16, u32::from(crate::word::half(cookie & 0xffff)));
    let mut damage = None;
    while index < leaves(blocks, dir) {
        match leaf(blocks, dir, index) {
            Ok(Some(leaf)) => {
                let is_done = list_leaf(&leaf, (dir, &names), (index, slot), each, &mut damage);
                if is_done {
                    break;
                }
                index += 1;
            }
            Ok(None) => index += hole(blocks, dir, index)?,
            Err(error) => {
                damage.get_or_insert(error);
                // If a node is gone, the blocks below it are not looked for one by one.
                if blocks.stand(dir, index, 1).is_err() {
                    break;
                }
                index += 1;
            }
        }
        slot = 0;
    }
    damage.map_or(Ok(()), Err)
}

/// The entries of a leaf from a slot on; true if no more are wanted.
fn list_leaf(
    leaf: &Leaf,
    (dir, names): (&Inode, &Names),
    (index, mut slot): (u64, u32),
    each: &mut dyn FnMut(&[u8], &Dentry<'_>, u64) -> bool,
    damage: &mut Option<Error>,
) -> bool {
    loop {
        match leaf.layout.next(leaf.bytes(), slot) {
            Ok(None) => return false,
            Ok(Some(dentry)) => {
                slot = dentry.slot + dentry.slots();
                if dentry.name == b"." || dentry.name == b".." {
                    continue;
                }
                let name = match names.shown(&dentry) {
                    Ok(name) if check_name(&name).is_ok() => name,
                    Ok(name) => {
                        let name = name.escape_ascii().to_string();
                        damage.get_or_insert(Error::Name { dir: dir.ino, name });
                        continue;
                    }
                    Err(error) => {
                        damage.get_or_insert(error);
                        continue;
                    }
                };
                if !each(&name, &dentry, (index << 16) | u64::from(slot)) {
                    return true;
                }
            }
            Err(broken) => {
                damage.get_or_insert(broken_entry(dir, broken));
                slot = broken + 1;
            }
        }
    }
}

fn broken_entry(dir: &Inode, slot: u32) -> Error {
    corrupt(Place::Inode(dir.ino), "the name is out of bounds in slot", slot, 255_u32)
}

/// The number of empty blocks from `index` on, which is in front of the end.
fn hole(blocks: &Blocks, dir: &Inode, index: u64) -> Result<u64> {
    match blocks.stand(dir, index, leaves(blocks, dir) - index)? {
        (Stand::Hole | Stand::Promised, count) => Ok(count),
        _ => Ok(1),
    }
}

/// True if there is nothing but `.` and `..`.
pub(super) fn is_empty(blocks: &Blocks, dir: &Inode) -> Result<bool> {
    let mut empty = true;
    list(blocks, dir, 0, &mut |_, _, _| {
        empty = false;
        false
    })?;
    Ok(empty)
}
