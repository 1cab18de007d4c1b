//! The chip's content, byte by byte (docs/ftl-spec.md). All numbers are little-endian.

use zerocopy::little_endian::{I64, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The format's name at the start of an anchor.
pub(crate) const MAGIC: [u8; 8] = *b"pumiceft";
/// The version written and read.
pub(crate) const VERSION: u32 = 10;
/// Starts a summary.
pub(crate) const SUMMARY_MAGIC: u32 = u32::from_le_bytes(*b"SUM2");
/// Starts a checkpoint.
pub(crate) const CHECKPOINT_MAGIC: u32 = u32::from_le_bytes(*b"FCP5");
/// Starts a leaf of the translation table, and the page that is parity over some of them.
pub(crate) const LEAF_MAGIC: u32 = u32::from_le_bytes(*b"MAP1");
pub(crate) const LEAF_PARITY_MAGIC: u32 = u32::from_le_bytes(*b"MAPX");
/// An entry of a slot that holds nothing.
pub(crate) const NO_BLOCK: u32 = u32::MAX;
/// The first entry of a page that holds trimmed ranges.
pub(crate) const TRIM_BLOCK: u32 = u32::MAX - 1;
/// The page of a leaf that was never written.
pub(crate) const NO_PAGE: u32 = u32::MAX;
/// Bytes of a policy's name.
pub(crate) const NAME_BYTES: usize = 24;

/// Bytes of a tag's body without its entries, of an entry, of the tag's part about the page before it without its lbas,
/// of an lba, and of a summary without its pages.
pub(crate) const BODY_BYTES: u32 = 8;
pub(crate) const ENTRY_BYTES: u32 = 8;
pub(crate) const BEFORE_BYTES: u32 = 4;
pub(crate) const LBA_BYTES: u32 = 4;

/// A count of things in memory as the chip's 32 bits: shapes have no more.
pub(crate) fn count32(count: usize) -> u32 {
    debug_assert!(u32::try_from(count).is_ok(), "{count} of something");
    u32::try_from(count).unwrap_or(u32::MAX)
}
pub(crate) const SUMMARY_BYTES: u32 = 40;

/// Bit of a kind: pages were passed over, for all before this one was promised.
const PROMISED: u8 = 8;

/// The kind of a log page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Logical blocks.
    Data = 1,
    /// The contents of the pages before it in the segment.
    Summary = 2,
    /// Ranges of logical blocks that were trimmed.
    Trim = 3,
    /// A part of a checkpoint.
    Checkpoint = 4,
    /// A leaf of the translation table, or parity over some.
    Map = 5,
}

impl Kind {
    pub(crate) const ALL: [Kind; 5] = [Kind::Data, Kind::Summary, Kind::Trim, Kind::Checkpoint, Kind::Map];

    /// The number in a tag; for blocks and trims it says whether all before them was promised.
    pub(crate) fn to_byte(self, promised: bool) -> u8 {
        debug_assert!(!promised || self.tells_promises(), "{self:?} tells of no promise");
        self as u8 | if promised { PROMISED } else { 0 }
    }

    pub(crate) fn from_byte(byte: u8) -> Option<(Kind, bool)> {
        let kind = Kind::ALL.into_iter().find(|kind| *kind as u8 == byte & !PROMISED)?;
        let promised = byte & PROMISED != 0;
        (!promised || kind.tells_promises()).then_some((kind, promised))
    }

    fn tells_promises(self) -> bool {
        matches!(self, Kind::Data | Kind::Trim)
    }
}

