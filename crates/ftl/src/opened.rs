//! Segments that heads opened since the checkpoint, and those of which the record says that they may be: a start after a
//! power cut looks at no others.

use alloc::{collections::BTreeSet, vec::Vec};

/// Segments; `None` if it may be any.
type Segments = Option<BTreeSet<u32>>;

/// The opened segments, and those that may be opened.
#[derive(Debug, Default)]
pub(crate) struct Opened {
    /// Opened since the checkpoint.
    since: Segments,
    /// The number opened in this session.
    count: u32,
    /// Segments that the record on the chip names.
    named: Segments,
    /// Segments that the record being written names.
    next: Option<Segments>,
}

impl Opened {
    /// A start found a record that names these.
    pub(crate) fn resume(&mut self, named: Option<&[u32]>) {
        let named: Segments = named.map(|named| named.iter().copied().collect());
        *self = Opened { since: named.clone(), count: 0, named, next: None };
    }

    /// The number of segments opened since the checkpoint.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// True if a segment may be opened: a start finds it named, by either record.
    pub(crate) fn may_be(&self, block: u32) -> bool {
        let has = |segments: &Segments| segments.as_ref().is_none_or(|segments| segments.contains(&block));
        has(&self.named) && self.next.as_ref().is_none_or(has)
    }

    /// A segment is opened, or will be as soon as a record names it.
    pub(crate) fn add(&mut self, block: u32) {
        self.count += 1;
        if let Some(since) = &mut self.since {
            since.insert(block);
        }
    }

    /// Starts over after a checkpoint's pages are written: they tell of all segments opened before.
    pub(crate) fn checkpointed(&mut self) {
        (self.since, self.count) = (Some(BTreeSet::new()), 0);
    }

    /// The segments that the next record names: all opened ones, those offered to be opened, and as many of the later
    /// free ones as there is room for. `None`, which stands for any segment, if there is too little room.
    pub(crate) fn name(
        &mut self,
        offered: impl Iterator<Item = u32>,
        later: impl Iterator<Item = u32>,
        room: usize,
    ) -> Option<Vec<u32>> {
        let mut next = self.since.clone();
        if let Some(next) = &mut next {
            next.extend(offered);
        }
        let mut next = next.filter(|next| next.len() <= room);
        if let Some(next) = &mut next {
            let more = room - next.len();
            next.extend(later.take(more));
        }
        self.next = Some(next.clone());
        next.map(|next| next.into_iter().collect())
    }

    /// A record is about to be written.
    pub(crate) fn begin(&mut self) {
        debug_assert!(self.next.is_none(), "a record is written within another");
        self.next = Some(None);
    }

    /// The record is on the chip.
    pub(crate) fn recorded(&mut self) {
        debug_assert!(self.next.is_some(), "no record was written");
        if let Some(next) = self.next.take() {
            self.named = next;
        }
    }

    /// Names no segment: the record that a start would find is unknown.
    pub(crate) fn doubt(&mut self) {
        (self.named, self.next) = (Some(BTreeSet::new()), None);
    }

    /// True while a record is being written.
    pub(crate) fn is_recording(&self) -> bool {
        self.next.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_opened_is_named_before() {
        let mut opened = Opened::default();
        assert!(opened.may_be(7), "any");
        opened.checkpointed();
        opened.begin();
        assert_eq!(opened.name([3].into_iter(), [4, 5].into_iter(), 2), Some([3, 4].into()));
        assert!(opened.may_be(4) && !opened.may_be(5));
        opened.recorded();
        assert!(opened.may_be(4) && !opened.may_be(5));
        opened.add(4);
        opened.add(5);
        opened.begin();
        assert_eq!(opened.name([9].into_iter(), [].into_iter(), 3), Some([4, 5, 9].into()));
        // The record before named no more than 3 and 4, and may be the one that counts.
        assert!(opened.may_be(4) && !opened.may_be(5) && !opened.may_be(9) && opened.is_recording());
        opened.recorded();
        assert!(opened.may_be(9) && !opened.may_be(3));
        opened.begin();
        assert_eq!(opened.name([9].into_iter(), [].into_iter(), 1), None);
        opened.doubt();
        assert!(!opened.may_be(4));
    }
}
