//! The entries of a new directory: inside its inode, if they fit, otherwise in the hash table of blocks.

use std::collections::BTreeMap;

use pumice_vfs::FileKind;

use crate::layout::{BlockSize, Dentry, DentryLayout, LEVELS_MAX, Nid, bucket_blocks, buckets, file_type};

/// A name to be put in.
pub(super) struct Named<'a> {
    pub(super) name: &'a [u8],
    pub(super) hash: u32,
    pub(super) ino: Nid,
    pub(super) kind: FileKind,
}

/// The entries as they are stored.
pub(super) enum Entries {
    /// These bytes in the inode.
    Inline(Vec<u8>),
    /// Blocks, of which some are holes.
    Blocks {
        /// The blocks by number.
        blocks: BTreeMap<u32, Vec<u8>>,
        /// Levels of the table.
        levels: u32,
    },
}

/// Puts `names` and the two dots together. `inline_bytes` is the room in the inode. `None` if there are more names of one
/// hash than the deepest level has room for.
pub(super) fn entries(
    dots: [Nid; 2],
    names: &[Named<'_>],
    inline_bytes: usize,
    dir_level: u8,
    size: BlockSize,
) -> Option<Entries> {
    let [own, parent] = dots;
    let dot = |name, ino| Named { name, hash: 0, ino, kind: FileKind::Dir };
    let all = [dot(&b"."[..], own), dot(b"..", parent)];
    let all = all.iter().chain(names);
    let needed: u64 = all.clone().map(|named| u64::from(dentry(named, 0).slots())).sum();
    let layout = DentryLayout::for_bytes(inline_bytes);
    if needed <= u64::from(layout.slots) {
        let mut bytes = vec![0; inline_bytes];
        let mut slot = 0;
        for named in all {
            let dentry = dentry(named, slot);
            slot += dentry.slots();
            layout.put(&mut bytes, &dentry);
        }
        return Some(Entries::Inline(bytes));
    }
    let mut table = Table {
        layout: DentryLayout::for_block(size),
        width: size.width(),
        dir_level,
        blocks: BTreeMap::new(),
        levels: 1,
    };
    let fit = all.into_iter().all(|named| table.insert(named));
    let blocks = table.blocks.into_iter().map(|(index, block)| (index, block.bytes)).collect();
    fit.then_some(Entries::Blocks { blocks, levels: table.levels })
}

fn dentry<'a>(named: &Named<'a>, slot: u32) -> Dentry<'a> {
    Dentry { slot, hash: named.hash, ino: named.ino, file_type: file_type(named.kind), name: named.name }
}

/// A block, and the slot behind its last entry: nothing was taken away, so there is no room in front of it.
struct Filled {
    bytes: Vec<u8>,
    next: u32,
}

struct Table {
    layout: DentryLayout,
    width: usize,
    dir_level: u8,
    blocks: BTreeMap<u32, Filled>,
    levels: u32,
}

impl Table {
    /// Inserts a name into the first level that has room in its bucket; false if none has.
    fn insert(&mut self, named: &Named<'_>) -> bool {
        let mut level_start = 0;
        for level in 0..LEVELS_MAX {
            let count = buckets(level, self.dir_level.into());
            let per_bucket = bucket_blocks(level);
            let first = level_start + u64::from(named.hash) % count * per_bucket;
            for index in first..first + per_bucket {
                let Ok(index) = u32::try_from(index) else { return false };
                if self.put(index, named) {
                    self.levels = self.levels.max(level + 1);
                    return true;
                }
            }
            level_start += count * per_bucket;
        }
        false
    }

    fn put(&mut self, index: u32, named: &Named<'_>) -> bool {
        let empty = || Filled { bytes: vec![0; self.width], next: 0 };
        let block = self.blocks.entry(index).or_insert_with(empty);
        let dentry = dentry(named, block.next);
        if block.next + dentry.slots() > self.layout.slots {
            return false;
        }
        block.next += dentry.slots();
        self.layout.put(&mut block.bytes, &dentry);
        true
    }
}
