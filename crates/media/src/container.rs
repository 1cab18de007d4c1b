//! The format of chip containers, version 3: the places of its parts in the file, and their checks.
//!
//! All numbers are little-endian. The file is sparse: unwritten parts read as zeros, and zeros mean a block that was
//! never erased and pages that were never programmed.
//!
//! | bytes | what |
//! |---|---|
//! | 0..4096 | header, written once |
//! | 4096.. | two slots of 256 KiB for what changes seldom, used in turn |
//! | 528384.. | two batches of 64 KiB, used in turn |
//! | 659456..660480 | the session |
//! | 660480.. | one record for each block |
//! | next multiple of 4096 | pages, each with its free spare bytes and the CRC-32 of both behind it |
//!
//! Header: magic `PUMICHIP` (8 bytes), version (u32), length of the description (u32), its CRC-32 (u32), zero (u32),
//! zeros up to byte 60, CRC-32 of bytes 0..60 (u32). The description follows from byte 64, as JSON. A slot: CRC-32 of
//! all that follows in it (u32), length of its JSON (u32), sequence number (u64), JSON: faults, work done, operations,
//! clock. The valid slot with the larger sequence number counts. A block's record: erase count (u32), flags (u8: 1 bad,
//! 2 weak, 4 frail), generation (u24), reads since the erase (u32), 4 zero bytes, and 16 bytes for each page. A page's
//! bytes: its state, as [`PageState`] numbers them (any other value is read as garbage), the generation that it was
//! programmed in (u24), the second (u32), and the batch (u64).
//!
//! # A power cut of the host
//!
//! Writes between two syncs reach the disk in any order, sector by sector. A chip programs in order, and so does this
//! one after a cut: it has all programs up to a sync and none behind it.
//!
//! The programs between two syncs are a batch. Its number and its pages are written down before the sync: CRC-32 of all
//! that follows (u32), count (u32), number (u64), and for each page its number and its generation (u32 each). After a
//! cut the batch with the larger number counts if each of its pages is there, or erased since. Otherwise the one before
//! it counts: its sync came back. Pages of later batches are erased. The session (16 bytes) tells whether the host was
//! started anew since the last write; zeros where everything was synced at the end.
//!
//! Each erase waits for a sync of the programs before it, and the first program of a block for a sync of its erase. An
//! erase begins a generation of its block; pages of others are erased. So it is one write of 8 aligned bytes, there or
//! not.

use std::format;
use std::path::Path;
use std::vec;
use std::vec::Vec;

use crate::error::MediaError;
use crate::host::{HostFile, Session};
use crate::memory::Memory;
use crate::nand::Geometry;
use crate::spec::ChipSpec;
use crate::store::{BlockRecord, Hold, PageState, Wear};

const MAGIC: u64 = u64::from_le_bytes(*b"PUMICHIP");
const VERSION: u32 = 3;
const HEADER_BYTES: u64 = 4096;
const DESCRIPTION_AT: usize = 64;
const SLOT_BYTES: u64 = 256 * 1024;
const SLOT_HEAD: usize = 16;
const BATCHES_AT: u64 = HEADER_BYTES + 2 * SLOT_BYTES;
const BATCH_BYTES: usize = 64 * 1024;
const BATCH_HEAD: usize = 16;
const SESSION_AT: u64 = BATCHES_AT + 2 * BATCH_BYTES as u64;
/// Room for the session, so that records begin at a sector.
const SESSION_BYTES: u64 = 1024;
const RECORDS_AT: u64 = SESSION_AT + SESSION_BYTES;
const RECORD_HEAD: usize = 16;
const FLAG_BAD: u8 = 1;
const FLAG_WEAK: u8 = 2;
const FLAG_FRAIL: u8 = 4;
/// Bytes of a page's part of a block's record.
pub(crate) const PAGE_RECORD: usize = 16;

/// Bytes of the check sum behind a page.
pub(crate) const SUM_BYTES: usize = 4;

/// The places of a chip's parts in its file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    blocks: u32,
    pages_per_block: u32,
    page_bytes: u32,
    pages_at: u64,
    stride: u64,
    file_bytes: u64,
}

impl Layout {
    pub(crate) fn new(geometry: &Geometry) -> Layout {
        let records = u64::from(geometry.blocks) * record_bytes(geometry.pages_per_block) as u64;
        let pages_at = (RECORDS_AT + records).next_multiple_of(4096);
        let stride = u64::from(geometry.page_bytes) + u64::from(geometry.free_spare_bytes) + SUM_BYTES as u64;
        let file_bytes = pages_at + stride * geometry.pages();
        Layout {
            blocks: geometry.blocks,
            pages_per_block: geometry.pages_per_block,
            page_bytes: geometry.page_bytes,
            pages_at,
            stride,
            file_bytes,
        }
    }

