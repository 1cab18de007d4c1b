//! The inode block: attributes, and where the addresses of the file's blocks stand, as in LFS (2.4).
//!
//! A block has, from byte 0, 4 bytes each: mode, links, user, group, device, generation. Behind them stand length (8
//! bytes, at 24), blocks that belong to it (4, at 32), a directory's parent (36), bytes of extended attributes (40) and
//! the [`Step`] (44). From 48 there are four times of 8 + 4 bytes: access, modification, change, birth. From 128 there
//! are 220 addresses of data and one of an indirect block of each order; indirect blocks have 256 addresses.

use core::ops::{Deref, DerefMut};

use pumice_common::{Attributes, get_time, get_u32, put_time, put_u32};
use pumice_vfs::{Attr, FileKind};

use crate::layout::{BLOCK_BYTES, POINTERS};
use crate::spare::{Kind, Owner};

/// Addresses of data in the inode itself.
pub(crate) const DIRECT: u32 = 220;
/// The first block that the double indirect block reaches.
const DOUBLE: u32 = DIRECT + POINTERS;
/// The first block that the triple indirect block reaches.
const TRIPLE: u32 = DOUBLE + SQUARE;
const SQUARE: u32 = POINTERS * POINTERS;
/// Blocks that a file may have. Behind them, to 2^24, lie extended attributes.
pub(crate) const BLOCKS_MAX: u32 = 0x00ff_0000;
/// The inode numbers there are: three bytes; 128 indirect inode map blocks of 256 of 256 (footnote 2).
pub(crate) const INODES: u32 = 1 << 23;

const MODE: usize = 0;
const NLINK: usize = 4;
const UID: usize = 8;
const GID: usize = 12;
const RDEV: usize = 16;
const GENERATION: usize = 20;
const SIZE: usize = 24;
const BLOCKS: usize = 32;
const PARENT: usize = 36;
const XATTRS: usize = 40;
const STEP: usize = 44;
const TIMES: usize = 48;
/// The beginning of the addresses; there are [`DIRECT`] and three more.
const ADDRESSES: usize = 128;

/// The part of a directory operation that the writing of an inode is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// None.
    Plain = 0,
    /// The last: the operation is complete.
    Last = 1,
    /// One before the last.
    Within = 2,
}

/// The attributes in an inode block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inode {
    pub(crate) attributes: Attributes,
    pub(crate) nlink: u32,
    pub(crate) generation: u32,
    /// Blocks that belong to it, indirect ones included, itself not.
    pub(crate) blocks: u32,
    /// A directory's parent.
    pub(crate) parent: u32,
    /// Bytes of its extended attributes.
    pub(crate) xattrs: u32,
}

impl Deref for Inode {
    type Target = Attributes;

    fn deref(&self) -> &Attributes {
        &self.attributes
    }
}

impl DerefMut for Inode {
    fn deref_mut(&mut self) -> &mut Attributes {
        &mut self.attributes
    }
}

impl Inode {
    /// Reads the attributes; `None` if they cannot be.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Inode> {
        let mode = get_u32(bytes, MODE);
        let size = u64::from(get_u32(bytes, SIZE)) | u64::from(get_u32(bytes, SIZE + 4)) << 32;
        let fits = size <= u64::from(BLOCKS_MAX) * BLOCK_BYTES as u64;
        let inode = Inode {
            attributes: Attributes {
                kind: FileKind::from_mode(mode)?,
                perm: mode & 0o7777,
                uid: get_u32(bytes, UID),
                gid: get_u32(bytes, GID),
                rdev: get_u32(bytes, RDEV),
                size,
                times: [0, 1, 2, 3].map(|number| get_time(bytes, TIMES + 12 * number)),
            },
            nlink: get_u32(bytes, NLINK),
            generation: get_u32(bytes, GENERATION),
            blocks: get_u32(bytes, BLOCKS),
            parent: get_u32(bytes, PARENT),
            xattrs: get_u32(bytes, XATTRS),
        };
        fits.then_some(inode)
    }

    /// Writes the attributes over those in an inode block.
    pub(crate) fn encode(&self, bytes: &mut [u8]) {
        put_u32(bytes, MODE, self.kind.mode_bits() | self.perm);
        let words = [
            (NLINK, self.nlink),
            (UID, self.uid),
            (GID, self.gid),
            (RDEV, self.rdev),
            (GENERATION, self.generation),
            (BLOCKS, self.blocks),
            (PARENT, self.parent),
            (XATTRS, self.xattrs),
        ];
        for (at, value) in words {
            put_u32(bytes, at, value);
        }
        bytes[SIZE..SIZE + 8].copy_from_slice(&self.size.to_le_bytes());
        for (number, time) in self.times.iter().enumerate() {
            put_time(bytes, TIMES + 12 * number, *time);
        }
    }

    /// An inode block without any block of its own.
    pub(crate) fn block(&self) -> Vec<u8> {
        let mut bytes = vec![0xff; BLOCK_BYTES];
        bytes[..ADDRESSES].fill(0);
        self.encode(&mut bytes);
        bytes
    }

    /// As callers of the file system see it.
    pub(crate) fn attr(&self, ino: u32) -> Attr {
        let allocated = (u64::from(self.blocks) + 1) * BLOCK_BYTES as u64;
        self.attributes.attr(ino, self.nlink, allocated, self.generation)
    }

    /// The kind of its blocks.
    pub(crate) fn content(&self) -> Kind {
        if self.kind == FileKind::Dir { Kind::Dir } else { Kind::Data }
    }
}

