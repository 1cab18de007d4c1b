//! The tests of chips and disks, one program.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]
#![allow(clippy::print_stdout, reason = "the figures are the output")]

mod common;

mod chips;
mod container;
mod disks;
mod faults;
mod rules;
mod speed;
mod stores;
