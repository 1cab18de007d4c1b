//! The tests of chips and disks, one program.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "figures, and what was skipped")]

mod common;

mod chips;
mod container;
mod device;
mod disks;
mod faults;
mod host_cut;
mod killed;
mod rules;
mod speed;
mod stores;