/// The part of a directory operation that the writing of this inode block was.
pub(crate) fn step(bytes: &[u8]) -> Step {
    match get_u32(bytes, STEP) {
        1 => Step::Last,
        2 => Step::Within,
        _ => Step::Plain,
    }
}

/// Notes which part it is.
pub(crate) fn set_step(bytes: &mut [u8], step: Step) {
    put_u32(bytes, STEP, step as u32);
}

/// The owner of an inode block.
pub(crate) fn inode_owner(ino: u32) -> Owner {
    Owner { ino, kind: Kind::Inode, offset: 0 }
}

/// The block in which the address of a block stands, and where in it, in bytes; `None` for a block that no inode can
/// have. An indirect block's offset is that of the first block it reaches.
pub(crate) fn place(owner: Owner) -> Option<(Owner, usize)> {
    let Owner { ino, kind, offset } = owner;
    let in_inode = |slot: u32| Some((inode_owner(ino), ADDRESSES + slot as usize * 4));
    let within = |kind: Kind, first: u32, each: u32| {
        let index = ((offset - first) / each) as usize;
        Some((Owner { ino, kind, offset: first }, index * 4))
    };
    let first_of = |start: u32, reach: u32| start + (offset - start) / reach * reach;
    match kind {
        Kind::Data | Kind::Dir if offset < DIRECT => in_inode(offset),
        Kind::Data | Kind::Dir if offset < DOUBLE => within(Kind::Ind1, DIRECT, 1),
        Kind::Data | Kind::Dir if offset < TRIPLE => within(Kind::Ind1, first_of(DOUBLE, POINTERS), 1),
        Kind::Data | Kind::Dir => within(Kind::Ind1, first_of(TRIPLE, POINTERS), 1),
        Kind::Ind1 if offset == DIRECT => in_inode(DIRECT),
        Kind::Ind1 | Kind::Ind2 if offset < DOUBLE => None,
        Kind::Ind1 if offset < TRIPLE && (offset - DOUBLE).is_multiple_of(POINTERS) => {
            within(Kind::Ind2, DOUBLE, POINTERS)
        }
        Kind::Ind1 if offset >= TRIPLE && (offset - TRIPLE).is_multiple_of(POINTERS) => {
            within(Kind::Ind2, first_of(TRIPLE, SQUARE), POINTERS)
        }
        Kind::Ind2 if offset == DOUBLE => in_inode(DIRECT + 1),
        Kind::Ind2 if offset >= TRIPLE && (offset - TRIPLE).is_multiple_of(SQUARE) => {
            within(Kind::Ind3, TRIPLE, SQUARE)
        }
        Kind::Ind3 if offset == TRIPLE => in_inode(DIRECT + 2),
        _ => None,
    }
}

/// The number of the file's blocks that an indirect block reaches.
pub(crate) fn reach(kind: Kind) -> u32 {
    match kind {
        Kind::Ind1 => POINTERS,
        Kind::Ind2 => SQUARE,
        Kind::Ind3 => (1 << 24) - TRIPLE,
        _ => 1,
    }
}

/// The blocks below an inode or an indirect block; `content` is the kind of the file's own.
pub(crate) fn children(owner: Owner, content: Kind) -> Vec<Owner> {
    let ino = owner.ino;
    let each = |kind: Kind, first: u32, count: u32, step: u32| {
        (0..count)
            .map(move |index| Owner { ino, kind, offset: first + index * step })
            .filter(|child| child.offset < 1 << 24)
            .collect()
    };
    match owner.kind {
        Kind::Inode => {
            let mut all: Vec<Owner> = each(content, 0, DIRECT, 1);
            all.push(Owner { ino, kind: Kind::Ind1, offset: DIRECT });
            all.push(Owner { ino, kind: Kind::Ind2, offset: DOUBLE });
            all.push(Owner { ino, kind: Kind::Ind3, offset: TRIPLE });
            all
        }
        Kind::Ind1 => each(content, owner.offset, POINTERS, 1),
        Kind::Ind2 => each(Kind::Ind1, owner.offset, POINTERS, POINTERS),
        Kind::Ind3 => each(Kind::Ind2, owner.offset, POINTERS, SQUARE),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_and_place_say_the_same() {
        let mut pending = vec![inode_owner(7)];
        let mut met = 0;
        while let Some(owner) = pending.pop() {
            for (number, child) in children(owner, Kind::Data).into_iter().enumerate() {
                let (parent, at) = place(child).unwrap_or_else(|| panic!("{child:?} has no place"));
                assert_eq!(parent, owner, "{child:?}");
                let first = if owner.kind == Kind::Inode { ADDRESSES } else { 0 };
                assert_eq!(at, first + number * 4, "{child:?}");
                met += 1;
                // Of the large ones the first and the last.
                if child.kind != Kind::Data && !(2..=220).contains(&number) && child.offset < 20_000_000 {
                    pending.push(child);
                }
            }
        }
        assert!(met > 10_000, "only {met} children");
        for owner in [(Kind::Ind1, 221), (Kind::Ind2, 7), (Kind::Ind3, 0), (Kind::Ind2, 66_013)] {
            assert_eq!(place(Owner { ino: 7, kind: owner.0, offset: owner.1 }), None);
        }
    }
}
