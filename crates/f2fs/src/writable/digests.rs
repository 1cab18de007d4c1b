//! What blocks of directories hold, in short, so that a search need not look into each of them.
//!
//! A digest may name more than is there, never less: an entry that goes, or one that is taken back, stays in it.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::layout::Nid;

/// Blocks that there is room for: with digests of all, some 3 MiB, for a million short names. Those of a directory behind
/// them are in the last of many levels.
const BLOCKS_MAX: usize = 16_384;
/// Hashes that a digest has before it is made anew: those of entries that are gone add up.
const HASHES_MAX: usize = 256;

/// The digests of all directories.
#[derive(Default)]
pub(super) struct Digests(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// Of each directory its blocks, up to the last that is known.
    dirs: HashMap<Nid, Vec<Option<Digest>>>,
    /// All their lengths.
    blocks: usize,
    /// Digests that were made since the call under way began: an entry that it took away may come back.
    new: Vec<(Nid, u64)>,
}

/// What one block holds.
#[derive(Clone)]
struct Digest {
    /// The upper halves of the hashes of its entries: all names of a block have most of the lower ones in common.
    hashes: Vec<u16>,
    /// No gap has more slots.
    gap: u32,
}

/// A block that may hold a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Candidate {
    pub(super) block: u64,
    pub(super) is_known: bool,
}

fn upper(hash: u32) -> u16 {
    crate::word::half(hash >> 16)
}

impl Digests {
    /// A call begins, which may be taken back.
    pub(super) fn begin(&self) {
        self.0.lock().new.clear();
    }

    /// Undoes the changes of the call.
    pub(super) fn take_back(&self) {
        let known = &mut *self.0.lock();
        for (dir, block) in std::mem::take(&mut known.new) {
            known.forget(dir, block);
        }
    }

    /// Those of some blocks that may hold a name with a hash.
    pub(super) fn candidates(
        &self,
        dir: Nid,
        blocks: impl Iterator<Item = u64>,
        hash: u32,
    ) -> Vec<Candidate> {
        let known = self.0.lock();
        let digests = known.of(dir);
        let candidate = |block| match digest_at(digests, block) {
            Some(digest) => {
                digest.hashes.contains(&upper(hash)).then_some(Candidate { block, is_known: true })
            }
            None => Some(Candidate { block, is_known: false }),
        };
        blocks.filter_map(candidate).collect()
    }

    /// The first of some blocks that may have a gap of so many slots.
    pub(super) fn first_roomy(
        &self,
        dir: Nid,
        mut blocks: impl Iterator<Item = u64>,
        slots: u32,
    ) -> Option<u64> {
        let known = self.0.lock();
        let digests = known.of(dir);
        blocks.find(|block| digest_at(digests, *block).is_none_or(|digest| digest.gap >= slots))
    }

    /// The hashes of all entries of a block.
    pub(super) fn learn(&self, dir: Nid, block: u64, hashes: &[u32]) {
        let known = &mut *self.0.lock();
        let Some(place) = known.place(dir, block) else { return };
        *place = Some(Digest { hashes: hashes.iter().map(|hash| upper(*hash)).collect(), gap: u32::MAX });
        known.new.push((dir, block));
    }

    /// No gap of a block has so many slots.
    pub(super) fn learn_full(&self, dir: Nid, block: u64, slots: u32) {
        if let Some(digest) = self.0.lock().digest(dir, block) {
            digest.gap = digest.gap.min(slots.saturating_sub(1));
        }
    }

    /// An entry is put into a block.
    pub(super) fn add(&self, dir: Nid, block: u64, hash: u32) {
        let known = &mut *self.0.lock();
        let Some(digest) = known.digest(dir, block) else { return };
        digest.hashes.push(upper(hash));
        if digest.hashes.len() > HASHES_MAX {
            known.forget(dir, block);
        }
    }

    /// An entry is taken out of a block.
    pub(super) fn remove(&self, dir: Nid, block: u64) {
        if let Some(digest) = self.0.lock().digest(dir, block) {
            digest.gap = u32::MAX;
        }
    }

