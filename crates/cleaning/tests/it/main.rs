//! The tests of victims, placements and wear, one program.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on panics")]
#![allow(clippy::cast_precision_loss, reason = "small numbers")]
#![allow(clippy::print_stdout, reason = "the tables are the output")]

mod common;

mod adaptive;
mod comparison;
mod engine;
mod midas;
mod pool;
mod read_only;
mod regret;
mod rivals;
mod selectors;
mod table4;
mod theory;
mod waf;
mod wear;
