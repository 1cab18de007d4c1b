//! The valid ratios of a chain of groups, and its write amplification.
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "estimates; indices are brought into range"
)]

use alloc::{vec, vec::Vec};

/// Segments that a window must be longer than the time in all queues.
const MARGIN: f64 = 50.0;
/// Shares of the last group's mean interval below which its updates are hot ones.
const HOT: f64 = 0.7;

/// The store that groups are made for, in pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Segments without the cleaner's reserve.
    pub(super) segments: u32,
    /// Pages of a segment.
    pub(super) pages: f64,
    /// Live pages that are updated at all.
    pub(super) live: f64,
}

/// The group of hot pages in a division.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Hot {
    /// As measured, of so many segments.
    Measured { traffic: f64, valid: f64, segments: u32 },
    /// Pages with the shortest intervals, as many as make this size or the next possible one.
    Sought { segments: u32 },
    /// Pages with intervals below so many units.
    Below { units: usize },
}

/// The figures of a division: valid ratios of all groups after the hot one, and the write amplification.
#[derive(Clone, Debug, Default)]
pub(super) struct Forecast {
    pub(super) ratios: Vec<f64>,
    pub(super) waf: f64,
    /// The hot group's size, and the intervals that belong to it.
    pub(super) hot: u32,
    pub(super) units: usize,
}

/// The part of a chain before its first queue.
#[derive(Default)]
struct Head {
    /// Time in it, in segments that users write.
    time: f64,
    /// Updates that end in it.
    updates: f64,
    live: f64,
    traffic: f64,
    valid: f64,
    segments: u32,
    units: usize,
}

/// A window's updates by interval. Entry i of each sum is over all intervals before the i-th.
pub(super) struct Model {
    room: Room,
    /// An interval in pages, and in segments.
    unit: f64,
    width: f64,
    /// Updates; sums of them, up to and including each; and updates times intervals.
    updates: Vec<f64>,
    ended: Vec<f64>,
    moments: Vec<f64>,
    /// Updates and live pages in last groups so far, all and hot ones. They add up over all divisions that are tried, as
    /// in the authors' program.
    last: Mix,
}

#[derive(Clone, Copy, Default)]
struct Mix {
    updates: f64,
    hot_updates: f64,
    moments: f64,
    hot_moments: f64,
}

impl Model {
    /// A model of so many updates at each interval of `unit` pages.
    pub(super) fn new(room: Room, unit: u64, counts: &[u64]) -> Self {
        let sums = || vec![0.0; counts.len() + 1];
        let (mut updates, mut ended, mut moments) = (sums(), sums(), sums());
        let width = unit as f64 / room.pages;
        for (at, count) in counts.iter().enumerate() {
            let count = *count as f64;
            updates[at + 1] = updates[at] + count;
            ended[at + 1] = ended[at] + updates[at + 1];
            moments[at + 1] = moments[at] + count * at as f64 * width;
        }
        Self { room, unit: unit as f64, width, updates, ended, moments, last: Mix::default() }
    }

    pub(super) fn room(&self) -> &Room {
        &self.room
    }

    fn intervals(&self) -> usize {
        self.updates.len() - 1
    }

    fn total(&self) -> f64 {
        self.updates[self.intervals()]
    }

    /// The first interval that is not below so many segments.
    fn at(&self, time: f64) -> usize {
        (libm::ceil(time / self.width).max(0.0) as usize).min(self.intervals())
    }

    /// Pages that live at a time in a group that takes in `flow` of the user writes and holds them over these intervals,
    /// if `updates` are still to come where it begins.
    fn live(&self, from: usize, to: usize, updates: f64, flow: f64) -> f64 {
        let ended = self.ended[to] - self.ended[from] - (to - from) as f64 * self.updates[from];
        ((to - from) as f64 - ended / updates) * flow * self.unit
    }