    /// The first byte of a page; its free spare bytes follow its data, and the check sum follows both.
    pub(crate) fn page_at(&self, block: u32, index: u32) -> u64 {
        self.pages_at + self.stride * (u64::from(block) * u64::from(self.pages_per_block) + u64::from(index))
    }

    pub(crate) fn blocks(&self) -> u32 {
        self.blocks
    }

    /// The block of a page, and its index in it; none outside the chip.
    pub(crate) fn place(&self, page: u32) -> Option<(u32, u32)> {
        let (block, index) = (page / self.pages_per_block, page % self.pages_per_block);
        (block < self.blocks).then_some((block, index))
    }

    /// The number of a page.
    pub(crate) fn page(&self, block: u32, index: u32) -> u32 {
        block * self.pages_per_block + index
    }

    /// A buffer for the record of a block.
    pub(crate) fn record(&self) -> Vec<u8> {
        vec![0; record_bytes(self.pages_per_block)]
    }

    /// Bytes of a page with its free spare bytes and its check sum.
    pub(crate) fn page_bytes(&self) -> usize {
        usize::try_from(self.stride).unwrap_or(usize::MAX)
    }

    pub(crate) fn spare_at(&self, block: u32, index: u32) -> u64 {
        self.page_at(block, index) + u64::from(self.page_bytes)
    }

    pub(crate) fn record_at(&self, block: u32) -> u64 {
        RECORDS_AT + u64::from(block) * record_bytes(self.pages_per_block) as u64
    }

    pub(crate) fn page_record_at(&self, block: u32, index: u32) -> u64 {
        self.record_at(block) + RECORD_HEAD as u64 + u64::from(index) * PAGE_RECORD as u64
    }

    /// Length of the whole file.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.file_bytes
    }
}

fn record_bytes(pages_per_block: u32) -> usize {
    RECORD_HEAD + pages_per_block as usize * PAGE_RECORD
}

/// Counts the erases of a block, modulo 2^24, whatever its wear says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Generation(u32);

impl Generation {
    const MASK: u32 = (1 << 24) - 1;

    pub(crate) fn next(self) -> Generation {
        Generation((self.0 + 1) & Generation::MASK)
    }

    /// Whether this one came after another, at most 2^23 erases later.
    pub(crate) fn is_after(self, other: Generation) -> bool {
        (1..=Generation::MASK / 2).contains(&(self.0.wrapping_sub(other.0) & Generation::MASK))
    }

    /// The bytes behind a byte that shares their word.
    fn of(word: u32) -> Generation {
        Generation(word >> 8)
    }

    fn beside(self, byte: u8) -> [u8; 4] {
        (self.0 << 8 | u32::from(byte)).to_le_bytes()
    }
}

/// The facts about a block beside its pages' bytes.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) record: BlockRecord,
    /// Reads since the erase.
    pub(crate) reads: u32,
    pub(crate) generation: Generation,
}

/// Programs between two syncs: their number, and for each its page and the generation of its block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    pub(crate) number: u64,
    pub(crate) pages: Vec<(u32, Generation)>,
}

impl Batch {
    /// As many pages as it can have.
    pub(crate) const PAGES_MOST: usize = (BATCH_BYTES - BATCH_HEAD) / 8;

    fn place(number: u64) -> u64 {
        BATCHES_AT + number % 2 * BATCH_BYTES as u64
    }

    /// Writes it over the one before the last.
    pub(crate) fn write(&self, file: &dyn HostFile) -> std::io::Result<()> {
        debug_assert!(self.pages.len() <= Batch::PAGES_MOST);
        let mut body = Vec::with_capacity(BATCH_HEAD + self.pages.len() * 8);
        body.extend(u32::try_from(self.pages.len()).unwrap_or(u32::MAX).to_le_bytes());
        body.extend(self.number.to_le_bytes());
        for (page, generation) in &self.pages {
            body.extend(page.to_le_bytes());
            body.extend(generation.0.to_le_bytes());
        }
        let mut bytes = crc32fast::hash(&body).to_le_bytes().to_vec();
        bytes.extend(body);
        file.write_all_at(&bytes, Batch::place(self.number))
    }

