//! How far the patrol is, when it goes on, and what it has put right so far: what a checkpoint tells of it.

/// Seconds in which a pass is over if nothing else is asked for: a week.
const PERIOD_S: u64 = 7 * 24 * 3600;

/// What a checkpoint tells of the patrol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Rounds {
    /// When this pass began, in seconds since 1970.
    pub(crate) began: i64,
    /// Log page at which it goes on; the chip's end if it is over.
    pub(crate) page: u32,
    /// Passes that were ended.
    pub(crate) passes: u32,
    /// Erase blocks moved because of decay or reads.
    pub(crate) moved_blocks: u32,
    /// Wrong bits put right: of each read those of the worst codeword.
    pub(crate) corrected_bits: u64,
    /// Log pages that parity brought back, each time that they were read.
    pub(crate) rebuilt_pages: u32,
}

/// The patrol of a mounted volume.
#[derive(Debug)]
pub(crate) struct Patrol {
    rounds: Rounds,
    period_s: u64,
    /// The place that the newest checkpoint tells.
    saved: u32,
    /// Of the bits that the medium has put right, those that are counted.
    counted_bits: u64,
    /// Likewise of the pages that parity brought back.
    counted_pages: u64,
}

impl Patrol {
    /// Goes on where a checkpoint says.
    pub(crate) fn resume(rounds: Rounds) -> Patrol {
        Patrol { saved: rounds.page, rounds, period_s: PERIOD_S, counted_bits: 0, counted_pages: 0 }
    }

    /// What a checkpoint made now tells.
    pub(crate) fn rounds(&self) -> Rounds {
        self.rounds
    }

    /// A checkpoint was made.
    pub(crate) fn save(&mut self) {
        self.saved = self.rounds.page;
    }

    /// A pass is to take so many seconds; with 0 there is none by itself.
    pub(crate) fn set_period(&mut self, seconds: u64) {
        self.period_s = seconds;
    }

    /// Pages read since the place that the newest checkpoint tells.
    pub(crate) fn unsaved_pages(&self) -> u32 {
        self.rounds.page.abs_diff(self.saved)
    }

    /// The pass goes on at this page.
    pub(crate) fn move_to(&mut self, page: u32) {
        self.rounds.page = page;
    }

    /// The pass is over.
    pub(crate) fn end_pass(&mut self) {
        self.rounds.passes = self.rounds.passes.wrapping_add(1);
    }

    /// A block was moved because of decay or reads.
    pub(crate) fn count_moved(&mut self) {
        self.rounds.moved_blocks = self.rounds.moved_blocks.saturating_add(1);
    }

    /// The medium has put so many bits right since the mount.
    pub(crate) fn count_bits(&mut self, bits: u64) {
        self.rounds.corrected_bits = self.rounds.corrected_bits.saturating_add(bits - self.counted_bits);
        self.counted_bits = bits;
    }

    /// Parity has brought back so many pages since the mount.
    pub(crate) fn count_rebuilt(&mut self, pages: u64) {
        // Beyond what the record has room for it stays at that.
        let new = u32::try_from(pages - self.counted_pages).unwrap_or(u32::MAX);
        self.rounds.rebuilt_pages = self.rounds.rebuilt_pages.saturating_add(new);
        self.counted_pages = pages;
    }

    /// A new pass begins.
    pub(crate) fn begin(&mut self, now: i64) {
        (self.rounds.began, self.rounds.page) = (now, 0);
    }

    /// True if pages should be read now; `pages` are those of the chip. Begins a new pass when it is time.
    pub(crate) fn is_due(&mut self, now: i64, pages: u32) -> bool {
        if self.period_s == 0 {
            return false;
        }
        if now < self.rounds.began {
            // A clock that was put back must not stop it for long.
            self.rounds.began = now;
        }
        let elapsed = self.rounds.began.abs_diff(now);
        if self.rounds.page >= pages && elapsed >= self.period_s {
            self.begin(now);
            return false;
        }
        let wanted = u128::from(pages) * u128::from(elapsed) / u128::from(self.period_s);
        self.rounds.page < pages && u128::from(self.rounds.page) < wanted
    }
}
