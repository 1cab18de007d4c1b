//! Quota files: read as a whole, and written as a whole.

mod salvage;

use std::collections::BTreeMap;

use zerocopy::{
    FromBytes, FromZeros, IntoBytes,
    little_endian::{U16, U32, U64},
};

use crate::{
    layout::{
        QUOTA_BLOCK_BYTES, QUOTA_LEVELS, QUOTA_MAGICS, QUOTA_VERSION, RawQuotaEntry, RawQuotaHeader,
        RawQuotaLeaf,
    },
    quota::{Grace, Quota, Share},
    word::{half, word},
};

/// Bytes of the unit of limits on space.
const LIMIT_UNIT: u64 = 1024;
/// Entries in a leaf.
const PER_LEAF: usize = (QUOTA_BLOCK_BYTES - size_of::<RawQuotaLeaf>()) / size_of::<RawQuotaEntry>();

/// The contents of a quota file.
pub(crate) struct QuotaFile {
    header: RawQuotaHeader,
    entries: BTreeMap<u32, RawQuotaEntry>,
}

impl QuotaFile {
    /// One of a kind (0 users, 1 groups, 2 projects) that has no entries.
    pub(crate) fn empty(kind: usize) -> QuotaFile {
        let mut header = RawQuotaHeader::new_zeroed();
        debug_assert!(kind < QUOTA_MAGICS.len(), "no quota of kind {kind}");
        header.magic = U32::new(QUOTA_MAGICS.get(kind).copied().unwrap_or_default());
        header.version = U32::new(QUOTA_VERSION);
        let mut file = QuotaFile { header, entries: BTreeMap::new() };
        file.set_grace(Grace::default());
        file
    }

    /// The contents of a file's bytes; `None` if they are none of this kind.
    pub(crate) fn parse(kind: usize, bytes: &[u8]) -> Option<QuotaFile> {
        let (header, _) = RawQuotaHeader::read_from_prefix(bytes).ok()?;
        let is_one =
            Some(&header.magic.get()) == QUOTA_MAGICS.get(kind) && header.version.get() == QUOTA_VERSION;
        let mut file = QuotaFile { header, entries: BTreeMap::new() };
        let mut leaves = Vec::new();
        let mut left = bytes.len() / QUOTA_BLOCK_BYTES;
        leaf_numbers(bytes, 1, 0, &mut left, &mut leaves)?;
        for number in leaves {
            let entries = QuotaFile::leaf(block(bytes, number)?).into_iter();
            file.entries.extend(entries.map(|entry| (entry.id.get(), entry)));
        }
        is_one.then_some(file)
    }

    /// The entries of a leaf.
    fn leaf(bytes: &[u8]) -> Vec<RawQuotaEntry> {
        let entries = bytes.get(size_of::<RawQuotaLeaf>()..).unwrap_or_default();
        let used =
            entries.chunks_exact(size_of::<RawQuotaEntry>()).filter(|raw| raw.iter().any(|byte| *byte != 0));
        let entries = used.filter_map(|raw| RawQuotaEntry::read_from_bytes(raw).ok());
        entries.map(|entry| if entry == of_nothing() { RawQuotaEntry::new_zeroed() } else { entry }).collect()
    }

    /// The quotas of all ids that have an entry.
    pub(crate) fn quotas(&self) -> impl Iterator<Item = Quota> {
        self.entries.values().map(quota)
    }

    /// The quota of an id.
    pub(crate) fn quota(&self, id: u32) -> Quota {
        self.entries.get(&id).map_or(Quota { id, ..Quota::default() }, quota)
    }

    /// The times for which soft limits may be exceeded.
    pub(crate) fn grace(&self) -> Grace {
        Grace { inodes: self.header.grace_inodes.get(), bytes: self.header.grace_bytes.get() }
    }

    /// Sets these times. Those that run end when they did.
    pub(crate) fn set_grace(&mut self, grace: Grace) {
        self.header.grace_inodes = U32::new(grace.inodes);
        self.header.grace_bytes = U32::new(grace.bytes);
    }

