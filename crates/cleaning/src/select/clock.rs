//! The write clock without its wraps.

/// Follows the 32-bit write clock in 64 bits; it starts far enough from 0 that any age can be taken off.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    time: u64,
    seen: Option<u32>,
}

impl Default for Clock {
    fn default() -> Self {
        Self { time: 1 << 32, seen: None }
    }
}

impl Clock {
    /// The write clock stands at `now`.
    pub(super) fn advance(&mut self, now: u32) {
        self.time += u64::from(now.wrapping_sub(self.seen.unwrap_or(now)));
        self.seen = Some(now);
    }

    pub(super) fn time(&self) -> u64 {
        self.time
    }

    /// The time `age` ago.
    pub(super) fn since(&self, age: u32) -> u64 {
        self.time.saturating_sub(age.into())
    }

    /// The time since `time`.
    pub(super) fn age(&self, time: u64) -> u32 {
        u32::try_from(self.time.saturating_sub(time)).unwrap_or(u32::MAX)
    }
}
