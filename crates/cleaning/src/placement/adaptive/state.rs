//! What is known of a page, in one byte.

/// The history of a page: four bits for its rewrite interval, four for how long it has survived since.
///
/// Both are in octaves above the grain (see [`Octaves`]). The interval is a mean of the logarithms of past intervals
/// that halves the weight of each older one; it is [`NEVER`](Self::NEVER) before the first rewrite. The age is 0 for a
/// page that a user wrote last and counts from 1 for one that the cleaner copied; 15 marks a page that was rewritten
/// once only, whose interval reaches back to its first write and counts for nothing at the next rewrite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State(pub(super) u8);

/// The age of a page that was rewritten once.
const ONCE: u8 = 15;
/// The oldest age of a survivor.
const OLDEST: u8 = 14;
/// The longest interval.
const LONGEST: u8 = 14;

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
    pub(super) fn rewritten(self, lay: u32, scale: &mut Octaves) -> Self {
        let age = self.age().map_or(0, |age| scale.time(age)).saturating_add(lay);
        match self.interval() {
            None => Self::of(scale.round(scale.exact(age)).min(LONGEST), ONCE),
            Some(_) if self.is_once() => Self::of(scale.round(scale.exact(age)).min(LONGEST), 0),
            Some(mean) => {
                let mixed = i32::midpoint(i32::from(mean) << 4, scale.exact(age).max(0));
                Self::of(scale.round(mixed).min(LONGEST), 0)
            }
        }
    }

    /// The cleaner copied the page `lay` after its copy was laid down.
    pub(super) fn survived(self, lay: u32, scale: &mut Octaves) -> Self {
        let before = self.age().map_or(0, |age| scale.time(age));
        let age = scale.round(scale.exact(before.saturating_add(lay))).min(OLDEST - 1);
        Self::of(self.0 >> 4, age.max(self.age().unwrap_or(0)) + 1)
    }

    /// A first guess at the rewrites of the page per user write, of a store of `pages`.
    pub(super) fn guess(self, scale: &Octaves, pages: f32) -> f32 {
        let time = |level| scale.time(level) as f32;
        let age = self.age().map_or(0.0, time);
        match self.interval() {
            None => 1.0 / (pages + 2.0 * age),
            Some(interval) => 1.0 / (time(interval) + 2.0 * age),
        }
    }
}

/// Times as octaves above the grain, rounded at random so that means come out right.
#[derive(Clone, Debug)]
pub(super) struct Octaves {
    grain: u32,
    random: u32,
}

impl Octaves {
    /// 15 octaves from a 4096th of a turnover of `pages` to four turnovers.
    pub(super) fn new(pages: u32) -> Self {
        Self { grain: (pages >> 12).max(1), random: 1 }
    }

    /// The time of a level.
    fn time(&self, level: u8) -> u32 {
        self.grain.saturating_mul(1 << level)
    }

    /// Sixteenths of octaves above the grain, linear between octaves.
    fn exact(&self, time: u32) -> i32 {
        let log = |x: u32| {
            let whole = x.max(1).ilog2();
            let fraction = (u64::from(x.max(1)) << 4 >> whole) as i32 & 15;
            (whole as i32) << 4 | fraction
        };
        log(time) - log(self.grain)
    }

    fn round(&mut self, sixteenths: i32) -> u8 {
        self.random = self.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let draw = (self.random >> 28) as i32;
        ((sixteenths + draw) >> 4).clamp(0, 15) as u8
    }
}
