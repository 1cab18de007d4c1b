//! Raw NAND chips and block devices behind two traits.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod nand;

pub use nand::{BlockId, Geometry, Nand, NandError, NandStats, PageId, ReadOutcome, Timing};
