//! Sizes of groups that copy least.
#![expect(clippy::cast_precision_loss, reason = "estimates")]

use alloc::vec::Vec;

use super::{MAX_CLASSES, lives::Survival};

/// Groups before the last that are tried.
const GROUPS: usize = 7;
/// Passes through the last group that are summed one by one; later ones are integrated.
const PASSES: u8 = 8;
/// Rounds in which all sizes are changed.
const ROUNDS: usize = 2;

const _: () = assert!(GROUPS < MAX_CLASSES as usize);

struct Model<'a> {
    survival: &'a Survival,
    /// Pages of all segments but the cleaner's reserve.
    room: f32,
    /// Pages of a segment.
    segment: f32,
}

/// The sizes in segments of all groups but the last, for a store of `room` pages in segments of `segment` pages; `None`
/// if there seems to be no room for live data.
pub(super) fn sizes(survival: &Survival, room: u64, segment: u32) -> Option<Vec<u32>> {
    let segment = segment.max(1);
    let segments = u32::try_from(room / u64::from(segment)).unwrap_or(u32::MAX);
    let room = segments.saturating_sub(1) as f32 * segment as f32;
    let model = Model { survival, room, segment: segment as f32 };
    let tried = tried(segments);
    let mut sizes = Vec::new();
    let mut best = (model.copies(&sizes), sizes.clone());
    for _ in 0..GROUPS {
        sizes.push(0);
        model.change(&mut sizes, &tried);
        let copies = model.copies(&sizes);
        if copies < best.0 {
            best = (copies, sizes.clone());
        }
    }
    let (copies, mut sizes) = best;
    (0..ROUNDS).for_each(|_| model.change(&mut sizes, &tried));
    copies.is_finite().then_some(sizes)
}

/// Sizes worth trying: all small ones, then eight to an octave.
fn tried(segments: u32) -> Vec<u32> {
    core::iter::successors(Some(1), |size| Some(size + (size / 8).max(1)))
        .take_while(|size| *size < segments)
        .collect()
}

impl Model<'_> {
    /// Gives each group the best size that the others leave.
    fn change(&self, sizes: &mut [u32], tried: &[u32]) {
        for at in 0..sizes.len() {
            let mut best = (f32::INFINITY, sizes[at].max(1));
            for &size in tried {
                sizes[at] = size;
                let copies = self.copies(sizes);
                if copies < best.0 {
                    best = (copies, size);
                }
            }
            sizes[at] = best.1;
        }
    }

    /// Copies for each user write; infinite where there is no room.
    fn copies(&self, sizes: &[u32]) -> f32 {
        let (mut age, mut copies, mut room) = (0.0, 0.0, self.room);
        for &size in sizes {
            // The open segment is half empty.
            let pages = (size as f32 - 0.5) * self.segment;
            age += pages / self.survival.alive(age);
            copies += self.survival.alive(age);
            room -= size as f32 * self.segment;
        }
        copies + self.last(age, room - 0.5 * self.segment)
    }

    /// Copies of a last group of `room` pages to which pages come at `age`: each time its room is used up, the
    /// survivors take room again.
    fn last(&self, age: f32, room: f32) -> f32 {
        let comes = self.survival.alive(age);
        if room <= self.survival.older(age) {
            return f32::INFINITY;
        }
        let (mut low, mut high) = (0.0, room / comes);
        for _ in 0..24 {
            let time = 0.5 * (low + high);
            let passes: f32 = (0..PASSES).map(|pass| self.survival.alive(age + f32::from(pass) * time)).sum();
            let rest = self.survival.older(age + (f32::from(PASSES) - 0.5) * time);
            if passes * time + rest < room { low = time } else { high = time }
        }
        room / high - comes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All pages die at one rate, as under uniform writes.
    fn uniform(live: f32) -> Survival {
        Survival::new(&[], &[], &[], 1.0, live)
    }

    #[test]
    fn one_group_of_like_pages_copies_as_the_closed_form_of_fifo_says() {
        for alpha in [1.1, 1.3, 1.8] {
            let survival = uniform(100_000.0);
            let model = Model { survival: &survival, room: 100_000.0 * alpha, segment: 1.0 };
            let want = crate::theory::fifo(f64::from(alpha)) - 1.0;
            let copies = f64::from(model.copies(&[]));
            assert!((copies / want - 1.0).abs() < 0.01, "{alpha}: {copies} {want}");
        }
    }

    #[test]
    fn like_pages_need_no_groups_and_hot_ones_do() {
        let none = sizes(&uniform(1000.0 * 32.0), 1150 * 32, 32).unwrap();
        let survival = uniform(1000.0 * 32.0);
        let model = Model { survival: &survival, room: 1149.0 * 32.0, segment: 32.0 };
        assert!(model.copies(&none) >= model.copies(&[]) * 0.98);
        // Nine writes in ten to pages that die a hundred times as soon.
        let ends = [300.0, 600.0, 1200.0, 2400.0, 4800.0, 9600.0];
        let alive = |age: f32| 0.9 * f32::exp(-age / 1000.0) + 0.1 * f32::exp(-age / 100_000.0);
        let deaths: Vec<f32> = (0..6)
            .map(|at| libm::logf(alive(if at == 0 { 0.0 } else { ends[at - 1] }) / alive(ends[at])))
            .collect();
        let exposure: Vec<f32> =
            (0..6).map(|at| ends[at] - if at == 0 { 0.0 } else { ends[at - 1] }).collect();
        let skewed = Survival::new(&ends, &deaths, &exposure, 1.0, 10_900.0);
        let model = Model { survival: &skewed, room: 12_000.0, segment: 32.0 };
        let found = sizes(&skewed, 12_032, 32).unwrap();
        assert!(!found.is_empty());
        assert!(
            model.copies(&found) < 0.8 * model.copies(&[]),
            "{} {}",
            model.copies(&found),
            model.copies(&[])
        );
    }

    #[test]
    fn what_does_not_fit_has_no_sizes() {
        assert_eq!(sizes(&uniform(33.0 * 32.0), 33 * 32, 32), None);
    }
}
