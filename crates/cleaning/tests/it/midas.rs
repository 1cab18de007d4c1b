//! MiDAS's model of group sizes against fixed ones.

use crate::common::{Access, victim, zipf::Zipf};
use pumice_cleaning::{
    Chain, OneLog, Params, Placement, Selector, Sim,
    placement::{Groups, Midas, Plan},
    wear::Fifo,
};

const STORE: Params = Params::new(512, 64, 27_850);

type Policies = (Box<dyn Selector + Send>, Box<dyn Placement>);

fn midas() -> Policies {
    let (placement, plan) = Midas::new(STORE.segments, STORE.pages, STORE.logical, STORE.reserve);
    (Box::new(Groups::new(plan, STORE.segments, STORE.pages)), Box::new(placement))
}

/// Four groups of one size, the last taking the rest.
fn fixed(size: u32) -> Policies {
    let groups = Groups::new(Plan::new(&[size; 3]), STORE.segments, STORE.pages);
    (Box::new(groups), Box::new(Chain::new(4)))
}

fn chain(rule: &str) -> Policies {
    (victim(rule, &STORE, 1), Box::new(Chain::new(4)))
}

/// Write amplification over some turnovers after others, averaged over four seeds.
fn waf_over(
    (warm, measured): (usize, usize),
    policies: &dyn Fn() -> Policies,
    pages: &dyn Fn(u64) -> Box<dyn Iterator<Item = u32>>,
) -> f64 {
    let run = |seed| {
        let (selector, placement) = policies();
        let mut sim = Sim::new(STORE, selector, placement, Fifo::default()).unwrap();
        let turnover = usize::try_from(STORE.logical).unwrap();
        let mut pages = pages(seed);
        sim.fill().unwrap();
        sim.run(pages.by_ref().take(warm * turnover)).unwrap();
        sim.reset_stats();
        sim.run(pages.take(measured * turnover)).unwrap();
        sim.check().unwrap();
        sim.stats().waf()
    };
    (1..=4).map(run).sum::<f64>() / 4.0
}

/// The same over six turnovers after eight.
fn waf(policies: &dyn Fn() -> Policies, pages: &dyn Fn(u64) -> Box<dyn Iterator<Item = u32>>) -> f64 {
    waf_over((8, 6), policies, pages)
}

fn zipf(seed: u64) -> Box<dyn Iterator<Item = u32>> {
    Box::new(Zipf::new(STORE.logical, 0.99, 0.0, seed))
}

fn hot_tenth(seed: u64) -> Box<dyn Iterator<Item = u32>> {
    Box::new(Access::Locality(90).pages(STORE.logical, seed))
}

/// The sizes are a handful that spans the possible ones; then the same chain under a rule that sets no sizes.
#[test]
fn sizes_by_the_model_copy_less_than_fixed_ones() {
    for pages in [zipf as fn(u64) -> Box<dyn Iterator<Item = u32>>, hot_tenth] {
        let ours = waf(&midas, &pages);
        for size in [8, 16, 32, 64, 128] {
            let other = waf(&|| fixed(size), &pages);
            assert!(ours <= 0.98 * other, "{ours:.3}, with {size} segments each {other:.3}");
        }
        let other = waf(&|| chain("greedy"), &pages);
        assert!(ours <= other, "{ours:.3}, greedy {other:.3}");
    }
}

/// The open segments of its levels cost a little.
#[test]
fn like_pages_cost_what_greedy_costs() {
    let uniform =
        |seed| -> Box<dyn Iterator<Item = u32>> { Box::new(Access::Random.pages(STORE.logical, seed)) };
    let greedy = || -> Policies { (victim("greedy", &STORE, 1), Box::new(OneLog)) };
    let (ours, other) = (waf(&midas, &uniform), waf(&greedy, &uniform));
    assert!(ours <= 1.03 * other, "{ours:.3}, greedy {other:.3}");
}

/// A chain of four levels, as there is before the first division, is no worse than one log.
#[test]
fn levels_without_sizes_do_no_harm() {
    for pages in [zipf as fn(u64) -> Box<dyn Iterator<Item = u32>>, hot_tenth] {
        let greedy = || -> Policies { (victim("greedy", &STORE, 1), Box::new(OneLog)) };
        let (ours, other) = (waf_over((1, 2), &midas, &pages), waf_over((1, 2), &greedy, &pages));
        assert!(ours <= other, "{ours:.3}, greedy {other:.3}");
    }
}