macro_rules! raw {
    ($(#[$doc:meta])* $name:ident, $bytes:expr => { $($field:ident: $kind:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
        #[repr(C)]
        pub(crate) struct $name {
            $(pub(crate) $field: $kind,)*
        }
        const _: () = assert!(size_of::<$name>() == $bytes);
    };
}

raw! {
    /// The body of a tag, before its entries.
    RawBody, BODY_BYTES as usize => {
        erases: U32,
        opened: U32,
    }
}

raw! {
    /// The content of a slot: the logical block, and the write clock when a user wrote it.
    RawEntry, ENTRY_BYTES as usize => {
        lba: U32,
        written: U32,
    }
}

raw! {
    /// The head of a summary; the pages follow, and the other segments that it lists: the page behind the last one that
    /// their summaries name, four bytes each.
    RawSummary, SUMMARY_BYTES as usize => {
        magic: U32,
        block: U32,
        erases: U32,
        opened: U32,
        pages: U32,
        class: u8,
        reserved: [u8; 3],
        first: U64,
        own: U32,
        listed: U32,
    }
}

raw! {
    /// Logical blocks `first` to `first + count - 1`.
    RawRange, 8 => {
        first: U32,
        count: U32,
    }
}

raw! {
    /// The disk's own bytes in anchors, beside those of every volume.
    RawIdentity, 88 => {
        block_bytes: U32,
        logical_blocks: U32,
        endurance: U32,
        parity_pages: u8,
        reserved: [u8; 3],
        victim: [u8; NAME_BYTES],
        placement: [u8; NAME_BYTES],
        wear: [u8; NAME_BYTES],
    }
}

raw! {
    /// The void behind it in an anchor: pages of this segment with lower sequence numbers count for nothing.
    RawVoid, 12 => {
        block: U32,
        sequence: U64,
    }
}

raw! {
    /// The record of a checkpoint: the place of its pages, and the identity of the disk, should all anchors be gone.
    /// The numbers of its segments follow, four bytes each, and those of the segments that may be opened before the next
    /// record. Then come listed segments, each by the page behind the last one that its summaries name.
    RawRecord, 156 => {
        magic: U32,
        flags: U32,
        checkpoint: U64,
        pages: U32,
        segments: U32,
        uuid: [u8; 16],
        own: [u8; OWN_BYTES],
        opened: U32,
        sequence: U64,
        listed: U32,
    }
}

/// Bytes of a disk in anchors and records: identity and void.
pub(crate) const OWN_BYTES: usize = size_of::<RawIdentity>() + size_of::<RawVoid>();

/// Starts a record.
pub(crate) const RECORD_MAGIC: u32 = u32::from_le_bytes(*b"FRC5");
/// Any segment may be opened; stands in place of their number.
pub(crate) const ANY_SEGMENT: u32 = u32::MAX;
/// Flag of a record: nothing was written since the checkpoint.
pub(crate) const CLEAN: u32 = 1;

raw! {
    /// The head of each page of a checkpoint.
    RawPart, 16 => {
        checkpoint: U64,
        part: U32,
        reserved: [u8; 4],
    }
}

raw! {
    /// A page that was the newest at a start, and may have been read for the last time.
    RawUnsure, 12 => {
        page: U32,
        sequence: U64,
    }
}

/// Such pages that a checkpoint names at the most.
pub(crate) const UNSURE_MOST: usize = 4;

raw! {
    /// The start of a checkpoint; heads, the pages of leaves, their changes and the lookup table follow.
    RawState, 156 => {
        magic: U32,
        clock: U32,
        sequence: U64,
        user_writes: U64,
        copied: U64,
        erases: U64,
        trimmed: U64,
        heads: U32,
        logical_blocks: U32,
        segments: U32,
        failures: U32,
        patrol_began: I64,
        patrol_page: U32,
        patrol_passes: U32,
        moved: U32,
        rebuilt: U32,
        corrected: U64,
        stored: U64,
        changed: U32,
        unsure: [RawUnsure; UNSURE_MOST],
    }
}

raw! {
    /// An open head: an entry of the index segment. Its pages follow.
    RawHead, 32 => {
        slot: u8,
        class: u8,
        reserved: [u8; 2],
        block: U32,
        pages: U32,
        covered: U32,
        erases: U32,
        opened: U32,
        first: U64,
    }
}

raw! {
    /// The head of a page of the translation table. On a page of parity, `leaf` is the number of leaves under it.
    RawLeaf, 16 => {
        magic: U32,
        leaf: U32,
        first: U32,
        reserved: [u8; 4],
    }
}

raw! {
    /// The changes of a leaf since it was written: as many changes, or all of its entries.
    RawChanges, 8 => {
        leaf: U32,
        count: U32,
    }
}

raw! {
    /// An entry of a leaf that changed.
    RawChange, 6 => {
        slot: U16,
        addr: U32,
    }
}

/// Bit of a change's slot: the block at the address in the leaf on flash still counts as live in its segment.
pub(crate) const UNSETTLED: u16 = 1 << 15;

/// A count of changes that says that all entries of the leaf follow.
pub(crate) const ALL_ENTRIES: u32 = u32::MAX;
