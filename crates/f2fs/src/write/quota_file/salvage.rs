//! The limits that a broken quota file still has: by its tree as far as that goes, and in all other blocks that look like
//! leaves. Linux leaves none behind that are out of date.

use std::collections::HashSet;

use zerocopy::{FromBytes, little_endian::U64};

use super::{PER_LEAF, QuotaFile, block, quota};
use crate::{
    layout::{QUOTA_LEVELS, QUOTA_MAGICS, QUOTA_VERSION, RawQuotaEntry, RawQuotaHeader, RawQuotaLeaf},
    quota::{Grace, Lost, Share},
    word::word,
};

/// The root of the tree, and the first block that may be a leaf.
const ROOT: u32 = 1;
const FIRST_LEAF: u32 = 2;

impl QuotaFile {
    /// The limits and times of grace in the bytes of a broken file of a kind, and what of them cannot be read. Nobody uses
    /// anything.
    pub(crate) fn salvage(kind: usize, bytes: &[u8]) -> (QuotaFile, Vec<Lost>) {
        let (mut file, mut lost) = (QuotaFile::empty(kind), Vec::new());
        let header = RawQuotaHeader::read_from_prefix(bytes).ok().map(|(header, _)| header);
        // Either word may be what is broken.
        let is_right = |header: &RawQuotaHeader| {
            Some(&header.magic.get()) == QUOTA_MAGICS.get(kind) || header.version.get() == QUOTA_VERSION
        };
        let header = header.filter(is_right);
        match header {
            Some(old) => {
                file.set_grace(Grace { inodes: old.grace_inodes.get(), bytes: old.grace_bytes.get() });
            }
            None => lost.push(Lost::Grace),
        }
        let mut search = Search::new(bytes);
        // The root of a file without entries leads nowhere.
        if header.is_none_or(|header| header.blocks.get() > FIRST_LEAF) || !search.is_zero(ROOT) {
            search.descend(ROOT, 0, 0);
        }
        search.take_named(&mut file);
        search.take_others(&mut file);
        let is_gone = |id: &&u32| !file.entries.contains_key(*id);
        lost.extend(search.named.iter().map(|(id, _)| id).filter(is_gone).map(|id| Lost::Owner(*id)));
        lost.extend(search.cut.iter().map(|(first, last)| Lost::Owners(*first, *last)));
        for entry in file.entries.values_mut() {
            (entry.inodes, entry.bytes) = (U64::ZERO, U64::ZERO);
        }
        let has_limits = |entry: &RawQuotaEntry| {
            let quota = quota(entry);
            [quota.inodes, quota.bytes].iter().any(Share::is_limited)
        };
        file.entries.retain(|_, entry| has_limits(entry));
        (file, lost)
    }
}

/// A search for entries.
struct Search<'a> {
    bytes: &'a [u8],
    /// Blocks of the file.
    blocks: u32,
    /// Blocks of the tree above its leaves.
    seen: HashSet<u32>,
    /// Owners that the tree names, and their leaves.
    named: Vec<(u32, u32)>,
    /// The first and the last owner of each branch that is cut.
    cut: Vec<(u32, u32)>,
}

impl Search<'_> {
    fn new(bytes: &[u8]) -> Search<'_> {
        let blocks = word(bytes.len() / crate::layout::QUOTA_BLOCK_BYTES);
        Search { bytes, blocks, seen: HashSet::new(), named: Vec::new(), cut: Vec::new() }
    }

    fn is_zero(&self, number: u32) -> bool {
        block(self.bytes, number).is_none_or(|block| block.iter().all(|byte| *byte == 0))
    }

    /// The words of a block of the tree above its leaves; `None` if it cannot be one: each is the number of a block.
    fn below(&self, number: u32) -> Option<Vec<u32>> {
        let (words, _) = block(self.bytes, number)?.as_chunks::<4>();
        let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let makes_sense = |word: &u32| *word == 0 || (FIRST_LEAF..self.blocks).contains(word);
        (!self.is_zero(number) && words.iter().all(makes_sense)).then_some(words)
    }

    /// Follows a branch: the numbers of its owners begin with the `level` bytes of `prefix`.
    fn descend(&mut self, number: u32, level: u32, prefix: u32) {
        let words = self.below(number).filter(|_| self.seen.insert(number));
        let Some(words) = words else {
            let (first, rest) = ends(level, prefix);
            self.cut.push((first, first | rest));
            return;
        };
        for (byte, below) in (0..).zip(words).filter(|(_, below)| *below != 0) {
            let prefix = prefix << 8 | byte;
            if level + 1 == QUOTA_LEVELS {
                self.named.push((prefix, below));
            } else {
                self.descend(below, level + 1, prefix);
            }
        }
    }

    /// Takes the entries of all owners that the tree names.
    fn take_named(&self, file: &mut QuotaFile) {
        for (id, leaf) in &self.named {
            let leaf = QuotaFile::leaf(block(self.bytes, *leaf).unwrap_or_default());
            let entry = leaf.into_iter().find(|entry| entry.id.get() == *id);
            file.entries.extend(entry.map(|entry| (*id, entry)));
        }
    }

    /// Takes the entries of leaves that no branch leads to.
    fn take_others(&self, file: &mut QuotaFile) {
        for number in (FIRST_LEAF..self.blocks).filter(|number| !self.seen.contains(number)) {
            let Some(bytes) = block(self.bytes, number).filter(|bytes| is_leaf(bytes)) else { continue };
            // A block of the tree that nothing leads to may look like a leaf; its words are numbers of blocks.
            if self.below(number).is_some() {
                continue;
            }
            for entry in QuotaFile::leaf(bytes) {
                file.entries.entry(entry.id.get()).or_insert(entry);
            }
        }
    }
}

