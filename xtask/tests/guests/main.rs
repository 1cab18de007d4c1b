//! The tests in guests, one program.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on panics")]

mod boot;
mod mtd;
