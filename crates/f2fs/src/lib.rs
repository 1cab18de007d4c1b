//! F2FS, the flash-friendly file system of Linux (Lee et al., FAST 2015), on disk compatible with the kernel.

pub mod compress;
pub mod crc;
pub mod crypt;
mod error;
pub mod fold;
pub mod hash;
pub mod layout;
pub mod verity;

pub use error::{Corrupt, Error, Place, Result};
