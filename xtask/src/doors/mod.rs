//! What `make quick`, `make test` and `make soak` run of the tests.

mod programs;
mod ran;
mod tests;

pub(crate) use tests::test;
