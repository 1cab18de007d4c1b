//! The raw-NAND file system.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod api;

pub use api::*;