    fn head(&self, hot: Hot) -> Option<Head> {
        match hot {
            Hot::Measured { traffic, valid, segments } => {
                let time = (f64::from(segments) - 0.5) / traffic;
                let units = self.at(time);
                let live = self.live(0, units, self.total(), traffic);
                Some(Head { time, updates: self.updates[units], live, traffic, valid, segments, units })
            }
            Hot::Sought { segments } => {
                let units = (1..=self.intervals()).find(|units| self.size(*units) >= segments)?;
                Some(Head { segments: self.size(units), ..self.below(units) })
            }
            Hot::Below { units } => {
                let units = units.min(self.intervals());
                let live = self.live(0, units, self.total(), 1.0);
                Some(Head { live, segments: self.size(units), ..self.below(units) })
            }
        }
    }

    fn below(&self, units: usize) -> Head {
        let updates = self.updates[units];
        let time = units as f64 * self.width;
        Head { time, updates, traffic: updates / self.total(), units, ..Head::default() }
    }

    /// Segments of a hot group for all intervals below so many.
    fn size(&self, units: usize) -> u32 {
        libm::floor(units as f64 * self.width * self.updates[units] / self.total() + 0.5) as u32
    }

    /// Its figures, for groups of these sizes after the hot one; the last gives way if the hot group is larger than was
    /// asked for. `None` if the window tells nothing about it.
    pub(super) fn forecast(&mut self, sizes: &mut [u32], hot: Hot) -> Option<Forecast> {
        let head = self.head(hot)?;
        let (last, queues) = sizes.split_last_mut()?;
        if let Hot::Sought { segments } = hot {
            *last = last.checked_sub(head.segments - segments)?;
        }
        let window = libm::floor(self.intervals() as f64 * self.width) - MARGIN;
        let mut flow = 1.0 - head.traffic + head.traffic * head.valid;
        let (mut past, mut live) = (head.time, head.live);
        let mut left = self.total() - head.updates;
        let mut ratios = Vec::with_capacity(queues.len() + 1);
        for size in queues.iter() {
            let time = (f64::from(*size) - 0.5) / flow;
            if libm::floor(time) + past >= window {
                return None;
            }
            let (from, to) = (self.at(past), self.at(past + time));
            live += self.live(from, to, left, flow);
            let ended = self.updates[to] - self.updates[from];
            let ratio = 1.0 - ended / left;
            ratios.push(ratio);
            left -= ended;
            past += time;
            flow *= ratio;
        }
        let room = f64::from(*last) * self.room.pages;
        ratios.push(self.last(past, room / (self.room.live - live))?);
        let waf = waf(&ratios, head.traffic, head.valid);
        let is_sound = self.room.live > live && ratios.iter().all(|ratio| *ratio > 0.0);
        is_sound.then_some(Forecast { ratios, waf, hot: head.segments, units: head.units })
    }

    /// The valid ratio of a last group with so many pages for each live one, where pages come at this age: that of greedy
    /// victims of hot and cold pages (Desnoyers).
    fn last(&mut self, age: f64, spare: f64) -> Option<f64> {
        let (from, end) = (self.at(age), self.intervals());
        let updates = self.updates[end] - self.updates[from];
        let moments = self.moments[end] - self.moments[from];
        // The first interval above is no hot one any more.
        let hot = libm::floor(HOT * moments / updates / self.width) as usize + 1;
        let hot = hot.clamp(from, end);
        self.last.updates += updates;
        self.last.moments += moments;
        self.last.hot_updates += self.updates[hot] - self.updates[from];
        self.last.hot_moments += self.moments[hot] - self.moments[from];
        let greedy = 1.0 + 0.5 / self.room.pages;
        let part = self.last.hot_updates / self.last.updates;
        let size = self.last.hot_moments / self.last.moments;
        let waf = mixed(greedy * spare, part, size)? / greedy;
        (waf > 1.0).then(|| 1.0 - 1.0 / waf)
    }
}

