//! The tests of the file system, one program.
#![allow(unreachable_pub, reason = "nothing outside sees a test")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on panics")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "figures, seeds, and the coverage of a run")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::similar_names,
    reason = "small numbers, short names"
)]

#[path = "../../../media/tests/campaign/mod.rs"]
mod campaign;
mod common;
mod cut;

mod bad_pages;
mod bounded;
mod check;
mod compression;
mod conformance;
mod cut_repair;
mod dead_block;
mod dead_table;
mod faults;
mod full;
mod fuzz;
mod health;
mod host_cut;
mod host_full;
mod large;
mod latency;
mod lives;
mod new_cuts;
mod numbers;
mod parity;
mod power_cut;
mod promise;
mod quick_scrub;
mod repair;
mod reuse;
mod series;
mod space_campaign;
mod spare_bits;
mod torture;
mod versions;
