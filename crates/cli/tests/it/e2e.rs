//! The whole program end to end: the real command, a real FUSE mount, real trees and real test suites.
//!
//! Needs root, `/dev/fuse` and the packages of `scripts/setup.sh test`. Without root or FUSE every test here says so on
//! stderr and passes.

mod acl;
mod advise;
mod direct;
mod disk;
mod fsx;
mod handles;
mod host_cut;
mod host_full;
mod in_use;
mod large_tree;
mod mounting;
mod ordinary_user;
mod overlay;
mod papers;
mod pjdfstest;
mod power;
mod read_only;
mod source;
mod trees;
mod walk;
mod zero_range;
