//! The SSA (segment summary area): the owners of a segment's blocks; and the journals that summaries carry.

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U16, U32},
};

use super::{BlockSize, NatEntry, Nid, RawNatEntry, RawSitEntry, SegNo, SitEntry};

/// Bytes behind the journal: kind and checksum.
const FOOTER_BYTES: usize = 5;

/// Raw: 7 bytes.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Debug, Default)]
#[repr(C)]
pub struct RawSummary {
    /// The node that points to the block; for a node, itself.
    pub nid: U32,
    /// That node's version in the NAT.
    pub version: u8,
    /// The number among the node's addresses.
    pub ofs_in_node: U16,
}

const _: () = assert!(size_of::<RawSummary>() == 7);

/// The owner of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// The node that points to the block; for a node, itself.
    pub nid: Nid,
    /// That node's version in the NAT.
    pub version: u8,
    /// The number among the node's addresses.
    pub offset: u16,
}

impl Summary {
    /// As it stands on the medium.
    pub fn to_raw(self) -> RawSummary {
        RawSummary { nid: U32::new(self.nid.0), version: self.version, ofs_in_node: U16::new(self.offset) }
    }
}

impl From<RawSummary> for Summary {
    fn from(raw: RawSummary) -> Summary {
        Summary { nid: Nid(raw.nid.get()), version: raw.version, offset: raw.ofs_in_node.get() }
    }
}

/// An entry of a NAT journal, raw: 13 bytes.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Debug)]
#[repr(C)]
pub struct RawNatJournalEntry {
    /// The node.
    pub nid: U32,
    /// Its entry, in place of the NAT's.
    pub entry: RawNatEntry,
}

/// An entry of a SIT journal, raw: 78 bytes.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Debug)]
#[repr(C)]
pub struct RawSitJournalEntry {
    /// The segment.
    pub segno: U32,
    /// Its entry, in place of the SIT's.
    pub entry: RawSitEntry,
}

const _: () = assert!(size_of::<RawNatJournalEntry>() == 13);
const _: () = assert!(size_of::<RawSitJournalEntry>() == 78);

/// A node's entry that is newer than the NAT's.
pub type NatJournalEntry = (Nid, NatEntry);
/// A segment's entry that is newer than the SIT's.
pub type SitJournalEntry = (SegNo, SitEntry);

/// The entries of a journal.
pub trait JournalEntries: Sized {
    /// As it stands on the medium.
    type Raw: FromBytes + Unaligned + Immutable + KnownLayout + IntoBytes + Copy;
    /// Checked.
    fn from_raw(raw: Self::Raw) -> Self;
    /// As it stands on the medium.
    fn to_raw(&self) -> Self::Raw;
}

impl JournalEntries for NatJournalEntry {
    type Raw = RawNatJournalEntry;
    fn from_raw(raw: RawNatJournalEntry) -> NatJournalEntry {
        (Nid(raw.nid.get()), raw.entry.into())
    }
    fn to_raw(&self) -> RawNatJournalEntry {
        RawNatJournalEntry { nid: U32::new(self.0.0), entry: self.1.to_raw() }
    }
}

impl JournalEntries for SitJournalEntry {
    type Raw = RawSitJournalEntry;
    fn from_raw(raw: RawSitJournalEntry) -> SitJournalEntry {
        (SegNo(raw.segno.get()), raw.entry.into())
    }
    fn to_raw(&self) -> RawSitJournalEntry {
        RawSitJournalEntry { segno: U32::new(self.0.0), entry: self.1.to_raw() }
    }
}

/// The entries of a journal: their count in two bytes, then they. `Err` is a count that does not fit.
pub fn parse_journal<E: JournalEntries>(bytes: &[u8]) -> Result<Vec<E>, u16> {
    let Ok((count, rest)) = U16::read_from_prefix(bytes) else { return Err(0) };
    let size = size_of::<E::Raw>();
    let Some(entries) = rest.get(..usize::from(count.get()) * size) else { return Err(count.get()) };
    Ok(entries
        .chunks_exact(size)
        .filter_map(|raw| E::Raw::read_from_bytes(raw).ok().map(E::from_raw))
        .collect())
}

/// The bytes of a journal: the count of its entries, and they. `None` if there are more than fit in `room` bytes.
pub fn journal_bytes<E: JournalEntries>(entries: &[E], room: usize) -> Option<Vec<u8>> {
    let mut bytes = u16::try_from(entries.len()).ok()?.to_le_bytes().to_vec();
    for entry in entries {
        bytes.extend_from_slice(entry.to_raw().as_bytes());
    }
    (bytes.len() <= room).then_some(bytes)
}

