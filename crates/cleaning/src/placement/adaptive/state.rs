//! The history of a page, in one byte.

/// The history of a page. The upper four bits are its rewrite interval; the lower ones are the time that it has
/// survived since, and whether the interval is a measure.
///
/// Times are in octaves above a 4096th of a turnover (see [`Octaves`]), rounded down: a survivor grows an octave older
/// when it has lain as long again as it is old. The interval is a mean of the logarithms of past intervals, and
/// [`NEVER`](Self::NEVER) before the first rewrite. An interval that reaches back to the first write, or over a change of
/// rate, is no measure: it counts for nothing at the next rewrite.
///
/// The lower bits are 0 for a page that a user wrote last and 1 to 8 for a survivor of a 32nd of a turnover up to four.
/// If the interval is no measure they are 9, and 10 to 15 for an eighth of a turnover up to four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State(pub(super) u8);

/// The longest interval, and the oldest age.
const LONGEST: u8 = 14;
/// The lower bits of a page that a user wrote last, with an interval that is no measure.
const ONCE: u8 = 9;
/// The ages that the lower bits stand for (see [`State::survived`]); 0 where a user wrote last.
const AGES: [u8; 16] = [0, 7, 8, 9, 10, 11, 12, 13, 14, 0, 9, 10, 11, 12, 13, 14];
/// Sixteenths of octaves by which no interval strays from its mean by chance: a factor of 32. Of intervals at one rate
/// a fiftieth are as short, none as long.
const FAR: i32 = 5 << 4;
/// The same, of intervals that show that rates change: a factor of 64.
const CHANGE: i32 = 6 << 4;

/// The duration of the rates of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tempo {
    /// All intervals count, and each weighs a quarter of the mean.
    Steady,
    /// A new interval weighs half, and a page rewritten after a time [`FAR`] from its mean is another page from now on.
    /// If the time is short, it is the new mean; if it is long, it was spent partly at the old rate. So was, as far as
    /// anyone knows, the time since the first write.
    Changing,
}

impl State {
    /// A page never rewritten.
    pub(super) const NEW: Self = Self(Self::NEVER << 4);
    /// The interval of a page never rewritten.
    const NEVER: u8 = LONGEST + 1;

    /// A page of which nothing is known but that its copy lay for so long.
    pub(super) fn unknown(lay: u32, scale: Octaves) -> Self {
        Self::of(level(scale.exact(lay)).min(LONGEST), 0)
    }

    fn of(interval: u8, low: u8) -> Self {
        Self(interval << 4 | low)
    }

    pub(super) fn interval(self) -> u8 {
        self.0 >> 4
    }

    fn low(self) -> u8 {
        self.0 & 15
    }

    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }

    /// A user wrote the page anew `lay` after its copy was laid down. Also true if that shows that rates change.
    pub(super) fn rewritten(self, lay: u32, tempo: Tempo, scale: Octaves) -> (Self, bool) {
        let last = scale.exact(scale.survived(self).saturating_add(lay)).clamp(0, i32::from(LONGEST) << 4);
        let off = last - (i32::from(self.interval()) << 4);
        let is_new = self.interval() == Self::NEVER;
        let is_mean = self.low() < ONCE && !is_new;
        let (interval, is_measure) = match tempo {
            _ if !is_mean => (last, !is_new || tempo == Tempo::Steady),
            Tempo::Steady => (last - off + (off >> 2), true),
            Tempo::Changing if off.abs() > FAR => (last, off < 0),
            Tempo::Changing => (last - off + (off >> 1), true),
        };
        (Self::of(level(interval), if is_measure { 0 } else { ONCE }), is_mean && off > CHANGE)
    }

    /// The cleaner copied the page `lay` after its copy was laid down.
    pub(super) fn survived(self, lay: u32, scale: Octaves) -> Self {
        let age = level(scale.exact(scale.survived(self).saturating_add(lay))).min(LONGEST);
        let low = if self.low() < ONCE { age.max(7) - 6 } else { age.max(9) + 1 };
        Self::of(self.interval(), low.max(self.low()))
    }

    /// A first guess at the rewrites of the page per user write, of a store of `pages`.
    pub(super) fn guess(self, scale: Octaves, pages: f32) -> f32 {
        let interval =
            if self.interval() == Self::NEVER { pages } else { scale.time(self.interval()) as f32 };
        1.0 / (interval + 2.0 * scale.survived(self) as f32)
    }
}

/// Times as octaves above a 4096th of a turnover, which counts as the next power of two.
#[derive(Clone, Copy, Debug)]
pub(super) struct Octaves {
    /// The binary logarithm of a turnover.
    turnover: u32,
}