    /// The newest that was written down whole.
    pub(crate) fn read_last(file: &dyn HostFile) -> std::io::Result<Option<Batch>> {
        let mut newest: Option<Batch> = None;
        for place in [Batch::place(0), Batch::place(1)] {
            let mut bytes = vec![0; BATCH_BYTES];
            file.read_exact_at(&mut bytes, place)?;
            newest = newest.into_iter().chain(Batch::decode(&bytes)).max_by_key(|batch| batch.number);
        }
        Ok(newest)
    }

    fn decode(bytes: &[u8]) -> Option<Batch> {
        let count = u32_at(bytes, 4) as usize;
        let number = u64_at(bytes, 8);
        // Counting on must not overflow; no container gets anywhere near.
        if number == 0 || number > u64::MAX / 2 {
            return None;
        }
        let body = bytes.get(4..BATCH_HEAD.checked_add(count.checked_mul(8)?)?)?;
        if crc32fast::hash(body) != u32_at(bytes, 0) {
            return None;
        }
        let entries = body.get(BATCH_HEAD - 4..)?.chunks_exact(8);
        let pages = entries.map(|entry| (u32_at(entry, 0), Generation(u32_at(entry, 4) & Generation::MASK)));
        Some(Batch { number, pages: pages.collect() })
    }
}

/// The session of the last write.
pub(crate) fn read_session(file: &dyn HostFile) -> std::io::Result<Session> {
    let mut session = Session::default();
    file.read_exact_at(&mut session.0, SESSION_AT)?;
    Ok(session)
}

/// Notes the session.
pub(crate) fn write_session(file: &dyn HostFile, session: Session) -> std::io::Result<()> {
    file.write_all_at(&session.0, SESSION_AT)
}

/// The first 16 bytes of a block's record.
pub(crate) fn encode_head(wear: Wear, reads: u32, generation: Generation) -> [u8; RECORD_HEAD] {
    let mut head = [0; RECORD_HEAD];
    let hold = match wear.hold {
        Hold::Sound => 0,
        Hold::Weak => FLAG_WEAK,
        Hold::Frail => FLAG_FRAIL,
    };
    let flags = if wear.bad { FLAG_BAD } else { 0 } | hold;
    let words = [wear.erase_count.to_le_bytes(), generation.beside(flags), reads.to_le_bytes()];
    head.iter_mut().zip(words.into_iter().flatten()).for_each(|(to, from)| *to = from);
    head
}

/// A page's part of its block's record.
pub(crate) fn encode_page(
    state: PageState,
    programmed_s: u32,
    generation: Generation,
    batch: u64,
) -> [u8; PAGE_RECORD] {
    let mut record = [0; PAGE_RECORD];
    let words = generation.beside(state as u8).into_iter().chain(programmed_s.to_le_bytes());
    record.iter_mut().zip(words.chain(batch.to_le_bytes())).for_each(|(to, from)| *to = from);
    record
}

/// Whether a page's part of its block's record was written in a batch and a generation.
pub(crate) fn is_of(page: &[u8], batch: u64, generation: Generation) -> bool {
    u64_at(page, 8) == batch && Generation::of(u32_at(page, 0)) == generation
}

/// Whether a page looks programmed, by its part of its block's record.
pub(crate) fn is_written(page: &[u8]) -> bool {
    page_state(page).is_written()
}

fn page_state(page: &[u8]) -> PageState {
    match page.first() {
        Some(0) => PageState::Erased,
        Some(1) => PageState::Programmed,
        Some(3) => PageState::Spoiled,
        Some(4) => PageState::Frail,
        _ => PageState::Garbage,
    }
}

/// The pages of a block's record that belong to no later batch, by their places.
fn pages_until(bytes: &[u8], last: u64) -> impl Iterator<Item = (u32, &[u8])> {
    let pages = bytes.get(RECORD_HEAD..).unwrap_or(&[]).chunks_exact(PAGE_RECORD);
    (0..).zip(pages).filter(move |(_, page)| u64_at(page, 8) <= last)
}

/// The pages of a block's record that belong to a later batch, by their places.
pub(crate) fn pages_behind(bytes: &[u8], last: u64) -> impl Iterator<Item = u32> {
    let pages = bytes.get(RECORD_HEAD..).unwrap_or(&[]).chunks_exact(PAGE_RECORD);
    (0..).zip(pages).filter(move |(_, page)| u64_at(page, 8) > last).map(|(index, _)| index)
}

