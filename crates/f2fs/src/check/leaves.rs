//! Directory entries: each fits its slots, names an inode, and stands where its hash says.

use std::{
    hash::{DefaultHasher, Hasher},
    sync::atomic::Ordering,
};

use super::{
    codes::Code,
    facts::{DOTS, Facts},
    findings::Object,
    worker::{Name, Worker},
};
use crate::{
    fold,
    hash::name_hash,
    layout::{Dentry, DentryLayout, Features, LEVELS_MAX, bucket_blocks, buckets},
};

/// Kinds of files that entries have: 1 to 7.
const FILE_TYPES: std::ops::RangeInclusive<u8> = 1..=7;

/// That of directories.
const DIRECTORY: u8 = 2;

/// The entries of a block, or of an inode.
pub(super) struct Leaf<'a> {
    /// Of the directory.
    pub(super) facts: &'a Facts,
    /// Which block of it; `None` inside an inode.
    pub(super) index: Option<u64>,
    /// The bytes.
    pub(super) bytes: &'a [u8],
    /// Where what is in them.
    pub(super) layout: DentryLayout,
}

impl Leaf<'_> {
    fn object(&self, slot: u32) -> Object {
        Object::Entry { directory: self.facts.ino, block: self.index.unwrap_or(0), slot }
    }
}

impl Worker<'_> {
    /// A block of entries.
    pub(super) fn check_leaf(&mut self, leaf: &Leaf<'_>) {
        if let Some(index) = leaf.index
            && index >= leaf.facts.size / self.volume.block_size().bytes_u64()
        {
            self.findings.add(Code::InodeSize, Object::Inode(leaf.facts.ino), || {
                format!("the directory has {} bytes, and block {index} besides", leaf.facts.size)
            });
        }
        let mut slot = 0;
        loop {
            match leaf.layout.next(leaf.bytes, slot) {
                Ok(None) => return,
                Ok(Some(entry)) => {
                    slot = entry.slot + entry.slots();
                    self.check_entry(leaf, &entry);
                }
                Err(at) => {
                    self.findings.add(Code::DentrySlots, leaf.object(at), || {
                        "the length of its name cannot be".to_owned()
                    });
                    slot = at + 1;
                }
            }
        }
    }

    fn check_entry(&mut self, leaf: &Leaf<'_>, entry: &Dentry<'_>) {
        let unused =
            (entry.slot..entry.slot + entry.slots()).find(|slot| !leaf.layout.is_used(leaf.bytes, *slot));
        if let Some(unused) = unused {
            self.findings.add(Code::DentrySlots, leaf.object(entry.slot), || {
                format!("its name goes on in slot {unused}, which is marked as free")
            });
        }
        if entry.ino.is_null() || entry.ino.0 >= self.volume.super_block().nid_limit() {
            self.findings.add(Code::DentryInode, leaf.object(entry.slot), || {
                format!("its inode is {}, which cannot be", entry.ino)
            });
            return;
        }
        if matches!(entry.name, b"." | b"..") {
            return self.check_dots(leaf, entry);
        }
        if !FILE_TYPES.contains(&entry.file_type) {
            self.findings.add(Code::DentryType, leaf.object(entry.slot), || {
                format!("its type is {}, which is none", entry.file_type)
            });
        }
        // Encrypted names may have any byte.
        if !leaf.facts.is_encrypted() && entry.name.iter().any(|byte| matches!(byte, 0 | b'/')) {
            self.findings.add(Code::DentryName, leaf.object(entry.slot), || {
                format!("its name is \"{}\"", entry.name.escape_ascii())
            });
        }
        let digest = self.check_hash(leaf, entry);
        self.left.names.push(Name {
            directory: leaf.facts.ino,
            block: leaf.index.unwrap_or(0),
            slot: entry.slot,
            ino: entry.ino,
            file_type: entry.file_type,
            digest,
        });
    }

    fn check_dots(&mut self, leaf: &Leaf<'_>, entry: &Dentry<'_>) {
        let facts = leaf.facts;
        let [dot, dots] = DOTS;
        facts.tally.dots.fetch_add(if entry.name.len() == 1 { dot } else { dots }, Ordering::Relaxed);
        if entry.file_type != DIRECTORY {
            self.findings.add(Code::DentryType, leaf.object(entry.slot), || {
                format!("\"{}\" has type {}, want {DIRECTORY}", entry.name.escape_ascii(), entry.file_type)
            });
        }
        if entry.hash != 0 {
            self.findings.add(Code::DentryHash, leaf.object(entry.slot), || {
                format!("the hash of \"{}\" is {:#010x}, want 0", entry.name.escape_ascii(), entry.hash)
            });
        }
        let root = self.volume.super_block().root();
        let wanted = match entry.name.len() {
            1 => facts.ino,
            _ if facts.ino == root => root,
            _ => facts.parent,
        };
        if entry.ino != wanted {
            self.findings.add(Code::Dots, leaf.object(entry.slot), || {
                format!("\"{}\" is inode {}, want {wanted}", entry.name.escape_ascii(), entry.ino)
            });
        }
        self.check_place(leaf, entry);
    }

    /// Checks the hash and the bucket; gives a digest of the name by which names are compared.
    fn check_hash(&mut self, leaf: &Leaf<'_>, entry: &Dentry<'_>) -> u64 {
        let facts = leaf.facts;
        let mut folded = None;
        if facts.is_casefolded() && !facts.is_encrypted() && self.volume.features().has(Features::CASEFOLD) {
            folded = fold::fold_or_bytes(entry.name, false).ok();
        }
        let name = folded.as_deref().unwrap_or(entry.name);
        // Encrypted and folded names are hashed with a key.
        if !(facts.is_casefolded() && facts.is_encrypted()) {
            let wanted = name_hash(name);
            if entry.hash != wanted {
                self.findings.add(Code::DentryHash, leaf.object(entry.slot), || {
                    format!(
                        "the hash of \"{}\" is {:#010x}, want {wanted:#010x}",
                        entry.name.escape_ascii(),
                        entry.hash
                    )
                });
            }
        }
        self.check_place(leaf, entry);
        let mut digest = DefaultHasher::new();
        digest.write(name);
        digest.finish()
    }

    /// The block of an entry is one of its bucket's, in the level that the block is of, and look-ups come there.
    fn check_place(&mut self, leaf: &Leaf<'_>, entry: &Dentry<'_>) {
        let Some(index) = leaf.index else { return };
        let dir_level = u32::from(leaf.facts.dir_level);
        let (level, start) = level_of(index, dir_level);
        let blocks = bucket_blocks(level);
        let first = start + u64::from(entry.hash) % buckets(level, dir_level) * blocks;
        if !(first..first + blocks).contains(&index) {
            self.findings.add(Code::DentryPlace, leaf.object(entry.slot), || {
                format!(
                    "the bucket of \"{}\" in level {level} begins at block {first}",
                    entry.name.escape_ascii()
                )
            });
        }
        if level >= leaf.facts.depth {
            self.findings.add(Code::DentryPlace, leaf.object(entry.slot), || {
                format!("it is in level {level}, and the directory has {} levels", leaf.facts.depth)
            });
        }
    }
}

/// The level that a block of a directory belongs to, and the first block of that level.
fn level_of(index: u64, dir_level: u32) -> (u32, u64) {
    let (mut level, mut start) = (0, 0);
    loop {
        let next = start + buckets(level, dir_level) * bucket_blocks(level);
        if index < next || level >= LEVELS_MAX {
            return (level, start);
        }
        level += 1;
        start = next;
    }
}
