//! The tests of the flash memory server, one program.
#![allow(unreachable_pub, reason = "nothing outside sees a test")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on panics")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "figures, seeds, and the coverage of a run")]
#![allow(clippy::similar_names, reason = "short names")]

#[path = "../../../media/tests/campaign/mod.rs"]
mod campaign;
mod common;

mod bad_pages;
mod damage;
mod dead_block;
mod faults;
mod health;
mod host_cut;
mod idle;
mod leaves;
mod lives;
mod model;
mod parity;
mod power_cut;
mod quick_scrub;
mod rescue;
mod series;
mod space_campaign;
mod versions;
