//! The division into groups that is expected to write least.

use alloc::{vec, vec::Vec};

use super::{
    hot::Measured,
    model::{Forecast, Hot, Model},
};

/// Groups after the hot one at most.
const GROUPS: usize = 9;
/// Sizes of the hot group that are tried.
const HOT_SIZES: core::ops::Range<u32> = 1..30;
/// Segments that the last group keeps.
const LEAST_LAST: u32 = 50;
/// Rounds in which all sizes are changed.
const ROUNDS: usize = 4;
/// A larger hot group has to save as much.
const WORTH: f64 = 0.05;
/// The hot group is as it was measured if it keeps more than this, or takes in less than that.
const VALID: f64 = 0.1;
const TRAFFIC: f64 = 0.15;
/// A write amplification that is not believed.
const ABSURD: f64 = 100.0;

/// A division into groups.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Division {
    /// Segments of each group, open ones included, the hot one first and the last one last.
    pub(super) sizes: Vec<u32>,
    /// The expected valid ratios of the same groups.
    pub(super) ratios: Vec<f64>,
    pub(super) waf: f64,
}

/// A chain without its hot group.
#[derive(Clone, Debug, Default)]
struct Chain {
    sizes: Vec<u32>,
    found: Forecast,
}

struct Search {
    model: Model,
    hot: Hot,
    /// Segments of the hot group.
    segments: u32,
}

/// The best division into two groups or more besides the hot one; `None` if there is none, or nothing can be said.
pub(super) fn division(model: Model, measured: Measured) -> Option<Division> {
    let mut search = Search { model, hot: Hot::Sought { segments: 0 }, segments: 0 };
    let first = match measured.valid > VALID || measured.traffic < TRAFFIC {
        true => search.measured(measured)?,
        false => search.sought(),
    };
    let mut best = search.grown(first);
    for _ in 0..ROUNDS {
        search.resize_hot(&mut best);
        search.resize(&mut best);
    }
    let Chain { mut sizes, found: Forecast { mut ratios, waf, .. } } = best;
    sizes.insert(0, search.segments);
    ratios.insert(0, 0.0);
    (sizes.len() > 2 && waf < ABSURD).then_some(Division { sizes, ratios, waf })
}

impl Search {
    /// One group beside the measured hot one.
    fn measured(&mut self, Measured { traffic, valid, segments }: Measured) -> Option<Chain> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of segments")]
        let segments = libm::floor(segments + 1.5) as u32;
        self.hot = Hot::Measured { traffic, valid, segments };
        self.segments = segments;
        let mut sizes = vec![self.model.room().segments.checked_sub(segments)?];
        let found = self.model.forecast(&mut sizes, self.hot)?;
        (found.waf <= ABSURD).then_some(Chain { sizes, found })
    }

    /// One group beside the hot one that pays.
    fn sought(&mut self) -> Chain {
        let all = self.model.room().segments;
        let mut best =
            Chain { sizes: vec![all], found: Forecast { waf: f64::INFINITY, ..Forecast::default() } };
        let mut reached = 0;
        for segments in HOT_SIZES {
            if segments <= reached {
                continue;
            }
            let mut sizes = vec![all.saturating_sub(segments)];
            let Some(found) = self.model.forecast(&mut sizes, Hot::Sought { segments }) else { break };
            reached = found.hot;
            if found.waf >= best.found.waf - WORTH {
                break;
            }
            (self.segments, self.hot) = (reached, Hot::Below { units: found.units });
            best = Chain { sizes, found };
        }
        best
    }

    /// Splits queue after queue off the last group, each of the best size, and takes the best chain.
    fn grown(&mut self, first: Chain) -> Chain {
        let mut room = first.sizes[0].saturating_sub(LEAST_LAST);
        let mut best = first.clone();
        let mut chain = first;
        for at in 0..GROUPS - 1 {
            let mut sizes = chain.sizes.clone();
            sizes.insert(at, 0);
            let Some(longer) = self.best_size(&sizes, at, room, f64::INFINITY) else { break };
            chain = longer;
            room = room.saturating_sub(chain.sizes[at]);
            if chain.found.waf < best.found.waf {
                best = chain.clone();
            }
        }
        best
    }

    /// The best size of one queue below `room`, taken from the last group.
    fn best_size(&mut self, sizes: &[u32], at: usize, room: u32, below: f64) -> Option<Chain> {
        let mut best: Option<Chain> = None;
        for size in sizes_below(room) {
            let mut sizes = sizes.to_vec();
            sizes[at] = size;
            let last = sizes.last_mut()?;
            *last = last.checked_sub(size)?;
            if let Some(found) = self.model.forecast(&mut sizes, self.hot)
                && found.waf < best.as_ref().map_or(below, |best| best.found.waf)
            {
                best = Some(Chain { sizes, found });
            }
        }
        best
    }

    /// Gives the hot group the size that writes least with this chain.
    fn resize_hot(&mut self, best: &mut Chain) {
        if matches!(self.hot, Hot::Measured { .. }) {
            return;
        }
        let mut whole = best.sizes.clone();
        if let Some(last) = whole.last_mut() {
            *last += self.segments;
        }
        let mut reached = 0;
        for segments in HOT_SIZES {
            if segments <= reached {
                continue;
            }
            let mut sizes = whole.clone();
            if let Some(last) = sizes.last_mut() {
                *last = last.saturating_sub(segments);
            }
            let Some(found) = self.model.forecast(&mut sizes, Hot::Sought { segments }) else { break };
            reached = found.hot;
            if found.waf < best.found.waf {
                (self.segments, self.hot) = (reached, Hot::Below { units: found.units });
                *best = Chain { sizes, found };
            }
        }
    }

    /// Gives each queue the best size that the others leave, and adds one as long as that pays.
    fn resize(&mut self, best: &mut Chain) {
        for at in 0..GROUPS - 1 {
            let mut sizes = best.sizes.clone();
            let last = sizes.len() - 1;
            if at < last {
                sizes[last] += core::mem::take(&mut sizes[at]);
            } else {
                sizes.insert(at, 0);
            }
            let room = sizes[sizes.len() - 1].saturating_sub(LEAST_LAST);
            match self.best_size(&sizes, at, room, best.found.waf) {
                Some(better) => *best = better,
                None if at >= last => break,
                None => {}
            }
        }
    }
}

