//! All combinations of the values that were given.

use std::ops::RangeInclusive;

use pumice_lab::run::{Access, Amount, Room, Setup, Store};
use pumice_media::ChipSpec;

use super::{Args, parse};
use crate::failure::{Failure, Outcome};

/// A step that gives each setup every value of one option.
fn each<T: Clone>(setups: &[Setup], values: &[T], set: impl Fn(&mut Setup, T)) -> Vec<Setup> {
    let with = |setup: &Setup, value: &T| {
        let mut setup = setup.clone();
        set(&mut setup, value.clone());
        setup
    };
    setups.iter().flat_map(|setup| values.iter().map(move |value| with(setup, value))).collect()
}

/// All of them are planned before the first begins.
const MOST_RUNS: u128 = 100_000;

fn length(seeds: &RangeInclusive<u64>) -> u128 {
    u128::from(*seeds.end()) - u128::from(*seeds.start()) + 1
}

/// One setup for each combination; the seed varies fastest.
pub(super) fn setups(args: &Args) -> Outcome<Vec<Setup>> {
    let rooms = rooms(args)?;
    let accesses = parse::list(&args.work.access, |word| parse::access(word, &args.work))?;
    let seeds = parse::list(&args.seed, parse::seeds)?;
    let victims = parse::list(&args.rules.victim, parse::policy)?;
    let placements = parse::list(&args.rules.placement, parse::policy)?;
    let wears = parse::list(&args.rules.wear, parse::rule)?;
    let flashes = parse::list(&args.store.flash, parse::bytes)?;
    let segments = parse::list(&args.store.segment, parse::bytes)?;
    let blocks = parse::list(&args.store.block, parse::bytes)?;
    let counts = [rooms.len(), accesses.len(), victims.len(), placements.len(), wears.len(), segments.len()];
    let counts = counts.into_iter().chain([blocks.len(), flashes.len().max(1)]);
    let runs =
        counts.fold(seeds.iter().map(length).sum(), |runs: u128, count| runs.saturating_mul(count as u128));
    if runs > MOST_RUNS {
        return Err(Failure::usage(format!("{runs} runs are too many at a time (want at most {MOST_RUNS})")));
    }
    let seeds: Vec<u64> = seeds.into_iter().flatten().collect();
    let mut setups = Vec::new();
    if let ([room, ..], [access, ..], [victim, ..], [placement, ..], [wear, ..]) =
        (&*rooms, &*accesses, &*victims, &*placements, &*wears)
    {
        let chip = ChipSpec::named(&args.chip).map_err(|error| Failure::usage(error.to_string()))?;
        let paper = Setup::cat(access.clone(), victim.clone(), placement.clone(), *wear, chip);
        setups.push(Setup {
            store: Store {
                header: args.store.header,
                reserve: args.store.reserve,
                high_water: args.store.high_water,
                together: args.store.together,
                garbage: args.store.garbage,
                room: *room,
                ..paper.store
            },
            warm_up: parse::amount("warm-up", &args.work.warm_up)?,
            endurance: args.endurance,
            rate: rate(args.rate)?,
            ..paper
        });
    }
    let setups = if flashes.is_empty() {
        setups
    } else {
        each(&setups, &flashes, |setup, flash| setup.store.flash = Some(flash))
    };
    let setups = each(&setups, &segments, |setup, segment| setup.store.segment = segment);
    let setups = each(&setups, &blocks, |setup, block| setup.store.block = block);
    let setups = each(&setups, &rooms, |setup, room| setup.store.room = room);
    let setups = each(&setups, &accesses, |setup, access| setup.access = access);
    let setups = each(&setups, &victims, |setup, victim| setup.victim = victim);
    let setups = each(&setups, &placements, |setup, placement| setup.placement = placement);
    let setups = each(&setups, &wears, |setup, wear| setup.wear = wear);
    let setups = each(&setups, &seeds, |setup, seed| setup.seed = seed);
    let write = args.work.write.as_deref().map(|word| parse::amount("write", word)).transpose()?;
    Ok(setups.into_iter().map(|setup| sized(setup, flashes.is_empty(), write)).collect())
}

fn rooms(args: &Args) -> Outcome<Vec<Room>> {
    let alphas = parse::list(&args.store.alpha, parse::alpha)?;
    let fills = parse::list(&args.store.fill, parse::part)?;
    Ok(match (alphas.is_empty(), fills.is_empty()) {
        (false, _) => alphas.into_iter().map(Room::Alpha).collect(),
        (true, false) => fills.into_iter().map(Room::Fill).collect(),
        (true, true) => vec![Room::Fill(0.9)],
    })
}

fn rate(rate: Option<f64>) -> Outcome<Option<f64>> {
    match rate {
        Some(rate) if !(rate > 0.0 && rate.is_finite()) => {
            Err(Failure::usage(format!("invalid --rate `{rate}` (want requests a second, above 0)")))
        }
        rate => Ok(rate),
    }
}

/// A trace sets the size of the store, unless that is given, and of the run; a run to the end of life has no size.
fn sized(mut setup: Setup, by_trace: bool, write: Option<Amount>) -> Setup {
    let trace = matches!(setup.access, Access::Trace(_));
    if trace && by_trace && matches!(setup.store.room, Room::Alpha(_)) {
        setup.store.flash = None;
    }
    let usual = setup.write.filter(|_| !trace && setup.endurance.is_none());
    setup.write = write.or(usual);
    setup
}
