//! Codes for flash memory, and nothing else: no chip, no file, no clock.
//!
//! - [`Hamming`] and [`Bch`] correct wrong bits in a step of 256 or 512 bytes, in the layouts of Linux's MTD.
//! - [`Signature`] tells whether a page still has its bytes: 32, 48 or 64 bits, linear over the field of the parity
//!   (RCFFS, section 2.2).
//! - [`Parity`] makes up to eight parity pages for a block of any number of pages, one page after the other;
//!   [`Repair`] brings back as many lost pages (RCFFS, sections 2.1 and 3.1).
//! - [`crc32c()`] is the Castagnoli checksum.
//!
//! Signatures and parity share one field, GF(2^16) ([`gf16`]). So the signature of a parity page is the parity of the
//! signatures, and a block can be checked from its spare areas alone:
//!
//! ```
//! use pumice_ecc::{Parity, Repair, Signature, Width};
//!
//! let pages: Vec<Vec<u8>> = (0..62_u8).map(|n| vec![n ^ 0x5a; 2048]).collect();
//! let mut parity = Parity::new(2, 2048)?;
//! let mut signatures = Parity::new(2, Width::Bits48.bytes())?;
//! for page in &pages {
//!     parity.push(page)?;
//!     signatures.push(Signature::of(page, Width::Bits48)?.bytes())?;
//! }
//! for (page, expected) in parity.pages().zip(signatures.pages()) {
//!     assert_eq!(Signature::of(page, Width::Bits48)?.bytes(), expected);
//! }
//!
//! // Pages 7 and 40 cannot be read: two parity pages bring both back.
//! let mut repair = Repair::new(2, 2048)?;
//! for (index, page) in pages.iter().map(Vec::as_slice).chain(parity.pages()).enumerate() {
//!     match index {
//!         7 | 40 => repair.push_lost(),
//!         _ => repair.push(page)?,
//!     }
//! }
//! let found = repair.finish()?;
//! assert_eq!(found[0], (7, pages[7].clone()));
//! assert_eq!(found[1], (40, pages[40].clone()));
//! # Ok::<(), pumice_ecc::CodeError>(())
//! ```
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod bch;
mod checksum;
mod error;
pub mod gf16;
mod hamming;
mod limits;
mod parity;
mod repair;
mod signature;
mod simd;

pub use bch::{Bch, Strength};
pub use checksum::crc32c;
pub use error::CodeError;
pub use hamming::{Hamming, Order, Step};
pub use limits::{LONGEST_PAGE, MOST_PARITY};
pub use parity::Parity;
pub use repair::Repair;
pub use signature::{Signature, Width};
