//! What is known of a page, in one byte.

/// The history of a page: four bits for its rewrite interval, four for how long it has survived since.
///
/// Both are in octaves above the grain (see [`Octaves`]). The interval is a mean of the logarithms of past intervals
/// that halves the weight of each older one; it is [`NEVER`](Self::NEVER) before the first rewrite. The age is 0 for a
/// page that a user wrote last and counts from 1 for one that the cleaner copied; 15 marks a page of one interval that
/// is no measure and counts for nothing at the next rewrite: it reaches back to the first write, or over a change.
///
/// Rates change: what is rewritten after a time [`FAR`] from its mean is another page from now on. If the time is short,
/// it is the new mean; if it is long, it was spent partly at the old rate.
///
/// Both are rounded down: a survivor grows an octave older when it has lain as long again as it is old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State(pub(super) u8);

/// The age of a page whose interval is no measure.
const ONCE: u8 = 15;
/// The oldest age of a survivor.
const OLDEST: u8 = 14;
/// The longest interval.
const LONGEST: u8 = 14;
/// Sixteenths of octaves by which no interval strays from its mean by chance: a factor of 32. Of intervals at one rate
/// a fiftieth are as short, none as long.
const FAR: i32 = 5 << 4;

impl State {
    /// A page never rewritten.
    pub(super) const NEW: Self = Self(Self::NEVER << 4);
    /// The interval of a page never rewritten.
    const NEVER: u8 = 15;

    fn of(interval: u8, age: u8) -> Self {
        Self(interval << 4 | age)
    }

    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }

    fn interval(self) -> Option<u8> {
        Some(self.0 >> 4).filter(|interval| *interval != Self::NEVER)
    }

    /// Octaves survived, if any.
    fn age(self) -> Option<u8> {
        Some(self.0 & 15).filter(|age| !matches!(*age, 0 | ONCE)).map(|age| age - 1)
    }

    fn is_once(self) -> bool {
        self.0 & 15 == ONCE
    }

    /// A user wrote the page anew `lay` after its copy was laid down.
    pub(super) fn rewritten(self, lay: u32, scale: Octaves) -> Self {
        let age = self.age().map_or(0, |age| scale.time(age)).saturating_add(lay);
        let last = scale.exact(age).clamp(0, i32::from(LONGEST) << 4);
        let (interval, age) = match self.interval().map(|mean| i32::from(mean) << 4) {
            None => (last, ONCE),
            Some(_) if self.is_once() => (last, 0),
            Some(mean) if last - mean > FAR => (last, ONCE),
            Some(mean) if mean - last > FAR => (last, 0),
            Some(mean) => (i32::midpoint(mean, last), 0),
        };
        Self::of(level(interval).min(LONGEST), age)
    }

    /// The cleaner copied the page `lay` after its copy was laid down.
    pub(super) fn survived(self, lay: u32, scale: Octaves) -> Self {
        let before = self.age().map_or(0, |age| scale.time(age));
        let age = level(scale.exact(before.saturating_add(lay))).min(OLDEST - 1);
        Self::of(self.0 >> 4, age.max(self.age().unwrap_or(0)) + 1)
    }

    /// A first guess at the rewrites of the page per user write, of a store of `pages`.
    pub(super) fn guess(self, scale: Octaves, pages: f32) -> f32 {
        let time = |level| scale.time(level) as f32;
        let age = self.age().map_or(0.0, time);
        match self.interval() {
            None => 1.0 / (pages + 2.0 * age),
            Some(interval) => 1.0 / (time(interval) + 2.0 * age),
        }
    }
}

/// Times as octaves above the grain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Octaves {
    grain: u32,
    /// Sixteenths of octaves of the grain itself.
    zero: i32,
}

impl Octaves {
    /// 15 octaves from a 4096th of a turnover of `pages` to four turnovers.
    pub(super) fn new(pages: u32) -> Self {
        let grain = (pages >> 12).max(1);
        Self { grain, zero: sixteenths(grain) }
    }

    /// The time of a level.
    fn time(self, level: u8) -> u32 {
        self.grain.saturating_mul(1 << level)
    }

    /// Sixteenths of octaves above the grain.
    fn exact(self, time: u32) -> i32 {
        sixteenths(time) - self.zero
    }
}

/// Sixteen times the binary logarithm, linear between powers of two; 0 counts as 1.
fn sixteenths(x: u32) -> i32 {
    let x = x.max(1);
    let whole = x.ilog2();
    let fraction = (u64::from(x) << 4 >> whole) as i32 & 15;
    (whole as i32) << 4 | fraction
}

/// Whole octaves, rounded down and never by lot: pages written together with one history stay together.
fn level(sixteenths: i32) -> u8 {
    (sixteenths >> 4).clamp(0, 15) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_settles_at_its_interval() {
        let scale = Octaves::new(4096);
        for (interval, level) in [(1, 0), (64, 6), (4096, 12), (u32::MAX, 14)] {
            let mut state = State::NEW;
            // Written long ago for the first time, which must not count.
            state = state.rewritten(1 << 20, scale);
            for _ in 0..20 {
                state = state.rewritten(interval, scale);
            }
            assert_eq!(state, State::of(level, 0), "{interval}");
        }
    }

    #[test]
    fn a_page_that_changes_is_another_page() {
        let scale = Octaves::new(4096);
        let settled = State::of(6, 0);
        for (last, next) in [
            (1 << 1, State::of(3, 0)),
            (1, State::of(0, 0)),
            (1 << 11, State::of(8, 0)),
            (1 << 12, State::of(12, ONCE)),
        ] {
            assert_eq!(settled.rewritten(last, scale), next, "{last}");
        }
        // What was spent partly at the old rate does not count at the next rewrite.
        assert_eq!(State::of(12, ONCE).rewritten(1 << 6, scale), settled);
    }

    #[test]
    fn survivors_age_and_cool() {
        let scale = Octaves::new(4096);
        let fresh = State::of(5, 0);
        let mut survivor = fresh;
        let mut guess = fresh.guess(scale, 4096.0);
        for _ in 0..10 {
            let before = survivor.age();
            survivor = survivor.survived(1 << 10, scale);
            assert!(survivor.age() >= before && survivor.interval() == Some(5));
            assert!(survivor.guess(scale, 4096.0) <= guess);
            guess = survivor.guess(scale, 4096.0);
        }
        // 1024 writes make it 1024 old, 1024 more 2048; to be 4096 old it would have to lie for 2048 at a stretch.
        assert_eq!(survivor.age(), Some(11));
        assert_eq!(survivor.survived(1 << 11, scale).age(), Some(12));
    }

    #[test]
    fn every_byte_is_a_state() {
        let scale = Octaves::new(1);
        for byte in 0..=u8::MAX {
            for lay in [0, 1, u32::MAX] {
                let copied = State(byte).survived(lay, scale);
                assert!(copied.age().is_some() && copied.interval() == State(byte).interval());
                assert_eq!(State(byte).rewritten(lay, scale).age(), None);
            }
            let guess = State(byte).guess(scale, 1.0);
            assert!(guess > 0.0 && guess.is_finite());
        }
    }
}
