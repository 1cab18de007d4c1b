//! The facts about an inode once its own node was read, and its counts afterwards.

use std::{
    ops::Range,
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
};

use pumice_vfs::FileKind;

use super::{
    links::{Counts, Links},
    nat::NodeTable,
};
use crate::layout::{Advise, Extent, Features, InlineFlags, Inode, InodeFlags, Nid, file_type};

/// The facts that other nodes and names are checked against.
pub(super) struct Facts {
    pub(super) ino: Nid,
    pub(super) kind: FileKind,
    pub(super) blocks: u64,
    pub(super) size: u64,
    pub(super) parent: Nid,
    pub(super) dir_level: u8,
    /// Levels of a directory's hash table.
    pub(super) depth: u32,
    pub(super) own_addrs: u32,
    pub(super) node_addrs: u32,
    pub(super) cluster: Option<u32>,
    pub(super) saved: u64,
    advise: Advise,
    inline: InlineFlags,
    flags: InodeFlags,
    pub(super) extent: Option<Extent>,
    pub(super) owners: [u32; 3],
    /// The place of its entries in the inode's block, if it is a directory that has them there.
    pub(super) inline_entries: Option<Range<usize>>,
    pub(super) tally: Tally,
}

/// Counts kept by several threads.
#[derive(Default)]
pub(super) struct Tally {
    /// Blocks, nodes among them.
    pub(super) blocks: AtomicU64,
    /// Blocks that compression saves.
    pub(super) saved: AtomicU64,
    /// Blocks of the extent that stand where it says.
    pub(super) in_extent: AtomicU64,
    /// `.` in the lower half, `..` in the upper.
    pub(super) dots: AtomicU32,
    /// Directories that a directory names.
    pub(super) subdirectories: AtomicU32,
    /// A directory's parent: 1 more than the place among [`Inodes::open`] of the one that names it, the last of them if
    /// there are several; 0 if none does.
    pub(super) parent: AtomicU32,
}

/// One of each.
pub(super) const DOTS: [u32; 2] = [1, 1 << 16];

/// `INLINE_DOTS`: an old repair left `.` and `..` out.
const WITHOUT_DOTS: InlineFlags = InlineFlags(0x10);

impl Facts {
    pub(super) fn new(inode: &Inode, features: Features) -> Facts {
        // In a volume that is only read, the extent of a compressed file counts blocks of the file, not of the disk.
        let other = inode.flags.has(InodeFlags::DEVICE_ALIAS)
            || (inode.cluster_blocks().is_some() && features.has(Features::RO));
        let extent = (inode.extent.blocks > 0 && !other).then_some(inode.extent);
        Facts {
            ino: inode.ino,
            kind: inode.kind,
            blocks: inode.blocks,
            size: inode.size,
            parent: inode.parent,
            dir_level: inode.dir_level,
            depth: inode.depth,
            own_addrs: inode.own_addrs(),
            node_addrs: inode.node_addrs(),
            cluster: inode.cluster_blocks(),
            saved: inode.compression().map_or(0, |extra| extra.saved_blocks),
            advise: inode.advise,
            inline: inode.inline,
            flags: inode.flags,
            extent,
            owners: [inode.uid, inode.gid, inode.extra.map_or(0, |extra| extra.project)],
            inline_entries: (inode.kind == FileKind::Dir && inode.has_inline_dentry())
                .then(|| inode.inline_range()),
            tally: Tally::default(),
        }
    }

    pub(super) fn is_directory(&self) -> bool {
        self.kind == FileKind::Dir
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.advise.has(Advise::ENCRYPT)
    }

    pub(super) fn is_casefolded(&self) -> bool {
        self.flags.has(InodeFlags::CASEFOLD)
    }

    /// The blocks that compression saved were given back.
    pub(super) fn is_released(&self) -> bool {
        self.inline.has(InlineFlags::RELEASED)
    }

    /// `.` and `..` need not be there.
    pub(super) fn is_without_dots(&self) -> bool {
        self.inline.has(WITHOUT_DOTS)
    }

    pub(super) fn count_blocks(&self, blocks: u64) {
        self.tally.blocks.fetch_add(blocks, Ordering::Relaxed);
    }

    pub(super) fn counted_blocks(&self) -> u64 {
        self.tally.blocks.load(Ordering::Relaxed)
    }
}

/// All inodes: the kind and links of each, and the facts of those that more is to be counted of.
pub(super) struct Inodes<'a> {
    pub(super) table: &'a NodeTable,
    pub(super) links: Links,
    open: Vec<Facts>,
}

impl<'a> Inodes<'a> {
    pub(super) fn new(table: &'a NodeTable, links: Links, mut open: Vec<Facts>) -> Inodes<'a> {
        open.sort_unstable_by_key(|facts| facts.ino);
        Inodes { table, links, open }
    }

    /// Directories, and inodes with other nodes, in the order of their numbers.
    pub(super) fn open(&self) -> &[Facts] {
        &self.open
    }

    /// The place among [`Inodes::open`].
    pub(super) fn place(&self, ino: Nid) -> Option<usize> {
        self.open.binary_search_by_key(&ino, |facts| facts.ino).ok()
    }

    pub(super) fn find(&self, ino: Nid) -> Option<&Facts> {
        self.open.get(self.place(ino)?)
    }

    /// The links of an inode.
    pub(super) fn counts(&self, ino: Nid) -> Option<Counts> {
        self.table.find(ino).map(|(place, _)| self.links.of(place))
    }

    /// All inodes but directories, with their links.
    pub(super) fn other_than_directories(&self) -> impl Iterator<Item = (Nid, Counts)> {
        let directory = file_type(FileKind::Dir);
        self.table.rows().iter().enumerate().filter_map(move |(place, row)| {
            let found = self.links.file_type(place)?;
            (found != directory).then(|| (row.nid, self.links.of(place)))
        })
    }

    /// The kind of an inode, as entries of directories have it; `None` if there is none.
    pub(super) fn file_type(&self, ino: Nid) -> Option<u8> {
        let (place, _) = self.table.find(ino)?;
        self.links.file_type(place)
    }
}
