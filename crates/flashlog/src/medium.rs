//! The chip as the log sees it: superpages with tags, read again where the first look fails, and a few kept.

mod copies;
mod look;
mod parity;
mod partial;
mod signatures;

use alloc::{sync::Arc, vec, vec::Vec};
use core::fmt;

use hashbrown::{HashMap, HashSet};
use pumice_media::{AnyChip, BlockId, Nand, NandError, NandStats, ReadOutcome};

use crate::Result;
use crate::sampler::Sampler;
use crate::shape::{Place, Shape, TagPlace};
use crate::stripe::{Stripes, word};
use crate::tag::{Tag, is_blank, is_erased, seal};

pub use signatures::SIGNATURE_BYTES;

use signatures::signature;

/// The least number of pages kept after reads, so that several chunks of one page cost one read.
const KEPT_MIN: usize = 4;
/// The most erase blocks remembered at a time because their ECC is near its limit.
const TIRED_MOST: usize = 64;
/// One read in so many is charged to its erase block.
const SAMPLED: u32 = 1024;
/// Charged reads after which a block is to be emptied, about 15,000. Single-level parts stand 100,000 reads of a block
/// and more, others some ten thousand; the deviation of the count is a quarter.
pub const READS_MOST: u8 = 15;
/// Looks at a page that ECC gives up on before it counts as unreadable: some chips read better the next time.
const READS: u32 = 3;

/// A superpage that proved itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    /// The tag.
    pub tag: Tag,
    /// The payload.
    pub payload: Vec<u8>,
}

/// A superpage without proof.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RawPage {
    /// The owner's bytes.
    pub payload: Vec<u8>,
    /// The tag, or the proof alone.
    pub head: Vec<u8>,
    /// ECC did not give up on any part.
    pub readable: bool,
    /// Every byte reads as erased, including those of the spare area behind the head.
    is_blank: bool,
}

/// The reason that a superpage could not be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// It was never programmed since its block was erased.
    Erased(u32),
    /// ECC gave up on it.
    Unreadable(u32),
    /// Its checksum is wrong, or its tag makes no sense.
    Unproved(u32),
    /// The chip failed.
    Chip(NandError),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Erased(page) => write!(f, "log page {page} is erased but should hold a chunk"),
            Fault::Unreadable(page) => write!(f, "log page {page} has more wrong bits than ECC can correct"),
            Fault::Unproved(page) => write!(f, "log page {page} is damaged (checksum)"),
            Fault::Chip(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for Fault {}

impl Fault {
    /// Nothing in place of a page that is erased or cannot be read.
    pub fn readable<T>(found: Result<T, Fault>) -> Result<Option<T>> {
        match found {
            Ok(found) => Ok(Some(found)),
            Err(Fault::Chip(error)) => Err(error),
            Err(Fault::Erased(_) | Fault::Unreadable(_) | Fault::Unproved(_)) => Ok(None),
        }
    }
}

impl From<NandError> for Fault {
    fn from(error: NandError) -> Fault {
        Fault::Chip(error)
    }
}

/// Kind and sequence number of a page, if they prove themselves.
pub type Look = Option<(u8, u64)>;

/// The result of a look at the first bytes of a tag; the page behind it is not proved yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Peek {
    /// Never programmed, by the look of it.
    Erased,
    /// The page is programmed; kind and sequence number if they prove themselves.
    Programmed(Look),
}

/// The chip.
pub struct Medium<'c> {
    nand: AnyChip<'c>,
    shape: Shape,
    /// Pages kept, each with the time of its last use.
    kept: HashMap<u32, (u64, Arc<Page>)>,
    kept_max: usize,
    /// A page that is read from memory alone.
    pinned: Option<(u32, Arc<Page>)>,
    /// The most places from a programmed page to the next one.
    reach: u32,
    turn: u64,
    /// The sequence number of the next page.
    seq: u64,
    tired: Vec<u32>,
    sampler: Sampler,
    corrected_bits: u64,
    /// Parity over the blocks that are being filled.
    stripes: Stripes,
    /// Blocks with copies of the parity of blocks that were being filled before the mount, the newest last.
    copies: Vec<u32>,
    /// Blocks that may be brought back by those copies.
    copied: HashSet<u32>,
    rebuilt_pages: u64,
}

