//! Shared parts of the tests of power cuts, faults and torture.

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
