//! A volume over the years: bits that decay on the shelf, blocks that are read too often, blocks that wear out, and what
//! idle time is used for. `PUMICE_YEARS=10` runs the whole campaigns, on whole chips; `PUMICE_SEED` chooses one seed of
//! them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::similar_names,
    reason = "small numbers, short names"
)]

#[path = "health/bench.rs"]
mod bench;
#[path = "health/decay.rs"]
mod decay;
#[path = "health/idle.rs"]
mod idle;
#[path = "health/reads.rs"]
mod reads;
#[path = "health/scrub.rs"]
mod scrub;
#[allow(unreachable_pub, reason = "other tests have it in a module")]
#[path = "cut/shared.rs"]
mod shared;
#[path = "health/wear.rs"]
mod wear;
