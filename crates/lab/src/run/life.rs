//! The life of a store: its segments at moments of a run.

use pumice_cleaning::SegmentView;

/// Moments of a life.
const MOMENTS: u64 = 120;

/// A store's segments over a run.
#[derive(Clone, Debug, Default)]
pub struct Life {
    /// The workload and the rules.
    pub title: String,
    /// User writes in all.
    pub writes: u64,
    /// User writes from one moment to the next.
    pub every: u64,
    /// The moments.
    pub moments: Vec<Vec<Seen>>,
}

/// A segment at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// The head that writes it or wrote it; none if it is free.
    pub class: Option<u8>,
    /// Its live part.
    pub live: f64,
    /// True if it is cleaned before the next moment.
    pub is_victim: bool,
}

/// A life as it is watched.
#[derive(Clone, Debug)]
pub(super) struct Watched {
    life: Life,
    /// The erases of each segment at the last moment.
    erases: Vec<u32>,
}

impl Watched {
    /// A life of so many writes.
    pub(super) fn new(title: String, writes: u64) -> Watched {
        let life = Life { title, every: (writes / MOMENTS).max(1), ..Life::default() };
        Watched { life, erases: Vec::new() }
    }

    /// Called after each write.
    pub(super) fn wrote(&mut self, segments: impl Iterator<Item = (SegmentView, u32)>) {
        if self.life.writes.is_multiple_of(self.life.every) {
            self.look(segments);
        }
        self.life.writes += 1;
    }

    fn look(&mut self, segments: impl Iterator<Item = (SegmentView, u32)>) {
        let (mut seen, mut erases) = (Vec::new(), Vec::new());
        for (view, used) in segments {
            let live = f64::from(view.valid) / f64::from(view.capacity.max(1));
            seen.push(Seen { class: (used > 0).then_some(view.class.0), live, is_victim: false });
            erases.push(view.erases);
        }
        if let Some(last) = self.life.moments.last_mut() {
            for (seen, (before, now)) in last.iter_mut().zip(self.erases.iter().zip(&erases)) {
                seen.is_victim = before != now;
            }
        }
        self.life.moments.push(seen);
        self.erases = erases;
    }

    pub(super) fn life(self) -> Life {
        self.life
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn victims_are_marked_where_they_were_chosen() {
        let mut watched = Watched::new(String::new(), 240);
        let view = |valid, erases| SegmentView { valid, capacity: 4, erases, ..Default::default() };
        for write in 0..6 {
            let segments =
                [(view(3, 0), 4), (view(2, u32::from(write >= 3)), if write == 5 { 0 } else { 4 })];
            watched.wrote(segments.into_iter());
        }
        let life = watched.life();
        assert_eq!((life.every, life.moments.len()), (2, 3));
        let victims: Vec<bool> = life.moments.iter().map(|moment| moment[1].is_victim).collect();
        assert_eq!(victims, [false, true, false]);
        assert!(
            life.moments
                .iter()
                .all(|moment| moment[0] == Seen { class: Some(0), live: 0.75, is_victim: false })
        );
    }
}
