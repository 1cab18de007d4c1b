//! The simulator against the closed forms: 2048 segments, within 0.5 %.

use crate::common::Access;
use pumice_cleaning::{
    Greedy, OneLog, Params, Selector, Sim,
    select::{ByChange, Queue, RandomOf},
    theory::{self, HotCold},
    wear::Fifo,
};

const SEGMENTS: u32 = 2048;
const PAGES: u32 = 32;

fn params(a: f64) -> Params {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
    let logical = (f64::from(SEGMENTS * PAGES) / a).round() as u32;
    Params::new(SEGMENTS, PAGES, logical).with(|it| it.reserve = 0)
}

/// Write amplification in one log over 30 turnovers, after 20 of warm-up.
fn measured(params: Params, selector: impl Selector, access: Access) -> f64 {
    let mut sim = Sim::new(params, selector, OneLog, Fifo::default()).unwrap();
    sim.fill().unwrap();
    let turnover = usize::try_from(params.logical).unwrap();
    let mut pages = access.pages(params.logical, 7);
    sim.run(pages.by_ref().take(20 * turnover)).unwrap();
    sim.reset_stats();
    sim.run(pages.take(30 * turnover)).unwrap();
    sim.stats().waf()
}

#[track_caller]
fn agree(measured: f64, theory: f64, a: f64) {
    assert!((measured / theory - 1.0).abs() < 0.005, "a {a}: measured {measured:.4}, theory {theory:.4}");
}

#[test]
fn greedy() {
    for a in [1.05, 1.11, 1.25, 1.5, 2.0] {
        let params = params(a);
        let selector = ByChange::new(Greedy, SEGMENTS, PAGES);
        agree(measured(params, selector, Access::Random), theory::greedy(params.alpha(), PAGES.into()), a);
    }
}

#[test]
fn fifo() {
    for a in [1.05, 1.11, 1.25, 1.5, 2.0] {
        let params = params(a);
        let selector = Queue::new(SEGMENTS, PAGES);
        agree(measured(params, selector, Access::Random), theory::fifo(params.alpha()), a);
    }
}

#[test]
fn choices() {
    for (a, draws) in [(1.05, 1), (1.25, 1), (1.11, 2), (1.5, 3), (1.25, 10), (2.0, 10)] {
        let params = params(a);
        let selector = RandomOf::new(draws, 1, SEGMENTS, PAGES);
        agree(measured(params, selector, Access::Random), theory::choices(params.alpha(), PAGES, draws), a);
    }
}

#[test]
fn fifo_with_hot_and_cold_data_mixed() {
    let load = HotCold { space: 0.1, writes: 0.9 };
    for a in [1.11, 1.25, 1.5, 2.0] {
        let params = params(a);
        let selector = Queue::new(SEGMENTS, PAGES);
        agree(measured(params, selector, Access::Locality(90)), theory::fifo_mixed(params.alpha(), load), a);
    }
}
