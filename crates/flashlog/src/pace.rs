//! Pacing: the share of a victim that moves with each write of a user, so that no call waits for a whole erase block.

/// The most that moves beside a write, as a multiple of it, if there is no haste.
const MOST: u32 = 16;

/// The debt of a victim that is being emptied. What it wins pays for what has to move out of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    live: u64,
    won: u64,
    /// Written by users since, times `live`, less what was due, times `won`.
    credit: u64,
}

impl Pace {
    /// The pace of a victim with so much live of its capacity, in any unit.
    pub fn new(live: u32, capacity: u32) -> Pace {
        let won = capacity.saturating_sub(live).max(capacity.div_ceil(MOST)).max(1);
        Pace { live: live.into(), won: won.into(), credit: 0 }
    }

    /// The share to move beside a write of `written`: the victim is empty when users have filled what it wins. In haste
    /// it is twice that.
    pub fn due(&mut self, written: u32, in_haste: bool) -> u32 {
        let share = u64::from(written) * self.live;
        self.credit += if in_haste { 2 * share } else { share };
        let due = self.credit / self.won;
        self.credit %= self.won;
        u32::try_from(due).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_victim_is_empty_when_what_it_wins_is_filled() {
        for (live, capacity) in [(0, 64), (1, 64), (48, 64), (60, 64), (700, 3072), (2880, 3072)] {
            let mut pace = Pace::new(live, capacity);
            let most = live.div_ceil(capacity - live);
            let mut moved = 0;
            for _ in 0..capacity - live {
                let due = pace.due(1, false);
                assert!(due <= most, "{due} of {most} at once");
                moved += due;
            }
            assert_eq!(moved, live, "of {capacity}");
        }
    }

    #[test]
    fn a_victim_that_wins_nothing_moves_slowly() {
        for (live, capacity) in [(64, 64), (3072, 3072), (3071, 3072), (3, 3)] {
            assert!(Pace::new(live, capacity).due(1, false) <= MOST);
        }
    }

    #[test]
    fn haste_moves_twice_as_much() {
        assert_eq!(Pace::new(48, 64).due(8, true), 48);
        assert_eq!(Pace::new(48, 64).due(8, false), 24);
    }
}
