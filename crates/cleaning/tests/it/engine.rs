//! The simulator with every victim policy and wear rule, against a set of pages.

use std::collections::BTreeSet;

use crate::common::{Access, victim, wear};
use fastrand::Rng;
use pumice_cleaning::{
    Geometry, Greedy, OneLog, Params, Placement, Selector, Sim, SimError, Wear,
    registry::{PlacementRule, Store, VictimRule, WearRule},
    select::ByChange,
    wear::Fifo,
};

const LOGICAL: u32 = 300;

fn params() -> Params {
    Params::new(50, 8, LOGICAL)
}

/// Writes, with a trim now and then; a tenth of the pages gets half of them.
fn play(
    name: &str,
    params: Params,
    selector: Box<dyn Selector + Send>,
    placement: Box<dyn Placement>,
    wear: Box<dyn Wear + Send>,
    seed: u64,
) {
    let mut sim = Sim::new(params, selector, placement, wear).unwrap();
    let (mut rng, mut live) = (Rng::with_seed(seed), BTreeSet::new());
    let mut writes = 0;
    for _ in 0..3000 {
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

/// Every combination; a victim rule that follows a placement is made with it.
#[test]
fn every_rule_keeps_every_page() {
    for (seed, victim) in (0..).zip(VictimRule::all()) {
        for wear in WearRule::all() {
            for reserve in [0, 1, 3] {
                let params = params().with(|it| {
                    it.reserve = reserve;
                    it.endurance = 100_000;
                });
                for placement in PlacementRule::all() {
                    let name = format!("{victim} {placement} {wear} reserve {reserve}");
                    let store = Store::new(params, seed);
                    play(
                        &name,
                        params,
                        victim.build(&store),
                        placement.build(&store),
                        wear.build(&store),
                        seed,
                    );
                }
            }
        }
    }
}

/// Pages that are told read-only, and are written over all the same.
#[test]
fn a_region_for_what_is_only_read_keeps_every_page() {
    let store = Store::new(params(), 1).with_read_only((0..20).collect());
    let placement = "read-only:m6".parse::<PlacementRule>().unwrap().build(&store);
    play("read-only", params(), victim("cat", &params(), 1), placement, wear("even", &params()), 1);
}

#[test]
fn a_chip_wears_out() {
    let params = params().with(|it| it.endurance = 20);
    for rule in WearRule::all() {
        let selector = victim("greedy", &params, 1);
        let mut sim = Sim::new(params, selector, OneLog, rule.build(&Store::new(params, 1))).unwrap();
        let mut rng = Rng::with_seed(1);
        let end = loop {
            if let Err(end) = sim.write(rng.u32(0..LOGICAL)) {
                break end;
            }
        };
        // The last to be worn out all wait for a free segment that none of them can give.
        assert!(matches!(end, SimError::Full { .. }), "{rule}: {end}");
        assert!(sim.wear().max <= 20 && sim.wear().mean > 18.0, "{rule}: {:?}", sim.wear());
        sim.check().unwrap();
    }
}

#[test]
fn parameters_that_make_no_store_are_refused() {
    let make = |params: Params| {
        let selector = victim("greedy", &self::params(), 1);
        Sim::new(params, selector, OneLog, wear("none", &self::params())).err()
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
    let selector = victim("greedy", &params(), 1);
    let mut sim = Sim::new(params(), selector, OneLog, wear("none", &params())).unwrap();
    let refused = Err(SimError::PageOutOfRange { page: LOGICAL, pages: LOGICAL });
    assert_eq!((sim.write(LOGICAL), sim.trim(LOGICAL)), (refused, refused));
}

/// Several victims at once: nothing is lost, with any reserve, and sorted survivors of several are copied less often.
#[test]
fn several_victims_are_cleaned_at_once() {
    let copies = |placement: &str, together, reserve| {
        let params = Params::new(192, 31, 5356).with(|it| {
            it.reserve = reserve;
            it.together = together;
        });
        let store = Store::new(params, 1);
        let (victim, placement) =
            ("cat".parse::<VictimRule>().unwrap(), placement.parse::<PlacementRule>().unwrap());
        let mut sim =
            Sim::new(params, victim.build(&store), placement.build(&store), Fifo::default()).unwrap();
        sim.fill().unwrap();
        sim.run(Access::Locality(90).pages(params.logical, 1).take(30_000)).unwrap();
        sim.check().unwrap();
        assert_eq!(sim.live(), params.logical);
        sim.stats().blocks_copied
    };
    for reserve in [0, 1, 3] {
        let (one, four) = (copies("m3", 1, reserve), copies("m3", 4, reserve));
        assert!(four < one, "{reserve}: {four} of {one}");
    }
    assert_eq!(copies("m1", 1, 1), copies("m1", 0, 1));
}

/// Cleaning that has begun goes on up to the high-water mark.
#[test]
fn cleaning_goes_on_to_the_mark() {
    let params = Params::new(192, 31, 5000).with(|it| it.high_water = 8);
    let mut sim = Sim::new(params, ByChange::new(Greedy, 192, 31), OneLog, Fifo::default()).unwrap();
    sim.fill().unwrap();
    let mut least_before = u32::MAX;
    for page in Access::Random.pages(params.logical, 1).take(30_000) {
        let (before, erased) = (sim.free(), sim.stats().erasures);
        sim.write(page).unwrap();
        if sim.stats().erasures > erased {
            least_before = least_before.min(before);
            assert!(sim.free() >= 7, "{} after {before}", sim.free());
        }
    }
    assert_eq!(least_before, 1);
    sim.check().unwrap();
}
