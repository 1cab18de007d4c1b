//! Directories: hashed buckets that split.
//!
//! A small directory keeps its entries in its inode. A larger one is a file of buckets, the leaves of a binary trie
//! over the hash of names. The bucket of level 0 is block 0; when a bucket of level `l` in block `b` is full, half of
//! its names move to block `b + 2^l`, and both are of level `l + 1`. So a bucket of level `l` has been split if and
//! only if block `b + 2^l` exists.
//!
//! Blocks are numbered without gaps to speak of, and a name costs one bucket at any size. Reading in order of hash goes
//! on where it stopped though names come and go. Two poor siblings are joined.

use alloc::{vec, vec::Vec};
use core::hash::Hasher;

use pumice_vfs::{Errno, FileKind, Result};
use siphasher::sip::SipHasher13;

use crate::addr::Addr;
use crate::bucket::{self, Entry, entry_bytes};
use crate::error::Damage;
use crate::files::Files;
use crate::log::Log;
use crate::names::{Meaning, Name, Named};
use crate::node::{Body, Inode, Map};

/// Bits of a hash: a place in a directory must fit in a positive 64-bit number, zero left out.
pub(crate) const HASH_BITS: u32 = 62;
/// The deepest level; its block indices still fit in 32 bits.
pub(crate) const LEVEL_MAX: u32 = 30;

/// A bucket: level and prefix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bucket {
    pub(crate) level: u32,
    pub(crate) prefix: u32,
}

impl Bucket {
    pub(crate) fn of(hash: u64, level: u32) -> Bucket {
        Bucket { level, prefix: u32::try_from(hash >> (HASH_BITS - level)).unwrap_or(0) }
    }

    /// The bits of the prefix in reverse: a left child stays in its parent's block.
    pub(crate) fn block(self) -> u32 {
        self.prefix.reverse_bits().checked_shr(u32::BITS - self.level).unwrap_or(0)
    }

    /// The block that exists if the bucket was split.
    pub(crate) fn split_block(self) -> u32 {
        self.block() | 1 << self.level
    }

    /// The bucket in a block, by the blocks that `exists` knows; `None` beyond the deepest level.
    pub(crate) fn in_block(block: u32, exists: impl Fn(u32) -> bool) -> Option<Bucket> {
        let least = u32::BITS - block.leading_zeros();
        let level = (least..=LEVEL_MAX).find(|level| !exists(block | 1 << level))?;
        let prefix = block.reverse_bits().checked_shr(u32::BITS - level).unwrap_or(0);
        Some(Bucket { level, prefix })
    }

    /// Its first hash.
    pub(crate) fn start(self) -> u64 {
        u64::from(self.prefix) << (HASH_BITS - self.level)
    }

    /// The first hash behind it.
    pub(crate) fn end(self) -> u64 {
        (u64::from(self.prefix) + 1) << (HASH_BITS - self.level)
    }

    fn sibling(self) -> Bucket {
        Bucket { prefix: self.prefix ^ 1, ..self }
    }

    fn parent(self) -> Bucket {
        Bucket { level: self.level.saturating_sub(1), prefix: self.prefix >> 1 }
    }

    fn child(self, side: u32) -> Bucket {
        Bucket { level: self.level + 1, prefix: self.prefix << 1 | side }
    }
}

impl Files {
    pub(crate) fn name_hash(&self, name: &[u8]) -> u64 {
        let mut hasher = SipHasher13::new_with_key(&self.key);
        hasher.write(name);
        hasher.finish() >> (64 - HASH_BITS)
    }

    /// The bucket that a hash belongs to; `None` if the entries are in the inode.
    fn bucket(&mut self, log: &mut Log<'_>, dir: u32, hash: u64) -> Result<Option<Bucket>> {
        if matches!(self.inode(log, dir)?.body, Body::Inline(_)) {
            return Ok(None);
        }
        for level in 0..=LEVEL_MAX {
            let bucket = Bucket::of(hash, level);
            if level == LEVEL_MAX || self.map_get(log, dir, bucket.split_block())? == Addr::NONE {
                return Ok(Some(bucket));
            }
        }
        Err(Damage::Directory(dir, 0).into())
    }