/// The write amplification of a log in which a part of the updates goes to a part of the pages, at so many pages of room
/// for each live one.
fn mixed(spare: f64, part: f64, pages: f64) -> Option<f64> {
    if spare.is_nan() || spare <= 1.0 || part.is_nan() || pages.is_nan() {
        return None;
    }
    let copies = |part: f64, pages: f64, waf: f64| match part > 0.0 {
        true => part / (libm::exp(part * spare / (pages * waf)) - 1.0),
        false => 0.0,
    };
    let is_below = |waf: f64| 1.0 + copies(part, pages, waf) + copies(1.0 - part, 1.0 - pages, waf) > waf;
    let (mut low, mut high) = (1.0, 2.0);
    while is_below(high) {
        (low, high) = (high, 2.0 * high);
        if high > 1e4 {
            return None;
        }
    }
    for _ in 0..24 {
        let waf = 0.5 * (low + high);
        if is_below(waf) { low = waf } else { high = waf }
    }
    Some(high)
}

/// The write amplification of a Markov chain: pages that users write go to the hot group or to the first after it, and
/// survivors one group down; those of the last group stay.
fn waf(ratios: &[f64], traffic: f64, valid: f64) -> f64 {
    let first = 1.0 - traffic + traffic * valid;
    let Some((last, queues)) = ratios.split_last() else { return 1.0 };
    if queues.is_empty() {
        // The authors count what users write to a lone group among its copies.
        return 1.0 + first / (1.0 - last) - valid;
    }
    let (mut flow, mut copies) = (first, traffic * valid);
    for ratio in &queues[..queues.len() - 1] {
        flow *= ratio;
        copies += flow;
    }
    flow *= queues[queues.len() - 1];
    1.0 + copies + flow / (1.0 - last)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room { segments: 110, pages: 100.0, live: 10_000.0 };

    /// All pages are updated at one rate, once in 10,000 user writes on average.
    fn uniform() -> Model {
        let ends = |at: u32| 1e6 * libm::exp(-f64::from(at) * 25.0 / 10_000.0);
        let counts: Vec<u64> = (0..4000).map(|at| (ends(at) - ends(at + 1)) as u64).collect();
        Model::new(ROOM, 25, &counts)
    }

    #[test]
    fn one_group_of_like_pages_is_as_the_closed_form_of_fifo_says() {
        for spare in [1.1, 1.3, 1.8] {
            let want = crate::theory::fifo(spare);
            for part in [0.5, 0.0, 0.2] {
                let waf = mixed(spare, part, part).unwrap();
                assert!((waf / want - 1.0).abs() < 0.001, "{waf} {want}");
            }
        }
        assert!(
            mixed(1.0, 0.5, 0.5).is_none() && mixed(1.1, 0.9, 0.1).unwrap() > mixed(1.1, 0.5, 0.5).unwrap()
        );
    }

    #[test]
    fn a_queue_of_like_pages_keeps_those_that_live_longer() {
        let mut model = uniform();
        let mut sizes = [40, 68];
        let hot = Hot::Measured { traffic: 1e-6, valid: 0.0, segments: 1 };
        // A hot group of hardly any traffic would hold its pages for ever.
        assert!(model.forecast(&mut sizes, hot).is_none());
        let found = model.forecast(&mut sizes, Hot::Below { units: 4 }).unwrap();
        assert!((found.ratios[0] - libm::exp(-3950.0 / 9900.0)).abs() < 0.01, "{found:?}");
        assert!(found.waf > 1.0 && found.hot == 0);
    }

    #[test]
    fn a_chain_adds_up_what_is_passed_on() {
        assert!((waf(&[0.5, 0.6, 0.75], 0.2, 0.5) - (1.0 + 0.1 + 0.45 + 0.45 * 0.6 / 0.25)).abs() < 1e-12);
        assert!((waf(&[0.75], 0.2, 0.0) - (1.0 + 0.8 / 0.25)).abs() < 1e-12);
    }

    #[test]
    fn the_hot_group_takes_its_room_from_the_last() {
        let mut model = uniform();
        let mut sizes = [20, 87];
        let found = model.forecast(&mut sizes, Hot::Sought { segments: 3 }).unwrap();
        assert_eq!((found.hot, sizes), (3, [20, 87]));
        // A quarter of a segment each, and about a 400th of the updates.
        assert!((60..70).contains(&found.units), "{found:?}");
    }
}