    /// Sets the limits of an id, and the times from which on soft ones hold; its use stays.
    pub(crate) fn set_limits(&mut self, quota: &Quota) {
        let (inodes, bytes) = (quota.inodes, quota.bytes);
        let entry = self.entry(quota.id);
        let unit = |limit: u64| U64::new(limit.div_ceil(LIMIT_UNIT));
        (entry.inode_soft, entry.inode_hard) = (U64::new(inodes.soft), U64::new(inodes.hard));
        (entry.bytes_soft, entry.bytes_hard) = (unit(bytes.soft), unit(bytes.hard));
        (entry.inode_time, entry.bytes_time) = (U64::new(inodes.until), U64::new(bytes.until));
    }

    fn entry(&mut self, id: u32) -> &mut RawQuotaEntry {
        let fresh = || RawQuotaEntry { id: U32::new(id), ..RawQuotaEntry::new_zeroed() };
        self.entries.entry(id).or_insert_with(fresh)
    }

    /// The ids that have an entry.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u32> {
        self.entries.keys().copied()
    }

    /// Inodes and bytes that an id uses change by so much.
    pub(crate) fn change(&mut self, id: u32, inodes: i64, bytes: i64) {
        let entry = self.entry(id);
        entry.inodes = U64::new(entry.inodes.get().saturating_add_signed(inodes));
        entry.bytes = U64::new(entry.bytes.get().saturating_add_signed(bytes));
    }

    /// The content of the file.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut file = Blocks { blocks: vec![[0; QUOTA_BLOCK_BYTES]; 2] };
        let entries: Vec<&RawQuotaEntry> = self.entries.values().collect();
        let mut last_with_room = 0;
        for group in entries.chunks(PER_LEAF) {
            let leaf = file.add(&leaf(group));
            last_with_room = if group.len() < PER_LEAF { leaf } else { 0 };
            for entry in group {
                file.lead_to(entry.id.get(), leaf);
            }
        }
        let mut header = self.header;
        header.blocks = U32::new(word(file.blocks.len()));
        (header.free_block, header.free_leaf) = (U32::ZERO, U32::new(last_with_room));
        let mut bytes = file.blocks.concat();
        bytes.iter_mut().zip(header.as_bytes()).for_each(|(to, from)| *to = *from);
        bytes
    }
}

fn block(bytes: &[u8], number: u32) -> Option<&[u8]> {
    let start = number as usize * QUOTA_BLOCK_BYTES;
    bytes.get(start..start + QUOTA_BLOCK_BYTES)
}

/// The numbers of all leaves below a block of the tree; `None` if it makes no sense. At most `left` blocks are in it.
fn leaf_numbers(
    bytes: &[u8],
    number: u32,
    level: u32,
    left: &mut usize,
    leaves: &mut Vec<u32>,
) -> Option<()> {
    if level == QUOTA_LEVELS {
        // Ids that are close together share a leaf.
        if leaves.last() != Some(&number) {
            leaves.push(number);
        }
        return Some(());
    }
    *left = left.checked_sub(1)?;
    let (words, _) = block(bytes, number)?.as_chunks::<4>();
    for below in words.iter().map(|word| u32::from_le_bytes(*word)).filter(|below| *below != 0) {
        leaf_numbers(bytes, below, level + 1, left, leaves)?;
    }
    Some(())
}

type Block = [u8; QUOTA_BLOCK_BYTES];

/// Blocks: the header's, the root of the tree, and then whatever is added.
struct Blocks {
    blocks: Vec<Block>,
}

impl Blocks {
    fn add(&mut self, block: &Block) -> u32 {
        self.blocks.push(*block);
        word(self.blocks.len() - 1)
    }

    /// Makes the tree lead from an id to its leaf.
    fn lead_to(&mut self, id: u32, leaf: u32) {
        let mut block = 1;
        for (level, byte) in (1..).zip(id.to_be_bytes()) {
            let slot = usize::from(byte) * 4;
            let below = self.word(block, slot);
            let next = match below {
                0 if level == QUOTA_LEVELS => leaf,
                0 => self.add(&[0; QUOTA_BLOCK_BYTES]),
                below => below,
            };
            if let Some(place) =
                self.blocks.get_mut(block as usize).and_then(|block| block.get_mut(slot..slot + 4))
            {
                place.copy_from_slice(&next.to_le_bytes());
            }
            block = next;
        }
    }

