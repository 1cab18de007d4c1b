//! Groups that do not do what was expected.

use alloc::vec::Vec;

use crate::placement::MAX_CLASSES;

/// More valid pages than expected by so much are irregular.
const TOO_MUCH: f64 = 0.1;
/// The part of a window after which valid ratios are compared.
const PART: f64 = 0.3;

/// Valid ratios of the victims of each group, beside those that a division expects.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    /// Expected ratios of all groups; empty before the first division.
    expected: Vec<f64>,
    /// A bit for each group that was cleaned since the division.
    cleaned: u32,
    state: State,
    /// User writes since the last comparison.
    writes: u64,
    sums: [(f64, f64); MAX_CLASSES as usize],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// There is no division.
    #[default]
    Off,
    /// Not all groups have been cleaned yet.
    Filling,
    /// They have.
    On,
}

impl Watch {
    /// A new division, and what it expects.
    pub(super) fn begin(&mut self, expected: Vec<f64>) {
        *self = Self { expected, state: State::Filling, ..Self::default() };
    }

    /// Counts again from nothing.
    pub(super) fn forget(&mut self) {
        self.writes = 0;
        self.sums = Default::default();
    }

    /// All groups are merged.
    pub(super) fn end(&mut self) {
        *self = Self::default();
    }

    /// Groups of the division, merged ones too; `None` if there is none.
    pub(super) fn groups(&self) -> Option<usize> {
        (self.state != State::Off).then_some(self.expected.len())
    }

    /// True once groups fill up that were never cleaned, and none is to be trusted.
    pub(super) fn is_filling(&self) -> bool {
        self.state == State::Filling
    }

    /// Watches the groups that are left, though not all were cleaned.
    pub(super) fn settle(&mut self) {
        self.state = State::On;
    }

    /// A segment of a level was cleaned, with this part of it valid; the last group's first level is `last`.
    pub(super) fn cleaned(&mut self, level: u8, last: u8, valid: f64) {
        self.cleaned |= 1 << level.min(last);
        if self.state == State::On
            && let Some((sum, count)) = self.sums.get_mut(usize::from(level))
        {
            *sum += valid;
            *count += 1.0;
        }
    }

    /// A user wrote a page: after a part of a `window`, a group that keeps more than was expected, the first from the
    /// second on below `groups`.
    pub(super) fn written(&mut self, last: u8, groups: u8, window: u64) -> Option<u8> {
        if self.state == State::Filling && self.cleaned == (1 << (last + 1)) - 1 {
            self.settle();
        }
        self.writes += u64::from(self.state == State::On);
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let is_time = self.writes as f64 > PART * window as f64;
        if !is_time {
            return None;
        }
        let is_wrong = |group: &u8| {
            let at = usize::from(*group);
            let (sum, count) = self.sums.get(at).copied().unwrap_or_default();
            self.expected.get(at).is_some_and(|expected| sum / count - expected >= TOO_MUCH)
        };
        let found = (1..groups).find(is_wrong);
        self.forget();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_keeps_too_much_is_found_in_time() {
        let mut watch = Watch::default();
        watch.begin(alloc::vec![0.0, 0.5, 0.5]);
        assert!(watch.is_filling() && watch.groups() == Some(3));
        watch.cleaned(1, 2, 0.9);
        watch.cleaned(2, 2, 0.9);
        assert_eq!(watch.written(2, 3, 10), None);
        watch.cleaned(0, 2, 0.9);
        assert!((0..3).all(|_| watch.written(2, 3, 10).is_none()), "nothing counts before all were cleaned");
        watch.cleaned(1, 2, 0.59);
        watch.cleaned(2, 2, 0.61);
        assert_eq!(watch.written(2, 3, 10), Some(2));
        watch.cleaned(2, 2, 0.61);
        assert!((0..3).all(|_| watch.written(2, 3, 10).is_none()));
        assert_eq!(watch.written(2, 2, 10), None, "the second group alone");
        watch.end();
        assert!((0..99).all(|_| watch.written(1, 2, 10).is_none()) && watch.groups().is_none());
    }
}
