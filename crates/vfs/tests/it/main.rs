//! The tests of the trait, the model and the suite, one program.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod canary;
mod conformance;
mod model;
mod paths;
mod trees;