impl<'c> Medium<'c> {
    /// The medium on a chip, in superpages of this shape; the chip tells the pairing.
    pub fn new(nand: AnyChip<'c>, shape: Shape) -> Medium<'c> {
        let shape = shape.with_pairing(nand.pairing());
        Medium {
            nand,
            shape,
            kept: HashMap::new(),
            kept_max: KEPT_MIN,
            pinned: None,
            reach: shape.reach(),
            turn: 0,
            seq: 1,
            tired: Vec::new(),
            sampler: Sampler::off(),
            corrected_bits: 0,
            stripes: Stripes::default(),
            copies: Vec::new(),
            copied: HashSet::new(),
            rebuilt_pages: 0,
        }
    }

    /// The chip.
    pub fn chip(&self) -> &AnyChip<'c> {
        &self.nand
    }

    /// The chip, given back.
    pub fn into_chip(self) -> AnyChip<'c> {
        self.nand
    }

    /// The shape of its superpages.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The same chip for a while in superpages of another shape.
    pub fn shaped(&mut self, shape: Shape) -> Medium<'_> {
        Medium::new(AnyChip::lend(&mut self.nand), shape)
    }

    /// The sequence number of the next page.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The same, which is used now.
    pub fn next_seq(&mut self) -> u64 {
        self.seq += 1;
        self.seq - 1
    }

    /// Leaves numbers out: the next one is `seq` at the least, and `more` behind that.
    pub fn number_from(&mut self, seq: u64, more: u64) {
        self.seq = self.seq.max(seq) + more;
    }

    /// Starts over with this number, as a checkpoint tells it.
    pub fn set_seq(&mut self, seq: u64) {
        self.seq = seq;
    }

    /// The chip's counters.
    pub fn stats(&self) -> NandStats {
        self.nand.stats()
    }

    /// Device time of reading a superpage, in nanoseconds.
    pub fn page_read_ns(&self) -> u64 {
        self.nand.timing().read_page_ns * u64::from(self.shape.parts())
    }

    /// Device time of a look at a tag, in nanoseconds.
    pub fn peek_ns(&self) -> u64 {
        let timing = self.nand.timing();
        if self.shape.tag_place() == TagPlace::Page { timing.read_page_ns } else { timing.read_spare_ns }
    }

    /// Makes all programmed pages outlive a crash of the host.
    pub fn flush(&mut self) -> Result<()> {
        self.nand.flush()
    }

    fn note(&mut self, block: u32, outcome: ReadOutcome) {
        if let ReadOutcome::Corrected { bits, refresh } = outcome {
            self.corrected_bits += u64::from(bits);
            if refresh {
                self.call_tired(block);
            }
        }
    }

    /// Wrong bits that were put right, counted by the worst codeword of each read.
    pub fn corrected_bits(&self) -> u64 {
        self.corrected_bits
    }

    /// Has a block rewritten soon. Some of many that wait are forgotten: the next read calls them again.
    pub fn call_tired(&mut self, block: u32) {
        if self.tired.len() < TIRED_MOST && !self.tired.contains(&block) {
            self.tired.push(block);
        }
    }

    /// Draws one in so many reads of a page or spare area at random from here on, and notes its block.
    pub fn watch_reads(&mut self) {
        self.sampler = Sampler::new(SAMPLED, self.seq);
    }

    /// True if blocks wait to be told.
    pub fn has_samples(&self) -> bool {
        self.sampler.has_told()
    }

    /// The blocks of the reads drawn since the last call. Their number is limited: ask now and then.
    pub fn take_samples(&mut self) -> Vec<u32> {
        self.sampler.take()
    }

    /// True if there are blocks in which ECC is near its limit.
    pub fn has_tired(&self) -> bool {
        !self.tired.is_empty()
    }

    /// True if a block is to be rewritten soon.
    pub fn is_tired(&self, block: u32) -> bool {
        self.tired.contains(&block)
    }

    /// A block in which ECC is near its limit, to be rewritten soon.
    pub fn take_tired(&mut self) -> Option<u32> {
        self.tired.pop()
    }

    /// Takes a block off the list of tired ones.
    pub fn forget_tired(&mut self, block: u32) {
        self.tired.retain(|tired| *tired != block);
    }

    /// Reads one part of a superpage. The buffers hold the chip's bytes.
    fn read_part(
        &mut self,
        (block, index): Place,
        part: u32,
        data: &mut [u8],
        spare: &mut [u8],
    ) -> Result<()> {
        let at = self.shape.chip_page_at((block, index), part);
        self.insist(block, |nand| nand.read(at, data, spare))
    }

    /// Reads in a block, several times if ECC gives up.
    fn insist(
        &mut self,
        block: u32,
        mut read: impl FnMut(&mut AnyChip<'c>) -> Result<ReadOutcome, NandError>,
    ) -> Result<()> {
        let mut reads = 1;
        loop {
            self.sampler.read(block);
            match read(&mut self.nand) {
                Ok(outcome) => {
                    // A page that took more than one look is near its end.
                    let outcome =
                        if reads > 1 { ReadOutcome::Corrected { bits: 1, refresh: true } } else { outcome };
                    self.note(block, outcome);
                    return Ok(());
                }
                Err(NandError::Uncorrectable(_)) if reads < READS => reads += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// A superpage as the chip gives it.
    pub fn read_raw(&mut self, page: u32) -> Result<RawPage> {
        self.read_place(self.shape.place(page))
    }

    fn read_place(&mut self, place: Place) -> Result<RawPage> {
        let shape = self.shape;
        let mut data = vec![0; shape.data_bytes()];
        let mut spare = vec![0; shape.spare_bytes()];
        let mut spares = spare.chunks_exact_mut(shape.chip_spare_bytes().max(1));
        let mut readable = true;
        for (part, bytes) in (0..shape.parts()).zip(data.chunks_exact_mut(shape.chip_page_bytes())) {
            match self.read_part(place, part, bytes, spares.next().unwrap_or_default()) {
                Ok(()) => {}
                Err(NandError::Uncorrectable(_)) => readable = false,
                Err(error) => return Err(error),
            }
        }
        let is_blank = readable && is_blank(&data) && is_blank(&spare);
        if shape.tag_place() == TagPlace::Page {
            spare = data.split_off(shape.payload());
        } else {
            spare.truncate(shape.head_bytes());
        }
        Ok(RawPage { payload: data, head: spare, readable, is_blank })
    }

    /// Reads a superpage and proves it.
    pub fn read(&mut self, page: u32) -> Result<Arc<Page>, Fault> {
        match self.known(page) {
            Some(known) => Ok(Arc::clone(known)),
            None => self.read_anew(page),
        }
    }

    /// A page that is in memory.
    fn known(&mut self, page: u32) -> Option<&Arc<Page>> {
        if let Some((_, pinned)) = self.pinned.as_ref().filter(|(pinned, _)| *pinned == page) {
            return Some(pinned);
        }
        self.turn += 1;
        let (used, kept) = self.kept.get_mut(&page)?;
        *used = self.turn;
        Some(kept)
    }

    /// Keeps the page that was programmed last when the power went, until its block is erased: it may have been read for
    /// the last time.
    pub fn pin(&mut self, page: u32, found: Arc<Page>) {
        self.pinned = Some((page, found));
    }

    /// The page that is kept so.
    pub fn pinned(&self) -> Option<u32> {
        self.pinned.as_ref().map(|(page, _)| *page)
    }

    /// The same from the chip, kept or not, or by the parity of its block if unreadable. A page brought back by parity
    /// is kept, and its block called tired.
    pub fn read_anew(&mut self, page: u32) -> Result<Arc<Page>, Fault> {
        let read = self.prove_raw(page).map(|(page, _)| Arc::new(page));
        let Err(Fault::Unreadable(_) | Fault::Unproved(_)) = read else { return read };
        let Some(found) = self.rebuild(page)? else { return read };
        self.rebuilt_pages += 1;
        self.call_tired(self.shape.block_of(page));
        Ok(found)
    }

    /// A superpage that proves itself, with its head as it was programmed.
    fn prove_raw(&mut self, page: u32) -> Result<(Page, Vec<u8>), Fault> {
        let RawPage { payload, mut head, readable, .. } = self.read_raw(page)?;
        if !readable {
            return Err(Fault::Unreadable(page));
        }
        // A proof alone is too short to be told from stray bits by itself.
        let by_head = self.shape.tag_place() != TagPlace::Proof || is_blank(&payload);
        if by_head && is_erased(&head) {
            return Err(Fault::Erased(page));
        }
        let proved = Tag::proved(&self.shape, page, &payload, &mut head);
        let (tag, mended) = proved.ok_or(Fault::Unproved(page))?;
        if mended {
            self.note(self.shape.block_of(page), ReadOutcome::Corrected { bits: 1, refresh: true });
        }
        Ok((Page { tag, payload }, head))
    }

    /// Reads a superpage; none if it is erased or proves nothing.
    pub fn read_proved(&mut self, page: u32) -> Result<Option<Arc<Page>>> {
        Fault::readable(self.read(page))
    }

    /// Keeps a page that was read, in place of the one that was not used for longest.
    pub fn keep(&mut self, page: u32, found: &Arc<Page>) {
        if self.kept.len() >= self.kept_max && !self.kept.contains_key(&page) {
            let oldest = self.kept.iter().min_by_key(|(_, (used, _))| *used).map(|(page, _)| *page);
            oldest.and_then(|oldest| self.kept.remove(&oldest));
        }
        self.kept.insert(page, (self.turn, Arc::clone(found)));
    }

    /// Sets the number of pages to keep; never fewer than a handful.
    pub fn set_kept(&mut self, pages: usize) {
        self.kept_max = pages.max(KEPT_MIN);
    }

    fn forget_block(&mut self, block: u32) {
        let shape = self.shape;
        self.stripes.forget(block);
        self.kept.retain(|page, _| shape.block_of(*page) != block);
        self.pinned.take_if(|(page, _)| shape.block_of(*page) == block);
        self.forget_tired(block);
    }

    /// True if every byte of a superpage reads as erased.
    pub fn is_blank(&mut self, page: u32) -> Result<bool> {
        Ok(self.read_raw(page)?.is_blank)
    }

    /// Programs a superpage; `payload` has its full length.
    pub fn program(&mut self, page: u32, tag: &Tag, payload: &[u8]) -> Result<()> {
        let mut head = tag.encode(&self.shape);
        seal(&self.shape, page, payload, &mut head);
        self.program_raw(page, payload, &head)
    }

    /// Programs a superpage with these bytes, sealed or not.
    pub fn program_raw(&mut self, page: u32, payload: &[u8], head: &[u8]) -> Result<()> {
        self.program_place(self.shape.place(page), payload, head)
    }

    fn program_place(&mut self, place: Place, payload: &[u8], head: &[u8]) -> Result<()> {
        let shape = self.shape;
        debug_assert_eq!(payload.len(), shape.payload(), "a payload of another length");
        let signature =
            if shape.has_signatures() { signature(&word(&shape, payload, head)) } else { Vec::new() };
        if shape.tag_place() == TagPlace::Page {
            let mut data = payload.to_vec();
            data.extend_from_slice(head);
            return self.program_parts(place, &data, &[], &signature);
        }
        self.program_parts(place, payload, head, &signature)
    }

    /// Programs the parts of a superpage; the end of the spare area gets the signature.
    fn program_parts(&mut self, place: Place, data: &[u8], head: &[u8], signature: &[u8]) -> Result<()> {
        let shape = self.shape;
        let mut spare = head.to_vec();
        spare.resize(shape.spare_bytes() - signature.len(), 0xff);
        spare.extend_from_slice(signature);
        let mut spares = spare.chunks_exact(shape.chip_spare_bytes().max(1));
        for (part, bytes) in (0..shape.parts()).zip(data.chunks_exact(shape.chip_page_bytes())) {
            self.nand.program(shape.chip_page_at(place, part), bytes, spares.next().unwrap_or_default())?;
        }
        Ok(())
    }

    /// Erases a block.
    pub fn erase(&mut self, block: u32) -> Result<()> {
        self.forget_block(block);
        self.nand.erase(BlockId(block))
    }

    /// Erases a block, or marks it bad if that fails; false then.
    pub fn renew(&mut self, block: u32) -> Result<bool> {
        match self.erase(block) {
            Ok(()) => Ok(true),
            Err(NandError::EraseFailed(_)) => self.mark_bad(block).map(|()| false),
            Err(error) => Err(error),
        }
    }

    /// True if the block carries a bad-block mark.
    pub fn is_bad(&mut self, block: u32) -> Result<bool> {
        self.nand.is_bad(BlockId(block))
    }

    /// Marks a block bad; a mark that fails is no news on a bad block.
    pub fn mark_bad(&mut self, block: u32) -> Result<()> {
        self.forget_block(block);
        match self.nand.mark_bad(BlockId(block)) {
            Ok(()) | Err(NandError::ProgramFailed(_) | NandError::EraseFailed(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
