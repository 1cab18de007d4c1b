//! All combinations of the values that were given.

use pumice_lab::run::{Amount, Room, Setup, Store};
use pumice_media::ChipSpec;

use super::{Args, parse};
use crate::failure::{Failure, Outcome};

/// The paper's chip.
const FLASH: u64 = 24 << 20;
/// - and how full it is.
const FILL: f64 = 0.9;
/// What the paper's experiments write.
const WRITE: Amount = Amount::Bytes(192 << 20);

/// A step that gives each setup every value of one option.
fn each<T: Clone>(setups: &[Setup], values: &[T], set: impl Fn(&mut Setup, T)) -> Vec<Setup> {
    let with = |setup: &Setup, value: &T| {
        let mut setup = setup.clone();
        set(&mut setup, value.clone());
        setup
    };
    setups.iter().flat_map(|setup| values.iter().map(move |value| with(setup, value))).collect()
}

/// One setup for each combination; the seed varies fastest.
pub(super) fn setups(args: &Args) -> Outcome<Vec<Setup>> {
    let rooms = rooms(args)?;
    let accesses = parse::list(&args.work.access, |word| parse::access(word, &args.work))?;
    let seeds = parse::list(&args.seed, parse::seeds)?.concat();
    let victims = parse::list(&args.rules.victim, parse::victim)?;
    let placements = parse::list(&args.rules.placement, parse::placement)?;
    let wears = parse::list(&args.rules.wear, parse::wear)?;
    let flashes = parse::list(&args.store.flash, parse::bytes)?;
    let segments = parse::list(&args.store.segment, parse::bytes)?;
    let blocks = parse::list(&args.store.block, parse::bytes)?;
    let mut setups = Vec::new();
    if let ([room, ..], [access, ..], [victim, ..], [placement, ..], [wear, ..]) =
        (&*rooms, &*accesses, &*victims, &*placements, &*wears)
    {
        setups.push(Setup {
            store: Store { flash: None, segment: 0, block: 0, header: args.store.header, room: *room },
            access: access.clone(),
            warm_up: parse::amount(&args.work.warm_up)?,
            write: args.work.write.as_deref().map(parse::amount).transpose()?,
            victim,
            placement,
            wear,
            seed: 1,
            chip: ChipSpec::named(&args.chip).map_err(|error| Failure::usage(error.to_string()))?,
            endurance: args.endurance,
            rate: rate(args.rate)?,
        });
    }
    let setups = each(&setups, &flashes_or_none(&flashes), |setup, flash| setup.store.flash = flash);
    let setups = each(&setups, &segments, |setup, segment| setup.store.segment = segment);
    let setups = each(&setups, &blocks, |setup, block| setup.store.block = block);
    let setups = each(&setups, &rooms, |setup, room| setup.store.room = room);
    let setups = each(&setups, &accesses, |setup, access| setup.access = access);
    let setups = each(&setups, &victims, |setup, victim| setup.victim = victim);
    let setups = each(&setups, &placements, |setup, placement| setup.placement = placement);
    let setups = each(&setups, &wears, |setup, wear| setup.wear = wear);
    let setups = each(&setups, &seeds, |setup, seed| setup.seed = seed);
    Ok(setups.into_iter().map(with_defaults).collect())
}

fn rooms(args: &Args) -> Outcome<Vec<Room>> {
    let alphas = parse::list(&args.store.alpha, parse::alpha)?;
    let fills = parse::list(&args.store.fill, parse::part)?;
    Ok(match (alphas.is_empty(), fills.is_empty()) {
        (false, _) => alphas.into_iter().map(Room::Alpha).collect(),
        (true, false) => fills.into_iter().map(Room::Fill).collect(),
        (true, true) => vec![Room::Fill(FILL)],
    })
}

fn flashes_or_none(flashes: &[u64]) -> Vec<Option<u64>> {
    if flashes.is_empty() { vec![None] } else { flashes.iter().copied().map(Some).collect() }
}

fn rate(rate: Option<f64>) -> Outcome<Option<f64>> {
    match rate {
        Some(rate) if !(rate > 0.0 && rate.is_finite()) => {
            Err(Failure::usage(format!("`{rate}` is no rate (want requests a second, above 0)")))
        }
        rate => Ok(rate),
    }
}

/// What depends on whether a trace is played.
fn with_defaults(mut setup: Setup) -> Setup {
    use pumice_lab::run::Access::{Pattern, Trace};
    match (&setup.access, setup.store.room) {
        (Trace(_), Room::Alpha(_)) => {}
        _ => setup.store.flash = setup.store.flash.or(Some(FLASH)),
    }
    if matches!(setup.access, Pattern(_)) && setup.endurance.is_none() {
        setup.write = setup.write.or(Some(WRITE));
    }
    setup
}
