//! The anchors: two rings of erase blocks at the start of the chip, each with a copy of every anchor.
//!
//! A ring fills one block, then erases the other and goes on there. Pages that share cells with earlier ones are passed
//! over. The first ring is written first, so that its newest anchor is never older than that of the second, and erases
//! of both never meet. A ring of one good block erases the newest anchor with that: only where the other ring has
//! it. A ring whose other has no good block takes every anchor twice. The last good block of all is never erased: the
//! rings are worn out once it is full.

use alloc::vec::Vec;

use pumice_media::NandError;

use crate::Result;
use crate::anchor::Anchor;
use crate::medium::{Medium, Peek};
use crate::search::{Newest, newest, programmed};
use crate::shape::Shape;
use crate::tag::Tag;

/// Erase blocks at the start of the chip that hold the anchors.
pub const ANCHOR_BLOCKS: u32 = 4;
/// Copies of every root, and rings of anchors.
pub(crate) const COPIES: usize = 2;
/// Erase blocks of a ring.
pub(crate) const RING_BLOCKS: u32 = 2;
const _: () = assert!(RING_BLOCKS as usize * COPIES == ANCHOR_BLOCKS as usize);

/// The kind of pages that hold anchors; owners have other kinds.
pub const ANCHOR: u8 = 15;

/// The end of a ring: block, and the next page in it, which may be past the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Spot {
    block: u32,
    index: u32,
}

impl Spot {
    /// The end of the same block, of so many pages.
    fn ended(self, pages: u32) -> Spot {
        Spot { index: pages, ..self }
    }
}

/// The rings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Rings {
    /// The end of each ring; none before the first look since the mount.
    spots: [Option<Spot>; COPIES],
    /// Sequence number of the anchor that counts, or 0; copies have the same.
    seq: u64,
    /// A power cut may have left pages at the ends that seem erased; data written there fades.
    doubted: bool,
    /// The ring that has not the newest anchor, by a look at both or by the last write.
    behind: Option<u32>,
    /// One good block is left of both rings, by a look at both or by the last write.
    last: bool,
}

/// The result of a look at a ring.
struct Look {
    newest: Option<Newest<Anchor>>,
    spot: Spot,
    /// No page that could hold a newer one is unreadable, no block that could is silent, and both are good.
    sure: bool,
    /// Good blocks of the ring.
    good: u32,
    /// A block that was written to and has no readable anchor.
    silent: Option<u32>,
}

impl Look {
    fn seq(&self) -> Option<u64> {
        self.newest.as_ref().map(|newest| newest.seq)
    }
}

/// The first block of a ring.
fn first_of(ring: u32) -> u32 {
    ring * RING_BLOCKS
}

impl Rings {
    /// Rings of a chip about to get its first anchor.
    pub(crate) fn blank(shape: Shape) -> Rings {
        let spot = |ring| Some(Spot { block: first_of(ring) + RING_BLOCKS - 1, index: shape.pages() });
        Rings { spots: [spot(0), spot(1)], seq: 0, doubted: false, behind: None, last: false }
    }

    /// Rings of a chip that has no anchors any more.
    pub(crate) fn lost() -> Rings {
        Rings { spots: [None; COPIES], seq: 0, doubted: true, behind: None, last: false }
    }

    /// Finds the newest anchor with this magic. Reads each block of the first ring once, searches one of them by halves
    /// and reads the anchor itself; the second ring only where the first leaves a doubt. The medium has the shape of
    /// anchors, as everywhere here.
    pub(crate) fn find(medium: &mut Medium<'_>, magic: [u8; 8]) -> Result<Option<(Anchor, Rings)>> {
        let mut rings = Rings::lost();
        let (mut best, mut good): (Option<Newest<Anchor>>, u32) = (None, 0);
        for (ring, spot) in (0..).zip(&mut rings.spots) {
            let look = look(medium, ring, magic)?;
            *spot = Some(look.spot);
            let sure = look.sure;
            good += look.good;
            let found = look.newest.filter(|found| best.as_ref().is_none_or(|best| best.seq < found.seq));
            best = found.or(best);
            if sure && best.as_ref().is_some_and(Newest::is_last) {
                break;
            }
        }
        rings.seq = best.as_ref().map_or(0, |best| best.seq);
        rings.last = good == 1;
        Ok(best.map(|best| (best.root, rings)))
    }

