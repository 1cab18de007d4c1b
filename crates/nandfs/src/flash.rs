//! The chip as the log sees it: log pages with tags, and a few pages kept after they were read.

use alloc::{sync::Arc, vec, vec::Vec};

use hashbrown::HashMap;
use pumice_media::{BlockId, Nand, NandError, NandStats, PageId, ReadOutcome};
use pumice_vfs::FsError;

use crate::error::{Damage, device};
use crate::params::Params;
use crate::tag::{DESC_BYTES, LogKind, TAG_BYTES, Tag, is_blank, is_erased, mend, proves, read_header, seal};

/// Log pages kept after a read at the least, so that several chunks of one page cost one read.
const KEPT_MIN: usize = 4;

/// A log page that proved itself.
pub(crate) struct LogPage {
    pub(crate) tag: Tag,
    pub(crate) payload: Vec<u8>,
}

/// What a look at the first bytes of a tag shows; the page behind it is not proved yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Peek {
    /// Never programmed, by the look of it.
    Erased,
    /// Something is there; log and sequence number if they prove themselves.
    Programmed(Option<(LogKind, u64)>),
}

/// The chip.
pub(crate) struct Flash<N> {
    nand: N,
    params: Params,
    /// Pages with several chunks, and when each was last used.
    kept: HashMap<u32, (u64, Arc<LogPage>)>,
    kept_max: usize,
    turn: u64,
    /// Blocks in which ECC is near its limit, to be rewritten soon.
    pub(crate) tired: Vec<u32>,
}

impl<N: Nand> Flash<N> {
    pub(crate) fn new(nand: N, params: Params) -> Flash<N> {
        Flash { nand, params, kept: HashMap::new(), kept_max: KEPT_MIN, turn: 0, tired: Vec::new() }
    }

    pub(crate) fn into_nand(self) -> N {
        self.nand
    }

    pub(crate) fn stats(&self) -> NandStats {
        self.nand.stats()
    }

    /// Device time of reading a log page, in nanoseconds.
    pub(crate) fn page_read_ns(&self) -> u64 {
        self.nand.timing().read_page_ns * u64::from(self.params.gang)
    }

    /// Device time of a look at a tag, in nanoseconds.
    pub(crate) fn peek_ns(&self) -> u64 {
        let timing = self.nand.timing();
        if self.params.tag_in_spare { timing.read_spare_ns } else { timing.read_page_ns }
    }

    pub(crate) fn flush(&mut self) -> Result<(), FsError> {
        self.nand.flush().map_err(device)
    }

    fn chip_page(&self, page: u32, part: u32) -> PageId {
        PageId(page * self.params.gang + part)
    }

    fn spare_bytes(&self) -> usize {
        self.params.spare as usize
    }

    /// Tag bytes with descriptors, as far as they lie outside the payload.
    fn head_bytes(&self) -> usize {
        (TAG_BYTES + self.params.spare_descs * DESC_BYTES) as usize
    }

    fn note(&mut self, page: u32, outcome: ReadOutcome) {
        let block = self.params.block_of(page);
        if matches!(outcome, ReadOutcome::Corrected { refresh: true, .. })
            && self.tired.len() < 64
            && !self.tired.contains(&block)
        {
            self.tired.push(block);
        }
    }

    /// Reads the bytes of a log page: payload and tag. The error is the chip's.
    fn read_raw(&mut self, page: u32) -> Result<(Vec<u8>, Vec<u8>), NandError> {
        let part_bytes = self.params.chip_page as usize;
        let spare_bytes = self.spare_bytes();
        let mut data = vec![0; part_bytes * self.params.gang as usize];
        let mut spare = vec![0; spare_bytes * self.params.gang as usize];
        let mut spare_parts = spare.chunks_exact_mut(spare_bytes.max(1));
        for (part, bytes) in (0..self.params.gang).zip(data.chunks_exact_mut(part_bytes)) {
            let spare = spare_parts.next().unwrap_or_default();
            let outcome = self.nand.read(self.chip_page(page, part), bytes, spare)?;
            self.note(page, outcome);
        }
        let head = if self.params.tag_in_spare {
            spare.truncate(self.head_bytes());
            spare
        } else {
            data.split_off(self.params.payload as usize)
        };
        Ok((data, head))
    }

