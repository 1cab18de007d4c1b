//! The quota files of a new volume: what users, groups and projects use.

use crate::word::{half, word};
use std::collections::BTreeMap;

use zerocopy::{
    FromZeros, IntoBytes,
    little_endian::{U16, U32, U64},
};

use crate::layout::{
    QUOTA_BLOCK_BYTES, QUOTA_LEVELS, QUOTA_MAGICS, QUOTA_VERSION, RawQuotaEntry, RawQuotaHeader, RawQuotaLeaf,
};

/// Users, groups and projects.
pub(super) const KINDS: usize = 3;
/// A week, as Linux sets it.
const GRACE_S: u32 = 7 * 24 * 60 * 60;
/// Entries in a leaf.
const PER_LEAF: usize = (QUOTA_BLOCK_BYTES - size_of::<RawQuotaLeaf>()) / size_of::<RawQuotaEntry>();

/// Inodes and bytes that each id uses, for one kind of quota.
pub(super) type Usage = BTreeMap<u32, (u64, u64)>;

/// The content of the quota file of a kind.
pub(super) fn file(kind: usize, usage: &Usage) -> Vec<u8> {
    let mut file = File { blocks: vec![[0; QUOTA_BLOCK_BYTES]; 2] };
    let entries: Vec<(u32, (u64, u64))> = usage.iter().map(|(id, used)| (*id, *used)).collect();
    let mut last_with_room = 0;
    for group in entries.chunks(PER_LEAF) {
        let leaf = file.add(&leaf(group));
        last_with_room = if group.len() < PER_LEAF { leaf } else { 0 };
        for (id, _) in group {
            file.lead_to(*id, leaf);
        }
    }
    let mut header = RawQuotaHeader::new_zeroed();
    debug_assert!(kind < KINDS, "no quota of kind {kind}");
    header.magic = U32::new(QUOTA_MAGICS.get(kind).copied().unwrap_or_default());
    header.version = U32::new(QUOTA_VERSION);
    (header.grace_bytes, header.grace_inodes) = (U32::new(GRACE_S), U32::new(GRACE_S));
    header.blocks = U32::new(word(file.blocks.len()));
    header.free_leaf = U32::new(last_with_room);
    let mut bytes = file.blocks.concat();
    bytes.iter_mut().zip(header.as_bytes()).for_each(|(to, from)| *to = *from);
    bytes
}

type Block = [u8; QUOTA_BLOCK_BYTES];

/// Blocks: the header's, the root of the tree, and then whatever is added.
struct File {
    blocks: Vec<Block>,
}

impl File {
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

fn leaf(entries: &[(u32, (u64, u64))]) -> Block {
    let mut head = RawQuotaLeaf::new_zeroed();
    head.entries = U16::new(half(entries.len()));
    let mut bytes = head.as_bytes().to_vec();
    for (id, (inodes, space)) in entries {
        let mut raw = RawQuotaEntry::new_zeroed();
        raw.id = U32::new(*id);
        raw.inodes = U64::new(*inodes);
        raw.bytes = U64::new(*space);
        bytes.extend_from_slice(raw.as_bytes());
    }
    let mut block = [0; QUOTA_BLOCK_BYTES];
    block.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    block
}