/// A block's record, up to a batch.
pub(crate) fn decode_record(bytes: &[u8], last: u64) -> Known {
    let flags = bytes.get(4).copied().unwrap_or(0);
    let hold = match (flags & FLAG_WEAK != 0, flags & FLAG_FRAIL != 0) {
        (true, _) => Hold::Weak,
        (false, true) => Hold::Frail,
        (false, false) => Hold::Sound,
    };
    let wear = Wear { erase_count: u32_at(bytes, 0), bad: flags & FLAG_BAD != 0, hold };
    let generation = Generation::of(u32_at(bytes, 4));
    let count = bytes.len().saturating_sub(RECORD_HEAD) / PAGE_RECORD;
    let mut record = BlockRecord::erased(wear, u32::try_from(count).unwrap_or(u32::MAX));
    let is_newest = |(_, page): &(u32, &[u8])| Generation::of(u32_at(page, 0)) == generation;
    for (index, page) in pages_until(bytes, last).filter(is_newest) {
        record.set(index, page_state(page), u32_at(page, 4));
    }
    Known { record, reads: u32_at(bytes, 8), generation }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b))
}

/// Writes the header: the last step of a creation, because it makes the file a container.
pub(crate) fn write_header(file: &dyn HostFile, path: &Path, spec: &ChipSpec) -> Result<(), MediaError> {
    let description = serde_json::to_vec(spec).map_err(|e| MediaError::damaged(path, e))?;
    let length = u32::try_from(description.len()).unwrap_or(u32::MAX);
    let mut header = Vec::with_capacity(DESCRIPTION_AT + description.len());
    header.extend(MAGIC.to_le_bytes());
    header.extend(VERSION.to_le_bytes());
    header.extend(length.to_le_bytes());
    header.extend(crc32fast::hash(&description).to_le_bytes());
    header.resize(DESCRIPTION_AT - 4, 0);
    header.extend(crc32fast::hash(&header).to_le_bytes());
    header.extend(description);
    if header.len() as u64 > HEADER_BYTES {
        return Err(MediaError::damaged(path, "the chip's description does not fit the header"));
    }
    file.write_all_at(&header, 0).map_err(MediaError::io("write", path))
}

/// Reads and checks the header; the chip it describes fits the file's length.
pub(crate) fn read_header(file: &dyn HostFile, path: &Path) -> Result<ChipSpec, MediaError> {
    let bytes = file.length().map_err(MediaError::io("examine", path))?;
    let mut header = vec![0; usize::try_from(bytes.min(HEADER_BYTES)).unwrap_or(0)];
    file.read_exact_at(&mut header, 0).map_err(MediaError::io("read", path))?;
    let found = u64_at(&header, 0);
    if found != MAGIC {
        return Err(MediaError::Foreign { path: path.to_path_buf(), found, want: MAGIC });
    }
    let version = u32_at(&header, 8);
    if version != VERSION {
        return Err(MediaError::Version { path: path.to_path_buf(), found: version, want: VERSION });
    }
    let fixed = header.get(..DESCRIPTION_AT - 4).unwrap_or(&[]);
    check_sum(path, "header", crc32fast::hash(fixed), u32_at(&header, DESCRIPTION_AT - 4))?;
    let end = DESCRIPTION_AT.saturating_add(u32_at(&header, 12) as usize);
    let description = header.get(DESCRIPTION_AT..end).ok_or_else(|| {
        MediaError::damaged(path, format!("the header ends at byte {}, want {end}", header.len()))
    })?;
    check_sum(path, "chip description", crc32fast::hash(description), u32_at(&header, 16))?;
    let spec: ChipSpec = serde_json::from_slice(description)
        .map_err(|e| MediaError::damaged(path, format!("the chip description is unreadable: {e}")))?;
    spec.check()?;
    let want = Layout::new(&spec.geometry()).file_bytes();
    if bytes != want {
        return Err(MediaError::Length { path: path.to_path_buf(), bytes, want });
    }
    Ok(spec)
}

fn check_sum(path: &Path, what: &str, found: u32, want: u32) -> Result<(), MediaError> {
    if found == want {
        return Ok(());
    }
    Err(MediaError::damaged(
        path,
        format!("the {what} is damaged (checksum {found:#010x}, want {want:#010x})"),
    ))
}

