//! Names that a directory does not have: whether they were taken away, or never written there.
//!
//! A name promised by fsync may be in its inode alone, and its directory older. Chunks moved by cleaning are written
//! anew and no newer for it: so only the part of the directory counts that would have the name.

use super::work::Repair;
use crate::addr::Addr;
use crate::dir::{Bucket, LEVEL_MAX};
use crate::node::Body;

impl Repair<'_> {
    /// True if an inode that was found by its tag alone is left over from one that was taken away: its directory was,
    /// or was written later and does not have it.
    pub(super) fn is_removed(&mut self, ino: u32, dir: u32, name: &[u8]) -> bool {
        let Some(copy) = self.scan.as_ref().and_then(|scan| scan.nodes.get(&ino)) else { return false };
        let seq = copy.seq;
        // Only an empty directory can be taken away.
        self.tree.removed.contains(&dir) || self.absent_since(dir, name).is_some_and(|since| since > seq)
    }

    /// The time of writing of the part of a directory that would have this name, and has not; nothing if that is lost.
    pub(super) fn absent_since(&mut self, dir: u32, name: &[u8]) -> Option<u64> {
        let inode = self.scan.as_ref()?.inodes.get(&dir).copied();
        // Without the key of hashes nobody knows which part. A directory is written with its changed names; until then
        // it waits in memory, and waiting directories are not moved.
        if self.rehash || matches!(self.files.inode(&mut self.log, dir).ok()?.body, Body::Inline(_)) {
            return inode;
        }
        let block = self.bucket_of(dir, name)?;
        let page = self.files.map_get(&mut self.log, dir, block).ok()?.page;
        self.scan.as_ref()?.buckets.get(&page).copied()
    }

    /// The block of the bucket for a name; nothing if it is among those lost.
    fn bucket_of(&mut self, dir: u32, name: &[u8]) -> Option<u32> {
        let hash = self.files.name_hash(name);
        for level in 0..LEVEL_MAX {
            let bucket = Bucket::of(hash, level);
            let below = bucket.split_block();
            if self.files.map_get(&mut self.log, dir, below).ok()? == Addr::NONE && !self.is_hole(dir, below)
            {
                return Some(bucket.block()).filter(|block| !self.is_hole(dir, *block));
            }
        }
        None
    }

    fn is_hole(&self, dir: u32, block: u32) -> bool {
        self.tree.holes.iter().any(|(of, blocks)| *of == dir && blocks.contains(&block.into()))
    }
}