    /// Reads a log page and proves it.
    pub(crate) fn read(&mut self, page: u32) -> Result<Arc<LogPage>, FsError> {
        self.turn += 1;
        if let Some((used, kept)) = self.kept.get_mut(&page) {
            *used = self.turn;
            return Ok(Arc::clone(kept));
        }
        let (payload, mut head) = match self.read_raw(page) {
            Ok(raw) => raw,
            Err(NandError::Uncorrectable(_)) => return Err(Damage::Unreadable(page).into()),
            Err(error) => return Err(device(error)),
        };
        if is_erased(&head) {
            return Err(Damage::Erased(page).into());
        }
        if !proves(&payload, &head) {
            if !(self.params.tag_in_spare && mend(&payload, &mut head)) {
                return Err(Damage::Page(page).into());
            }
            self.note(page, ReadOutcome::Corrected { bits: 1, refresh: true });
        }
        let tag = Tag::decode(&head, Some(&payload), self.params.spare_descs).ok_or(Damage::Page(page))?;
        let found = Arc::new(LogPage { tag, payload });
        self.keep(page, Arc::clone(&found));
        Ok(found)
    }

    /// How many pages may be kept; never fewer than a handful.
    pub(crate) fn set_kept(&mut self, pages: usize) {
        self.kept_max = pages.max(KEPT_MIN);
    }

    fn keep(&mut self, page: u32, found: Arc<LogPage>) {
        if found.tag.descs.len() < 2 {
            return;
        }
        if self.kept.len() >= self.kept_max
            && let Some(oldest) = self.kept.iter().min_by_key(|(_, (used, _))| *used).map(|(page, _)| *page)
        {
            self.kept.remove(&oldest);
        }
        self.kept.insert(page, (self.turn, found));
    }

    fn forget_block(&mut self, block: u32) {
        let params = self.params;
        self.kept.retain(|page, _| params.block_of(*page) != block);
        self.tired.retain(|tired| *tired != block);
    }

    /// Looks at the start of a tag with a single read of the chip.
    pub(crate) fn peek(&mut self, page: u32) -> Result<Peek, FsError> {
        let read = if self.params.tag_in_spare {
            let mut spare = vec![0; self.spare_bytes()];
            self.nand.read_spare(self.chip_page(page, 0), &mut spare).map(|outcome| (outcome, spare))
        } else {
            let mut data = vec![0; self.params.chip_page as usize];
            let mut spare = vec![0; self.spare_bytes()];
            let outcome = self.nand.read(self.chip_page(page, self.params.gang - 1), &mut data, &mut spare);
            let tag = data.split_off(data.len().saturating_sub(TAG_BYTES as usize));
            outcome.map(|outcome| (outcome, tag))
        };
        let bytes = match read {
            Ok((outcome, bytes)) => {
                self.note(page, outcome);
                bytes
            }
            Err(NandError::Uncorrectable(_)) => return Ok(Peek::Programmed(None)),
            Err(error) => return Err(device(error)),
        };
        if is_erased(&bytes) {
            return Ok(Peek::Erased);
        }
        Ok(Peek::Programmed(read_header(&bytes)))
    }

