//! The log on raw NAND that the raw-NAND file system and the flash memory server stand on.
//!
//! A [`Medium`] reads and programs superpages with tags that prove them, and brings back unreadable ones by parity. A
//! chip without ECC gets one by [`SoftwareEcc`]. The design stands in `docs/flashlog-design.md`.
//!
//! ```
//! use pumice_flashlog::{Medium, Shape, Tag, TagPlace};
//! use pumice_media::{AnyChip, ChipSpec, Nand, SimChip};
//!
//! let chip = SimChip::new(&ChipSpec::parse_geometry("2048+64:64:40").unwrap());
//! let shape = Shape::new(&chip.geometry(), 1, TagPlace::Spare, 4);
//! let mut log = Medium::new(AnyChip::own(chip), shape);
//! let tag = Tag { kind: 3, flags: 0, seq: 7, body: b"mine".to_vec() };
//! log.program(64, &tag, &vec![1; shape.payload()]).unwrap();
//! assert_eq!(log.read(64).unwrap().tag, tag);
//! ```
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

/// The result of an operation on the chip.
pub type Result<T, E = pumice_media::NandError> = core::result::Result<T, E>;

mod anchor;
mod audit;
mod crc;
mod findings;
mod found;
mod medium;
mod pace;
mod page_code;
mod ring;
mod roots;
mod rounds;
mod sampler;
mod search;
mod shape;
mod shared_cells;
mod software_ecc;
mod stripe;
mod tag;

pub use anchor::{Anchor, OWN_MAX, PAIRING_BITS};
pub use audit::RootFlaw;
pub use findings::Findings;
pub use found::{FoundRecord, find_records};
pub use medium::{Fault, Look, Medium, Page, Peek, READS_MOST, RawPage, SIGNATURE_BYTES};
pub use pace::Pace;
pub use page_code::{NoRoom, PageCode, SoftwareCode};
pub use pumice_ecc::MOST_PARITY;
pub use ring::{ANCHOR, ANCHOR_BLOCKS};
pub use roots::{CHECKPOINT, DOUBTED, Keeper, Roots, Taken};
pub use rounds::{Patrol, Rounds};
pub use shape::{HEADER_BYTES, Shape, TAG_BYTES, TagPlace};
pub use shared_cells::{OtherPairing, Skips};
pub use software_ecc::{SoftwareEcc, SoftwareEccError};
pub use tag::{SEQ_END, Tag, proves, seal};
