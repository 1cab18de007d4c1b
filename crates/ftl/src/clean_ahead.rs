//! Cleaning ahead of the next burst, in idle time.

use crate::error::Result;
use crate::server::Server;
use crate::status::Mode;

/// The share of its blocks that a victim of idle time has to win, so that each block won costs three copies at the most.
/// Others may be emptier by the time they are needed.
const WON_SHARE: u32 = 4;

impl Server<'_> {
    /// Cleans ahead of the next burst, in idle time: in steps of one segment, until enough are free or nothing is to be won.
    /// True if more is left. A disk without changes since its start is left as it is.
    pub(crate) fn clean_ahead(&mut self) -> Result<bool> {
        self.log
            .cleaner
            .idle
            .note_changes(self.log.status.counters.user_writes + self.log.status.counters.trimmed);
        if self.log.status.mode() != Mode::Dirty || self.log.cleaner.idle.is_done() {
            return Ok(false);
        }
        let is_left = self.step_ahead()?;
        if !is_left {
            self.log.cleaner.idle.end();
        }
        Ok(is_left)
    }

    /// The step: a segment is cleaned, or those that wait are let go; false if there is nothing to do.
    fn step_ahead(&mut self) -> Result<bool> {
        let stock = self.idle_stock();
        let (free, held) = (self.log.policies.wear.free(), self.log.waiting.held());
        if free >= stock {
            return Ok(false);
        }
        let is_short = (free as usize + held) < stock as usize;
        // However little a commit leaves of it.
        let is_allowed = self.log.cleaner.idle.cleaned() < WON_SHARE * stock;
        if is_short && is_allowed {
            self.head_for_user(0)?;
            if self.clean_if_won(self.log.shape.capacity().div_ceil(WON_SHARE))? {
                self.log.cleaner.idle.count();
                self.after_change()?;
                return Ok(true);
            }
        }
        if held == 0 {
            return Ok(false);
        }
        self.commit()?;
        if self.log.waiting.held() > 0 && self.has_room_for_checkpoint() {
            self.checkpoint()?;
        }
        self.after_change()?;
        Ok(is_allowed && self.log.waiting.held() == 0)
    }

    /// Cleans one segment if so many blocks can be won; false if not.
    fn clean_if_won(&mut self, least: u32) -> Result<bool> {
        let (now, capacity) = (self.log.clock, self.log.shape.capacity());
        let Some(victim) = self.log.policies.selector.take(now) else { return Ok(false) };
        let segment = self.log.segments.get(victim);
        if capacity.saturating_sub(segment.valid) >= least {
            self.clean_victim(victim)?;
            return Ok(true);
        }
        self.log.policies.selector.sealed(victim, &segment.view(capacity, now), now);
        Ok(false)
    }
}