    /// The sequence number of the anchor that counts.
    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    /// True if one good block is left of both rings: anchors are written until it is full.
    pub(crate) fn is_last_block(&self) -> bool {
        self.last
    }

    /// Finds the end of each ring, before the first write after a mount. A page touched by a power cut may have a tag
    /// that looks erased, so it is read whole. A touched page ends its block: a gap behind it would lead the search by
    /// halves astray. False if a ring does not hold the newest anchor.
    pub(crate) fn find_ends(&mut self, medium: &mut Medium<'_>, magic: [u8; 8]) -> Result<bool> {
        let pages = medium.shape().pages();
        self.behind = None;
        for (ring, spot) in (0..).zip(&mut self.spots) {
            let look = look(medium, ring, magic)?;
            let is_behind = look.seq() != Some(self.seq);
            if is_behind {
                self.behind = Some(ring);
            }
            let mut at = look.spot;
            if is_behind {
                // The erase of its block may have been cut. And it must not seem sure: older anchors are erased first.
                at = Spot { block: look.silent.unwrap_or(at.block), index: pages };
            } else if !is_blank_behind(medium, at, look.silent.is_some())? {
                at.index = pages;
            }
            *spot = Some(at);
        }
        Ok(self.behind.is_none())
    }

    /// True if only one of them had the newest anchor when their ends were found, and none was written since.
    pub(crate) fn are_uneven(&self) -> bool {
        self.doubted && self.behind.is_some()
    }

    /// True if an earlier mount may have evened them out, before it wrote an anchor of its own.
    pub(crate) fn may_be_evened(medium: &mut Medium<'_>) -> Result<bool> {
        Ok(good(medium, 0)? < RING_BLOCKS)
    }

    /// True if both rings have the same newest anchor.
    pub(crate) fn is_even(&self, medium: &mut Medium<'_>, magic: [u8; 8]) -> Result<bool> {
        let mut seqs = Vec::new();
        for (ring, _) in (0..).zip(&self.spots) {
            seqs.push(look(medium, ring, magic)?.seq());
        }
        Ok(seqs.iter().all(|seq| seq.is_some() && Some(seq) == seqs.first()))
    }

    /// Writes an anchor to both rings, with the same sequence number, or twice to one whose other has no good block; false
    /// if no block holds it, but for one with the only newest anchor.
    pub(crate) fn write(&mut self, medium: &mut Medium<'_>, anchor: &Anchor, seq: u64) -> Result<bool> {
        let doubted = core::mem::take(&mut self.doubted);
        // Both rings may have turned out to have one good block each: the first is spared then.
        let held = self.write_once(medium, anchor, seq, doubted)?
            || self.write_once(medium, anchor, seq, doubted)?;
        self.last = good(medium, 0)? + good(medium, 1)? == 1;
        Ok(held)
    }

