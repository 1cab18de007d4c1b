//! The tests that `make quick`, `make test` and `make soak` run.

mod programs;
mod ran;
mod soak;
mod table;
mod tests;

use std::io::{Write, stdout};

use xtask::Failure;

pub(crate) use soak::soak;
pub(crate) use tests::test;

/// Programs that run at the same time. Most use as many threads as there are processors, but not to their end, and those
/// that wait for a mount or for a guest hardly one.
const AT_ONCE: usize = 2;

fn say(text: &str) -> Result<(), Failure> {
    Ok(stdout().write_all(text.as_bytes())?)
}