impl Octaves {
    /// 15 octaves up to about four turnovers of `pages`.
    pub(super) fn new(pages: u32) -> Self {
        Self { turnover: u32::BITS - pages.saturating_sub(1).leading_zeros() }
    }

    /// The time of a level, at least 1.
    fn time(self, level: u8) -> u32 {
        let whole = (u32::from(level) + self.turnover).saturating_sub(12);
        1u32.checked_shl(whole).unwrap_or(u32::MAX)
    }

    /// The time that a page had survived when it was copied last.
    fn survived(self, state: State) -> u32 {
        match AGES[usize::from(state.low())] {
            0 => 0,
            age => self.time(age),
        }
    }

    /// Sixteenths of octaves above a 4096th of a turnover; negative below.
    fn exact(self, time: u32) -> i32 {
        sixteenths(time) - ((self.turnover as i32 - 12) << 4)
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

    fn of(interval: u8, is_measure: bool) -> State {
        State::of(interval, if is_measure { 0 } else { ONCE })
    }

    fn rewritten(state: State, lay: u32, tempo: Tempo) -> State {
        state.rewritten(lay, tempo, Octaves::new(4096)).0
    }

    #[test]
    fn a_page_settles_at_its_interval() {
        for (interval, level) in [(1, 0), (64, 6), (4096, 12), (u32::MAX, 14)] {
            for tempo in [Tempo::Steady, Tempo::Changing] {
                // Written long ago for the first time.
                let mut state = rewritten(State::NEW, 1 << 20, tempo);
                for _ in 0..20 {
                    state = rewritten(state, interval, tempo);
                }
                assert_eq!(state, of(level, true), "{interval} {tempo:?}");
            }
        }
    }

    #[test]
    fn a_page_that_changes_is_another_page() {
        let settled = of(6, true);
        for (last, next, shows) in [
            (1 << 1, of(3, true), false),
            (1, of(0, true), false),
            (1 << 11, of(8, true), false),
            (1 << 12, of(12, false), false),
            (1 << 13, of(13, false), true),
        ] {
            assert_eq!(settled.rewritten(last, Tempo::Changing, Octaves::new(4096)), (next, shows), "{last}");
        }
        // Time spent partly at the old rate does not count at the next rewrite, not even after a copy.
        let once = of(12, false);
        assert_eq!(rewritten(once, 1 << 6, Tempo::Changing), settled);
        let survivor = once.survived(1 << 11, Octaves::new(4096));
        assert_eq!(rewritten(survivor, 1 << 11, Tempo::Changing), of(12, true));
    }

    #[test]
    fn where_rates_are_steady_all_intervals_count() {
        let scale = Octaves::new(4096);
        assert_eq!(State::NEW.rewritten(1 << 9, Tempo::Steady, scale), (of(9, true), false));
        let settled = of(6, true);
        assert_eq!(settled.rewritten(1 << 10, Tempo::Steady, scale), (of(7, true), false));
        // A change is told, but believed only if others change too.
        assert_eq!(settled.rewritten(1 << 14, Tempo::Steady, scale), (of(8, true), true));
    }

    #[test]
    fn survivors_age_and_cool() {
        let scale = Octaves::new(4096);
        let fresh = of(5, true);
        let (mut survivor, mut guess) = (fresh, fresh.guess(scale, 4096.0));
        for _ in 0..10 {
            let before = survivor.low();
            survivor = survivor.survived(1 << 10, scale);
            assert!(survivor.low() >= before && survivor.interval() == 5);
            assert!(survivor.guess(scale, 4096.0) <= guess);
            guess = survivor.guess(scale, 4096.0);
        }
        // 1024 writes make it 1024 old, 1024 more 2048; to be 4096 old it would have to lie for 2048 at a stretch.
        assert_eq!(scale.survived(survivor), 2048);
        assert_eq!(scale.survived(survivor.survived(1 << 11, scale)), 4096);
    }

    #[test]
    fn every_byte_is_a_state() {
        let scale = Octaves::new(1);
        for byte in 0..=u8::MAX {
            let before = State(byte);
            for lay in [0, 1, u32::MAX] {
                let copied = before.survived(lay, scale);
                assert!(scale.survived(copied) > 0 && copied.interval() == before.interval());
                assert_eq!(copied.low() < ONCE, before.low() < ONCE);
                for tempo in [Tempo::Steady, Tempo::Changing] {
                    assert_eq!(scale.survived(before.rewritten(lay, tempo, scale).0), 0);
                }
            }
            let guess = State(byte).guess(scale, 1.0);
            assert!(guess > 0.0 && guess.is_finite());
        }
    }
}
