//! A log for each update frequency.

use alloc::{vec, vec::Vec};

use super::{Class, Cleaned, MAX_CLASSES, Old, Placement};

/// Multi-log (Stoica and Ailamaki, VLDB 2013): pages of like update frequency share a log.
///
/// The update interval of a page is the mean of its last one and the mean before, or the time since its last write if
/// that is longer. Logs are a factor of 2.8 (one and a half octaves) apart in interval, the last but one holding
/// intervals about one turnover. The paper moves a page between logs by comparing their mean frequencies, which ends
/// where fixed steps begin. 8 bytes a page.
#[derive(Clone, Debug)]
pub struct MultiLog {
    logs: u8,
    turnover: u32,
    pages: Vec<Page>,
}

#[derive(Clone, Copy, Debug)]
struct Page {
    interval: u32,
    written: u32,
}

impl MultiLog {
    /// A rule with `logs` logs, 2 to 16 (others count as the nearest), for the pages 0 to `pages - 1`.
    pub fn new(logs: u8, pages: u32) -> Self {
        let page = Page { interval: pages.saturating_mul(2), written: 0 };
        let logs = logs.clamp(2, MAX_CLASSES);
        Self { logs, turnover: pages.max(1), pages: vec![page; pages as usize] }
    }

    fn log(&self, now: u32, page: u32) -> Class {
        let coldest = self.logs - 1;
        let Some(page) = self.pages.get(page as usize) else { return Class(coldest) };
        let interval = page.interval.max(now.wrapping_sub(page.written)).max(1);
        // Half octaves above the turnover.
        let halves = half_octaves(interval) - half_octaves(self.turnover);
        let log = i32::from(coldest) + (halves - 1).div_euclid(3);
        Class(u8::try_from(log.max(0)).unwrap_or(coldest).min(coldest))
    }
}

/// Twice the binary logarithm, rounded down.
fn half_octaves(x: u32) -> i32 {
    let square = u64::from(x) * u64::from(x);
    square.checked_ilog2().and_then(|log| i32::try_from(log).ok()).unwrap_or(0)
}

impl Placement for MultiLog {
    fn classes(&self) -> u8 {
        self.logs
    }

    fn user_write(&mut self, now: u32, page: u32, old: Option<Old>) -> Class {
        if let Some(slot) = self.pages.get_mut(page as usize) {
            if old.is_some() {
                slot.interval = slot.interval.midpoint(now.wrapping_sub(slot.written));
            }
            slot.written = now;
        }
        self.log(now, page)
    }

    fn cleaner_copy(&mut self, now: u32, page: u32, _from: &Cleaned) -> Class {
        self.log(now, page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_sorted_by_interval() {
        let mut rule = MultiLog::new(4, 1000);
        let mut last = [0; 3];
        let old = Some(Old { class: Class(0), age: 1 });
        for now in 1..40_000 {
            for (page, every) in [(0, 20), (1, 300), (2, 3000)] {
                if now % every == 0 {
                    last[page] = rule.user_write(now, u32::try_from(page).unwrap(), old).0;
                }
            }
        }
        assert_eq!(last, [0, 1, 3]);
        // A page that was not written for long is cold, whatever it was.
        assert_eq!(rule.cleaner_copy(80_000, 0, &Cleaned::default()), Class(3));
    }
}