    fn word(&self, block: u32, at: usize) -> u32 {
        let bytes = self.blocks.get(block as usize).and_then(|block| block.get(at..)?.first_chunk());
        bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }
}

/// The stored form of an entry of zeros, which would be none.
fn of_nothing() -> RawQuotaEntry {
    RawQuotaEntry { inode_time: U64::new(1), ..RawQuotaEntry::new_zeroed() }
}

fn quota(entry: &RawQuotaEntry) -> Quota {
    let bytes = |limit: U64| limit.get().saturating_mul(LIMIT_UNIT);
    let inodes = Share {
        used: entry.inodes.get(),
        soft: entry.inode_soft.get(),
        hard: entry.inode_hard.get(),
        until: entry.inode_time.get(),
    };
    let bytes = Share {
        used: entry.bytes.get(),
        soft: bytes(entry.bytes_soft),
        hard: bytes(entry.bytes_hard),
        until: entry.bytes_time.get(),
    };
    Quota { id: entry.id.get(), inodes, bytes }
}

fn leaf(entries: &[&RawQuotaEntry]) -> Block {
    let mut head = RawQuotaLeaf::new_zeroed();
    head.entries = U16::new(half(entries.len()));
    let is_zero = |entry: &RawQuotaEntry| entry.as_bytes().iter().all(|byte| *byte == 0);
    let stored: Vec<RawQuotaEntry> =
        entries.iter().map(|entry| if is_zero(entry) { of_nothing() } else { **entry }).collect();
    let bytes = head.as_bytes().iter().chain(stored.as_bytes());
    let mut block = [0; QUOTA_BLOCK_BYTES];
    block.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(bytes: &[u8], block: u32, at: usize) -> Option<u32> {
        block_of(bytes, block)?.get(at..)?.first_chunk().map(|number| u32::from_le_bytes(*number))
    }

    fn block_of(bytes: &[u8], block: u32) -> Option<&[u8]> {
        bytes.chunks_exact(1024).nth(block as usize)
    }

    /// Inodes and bytes of an id, by the way through the tree that Linux takes.
    fn found(bytes: &[u8], id: u32) -> Option<(u64, u64)> {
        let step = |block, byte: u8| number(bytes, block, usize::from(byte) * 4).filter(|below| *below > 0);
        let leaf = id.to_be_bytes().into_iter().try_fold(1, step)?;
        let entries = block_of(bytes, leaf)?[16..].chunks_exact(72);
        let mut entries = entries.map(|raw| RawQuotaEntry::read_from_bytes(raw).unwrap());
        let entry = entries.find(|entry| entry.id.get() == id && entry.inodes.get() > 0)?;
        Some((entry.inodes.get(), entry.bytes.get()))
    }

    #[test]
    fn every_id_is_found_by_its_way_through_the_tree() {
        let ids: Vec<u32> =
            (0..40).chain([255, 256, 257, 1000, 65_535, 65_536, 0x0102_0304, u32::MAX]).collect();
        for count in 0..ids.len() {
            let mut file = QuotaFile::empty(1);
            for id in &ids[..count] {
                file.change(*id, 3, i64::from(*id) + 4096);
                file.change(*id, -1, 1);
            }
            let bytes = file.to_bytes();
            let wanted = |id: &u32| Some((2, u64::from(*id) + 4097));
            assert!(ids[..count].iter().all(|id| found(&bytes, *id) == wanted(id)), "{count} ids");
            assert!(ids[count..].iter().all(|id| found(&bytes, *id).is_none()), "{count} ids");
            assert_eq!(bytes[20..24], word(bytes.len() / 1024).to_le_bytes(), "{count} ids");
            assert_eq!(QuotaFile::parse(1, &bytes).unwrap().to_bytes(), bytes, "{count} ids");
            assert!(QuotaFile::parse(0, &bytes).is_none(), "another kind");
        }
    }
}
