//! The tests of F2FS, one program.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on panics")]
#![allow(clippy::print_stderr, reason = "what a run covered")]

mod common;

mod casefold;
mod check;
mod damage;
mod golden;
mod kernel;
mod mkfs;
mod read_ahead;
mod repair;
mod rescue;
mod roundtrip;
mod writable;
