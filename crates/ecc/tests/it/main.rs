//! The tests of the codes, one program.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod bits;
mod erasures;
