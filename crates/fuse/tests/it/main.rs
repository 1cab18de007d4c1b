//! The tests of mounts, one program.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]
#![allow(clippy::print_stderr, reason = "what was skipped")]

mod mount;
