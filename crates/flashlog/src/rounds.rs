//! The patrol's place, its pace and the repairs it made, as a checkpoint records them.

/// Seconds in which a pass is over if nothing else is asked for: a week.
const PERIOD_S: u64 = 7 * 24 * 3600;

/// The share of a pass, one in so many, after which a checkpoint is made for the place alone.
const SAVES: u32 = 16;

/// The patrol's state in a checkpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rounds {
    /// The start of this pass, in seconds since 1970.
    pub began: i64,
    /// The next log page; the chip's end if the pass is over.
    pub page: u32,
    /// Passes that were ended.
    pub passes: u32,
    /// Erase blocks moved because of decay or reads.
    pub moved_blocks: u32,
    /// Wrong bits put right, counted by the worst codeword of each read.
    pub corrected_bits: u64,
    /// Log pages that parity brought back, counted at each read.
    pub rebuilt_pages: u32,
}

/// The patrol of a volume that is in use.
#[derive(Clone, Debug)]
pub struct Patrol {
    rounds: Rounds,
    period_s: u64,
    /// The place in the newest checkpoint.
    saved: u32,
    /// Something was noted since.
    is_noted: bool,
    /// The medium's corrected bits that `rounds` already counts.
    counted_bits: u64,
    /// The rebuilt pages that `rounds` already counts.
    counted_pages: u64,
}

impl Patrol {
    /// The patrol as a checkpoint left it.
    pub fn resume(rounds: Rounds) -> Patrol {
        Patrol {
            saved: rounds.page,
            is_noted: false,
            rounds,
            period_s: PERIOD_S,
            counted_bits: 0,
            counted_pages: 0,
        }
    }

    /// The state for a checkpoint made now.
    pub fn rounds(&self) -> Rounds {
        self.rounds
    }

    /// A checkpoint was made.
    pub fn save(&mut self) {
        (self.saved, self.is_noted) = (self.rounds.page, false);
    }

    /// Notes that a block's line has news for the next checkpoint.
    pub fn note(&mut self) {
        self.is_noted = true;
    }

    /// True if the newest checkpoint has another place, or lacks something noted.
    pub fn has_news(&self) -> bool {
        self.is_noted || self.unsaved_pages() > 0
    }

    /// Sets the seconds that a pass is to take; with 0 there is none by itself.
    pub fn set_period(&mut self, seconds: u64) {
        self.period_s = seconds;
    }

    /// Pages read since the place that the newest checkpoint tells.
    pub fn unsaved_pages(&self) -> u32 {
        self.rounds.page.abs_diff(self.saved)
    }

    /// True if a checkpoint should tell the place: a sixteenth of a pass was read since the last one, or the pass is over, of
    /// `pages` of the chip.
    pub fn is_save_due(&self, pages: u32) -> bool {
        let unsaved = self.unsaved_pages();
        unsaved >= pages / SAVES || (self.rounds.page >= pages && unsaved > 0)
    }

    /// The pass goes on at this page.
    pub fn move_to(&mut self, page: u32) {
        self.rounds.page = page;
    }

    /// The pass is over.
    pub fn end_pass(&mut self) {
        self.rounds.passes = self.rounds.passes.wrapping_add(1);
    }

    /// A block was moved because of decay or reads.
    pub fn count_moved(&mut self) {
        self.rounds.moved_blocks = self.rounds.moved_blocks.saturating_add(1);
    }

    /// The medium has put so many bits right since the mount.
    pub fn count_bits(&mut self, bits: u64) {
        self.rounds.corrected_bits = self.rounds.corrected_bits.saturating_add(bits - self.counted_bits);
        self.counted_bits = bits;
    }

    /// Parity has brought back so many pages since the mount.
    pub fn count_rebuilt(&mut self, pages: u64) {
        // A count at the record's limit stays there.
        let new = u32::try_from(pages - self.counted_pages).unwrap_or(u32::MAX);
        self.rounds.rebuilt_pages = self.rounds.rebuilt_pages.saturating_add(new);
        self.counted_pages = pages;
    }

    /// A new pass begins.
    pub fn begin(&mut self, now: i64) {
        (self.rounds.began, self.rounds.page) = (now, 0);
    }

    /// True if pages should be read now; `pages` are those of the chip. Begins a new pass when it is time.
    pub fn is_due(&mut self, now: i64, pages: u32) -> bool {
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
