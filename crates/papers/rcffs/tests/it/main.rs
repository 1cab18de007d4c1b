//! The tests of RCFFS, one program.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on panics")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the figures are the output")]
#![allow(clippy::cast_precision_loss, reason = "small numbers")]
#![allow(unreachable_pub, reason = "nothing outside sees a test")]

mod common;

mod conformance;
mod errors;
mod faults;
mod figures;
mod full;
mod lives;
mod power_cut;