    /// The chunks of a page by its tag alone where that lies in the spare area; not proved.
    pub(crate) fn read_tag(&mut self, page: u32) -> Result<Option<Tag>, FsError> {
        if let Some((_, kept)) = self.kept.get(&page) {
            return Ok(Some(kept.tag.clone()));
        }
        if self.params.tag_in_spare {
            let mut head = Vec::with_capacity(self.spare_bytes() * self.params.gang as usize);
            for part in 0..self.params.gang {
                let mut spare = vec![0; self.spare_bytes()];
                match self.nand.read_spare(self.chip_page(page, part), &mut spare) {
                    Ok(outcome) => self.note(page, outcome),
                    Err(NandError::Uncorrectable(_)) => {}
                    Err(error) => return Err(device(error)),
                }
                head.append(&mut spare);
            }
            head.truncate(self.head_bytes());
            if is_erased(&head) {
                return Ok(None);
            }
            if let Some(tag) = Tag::decode(&head, None, self.params.spare_descs) {
                return Ok(Some(tag));
            }
        }
        match self.read(page) {
            Ok(found) => Ok(Some(found.tag.clone())),
            Err(error) if error == Damage::Erased(page).into() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// True if every byte of a log page reads as erased.
    pub(crate) fn is_blank(&mut self, page: u32) -> Result<bool, FsError> {
        match self.read_raw(page) {
            Ok((payload, head)) => Ok(is_blank(&payload) && is_blank(&head)),
            Err(NandError::Uncorrectable(_)) => Ok(false),
            Err(error) => Err(device(error)),
        }
    }

    /// Programs a log page; `payload` has its full length, with room left for overflowing descriptors.
    pub(crate) fn program(&mut self, page: u32, tag: &Tag, payload: &mut [u8]) -> Result<(), NandError> {
        let raw = tag.encode(self.params.spare_descs);
        let mut head = raw.head;
        let start = payload.len().saturating_sub(raw.overflow.len());
        if let Some(tail) = payload.get_mut(start..) {
            tail.copy_from_slice(&raw.overflow);
        }
        seal_padded(payload, &mut head, self.head_bytes(), self.params.tag_in_spare);
        if self.params.tag_in_spare {
            self.program_parts(page, payload, &head)
        } else {
            let mut bytes = payload.to_vec();
            bytes.extend_from_slice(&head);
            self.program_parts(page, &bytes, &[])
        }
    }

    fn program_parts(&mut self, page: u32, data: &[u8], head: &[u8]) -> Result<(), NandError> {
        let mut spare = vec![0xff; self.spare_bytes() * self.params.gang as usize];
        for (place, byte) in spare.iter_mut().zip(head) {
            *place = *byte;
        }
        let spare_bytes = self.spare_bytes();
        let mut spare_parts = spare.chunks_exact(spare_bytes.max(1));
        let parts = data.chunks_exact(self.params.chip_page as usize);
        for (part, bytes) in (0..self.params.gang).zip(parts) {
            self.nand.program(self.chip_page(page, part), bytes, spare_parts.next().unwrap_or_default())?;
        }
        Ok(())
    }

    /// Erases a block.
    pub(crate) fn erase(&mut self, block: u32) -> Result<(), NandError> {
        self.forget_block(block);
        self.nand.erase(BlockId(block))
    }

    /// True if the block carries a bad-block mark.
    pub(crate) fn is_bad(&mut self, block: u32) -> Result<bool, FsError> {
        self.nand.is_bad(BlockId(block)).map_err(device)
    }

    /// Marks a block bad; that the mark itself fails is no news on a block that is bad.
    pub(crate) fn mark_bad(&mut self, block: u32) -> Result<(), FsError> {
        self.forget_block(block);
        match self.nand.mark_bad(BlockId(block)) {
            Ok(()) | Err(NandError::ProgramFailed(_) | NandError::EraseFailed(_)) => Ok(()),
            Err(error) => Err(device(error)),
        }
    }
}

/// Seals a tag over the bytes that a reader will see: behind the last descriptor the spare area reads as
/// ones, and a checksum over a fixed length needs no knowledge of their number.
fn seal_padded(payload: &[u8], head: &mut Vec<u8>, full: usize, in_spare: bool) {
    if in_spare {
        head.resize(full, 0xff);
    }
    seal(payload, head);
}
