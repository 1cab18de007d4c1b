//! The tests of the log, one program.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on panics")]

mod medium;
mod parity;
mod roots;
mod software_ecc;
