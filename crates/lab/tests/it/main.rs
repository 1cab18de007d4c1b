//! The tests of the laboratory, one program.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on panics")]

mod claims;
mod modules;
mod papers;
mod records;
mod report;
mod run;
mod scripts;
mod trace;
