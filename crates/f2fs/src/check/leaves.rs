//! Directory entries: each fits its slots, names an inode, and stands where its hash says.

use std::{
    borrow::Cow,
    hash::{DefaultHasher, Hasher},
    sync::atomic::Ordering,
};

use super::{
    codes::Code,
    facts::{DOTS, Facts, Inodes},
    findings::{Cure, Object},
    worker::{LeafRef, Twin, Worker},
};
use crate::{
    fold,
    hash::name_hash,
    layout::{BlockSize, Dentry, DentryLayout, Features, Nid, bucket_beside},
};

/// Kinds of files that entries have: 1 to 7.
const FILE_TYPES: std::ops::RangeInclusive<u8> = 1..=7;

/// The file type of directories.
const DIRECTORY: u8 = 2;

/// The entries of a block, or of an inode.
pub(super) struct Leaf<'a> {
    inodes: &'a Inodes<'a>,
    /// The facts of the directory.
    facts: &'a Facts,
    /// The directory's place among those of [`Inodes::open`].
    place: usize,
    /// The number of its block; `None` inside an inode.
    index: Option<u64>,
    bytes: &'a [u8],
    layout: DentryLayout,
}

impl<'a> Leaf<'a> {
    /// Those in a block, which is a directory's, or its inode's own.
    pub(super) fn new(
        inodes: &'a Inodes<'a>,
        at: &LeafRef,
        block: &'a [u8],
        size: BlockSize,
    ) -> Option<Leaf<'a>> {
        let place = inodes.place(at.directory)?;
        let facts = inodes.open().get(place)?;
        let (bytes, layout) = if at.index.is_some() {
            (block, DentryLayout::for_block(size))
        } else {
            let bytes = block.get(facts.inline_entries.clone()?)?;
            (bytes, DentryLayout::for_bytes(bytes.len()))
        };
        Some(Leaf { inodes, facts, place, index: at.index, bytes, layout })
    }

    /// Shows each entry, or the slot of one with an impossible length of name.
    fn each(&self, mut look: impl FnMut(Result<Dentry<'_>, u32>)) {
        let mut slot = 0;
        loop {
            match self.layout.next(self.bytes, slot) {
                Ok(None) => return,
                Ok(Some(entry)) => {
                    slot = entry.slot + entry.slots();
                    look(Ok(entry));
                }
                Err(at) => {
                    slot = at + 1;
                    look(Err(at));
                }
            }
        }
    }

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
        leaf.each(|entry| match entry {
            Ok(entry) => self.check_entry(leaf, &entry),
            Err(slot) => self.findings.add(Code::DentrySlots, leaf.object(slot), || {
                "the length of its name is out of range".to_owned()
            }),
        });
    }

    /// Keeps the entries with digests among some.
    pub(super) fn keep_twins(&mut self, leaf: &Leaf<'_>, digests: &[u64]) {
        leaf.each(|entry| {
            let Ok(entry) = entry else { return };
            if !self.can_be(entry.ino) || matches!(entry.name, b"." | b"..") {
                return;
            }
            let digest = digest(leaf.facts, &self.folded(leaf, &entry));
            if digests.binary_search(&digest).is_ok() {
                let block = leaf.index.unwrap_or(0);
                self.twins.push(Twin { digest, directory: leaf.facts.ino, block, slot: entry.slot });
            }
        });
    }

    /// An inode may have this number.
    fn can_be(&self, ino: Nid) -> bool {
        !ino.is_null() && ino.0 < self.volume.super_block().nid_limit()
    }

    fn check_entry(&mut self, leaf: &Leaf<'_>, entry: &Dentry<'_>) {
        let unused =
            (entry.slot..entry.slot + entry.slots()).find(|slot| !leaf.layout.is_used(leaf.bytes, *slot));
        if let Some(unused) = unused {
            self.findings.add(Code::DentrySlots, leaf.object(entry.slot), || {
                format!("its name goes on in slot {unused}, which is marked as free")
            });
        }
        if !self.can_be(entry.ino) {
            self.findings.add(Code::DentryInode, leaf.object(entry.slot), || {
                format!("its inode is {}, which is out of range", entry.ino)
            });
            return;
        }
        if matches!(entry.name, b"." | b"..") {
            return self.check_dots(leaf, entry);
        }
        if !FILE_TYPES.contains(&entry.file_type) {
            self.findings.add(Code::DentryType, leaf.object(entry.slot), || {
                format!("its type is {}, which does not exist", entry.file_type)
            });
        }
        // Encrypted names may have any byte.
        if !leaf.facts.is_encrypted() && entry.name.iter().any(|byte| matches!(byte, 0 | b'/')) {
            self.findings.add(Code::DentryName, leaf.object(entry.slot), || {
                format!("its name is \"{}\"", entry.name.escape_ascii())
            });
        }
        let name = self.folded(leaf, entry);
        self.check_hash(leaf, entry, &name);
        self.check_place(leaf, entry);
        self.left.digests.push(digest(leaf.facts, &name));
        self.count_name(leaf, entry);
    }

    /// The name counts for the inode that it is of.
    fn count_name(&mut self, leaf: &Leaf<'_>, entry: &Dentry<'_>) {
        let inodes = leaf.inodes;
        let found = inodes.table.find(entry.ino).map(|(place, _)| place);
        let Some((place, wanted)) = found.and_then(|place| Some((place, inodes.links.file_type(place)?)))
        else {
            let named = Cure::Number(entry.ino.0.into());
            self.findings.add_with(Code::DentryInode, leaf.object(entry.slot), named, || {
                format!("it names inode {}, which does not exist", entry.ino)
            });
            return;
        };
        if entry.file_type != wanted {
            let right = Cure::Number(wanted.into());
            self.findings.add_with(Code::DentryType, leaf.object(entry.slot), right, || {
                format!("its type is {}, and inode {} has type {wanted}", entry.file_type, entry.ino)
            });
        }
        inodes.links.count_name(place);
        if wanted == DIRECTORY
            && let Some(named) = inodes.find(entry.ino)
        {
            leaf.facts.tally.subdirectories.fetch_add(1, Ordering::Relaxed);
            let above = u32::try_from(leaf.place).map_or(u32::MAX, |place| place.saturating_add(1));
            named.tally.parent.fetch_max(above, Ordering::Relaxed);
        }
    }

    fn check_dots(&mut self, leaf: &Leaf<'_>, entry: &Dentry<'_>) {
        let facts = leaf.facts;
        let [dot, dots] = DOTS;
        facts.tally.dots.fetch_add(if entry.name.len() == 1 { dot } else { dots }, Ordering::Relaxed);
        if entry.file_type != DIRECTORY {
            let right = Cure::Number(DIRECTORY.into());
            self.findings.add_with(Code::DentryType, leaf.object(entry.slot), right, || {
                format!("\"{}\" has type {}, want {DIRECTORY}", entry.name.escape_ascii(), entry.file_type)
            });
        }
        if entry.hash != 0 {
            self.findings.add_with(Code::DentryHash, leaf.object(entry.slot), Cure::Number(0), || {
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
            let right = Cure::Number(wanted.0.into());
            self.findings.add_with(Code::Dots, leaf.object(entry.slot), right, || {
                format!("\"{}\" is inode {}, want {wanted}", entry.name.escape_ascii(), entry.ino)
            });
        }
        self.check_place(leaf, entry);
    }

    /// A name as it is compared and hashed.
    fn folded<'a>(&self, leaf: &Leaf<'_>, entry: &Dentry<'a>) -> Cow<'a, [u8]> {
        let facts = leaf.facts;
        let folds = facts.is_casefolded() && !facts.is_encrypted();
        let folded = (folds && self.volume.features().has(Features::CASEFOLD))
            .then(|| fold::fold_or_bytes(entry.name, false).ok());
        folded.flatten().map_or(Cow::Borrowed(entry.name), Cow::Owned)
    }

    fn check_hash(&mut self, leaf: &Leaf<'_>, entry: &Dentry<'_>, name: &[u8]) {
        // Encrypted and folded names are hashed with a key.
        if leaf.facts.is_casefolded() && leaf.facts.is_encrypted() {
            return;
        }
        let wanted = name_hash(name);
        if entry.hash != wanted {
            let right = Cure::Number(wanted.into());
            self.findings.add_with(Code::DentryHash, leaf.object(entry.slot), right, || {
                format!(
                    "the hash of \"{}\" is {:#010x}, want {wanted:#010x}",
                    entry.name.escape_ascii(),
                    entry.hash
                )
            });
        }
    }

    /// The block of an entry is one of its bucket's, in the level that the block is of, and look-ups come there.
    fn check_place(&mut self, leaf: &Leaf<'_>, entry: &Dentry<'_>) {
        let Some(index) = leaf.index else { return };
        let dir_level = u32::from(leaf.facts.dir_level);
        let (level, bucket) = bucket_beside(index, entry.hash, dir_level);
        if !bucket.contains(&index) {
            self.findings.add(Code::DentryPlace, leaf.object(entry.slot), || {
                format!(
                    "the bucket of \"{}\" in level {level} begins at block {}",
                    entry.name.escape_ascii(),
                    bucket.start
                )
            });
        }
        if level >= leaf.facts.depth {
            let right = Cure::Number(u64::from(level) + 1);
            self.findings.add_with(Code::DentryPlace, leaf.object(entry.slot), right, || {
                format!("it is in level {level}, and the directory has {} levels", leaf.facts.depth)
            });
        }
    }
}

/// The digest of a name in a directory.
fn digest(directory: &Facts, name: &[u8]) -> u64 {
    let mut digest = DefaultHasher::new();
    digest.write_u32(directory.ino.0);
    digest.write(name);
    digest.finish()
}
