//! What the tests of power cuts, faults and torture share.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on panics")]
#![allow(clippy::cast_possible_truncation, clippy::similar_names, reason = "small numbers, short names")]
#![allow(clippy::print_stderr, reason = "what a run covered")]

pub mod contract;
pub mod image;
pub mod player;
pub mod probe;
pub mod random;
pub mod rebuild;
pub mod runner;
pub mod scenarios;
pub mod shared;
pub mod step;
pub mod verify;
