//! The simulator with every victim policy and wear rule, against a set of pages.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::collections::BTreeSet;

use fastrand::Rng;
use pumice_cleaning::{
    Adaptive, ByHeat, BySegment, Chain, Dac, Geometry, Midas, MultiLog, OneLog, Params, Placement, ReadOnly,
    Selector, SepBit, Sfs, Sim, SimError, Sorted, Static, Temperature, VictimPolicy, WearPolicy,
    placement::Groups, select::DecliningCost,
};

const LOGICAL: u32 = 300;

fn params() -> Params {
    Params::new(50, 8, LOGICAL)
}

fn placements() -> Vec<Box<dyn Placement>> {
    vec![
        Box::new(OneLog),
        Box::new(Static),
        Box::new(Sorted::by_age(LOGICAL)),
        Box::new(Sorted::by_heat(LOGICAL)),
        Box::new(BySegment),
        Box::new(ByHeat::updates(LOGICAL)),
        Box::new(ByHeat::degree(LOGICAL)),
        Box::new(ReadOnly::new(ByHeat::degree(LOGICAL), 0..20)),
        Box::new(SepBit::new(6)),
        Box::new(Chain::new(4)),
        Box::new(Midas::new(LOGICAL).0),
        Box::new(Dac::new(6, LOGICAL)),
        Box::new(MultiLog::new(4, LOGICAL)),
        Box::new(Sfs::new(4, LOGICAL)),
        Box::new(Temperature::new(LOGICAL)),
        Box::new(Adaptive::new(50, 8, LOGICAL).0),
    ]
}

/// Writes, with a trim now and then; a tenth of the pages gets half of them.
fn play(params: Params, victim: VictimPolicy, placement: Box<dyn Placement>, wear: WearPolicy, seed: u64) {
    play_with(victim.name(), params, victim.selector(&params, seed), placement, wear, seed);
}

fn play_with(
    victim: &str,
    params: Params,
    selector: Box<dyn Selector + Send>,
    placement: Box<dyn Placement>,
    wear: WearPolicy,
    seed: u64,
) {
    let name = format!("{victim} {wear} reserve {}", params.reserve);
    let mut sim = Sim::new(params, selector, placement, wear.rule(&params)).unwrap();
    let (mut rng, mut live) = (Rng::with_seed(seed), BTreeSet::new());
    let mut writes = 0;
    for _ in 0..6000 {
        let page = if rng.bool() { rng.u32(0..LOGICAL / 10) } else { rng.u32(0..LOGICAL) };
        if rng.u8(0..20) == 0 {
            sim.trim(page).unwrap();
            live.remove(&page);
        } else {
            sim.write(page).unwrap_or_else(|error| panic!("{name}: {error}"));
            live.insert(page);
            writes += 1;
        }
        assert_eq!(sim.live(), u32::try_from(live.len()).unwrap(), "{name}");
    }
    sim.check().unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
    assert_eq!(sim.stats().user_writes, writes, "{name}");
    assert_eq!(sim.erases().map(u64::from).sum::<u64>(), sim.stats().erasures, "{name}");
    assert!(sim.stats().erasures > 100, "{name}");
}

#[test]
fn every_rule_keeps_every_page() {
    for (seed, victim) in (0..).zip(VictimPolicy::ALL) {
        for wear in WearPolicy::ALL {
            for reserve in [0, 1, 3] {
                let params = Params { reserve, endurance: 100_000, ..params() };
                for placement in placements() {
                    play(params, victim, placement, wear, seed);
                }
            }
        }
    }
}

/// The same for the two that have selectors of their own.
#[test]
fn rules_in_pairs_keep_every_page() {
    for (seed, wear) in (0..).zip(WearPolicy::ALL) {
        let params = Params { endurance: 100_000, ..params() };
        let (placement, sizes) = Midas::new(LOGICAL);
        let selector = Groups::new(sizes, params.segments, params.pages);
        play_with("midas", params, Box::new(selector), Box::new(placement), wear, seed);
        let (placement, regime) = Adaptive::new(params.segments, params.pages, LOGICAL);
        let selector = DecliningCost::new(params.segments, params.pages, LOGICAL, regime);
        play_with("default", params, Box::new(selector), Box::new(placement), wear, seed);
    }
}

#[test]
fn a_chip_wears_out() {
    let params = Params { endurance: 20, ..params() };
    for wear in WearPolicy::ALL {
        let selector = VictimPolicy::Greedy.selector(&params, 1);
        let mut sim = Sim::new(params, selector, OneLog, wear.rule(&params)).unwrap();
        let mut rng = Rng::with_seed(1);
        let end = loop {
            if let Err(end) = sim.write(rng.u32(0..LOGICAL)) {
                break end;
            }
        };
        // The last to be worn out all wait for a free segment that none of them can give.
        assert!(matches!(end, SimError::Full { .. }), "{wear}: {end}");
        assert!(sim.wear().max <= 20 && sim.wear().mean > 18.0, "{wear}: {:?}", sim.wear());
        sim.check().unwrap();
    }
}

#[test]
fn parameters_that_make_no_store_are_refused() {
    let make = |params: Params| {
        let selector = VictimPolicy::Greedy.selector(&self::params(), 1);
        Sim::new(params, selector, OneLog, WearPolicy::None.rule(&self::params())).err()
    };
    assert!(make(params()).is_none());
    for bad in
        [Params::new(50, 0, 9), Params::new(50, 8, 0), Params::new(50, 8, 400), Params::new(1 << 24, 257, 9)]
    {
        assert!(matches!(make(bad), Some(SimError::Parameters(_))), "{bad:?}");
    }
    for bad in [
        Geometry { block: 0, ..Geometry::CAT },
        Geometry { segment: 0, ..Geometry::CAT },
        Geometry { header: 33, ..Geometry::CAT },
        Geometry { fill: 1.0, ..Geometry::CAT },
        Geometry { fill: f64::NAN, ..Geometry::CAT },
    ] {
        assert!(matches!(bad.params(), Err(SimError::Parameters(_))), "{bad:?}");
    }
    assert_eq!(Geometry::CAT.params(), Ok(Params::new(192, 31, 5356)));
}

#[test]
fn pages_out_of_range_are_refused() {
    let selector = VictimPolicy::Greedy.selector(&params(), 1);
    let mut sim = Sim::new(params(), selector, OneLog, WearPolicy::None.rule(&params())).unwrap();
    let refused = Err(SimError::PageOutOfRange { page: LOGICAL, pages: LOGICAL });
    assert_eq!((sim.write(LOGICAL), sim.trim(LOGICAL)), (refused, refused));
}