/// Sizes of a summary block, which differ with the size of blocks and with `packed_ssa`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SummaryLayout {
    /// Bytes of a whole summary.
    pub bytes: usize,
    /// Summaries in a block of the SSA.
    pub per_block: u32,
}

impl SummaryLayout {
    /// The layout for blocks of a size. A packed summary has 4096 bytes whatever the size of blocks.
    pub fn new(block: BlockSize, packed: bool) -> SummaryLayout {
        let bytes = if packed { BlockSize::KIB4.width() } else { block.width() };
        let per_block = if packed { block.bytes() / BlockSize::KIB4.bytes() } else { 1 };
        SummaryLayout { bytes, per_block }
    }

    /// Entries in a summary, of which a segment uses the first 512.
    pub fn entries(self) -> usize {
        self.bytes / 8
    }

    /// The beginning of the journal.
    pub fn journal_at(self) -> usize {
        self.entries() * size_of::<RawSummary>()
    }

    /// Bytes of the journal.
    pub fn journal_bytes(self) -> usize {
        self.bytes - FOOTER_BYTES - self.journal_at()
    }

    /// Bytes in front of the footer.
    pub fn footer_at(self) -> usize {
        self.bytes - FOOTER_BYTES
    }
}

/// The kind of a segment's blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SummaryKind {
    /// Blocks of files and directories.
    Data,
    /// Nodes.
    Node,
    /// Neither: the byte found.
    Other(u8),
}

/// A summary of a whole segment, as bytes that are looked into.
#[derive(Clone, Debug)]
pub struct SummaryBlock {
    bytes: Vec<u8>,
    layout: SummaryLayout,
}

impl SummaryBlock {
    /// The summary of a segment of data or of nodes that holds nothing yet.
    pub fn empty(layout: SummaryLayout, nodes: bool) -> SummaryBlock {
        let mut summary = SummaryBlock::new(Vec::new(), layout);
        if let Some(kind) = summary.bytes.get_mut(layout.footer_at()) {
            *kind = u8::from(nodes);
        }
        summary
    }

    /// Sets the owner of block `offset` of the segment.
    pub fn set_entry(&mut self, offset: u32, entry: Summary) {
        debug_assert!(offset < 512);
        let at = offset as usize * size_of::<RawSummary>();
        if let Some(place) = self.bytes.get_mut(at..at + size_of::<RawSummary>()) {
            place.copy_from_slice(entry.to_raw().as_bytes());
        }
    }

    /// Replaces the journal.
    pub fn set_journal(&mut self, journal: &[u8]) {
        let room = self.layout.journal_at()..self.layout.footer_at();
        debug_assert!(journal.len() <= room.len());
        if let Some(place) = self.bytes.get_mut(room) {
            place.fill(0);
            place.iter_mut().zip(journal).for_each(|(to, from)| *to = *from);
        }
    }

    /// Takes the bytes of one summary; missing ones count as zeros.
    pub fn new(mut bytes: Vec<u8>, layout: SummaryLayout) -> SummaryBlock {
        bytes.resize(layout.bytes, 0);
        SummaryBlock { bytes, layout }
    }

    /// Its sizes.
    pub fn layout(&self) -> SummaryLayout {
        self.layout
    }

    /// The owner of block `offset` of the segment.
    pub fn entry(&self, offset: u32) -> Summary {
        let size = size_of::<RawSummary>();
        let rest = self.bytes.get(offset as usize * size..self.layout.journal_at()).unwrap_or_default();
        RawSummary::read_from_prefix(rest).map(|(raw, _)| raw.into()).unwrap_or_default()
    }

    /// The journal's bytes.
    pub fn journal(&self) -> &[u8] {
        self.bytes.get(self.layout.journal_at()..self.layout.footer_at()).unwrap_or_default()
    }

    /// The kind of the blocks.
    pub fn kind(&self) -> SummaryKind {
        match self.bytes.get(self.layout.footer_at()) {
            Some(0) | None => SummaryKind::Data,
            Some(1) => SummaryKind::Node,
            Some(other) => SummaryKind::Other(*other),
        }
    }

    /// The checksum in the footer, which nobody writes any more.
    pub fn stored_checksum(&self) -> u32 {
        let rest = self.bytes.get(self.layout.footer_at() + 1..).unwrap_or_default();
        U32::read_from_prefix(rest).map(|(sum, _)| sum.get()).unwrap_or_default()
    }

    /// As it stands on the medium.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}