/// Sizes worth trying: all up to 512, then 512 to an octave.
fn sizes_below(room: u32) -> impl Iterator<Item = u32> {
    core::iter::successors(Some(1_u32), |size| size.checked_add((size / 512).max(1)))
        .take_while(move |size| *size < room)
}

#[cfg(test)]
mod tests {
    use super::{super::model::Room, *};

    const ROOM: Room = Room { segments: 508, pages: 64.0, live: 29_000.0 };

    /// Updates by interval of two kinds of pages, by their parts of the writes and their mean intervals.
    fn model(kinds: [(f64, f64); 2]) -> Model {
        let mut counts = vec![0; 8000];
        for (at, count) in (0_u32..).zip(&mut counts) {
            for (part, mean) in kinds {
                let left = |at: u32| 1e6 * part * libm::exp(-16.0 * f64::from(at) / mean);
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
                let ends = (left(at) - left(at + 1)) as u64;
                *count += ends;
            }
        }
        Model::new(ROOM, 16, &counts)
    }

    #[test]
    fn like_pages_are_not_divided_for_much() {
        let kinds = [(0.5, 29_000.0), (0.5, 29_000.0)];
        let cold = Measured { traffic: 0.01, valid: 0.05, segments: 0.0 };
        if let Some(found) = division(model(kinds), cold) {
            assert!(found.waf > 0.9 * crate::theory::fifo(508.0 * 64.0 / 29_000.0), "{found:?}");
        }
    }

    #[test]
    fn hot_pages_get_a_group_of_their_own() {
        // Nine writes in ten to pages that die a hundred times as soon.
        let kinds = [(0.9, 2000.0), (0.1, 270_000.0)];
        let hot = Measured { traffic: 0.5, valid: 0.05, segments: 4.0 };
        let found = division(model(kinds), hot).unwrap();
        assert_eq!(found.sizes.len(), found.ratios.len());
        assert_eq!(found.sizes.iter().sum::<u32>(), 508, "{found:?}");
        assert!(found.sizes[0] > 1 && found.waf < 2.0, "{found:?}");
        let measured = division(model(kinds), Measured { valid: 0.2, ..hot }).unwrap();
        assert_eq!(measured.sizes[0], 5);
    }
}