    /// Hands the bytes of a bucket to `look`.
    fn with_bucket<T>(
        &mut self,
        log: &mut Log<'_>,
        dir: u32,
        bucket: Option<Bucket>,
        look: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<T> {
        let place = bucket.map_or(0, Bucket::block);
        let damage = Damage::Directory(dir, place);
        let Some(_) = bucket else {
            return match &self.inode(log, dir)?.body {
                Body::Inline(bytes) => look(bytes).ok_or(damage.into()),
                Body::Mapped(_) => Err(damage.into()),
            };
        };
        if self.cache.get(dir, place).is_none() {
            let mut bytes = vec![0; self.params.block as usize];
            self.read_block(log, dir, place, 0, &mut bytes)?;
            self.cache.insert(dir, place, bytes, false);
        }
        look(self.cache.get(dir, place).map_or(&[], Vec::as_slice)).ok_or(damage.into())
    }

    /// Writes packed entries back into a bucket.
    fn fill_bucket(
        &mut self,
        log: &mut Log<'_>,
        dir: u32,
        at: Option<Bucket>,
        mut packed: Vec<u8>,
    ) -> Result<()> {
        match at {
            None => self.inode_mut(log, dir)?.body = Body::Inline(packed),
            Some(bucket) => {
                packed.resize(self.params.block as usize, 0);
                self.soil_pointer(log, dir, bucket.block())?;
                self.cache.insert(dir, bucket.block(), packed, true);
            }
        }
        Ok(())
    }

    /// The packed entries of a bucket.
    fn packed(&mut self, log: &mut Log<'_>, dir: u32, bucket: Option<Bucket>) -> Result<Vec<u8>> {
        self.with_bucket(log, dir, bucket, |bytes| {
            bucket::used(bytes).and_then(|used| bytes.get(..used)).map(<[u8]>::to_vec)
        })
    }

    /// The inode behind a name.
    pub(crate) fn dir_find(&mut self, log: &mut Log<'_>, dir: u32, name: &[u8]) -> Result<Meaning> {
        let hash = self.name_hash(name);
        self.losses.check_name(dir, || print_of(hash, dir))?;
        let bucket = self.bucket(log, dir, hash)?;
        let found = self.with_bucket(log, dir, bucket, |bytes| {
            bucket::find(bytes, name).map(|found| found.map(|(_, entry)| (entry.ino, entry.kind)))
        })?;
        if found.is_none() {
            self.losses.check_names(dir)?;
        }
        Ok(found)
    }

    /// The print of an inode's birth for its names; none if the inode is lost.
    pub(crate) fn born(&mut self, log: &mut Log<'_>, ino: u32) -> u8 {
        self.inode(log, ino).map_or(0, Inode::born)
    }

    /// Adds a new name.
    pub(crate) fn dir_insert(&mut self, log: &mut Log<'_>, at: Name<'_>, (ino, kind): Named) -> Result<()> {
        let (dir, name) = at;
        let hash = self.name_hash(name);
        let (need, born) = (entry_bytes(name), self.born(log, ino));
        loop {
            let bucket = self.bucket(log, dir, hash)?;
            let mut packed = self.packed(log, dir, bucket)?;
            let room = match bucket {
                None => Inode::inline_room(&self.params),
                Some(_) => self.params.block as usize,
            };
            if packed.len() + need <= room {
                bucket::push(&mut packed, &Entry { ino, kind, born, name });
                self.fill_bucket(log, dir, bucket, packed)?;
                let inode = self.inode_mut(log, dir)?;
                inode.size = inode.size.saturating_add(1);
                return Ok(());
            }
            match bucket {
                None => self.unfold(log, dir, packed)?,
                Some(bucket) => self.split(log, dir, bucket, &packed)?,
            }
        }
    }

    /// Moves the entries from the inode into the bucket of level 0.
    fn unfold(&mut self, log: &mut Log<'_>, dir: u32, packed: Vec<u8>) -> Result<()> {
        self.claim_bucket(log)?;
        let inode = self.inode_mut(log, dir)?;
        inode.body = Body::Mapped(Map::new());
        let bucket = Bucket { level: 0, prefix: 0 };
        self.map_put(log, dir, bucket.block(), Addr::RESERVED)?;
        self.fill_bucket(log, dir, Some(bucket), packed)
    }

    /// Deals a full bucket out to the two below it.
    fn split(&mut self, log: &mut Log<'_>, dir: u32, bucket: Bucket, packed: &[u8]) -> Result<()> {
        if bucket.level >= LEVEL_MAX {
            return Err(Errno::NoSpace.into());
        }
        self.claim_bucket(log)?;
        let mut halves = [Vec::new(), Vec::new()];
        for (_, entry) in bucket::entries(packed).flatten() {
            let below = Bucket::of(self.name_hash(entry.name), bucket.level + 1);
            bucket::push(&mut halves[usize::from(below.prefix & 1 == 1)], &entry);
        }
        let [left, right] = halves;
        self.map_put(log, dir, bucket.split_block(), Addr::RESERVED)?;
        self.fill_bucket(log, dir, Some(bucket.child(1)), right)?;
        self.fill_bucket(log, dir, Some(bucket.child(0)), left)
    }

    fn drop_block(&mut self, log: &mut Log<'_>, dir: u32, block: u32) -> Result<()> {
        self.cache.discard(dir, block, block);
        self.unmap(log, dir, block.into(), u64::from(block) + 1)
    }

    /// Changes the meaning of an existing name.
    pub(crate) fn dir_replace(&mut self, log: &mut Log<'_>, at: Name<'_>, (ino, kind): Named) -> Result<()> {
        let (dir, name) = at;
        let (bucket, born) = (self.bucket(log, dir, self.name_hash(name))?, self.born(log, ino));
        let old = self.packed(log, dir, bucket)?;
        let mut packed = Vec::with_capacity(old.len());
        for (_, entry) in bucket::entries(&old).flatten() {
            let entry = if entry.name == name { Entry { ino, kind, born, name } } else { entry };
            bucket::push(&mut packed, &entry);
        }
        self.fill_bucket(log, dir, bucket, packed)
    }

    /// Takes an existing name away.
    pub(crate) fn dir_remove(&mut self, log: &mut Log<'_>, dir: u32, name: &[u8]) -> Result<()> {
        let bucket = self.bucket(log, dir, self.name_hash(name))?;
        let mut packed = self.packed(log, dir, bucket)?;
        let found = bucket::find(&packed, name)
            .flatten()
            .map(|(place, entry)| place..place + entry_bytes(entry.name));
        let Some(range) = found else { return Err(Errno::NoEntry.into()) };
        packed.drain(range);
        let poor = packed.len() < self.params.block as usize / 4;
        self.fill_bucket(log, dir, bucket, packed)?;
        let inode = self.inode_mut(log, dir)?;
        inode.size = inode.size.saturating_sub(1);
        match bucket {
            Some(bucket) if poor => self.join(log, dir, bucket),
            _ => Ok(()),
        }
    }

    /// Joins a poor bucket with its sibling, and the result with its own, while they fill less than half a block.
    fn join(&mut self, log: &mut Log<'_>, dir: u32, mut bucket: Bucket) -> Result<()> {
        while bucket.level > 0 {
            let sibling = bucket.sibling();
            if self.map_get(log, dir, sibling.split_block())? != Addr::NONE {
                break;
            }
            let mut packed = self.packed(log, dir, Some(bucket))?;
            packed.append(&mut self.packed(log, dir, Some(sibling))?);
            if packed.len() > self.params.block as usize / 2 {
                break;
            }
            bucket = bucket.parent();
            self.drop_block(log, dir, bucket.split_block())?;
            self.fill_bucket(log, dir, Some(bucket), packed)?;
        }
        Ok(())
    }

    /// Counts a bucket of a walk through a directory: a damaged directory may seem endless.
    pub(crate) fn count_bucket(&self, dir: u32, buckets: &mut u64) -> Result<()> {
        *buckets += 1;
        if *buckets > self.params.blocks_most() {
            return Err(Damage::Directory(dir, 0).into());
        }
        Ok(())
    }

    /// The entries of one bucket at or behind a place (0: the start), in order of hash, each with the place behind it;
    /// and the start of the next bucket, if there is one.
    pub(crate) fn dir_batch(
        &mut self,
        log: &mut Log<'_>,
        dir: u32,
        from: u64,
    ) -> Result<(Vec<Listed>, Option<u64>)> {
        if from >= 1 << HASH_BITS {
            return Ok((Vec::new(), None));
        }
        let bucket = self.bucket(log, dir, from)?;
        let packed = self.packed(log, dir, bucket)?;
        let mut found: Vec<Listed> = bucket::entries(&packed)
            .flatten()
            .map(|(_, Entry { ino, kind, name, .. })| Listed {
                next: self.name_hash(name) + 1,
                ino,
                kind,
                name: name.to_vec(),
            })
            .filter(|listed| listed.next > from)
            .collect();
        found.sort_unstable_by(|a, b| (a.next, &a.name).cmp(&(b.next, &b.name)));
        let end = bucket.map_or(1 << HASH_BITS, Bucket::end);
        Ok((found, Some(end).filter(|end| *end < 1 << HASH_BITS)))
    }
}

/// A short print of a name in a directory, by the name's hash.
pub(crate) fn print_of(hash: u64, dir: u32) -> u16 {
    let mixed = hash ^ u64::from(dir).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let [a, b, ..] = mixed.to_le_bytes();
    u16::from_le_bytes([a, b])
}

/// A directory entry on its way out.
pub(crate) struct Listed {
    pub(crate) name: Vec<u8>,
    pub(crate) ino: u32,
    pub(crate) kind: FileKind,
    /// The place behind it.
    pub(crate) next: u64,
}