/// Writes the slot that `sequence` falls to; the other one stays as it is.
pub(crate) fn write_slot(
    file: &dyn HostFile,
    path: &Path,
    sequence: u64,
    memory: &Memory,
) -> Result<(), MediaError> {
    let json = serde_json::to_vec(memory).map_err(|e| MediaError::damaged(path, e))?;
    let length = u32::try_from(json.len()).unwrap_or(u32::MAX);
    if SLOT_HEAD as u64 + u64::from(length) > SLOT_BYTES {
        let why = format!(
            "the faults take {length} bytes, more than the {SLOT_BYTES} of a slot; use rates, not lists"
        );
        return Err(MediaError::damaged(path, why));
    }
    let mut body = Vec::with_capacity(SLOT_HEAD + json.len());
    body.extend(length.to_le_bytes());
    body.extend(sequence.to_le_bytes());
    body.extend(json);
    let mut slot = crc32fast::hash(&body).to_le_bytes().to_vec();
    slot.extend(body);
    file.write_all_at(&slot, slot_at(sequence)).map_err(MediaError::io("write", path))
}

/// Reads the newer of the valid slots, with its sequence number.
pub(crate) fn read_slots(file: &dyn HostFile, path: &Path) -> Result<(u64, Memory), MediaError> {
    let mut newest = None;
    for slot in 0..2 {
        let read = read_slot(file, slot_at(slot)).map_err(MediaError::io("read", path))?;
        newest = newest.into_iter().chain(read).max_by_key(|(sequence, _)| *sequence);
    }
    let (sequence, json) =
        newest.ok_or_else(|| MediaError::damaged(path, "both slots of faults and work done are damaged"))?;
    let memory: Memory = serde_json::from_slice(&json)
        .map_err(|e| MediaError::damaged(path, format!("the faults are unreadable: {e}")))?;
    let work = &memory.stats;
    let counts =
        [work.page_reads, work.spare_reads, work.programs, work.erases, work.device_ns, work.violations];
    // Counting on must not overflow; no chip gets anywhere near.
    if counts.iter().chain([&memory.operations, &sequence]).any(|count| *count > u64::MAX / 2) {
        return Err(MediaError::damaged(path, "the counts of its operations are out of range"));
    }
    Ok((sequence, memory))
}

fn read_slot(file: &dyn HostFile, at: u64) -> std::io::Result<Option<(u64, Vec<u8>)>> {
    let mut head = [0; SLOT_HEAD];
    file.read_exact_at(&mut head, at)?;
    let length = u32_at(&head, 4) as usize;
    if (SLOT_HEAD + length) as u64 > SLOT_BYTES {
        return Ok(None);
    }
    let mut json = vec![0; length];
    file.read_exact_at(&mut json, at + SLOT_HEAD as u64)?;
    let mut sum = crc32fast::Hasher::new();
    sum.update(head.get(4..).unwrap_or(&[]));
    sum.update(&json);
    Ok((sum.finalize() == u32_at(&head, 0)).then(|| (u64_at(&head, 8), json)))
}

fn slot_at(sequence: u64) -> u64 {
    HEADER_BYTES + sequence % 2 * SLOT_BYTES
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;
    use crate::nand::PageId;
    use crate::sim_host::SimHost;

    /// A chip's memory that takes so many bytes of a slot.
    fn memory_of(bytes: usize) -> Memory {
        let mut memory = Memory::default();
        let left = |memory: &Memory| bytes - serde_json::to_vec(memory).unwrap().len();
        memory.faults.unreadable.insert(PageId(1_000_000_000));
        // A number of ten digits and its comma; two others fill the rest.
        let many = u32::try_from(left(&memory) / 11).unwrap();
        memory.faults.unreadable.extend((1..many).map(|number| PageId(1_000_000_000 + number)));
        let rest = left(&memory);
        for (number, digits) in [(0, rest / 2 - 1), (1, rest.div_ceil(2) - 1)] {
            let page = 4 * 10_u32.pow(u32::try_from(digits).unwrap() - 1) + number;
            memory.faults.unreadable.insert(PageId(page));
        }
        memory
    }

    #[test]
    fn a_slot_is_filled_to_its_last_byte_and_no_further() {
        let (file, path) = (SimHost::new(vec![0; 1 << 20]), Path::new("chip"));
        let room = usize::try_from(SLOT_BYTES).unwrap() - SLOT_HEAD;
        let full = memory_of(room);
        for sequence in [6, 7] {
            write_slot(&file, path, sequence, &full).unwrap();
        }
        let error = write_slot(&file, path, 8, &memory_of(room + 1)).unwrap_err();
        assert!(error.to_string().contains("262129 bytes, more than the 262144 of a slot"), "{error}");
        assert_eq!(read_slots(&file, path).unwrap(), (7, full));
    }
}