/// The first owner of a branch, and the bits in which its others differ.
fn ends(level: u32, prefix: u32) -> (u32, u32) {
    let bits = 8 * (QUOTA_LEVELS - level);
    (prefix.checked_shl(bits).unwrap_or(0), u32::MAX.checked_shr(32 - bits).unwrap_or(0))
}

/// True if a block has as many entries as it says, and none of them has bytes where there are none.
fn is_leaf(bytes: &[u8]) -> bool {
    let Ok((head, _)) = RawQuotaLeaf::read_from_prefix(bytes) else { return false };
    let entries = QuotaFile::leaf(bytes);
    let count = usize::from(head.entries.get());
    (1..=PER_LEAF).contains(&count)
        && entries.len() == count
        && head.pad == [0; 6]
        && entries.iter().all(|entry| entry.pad.get() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quota::Quota;

    const IDS: [u32; 20] = [
        0,
        1,
        2,
        9,
        255,
        256,
        1000,
        1001,
        1002,
        1003,
        5000,
        5001,
        5002,
        5003,
        5004,
        5005,
        70_000,
        70_001,
        99_999,
        u32::MAX,
    ];

    const GRACE: Grace = Grace { inodes: 90, bytes: 60 };

    fn full() -> QuotaFile {
        let mut file = QuotaFile::empty(0);
        file.set_grace(GRACE);
        for id in IDS {
            let share = |hard| Share { soft: 4096, hard, until: 77, ..Share::default() };
            let (inodes, bytes) = (share(u64::from(id) + 5000), share((u64::from(id) + 5000) << 10));
            file.set_limits(&Quota { id, inodes, bytes });
        }
        file
    }

    fn limits(file: &QuotaFile) -> Vec<Quota> {
        file.quotas().collect()
    }

    #[test]
    fn nothing_is_lost_of_a_file_that_is_whole() {
        let (mut used, wanted) = (full(), full());
        used.change(1000, 5, 4096);
        // Without limits there is nothing to keep.
        used.change(4000, 5, 4096);
        let (found, lost) = QuotaFile::salvage(0, &used.to_bytes());
        assert_eq!((limits(&found), lost), (limits(&wanted), Vec::new()));
        assert_eq!(found.grace(), GRACE);
        let (found, lost) = QuotaFile::salvage(1, &QuotaFile::empty(1).to_bytes());
        assert_eq!((limits(&found).len(), lost), (0, Vec::new()));
    }

    /// Whatever one block of the file is: what others have is kept, and what only it had is told.
    #[test]
    fn a_broken_block_costs_no_other() {
        let bytes = full().to_bytes();
        let wanted = limits(&full());
        for at in (0..bytes.len()).step_by(1024) {
            for byte in [0, 0x5a] {
                let mut broken = bytes.clone();
                broken[at..at + 1024].fill(byte);
                let (found, lost) = QuotaFile::salvage(0, &broken);
                let number = at / 1024;
                for quota in &wanted {
                    let is_told = lost.iter().any(|lost| match lost {
                        Lost::Owner(id) => *id == quota.id,
                        Lost::Owners(from, to) => (*from..=*to).contains(&quota.id),
                        Lost::Grace | Lost::All => false,
                    });
                    let kept = limits(&found).contains(quota);
                    assert!(kept || is_told, "block {number} of {byte}: {quota:?} is gone");
                    // Leaves stand in blocks 2 and further up; a branch that is cut leaves all of them.
                    let is_leaf = is_leaf(&bytes[at..at + 1024]);
                    assert!(kept || is_leaf, "block {number} of {byte}: {quota:?} was still there");
                }
                assert_eq!(limits(&found).iter().filter(|quota| !wanted.contains(quota)).count(), 0);
                assert_eq!(lost.contains(&Lost::Grace), number == 0, "block {number}");
                assert_eq!(found.grace() == GRACE, number != 0, "block {number}");
                assert!(!lost.is_empty(), "block {number} of {byte}");
            }
        }
    }

    /// A number in the tree leads elsewhere.
    #[test]
    fn a_wrong_turn_costs_nothing() {
        let bytes = full().to_bytes();
        let wanted = limits(&full());
        let words = (1024..bytes.len()).step_by(4).filter(|at| !is_leaf(&bytes[at / 1024 * 1024..][..1024]));
        for at in words.filter(|at| bytes[*at..at + 4] != [0; 4]) {
            for to in [word(bytes.len() / 1024), u32::MAX, 0, 1, 2, 3, 4] {
                let mut broken = bytes.clone();
                broken[at..at + 4].copy_from_slice(&to.to_le_bytes());
                let (found, lost) = QuotaFile::salvage(0, &broken);
                let gone = wanted.iter().filter(|quota| !limits(&found).contains(quota)).count();
                assert_eq!(gone, 0, "word {at} is {to}: {lost:?}");
            }
        }
    }
}
