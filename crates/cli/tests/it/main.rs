//! The tests of the command, one program.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on panics")]
#![allow(clippy::print_stderr, reason = "what was skipped, and what a run covered")]

mod common;

mod attr;
mod bad;
mod copy;
mod documents;
mod e2e;
mod f2fs;
mod f2fs_damage;
mod f2fs_locked;
mod f2fs_write;
mod fsck;
mod fsck_f2fs;
mod ftl;
mod help;
mod hostile;
mod install;
mod mkfs;
mod mkfs_f2fs;
mod mount;
mod names;
mod nand;
mod papers;
mod rescue;
mod scrub;
mod sim;
mod sweeps;
mod tidy;
mod tour;