    fn write_once(
        &mut self,
        medium: &mut Medium<'_>,
        anchor: &Anchor,
        seq: u64,
        doubted: bool,
    ) -> Result<bool> {
        let (payload, pages) = (payload_of(medium, anchor), medium.shape().pages());
        let has_none = self.seq == 0;
        let mut has_other = has_none || self.is_first_spare(medium, anchor.magic, doubted)?;
        let (mut held, mut behind) = (false, None);
        for (ring, spot) in (0..).zip(&mut self.spots) {
            debug_assert!(spot.is_some(), "ends are found before anchors are written");
            let mut at = spot.unwrap_or(Spot { block: first_of(ring), index: pages });
            if doubted {
                at = write_ring(medium, ring, at, has_other, (&payload, seq))?.unwrap_or(at.ended(pages));
            }
            let done = write_ring(medium, ring, at, has_other, (&payload, seq))?;
            // A ring without a good block stays behind; the next write tries it again.
            *spot = Some(done.unwrap_or(at.ended(pages)));
            if done.is_none() && ring == 0 && !has_other {
                // What the first ring holds would count.
                return Ok(false);
            }
            held |= done.is_some();
            behind = if done.is_some() { behind } else { Some(ring) };
            has_other = done.is_some() || has_none;
        }
        if held {
            (self.behind, self.seq) = (behind, seq);
        }
        match behind {
            Some(ring) if held && good(medium, ring)? == 0 => self.write_copy(medium, ring, (&payload, seq)),
            _ => Ok(held),
        }
    }

    /// Writes the second copy of an anchor to the ring that has the first, as the other one, `bad`, has no good block.
    fn write_copy(&mut self, medium: &mut Medium<'_>, bad: u32, root: (&[u8], u64)) -> Result<bool> {
        for (ring, spot) in (0..).zip(&mut self.spots).filter(|(ring, _)| *ring != bad) {
            let Some(at) = *spot else { continue };
            let done = write_ring(medium, ring, at, false, root)?;
            *spot = Some(done.unwrap_or(at.ended(medium.shape().pages())));
            return Ok(done.is_some());
        }
        Ok(false)
    }

    /// True if nothing is lost with the first ring, before that is written. If it may have to erase the only anchors that
    /// no power cut can have touched, the newest is copied to the second ring.
    fn is_first_spare(&mut self, medium: &mut Medium<'_>, magic: [u8; 8], doubted: bool) -> Result<bool> {
        let [_, Some(at)] = &mut self.spots else { return Ok(true) };
        if good(medium, 1)? == 0 {
            return Ok(false);
        }
        let is_spare = self.behind == Some(0) || (self.behind.is_none() && !doubted);
        if is_spare || good(medium, 0)? == RING_BLOCKS {
            return Ok(is_spare);
        }
        let Some(newest) = look(medium, 0, magic)?.newest else { return Ok(true) };
        let payload = payload_of(medium, &newest.root);
        let end = write_ring(medium, 1, *at, true, (&payload, newest.seq))?;
        *at = end.unwrap_or(at.ended(medium.shape().pages()));
        Ok(end.is_some())
    }
}

/// An anchor's page.
fn payload_of(medium: &Medium<'_>, anchor: &Anchor) -> Vec<u8> {
    let mut payload = anchor.encode(medium.shape().pairing());
    payload.resize(medium.shape().payload(), 0);
    payload
}

/// Writes an anchor to a ring and returns the ring's new end; none if no block of the ring holds. Its own block is
/// erased for that only if the other ring has its anchors, too.
fn write_ring(
    medium: &mut Medium<'_>,
    ring: u32,
    at: Spot,
    has_other: bool,
    (payload, seq): (&[u8], u64),
) -> Result<Option<Spot>> {
    let shape = *medium.shape();
    if let Some(index) = shape.next_safe(at.index, at.index)
        && put(medium, ANCHOR, shape.page(at.block, index), seq, payload)? == Put::Held
    {
        return Ok(Some(Spot { index: index + 1, ..at }));
    }
    for step in 1..=RING_BLOCKS {
        let block = first_of(ring) + (at.block - first_of(ring) + step) % RING_BLOCKS;
        if (block == at.block && !has_other) || !renew(medium, block)? {
            continue;
        }
        match put(medium, ANCHOR, shape.page(block, 0), seq, payload)? {
            Put::Held => return Ok(Some(Spot { block, index: 1 })),
            Put::Failed => medium.mark_bad(block)?,
            Put::Lost => {}
        }
    }
    Ok(None)
}

