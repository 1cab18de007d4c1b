//! A leaf of the translation table in memory, and its changes since it was written.

use alloc::{boxed::Box, vec, vec::Vec};

use zerocopy::IntoBytes;

use crate::layout::{ALL_ENTRIES, RawChange, RawChanges, UNSETTLED, count32};
use crate::shape::Addr;

/// An entry that changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) slot: u16,
    /// The address in the leaf on flash still counts as stored, and as live in its segment: a start after a power cut
    /// did not read the leaf.
    pub(crate) is_unsettled: bool,
    pub(crate) addr: u32,
}

impl Change {
    fn raw(self) -> RawChange {
        let unsettled = if self.is_unsettled { UNSETTLED } else { 0 };
        RawChange { slot: (self.slot | unsettled).into(), addr: self.addr.into() }
    }

    pub(crate) fn of(raw: RawChange) -> Change {
        let slot = raw.slot.get();
        Change { slot: slot & !UNSETTLED, is_unsettled: slot & UNSETTLED != 0, addr: raw.addr.get() }
    }
}

/// The changes of a leaf since it was written.
#[derive(Debug)]
pub(crate) enum Changes {
    /// These entries, in order.
    Few(Vec<Change>),
    /// Too many, so that the leaf is kept in memory.
    All,
}

/// A page of the table.
#[derive(Debug)]
pub(crate) struct Leaf {
    /// The log page that holds it.
    pub(crate) page: Option<u32>,
    /// All entries as they are now.
    pub(crate) words: Option<Box<[u32]>>,
    pub(crate) changes: Changes,
    /// It was asked for since the cache looked at it last.
    pub(crate) is_used: bool,
}

impl Leaf {
    pub(crate) const EMPTY: Leaf =
        Leaf { page: None, words: None, changes: Changes::Few(Vec::new()), is_used: false };

    /// Bytes that its changes take in a checkpoint, if it has `entries`.
    pub(crate) fn bytes(&self, entries: usize) -> usize {
        match &self.changes {
            Changes::Few(few) if few.is_empty() => 0,
            Changes::Few(few) => size_of::<RawChanges>() + few.len() * size_of::<RawChange>(),
            Changes::All => size_of::<RawChanges>() + entries * size_of::<u32>(),
        }
    }

    /// An entry, if memory has it.
    pub(crate) fn find(&self, slot: u16) -> Option<u32> {
        if let Some(words) = &self.words {
            return words.get(usize::from(slot)).copied();
        }
        if let Changes::Few(few) = &self.changes
            && let Ok(at) = few.binary_search_by_key(&slot, |change| change.slot)
        {
            return few.get(at).map(|change| change.addr);
        }
        self.page.is_none().then_some(Addr::NONE.0)
    }

    /// Changes an entry. If it is new among the changes and `is_unsettled`, its old address is still counted.
    pub(crate) fn set(&mut self, slot: u16, addr: u32, is_unsettled: bool) {
        if let Some(word) = self.words.as_mut().and_then(|words| words.get_mut(usize::from(slot))) {
            *word = addr;
        }
        let Changes::Few(few) = &mut self.changes else { return };
        match few.binary_search_by_key(&slot, |change| change.slot) {
            Ok(at) => few.iter_mut().skip(at).take(1).for_each(|change| change.addr = addr),
            Err(at) => few.insert(at, Change { slot, is_unsettled, addr }),
        }
    }

    /// Puts the changes over entries as they are on flash.
    pub(crate) fn put_over(&self, words: &mut [u32]) {
        let Changes::Few(few) = &self.changes else { return };
        for Change { slot, addr, .. } in few {
            if let Some(word) = words.get_mut(usize::from(*slot)) {
                *word = *addr;
            }
        }
    }

    /// All entries, if memory has them.
    pub(crate) fn content(&self, entries: usize) -> Option<Box<[u32]>> {
        if self.words.is_none() && self.page.is_none() {
            let mut words = vec![Addr::NONE.0; entries];
            self.put_over(&mut words);
            return Some(words.into());
        }
        self.words.clone()
    }

    /// The changes, if they are not all.
    pub(crate) fn few(&self) -> &[Change] {
        match &self.changes {
            Changes::Few(few) => few,
            Changes::All => &[],
        }
    }

    /// Slots with an address on flash that is still counted; the caller counts it off.
    pub(crate) fn take_unsettled(&mut self) -> Vec<u16> {
        let Changes::Few(few) = &mut self.changes else { return Vec::new() };
        let unsettled = few.iter_mut().filter(|change| change.is_unsettled);
        unsettled
            .map(|change| {
                change.is_unsettled = false;
                change.slot
            })
            .collect()
    }

    /// The number of these.
    pub(crate) fn unsettled(&self) -> u32 {
        count32(self.few().iter().filter(|change| change.is_unsettled).count())
    }

    /// The changes as a checkpoint keeps them, of leaf `at`; `None` if there are none.
    pub(crate) fn encode(&self, at: u32) -> Option<Vec<u8>> {
        let (count, bytes) = match (&self.changes, &self.words) {
            (Changes::Few(few), _) if few.is_empty() => return None,
            (Changes::Few(few), _) => {
                let raw: Vec<RawChange> = few.iter().copied().map(Change::raw).collect();
                (count32(few.len()), raw.as_bytes().to_vec())
            }
            (Changes::All, words) => {
                debug_assert!(words.is_some(), "leaf {at} was forgotten");
                let words = words.iter().flatten();
                (ALL_ENTRIES, words.flat_map(|word| word.to_le_bytes()).collect())
            }
        };
        let mut out = RawChanges { leaf: at.into(), count: count.into() }.as_bytes().to_vec();
        out.extend_from_slice(&bytes);
        Some(out)
    }
}
