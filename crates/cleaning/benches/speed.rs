//! Speed and memory of the simulator.
//!
//! `cargo bench -p pumice-cleaning --bench speed` prints user page writes a second on one core for every victim policy,
//! for uniform writes and for 90/10, with 2048 segments of 256 pages, 85 % full. With `-- default` it prints those of
//! greedy with one log and of the default, medians of five runs. With `-- large` it prints the speed of greedy on 1 TiB of
//! 4 KiB pages, and the peak of memory (Linux).
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "figures are what it is for")]

use std::{
    env, fs,
    time::{Duration, Instant},
};

use fastrand::Rng;
use pumice_cleaning::{
    Adaptive, ByHeat, CostBenefit, Greedy, OneLog, Params, Placement, RootAge, Selector, SepBit, Sim,
    registry::{Store, VictimRule},
    select::{ByChange, DecliningCost},
    wear::Fifo,
};

/// Millions of writes a second, once the store is full, over `writes`.
fn speed(params: Params, selector: impl Selector, placement: impl Placement, hot: u32, writes: u32) -> f64 {
    let mut sim = Sim::new(params, selector, placement, Fifo::default()).unwrap();
    sim.fill().unwrap();
    let mut rng = Rng::with_seed(1);
    let tenth = params.logical / 10;
    let mut next = || match rng.u32(0..100) < hot {
        true => rng.u32(0..tenth),
        false => rng.u32(0..params.logical),
    };
    (0..writes / 4).for_each(|_| sim.write(next()).unwrap());
    let (start, ran) = (Instant::now(), cpu());
    (0..writes).for_each(|_| sim.write(next()).unwrap());
    let spent = cpu().zip(ran).map_or(start.elapsed(), |(now, ran)| now.saturating_sub(ran));
    f64::from(writes) / spent.as_secs_f64() / 1e6
}

/// The time that this thread has had a core (Linux), so that other work on the machine does not count.
fn cpu() -> Option<Duration> {
    let text = fs::read_to_string("/proc/self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

fn row(name: &str, run: impl Fn(u32) -> f64) {
    println!("| {name} | {:.1} | {:.1} |", run(0), run(90));
}

/// The store of all but the large one.
const STORE: (u32, u32, u32) = (2048, 256, 445_645);

fn greedy(hot: u32) -> f64 {
    let (segments, pages, logical) = STORE;
    speed(
        Params::new(segments, pages, logical),
        ByChange::new(Greedy, segments, pages),
        OneLog,
        hot,
        40_000_000,
    )
}

fn default(hot: u32) -> f64 {
    let (segments, pages, logical) = STORE;
    let (placement, regime) = Adaptive::new(segments, pages, logical);
    let selector = DecliningCost::new(segments, pages, logical, regime);
    speed(Params::new(segments, pages, logical), selector, placement, hot, 20_000_000)
}

/// Of five runs.
fn median(run: impl Fn() -> f64) -> f64 {
    let mut all: Vec<f64> = (0..5).map(|_| run()).collect();
    all.sort_by(f64::total_cmp);
    all[2]
}

fn policies() {
    let (segments, pages, logical) = STORE;
    let params = Params::new(segments, pages, logical);
    println!("| M user writes/s | uniform | 90/10 |\n|---|---|---|");
    row("greedy, one log", greedy);
    row("greedy, sepbit", |hot| {
        speed(params, ByChange::new(Greedy, segments, pages), SepBit::new(6), hot, 20_000_000)
    });
    let benefit =
        |hot| speed(params, ByChange::new(CostBenefit, segments, pages), SepBit::new(6), hot, 20_000_000);
    row("cost-benefit, sepbit", benefit);
    row("root-age, sepbit", |hot| {
        speed(params, ByChange::new(RootAge, segments, pages), SepBit::new(6), hot, 20_000_000)
    });
    row("cost-benefit, m6", |hot| {
        speed(
            params,
            ByChange::new(CostBenefit, segments, pages),
            ByHeat::degree(params.logical),
            hot,
            20_000_000,
        )
    });
    row("the default", default);
    for policy in VictimRule::all() {
        row(&format!("{policy}, one log, boxed"), |hot| {
            speed(params, policy.build(&Store::new(params, 1)), OneLog, hot, 5_000_000)
        });
    }
}

fn large() {
    // 1 TiB of 4 KiB pages on segments of 1 MiB, 7 % spare.
    let logical = 1 << 28;
    let params = Params::new((1 << 20) / 100 * 107, 256, logical);
    let greedy = ByChange::new(Greedy, params.segments, params.pages);
    let placement: Box<dyn Placement> = Box::new(OneLog);
    println!("1 TiB, no levelling: {:.1} M user writes/s", speed(params, greedy, placement, 0, 1 << 26));
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().filter(|line| line.starts_with("VmHWM")).for_each(|line| println!("{line}"));
}

fn main() {
    let asked = |word: &str| env::args().any(|given| given == word);
    match (asked("large"), asked("default")) {
        (true, _) => large(),
        (_, true) => {
            row("greedy, one log, median of five", |hot| median(|| greedy(hot)));
            row("the default, median of five", |hot| median(|| default(hot)));
        }
        _ => policies(),
    }
}
