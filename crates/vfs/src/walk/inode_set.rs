//! A set of inode numbers, small where they lie close together, as those of a volume do.

use alloc::collections::BTreeMap;

use crate::Ino;

/// The numbers, a bit each.
#[derive(Default)]
pub(super) struct InodeSet {
    words: BTreeMap<u64, u64>,
}

impl InodeSet {
    /// Puts a number in; false if it was there.
    pub(super) fn insert(&mut self, ino: Ino) -> bool {
        let word = self.words.entry(ino.0 / 64).or_default();
        let bit = 1 << (ino.0 % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// True if a number is in it.
    pub(super) fn contains(&self, ino: Ino) -> bool {
        self.words.get(&(ino.0 / 64)).is_some_and(|word| word & (1 << (ino.0 % 64)) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_new_once() {
        let mut set = InodeSet::default();
        let numbers = [0, 1, 63, 64, u64::MAX];
        assert!(numbers.iter().all(|ino| set.insert(Ino(*ino))));
        assert!(!numbers.iter().any(|ino| set.insert(Ino(*ino))));
        assert!(set.contains(Ino(64)) && !set.contains(Ino(65)));
    }
}