/// Erases a block; false if it is bad.
pub(crate) fn renew(medium: &mut Medium<'_>, block: u32) -> Result<bool> {
    Ok(!medium.is_bad(block)? && medium.renew(block)?)
}

/// Good blocks of a ring.
fn good(medium: &mut Medium<'_>, ring: u32) -> Result<u32> {
    let mut good = 0;
    for block in first_of(ring)..first_of(ring) + RING_BLOCKS {
        good += u32::from(!medium.is_bad(block)?);
    }
    Ok(good)
}

/// True if the page behind a ring's end is blank. Where the ring has no other block, all pages must be: the erase of this
/// one may have been cut with the newest anchor in it.
fn is_blank_behind(medium: &mut Medium<'_>, end: Spot, is_silent: bool) -> Result<bool> {
    let shape = *medium.shape();
    let Some(next) = shape.next_safe(end.index, end.index) else { return Ok(true) };
    let is_alone = is_silent || good(medium, end.block / RING_BLOCKS)? < RING_BLOCKS;
    for index in if is_alone { end.index..shape.pages() } else { next..next + 1 } {
        if !medium.is_blank(shape.page(end.block, index))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The newest anchor of a ring, and the ring's end.
fn look(medium: &mut Medium<'_>, ring: u32, magic: [u8; 8]) -> Result<Look> {
    let shape = *medium.shape();
    let (mut blocks, mut sure, mut good) = (Vec::new(), true, 0);
    for block in (first_of(ring)..first_of(ring) + RING_BLOCKS).filter(|block| *block < shape.blocks()) {
        if medium.is_bad(block)? {
            // The other is erased with the newest anchor in it, and a cut may have left an older one there.
            sure = false;
            continue;
        }
        good += 1;
        if let Peek::Programmed(header) = medium.peek(shape.page(block, 0))? {
            blocks.push((header.filter(|(kind, _)| *kind == ANCHOR).map(|(_, seq)| seq), block));
        }
    }
    // A block with an undecided first page may be the newest all the same: those are looked through first.
    blocks.sort_unstable_by_key(|(seq, _)| core::cmp::Reverse(seq.unwrap_or(u64::MAX)));
    let full = Spot { block: first_of(ring) + RING_BLOCKS - 1, index: shape.pages() };
    sure &= blocks.iter().all(|(seq, _)| seq.is_some());
    let mut look = Look { newest: None, spot: full, sure, good, silent: None };
    let mut first = None;
    for (seq, block) in blocks {
        // Both may begin with the same anchor, one of them for a program behind it that failed.
        if first.is_some() && seq < first {
            break;
        }
        let read = |bytes: &[u8]| Anchor::decode(bytes).filter(|anchor| anchor.magic == magic);
        let used = programmed(medium, block)?;
        let Some(found) = newest(medium, block, used, ANCHOR, read)? else {
            (look.silent, look.sure) = (Some(block), false);
            continue;
        };
        if look.newest.as_ref().is_none_or(|newest| newest.seq < found.seq) {
            look = Look { newest: Some(found), spot: Spot { block, index: used }, ..look };
        }
        first = first.or(seq);
    }
    Ok(look)
}

/// The outcome of a write of a root page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Put {
    Held,
    /// The chip says that the program failed.
    Failed,
    /// It cannot be read back: a power cut touched the page before. The block itself is good.
    Lost,
}

/// Programs a root page and reads it back.
pub(crate) fn put(medium: &mut Medium<'_>, kind: u8, page: u32, seq: u64, payload: &[u8]) -> Result<Put> {
    let tag = Tag { kind, flags: 0, seq, body: Vec::new() };
    match medium.program(page, &tag, payload) {
        Ok(()) if medium.read_proved(page)?.is_some() => Ok(Put::Held),
        Ok(()) => Ok(Put::Lost),
        Err(NandError::ProgramFailed(_)) => Ok(Put::Failed),
        Err(error) => Err(error),
    }
}
