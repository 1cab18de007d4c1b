//! The reasons that the server refused or failed.

use core::fmt;

use pumice_cleaning::registry::{PlacementRule, PolicyError};
use pumice_flashlog::{MOST_PARITY, OtherPairing};
use pumice_media::{BlockError, Lba, NandError};

use crate::layout::VERSION;

/// Log pages that were complete when the power went, cannot be read, and are not named by others. Blocks in them may be
/// older now than they were, and nobody can tell which.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Missing {
    /// The first erase block with such pages.
    pub block: u32,
    /// Pages in all erase blocks.
    pub pages: u32,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Missing { block, pages } = self;
        write!(
            f,
            "{pages} log pages, the first in erase block {block}, cannot be read and are not named by others: blocks may be \
             older than they were, and the disk can only be read until `pumice ftl check -y` gives these pages up"
        )
    }
}

/// An error of the flash memory server.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FtlError {
    /// The chip failed, or lost its power.
    Chip(NandError),
    /// No anchor was found: the chip holds no logical disk.
    Foreign,
    /// The format is of another version.
    Version(u32),
    /// The format has features that this program does not know: their bits.
    Features(u32),
    /// The chip has another geometry than the one the disk was made on.
    Geometry,
    /// Pages of the chip share cells in another way than those of the one the disk was made on.
    Pairing(OtherPairing),
    /// An anchor that proves itself makes no sense, for the reason in the text.
    Anchor(&'static str),
    /// No logical block can have this many bytes.
    BlockBytes(u32),
    /// A log page has too few free spare bytes.
    SpareBytes {
        /// The free spare bytes it has.
        bytes: u32,
        /// The bytes it needs.
        want: u32,
    },
    /// A segment has too few log pages, or the chip too few or too many segments.
    Segments {
        /// Log pages of a segment.
        pages: u32,
        /// Segments.
        blocks: u32,
    },
    /// Segments cannot have so many log pages of parity.
    Parity(u32),
    /// Pages have no signatures: the disk has no parity pages, or the chip no room.
    NoSignatures {
        /// Parity pages of a segment.
        parity: u32,
    },
    /// The logical disk cannot have so many blocks.
    Export {
        /// Logical blocks asked for.
        blocks: u64,
        /// The most the chip can offer.
        most: u64,
    },
    /// The anchor names a policy that this program does not know.
    Policy(PolicyError),
    /// No disk can be written by this placement: it has to be told every write beforehand.
    Oracle(PlacementRule),
    /// Too few good segments are left; the disk can be read and no longer be written.
    WornOut,
    /// The disk was opened for reading.
    ReadOnly,
    /// Pages are missing: the disk can only be read until a repair gives them up.
    Missing(Missing),
    /// A page of the checkpoint could be read a moment ago, and cannot any more.
    Checkpoint,
    /// The contents of a logical block are lost.
    Unreadable(u32),
}

impl fmt::Display for FtlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FtlError::Chip(error) => error.fmt(f),
            FtlError::Foreign => f.write_str("no logical disk on this chip"),
            FtlError::Version(found) => write!(f, "format version {found} is not supported (want {VERSION})"),
            FtlError::Features(bits) => write!(f, "unknown features {bits:#010x} are not supported"),
            FtlError::Geometry => f.write_str("the logical disk was made on a chip of another geometry"),
            FtlError::Pairing(other) => write!(f, "the logical disk was {other}"),
            FtlError::Anchor(what) => write!(f, "the anchor is damaged: {what}"),
            FtlError::BlockBytes(bytes) => {
                write!(
                    f,
                    "logical blocks of {bytes} bytes are not possible (want a power of two, 512 to 65536)"
                )
            }
            FtlError::SpareBytes { bytes, want } => {
                write!(f, "{bytes} free spare bytes for a logical block are too few (want {want})")
            }
            FtlError::Segments { pages, blocks } => {
                write!(f, "{blocks} erase blocks of {pages} log pages cannot be used (want 16 of 4 or more)")
            }
            FtlError::Parity(pages) => write!(
                f,
                "{pages} parity pages in an erase block are not possible (want 0 to {MOST_PARITY}, none where pages share \
                 cells)"
            ),
            FtlError::NoSignatures { parity: 0 } => {
                f.write_str("the disk has no parity pages: only a full scrub can be made")
            }
            FtlError::NoSignatures { .. } => f.write_str(
                "the spare areas of this chip have no room for signatures: only a full scrub can be made",
            ),
            FtlError::Export { blocks, most } => {
                write!(f, "a logical disk of {blocks} blocks does not fit this chip (want 1 to {most})")
            }
            FtlError::Policy(error) => error.fmt(f),
            FtlError::Oracle(placement) => {
                write!(f, "placement `{placement}` has to know every write beforehand, which no disk can")
            }
            FtlError::WornOut => f.write_str(
                "too few good erase blocks are left: the disk can only be read; copy it to another chip",
            ),
            FtlError::ReadOnly => f.write_str("the disk is open for reading only"),
            FtlError::Missing(missing) => missing.fmt(f),
            FtlError::Checkpoint => {
                f.write_str("the checkpoint cannot be read any more, and could a moment ago")
            }
            FtlError::Unreadable(lba) => write!(f, "logical block {lba} cannot be read"),
        }
    }
}

impl core::error::Error for FtlError {}

impl From<NandError> for FtlError {
    fn from(error: NandError) -> FtlError {
        FtlError::Chip(error)
    }
}

/// EIO.
const IO: i32 = 5;

impl From<FtlError> for BlockError {
    fn from(error: FtlError) -> BlockError {
        match error {
            FtlError::Chip(NandError::PowerLost) => BlockError::PowerLost,
            FtlError::Chip(NandError::Device(errno)) => BlockError::Device(errno),
            FtlError::WornOut => BlockError::WornOut,
            FtlError::ReadOnly | FtlError::Missing(_) => BlockError::ReadOnly,
            FtlError::Unreadable(lba) => BlockError::Unreadable(Lba(u64::from(lba))),
            _ => BlockError::Device(IO),
        }
    }
}

/// The result of everything inside.
pub(crate) type Result<T> = core::result::Result<T, FtlError>;
