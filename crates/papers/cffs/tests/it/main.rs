//! The tests of CFFS, one program.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on panics")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the figures are the output")]
#![allow(unreachable_pub, reason = "nothing outside sees a test")]

mod common;

mod conformance;
mod faults;
mod figures;
mod full;
mod lives;
mod power_cut;