    /// What is known of a directory counts no more.
    pub(super) fn forget_all_of(&self, dir: Nid) {
        let known = &mut *self.0.lock();
        known.blocks -= known.dirs.remove(&dir).map_or(0, |digests| digests.len());
    }
}

impl Known {
    fn of(&self, dir: Nid) -> &[Option<Digest>] {
        self.dirs.get(&dir).map_or(&[], Vec::as_slice)
    }

    fn digest(&mut self, dir: Nid, block: u64) -> Option<&mut Digest> {
        let block = usize::try_from(block).ok()?;
        self.dirs.get_mut(&dir)?.get_mut(block)?.as_mut()
    }

    fn forget(&mut self, dir: Nid, block: u64) {
        let place = self.dirs.get_mut(&dir).zip(usize::try_from(block).ok());
        if let Some(place) = place.and_then(|(digests, block)| digests.get_mut(block)) {
            *place = None;
        }
    }

    /// The place of a digest, if there is room for it. Other directories give way to one that is searched.
    fn place(&mut self, dir: Nid, block: u64) -> Option<&mut Option<Digest>> {
        let block = usize::try_from(block).ok().filter(|block| *block < BLOCKS_MAX)?;
        let more = (block + 1).saturating_sub(self.of(dir).len());
        if self.blocks + more > BLOCKS_MAX {
            self.dirs.retain(|other, _| *other == dir);
            self.blocks = self.of(dir).len();
        }
        self.blocks += more;
        let digests = self.dirs.entry(dir).or_default();
        digests.resize(digests.len() + more, None);
        digests.get_mut(block)
    }
}

fn digest_at(digests: &[Option<Digest>], block: u64) -> Option<&Digest> {
    digests.get(usize::try_from(block).ok()?)?.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIR: Nid = Nid(7);

    /// Hashes that differ in their upper halves.
    fn hash(number: u32) -> u32 {
        number << 16
    }

    fn may_hold(digests: &Digests, block: u64, number: u32) -> bool {
        !digests.candidates(DIR, std::iter::once(block), hash(number)).is_empty()
    }

    #[test]
    fn a_call_that_is_taken_back_leaves_no_digest_that_names_too_little() {
        let digests = Digests::default();
        digests.begin();
        digests.learn(DIR, 3, &[hash(1), hash(2)]);
        assert!(may_hold(&digests, 3, 1) && !may_hold(&digests, 3, 4) && may_hold(&digests, 2, 4));
        digests.begin();
        digests.remove(DIR, 3);
        assert!(may_hold(&digests, 3, 1), "the name may come back");
        // An entry is gone when the digest is made.
        digests.forget_all_of(DIR);
        digests.learn(DIR, 3, &[hash(2)]);
        assert!(!may_hold(&digests, 3, 1));
        digests.take_back();
        assert!(may_hold(&digests, 3, 1));
    }

    #[test]
    fn gaps_and_digests_do_not_outlive_their_time() {
        let digests = Digests::default();
        let roomy = |slots| digests.first_roomy(DIR, [5, 6].into_iter(), slots);
        digests.learn(DIR, 5, &[]);
        digests.learn_full(DIR, 5, 3);
        assert_eq!((roomy(2), roomy(3)), (Some(5), Some(6)));
        digests.remove(DIR, 5);
        assert_eq!(roomy(3), Some(5));
        (0..256).for_each(|number| digests.add(DIR, 5, hash(number)));
        assert!(!may_hold(&digests, 5, 999));
        digests.add(DIR, 5, hash(256));
        assert!(may_hold(&digests, 5, 999), "too many hashes");
    }

    #[test]
    fn memory_is_bounded() {
        let digests = Digests::default();
        let last = BLOCKS_MAX as u64 - 1;
        for dir in 1..=3 {
            digests.learn(Nid(dir), last, &[]);
            assert!(digests.candidates(Nid(dir), std::iter::once(last), 0).is_empty());
            assert_eq!(digests.0.lock().blocks, BLOCKS_MAX);
            assert_eq!(digests.0.lock().dirs.len(), 1);
        }
        digests.learn(DIR, last + 1, &[]);
        assert!(may_hold(&digests, last + 1, 0), "there is no room");
        digests.forget_all_of(Nid(3));
        assert_eq!(digests.0.lock().blocks, 0);
    }
}
