//! The way to the newest checkpoint, twice: two blocks hold the records of checkpoints side by side, and anchors name
//! those blocks.
//!
//! A record is programmed into the first block, then into the second, at the same place in both. When they are full, or
//! either fails, both are given up for others and an anchor names those. So checkpoints wear no place out, and no
//! single page is indispensable: of two copies one remains, whichever page is unreadable.

use alloc::vec::Vec;

use pumice_media::{AnyChip, Nand, NandError};

use crate::Result;
use crate::anchor::Anchor;
use crate::medium::{Medium, Peek};
use crate::ring::{ANCHOR_BLOCKS, COPIES, Put, Rings, put, renew};
use crate::search::{Newest, newest, programmed};
use crate::shape::{Shape, TagPlace};

/// The kind of pages that hold records of checkpoints; owners have other kinds.
pub const CHECKPOINT: u8 = 14;

/// Blocks that a cut write of a record may have taken before an anchor named them, unless programs failed in them.
pub const DOUBTED: usize = 2 * COPIES;

/// Erased blocks for records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// Two.
    Both([u32; COPIES]),
    /// A single one, as no other is left: one of the old blocks is used again. Costs an anchor more.
    One(u32),
}

/// The log's owner as its roots see it.
pub trait Keeper<'c> {
    /// The owner's error.
    type Error;

    /// The medium.
    fn medium(&mut self) -> &mut Medium<'c>;

    /// Erased blocks for records, or none.
    fn take_blocks(&mut self) -> Result<Taken, Self::Error>;

    /// Erases a block of records that is used again; false if that failed, and the block is marked bad.
    fn renew(&mut self, block: u32) -> Result<bool, Self::Error> {
        renew(self.medium(), block).map_err(Self::chip_error)
    }

    /// A program failed in a block of records.
    fn failing(&mut self, block: u32);

    /// The record; `left` are the blocks that are given up by the time it counts. It may be asked for again.
    fn record(&mut self, left: &[u32]) -> Result<Vec<u8>, Self::Error>;

    /// The chip failed.
    fn chip_error(error: NandError) -> Self::Error;

    /// No anchor can be written any more.
    fn worn_out() -> Self::Error;
}

/// The places of the next anchor and the next record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Roots {
    rings: Rings,
    anchor: Anchor,
    /// The shape of records; that of anchors until the owner sets it.
    records: Shape,
    /// The next page in both blocks of records; may be past the end.
    next: u32,
    /// The ends were not looked for since the mount.
    idle: bool,
    /// A power cut may have left pages behind the records that seem erased; data written there fades.
    doubted: bool,
    /// Both copies of the newest record are there, and nothing behind them.
    whole: bool,
    /// The only copy of the newest record.
    alone: Option<Alone>,
    /// Sequence number of the newest root found.
    newest: u64,
}

impl Roots {
    /// Roots of a chip about to get its first checkpoint, with records in superpages of this shape; `None` if the chip
    /// is of no use.
    pub fn blank(records: Shape, anchor: Anchor) -> Option<Roots> {
        let anchor = Anchor { checkpoints: [0; COPIES], ..anchor };
        let rings = Rings::blank(Shape::of_anchors(&anchor.geometry)?);
        Some(Roots {
            rings,
            anchor,
            records,
            next: records.pages(),
            idle: false,
            doubted: false,
            whole: true,
            alone: None,
            newest: 0,
        })
    }

    /// Finds the newest anchor with this magic; `None` if there is none. Nothing of the volume need be known.
    pub fn find(nand: &mut (dyn Nand + Send), magic: &[u8; 8]) -> Result<Option<Roots>> {
        let Some(shape) = Shape::of_anchors(&nand.geometry()) else { return Ok(None) };
        let found = Rings::find(&mut Medium::new(AnyChip::lend(nand), shape), *magic)?;
        Ok(found.map(|(anchor, rings)| Roots {
            newest: rings.seq(),
            rings,
            anchor,
            records: shape,
            next: u32::MAX,
            idle: true,
            doubted: true,
            whole: false,
            alone: None,
        }))
    }

    /// Roots of a chip that has lost all anchors; records may be left in the blocks that this one names, none is 0. The
    /// next root is an anchor. `None` if the chip is of no use.
    pub fn without_anchors(records: Shape, anchor: Anchor) -> Option<Roots> {
        let rings = Rings::lost();
        Shape::of_anchors(&anchor.geometry)?;
        Some(Roots {
            rings,
            anchor,
            records,
            next: u32::MAX,
            idle: true,
            doubted: true,
            whole: false,
            alone: None,
            newest: 0,
        })
    }

    /// Finds the newest record, in superpages of this shape: in the first block if the last page programmed there is
    /// proved and has its copy, in both otherwise. `None` if the blocks named by the anchor have none.
    pub fn find_record(&mut self, medium: &mut Medium<'_>, records: Shape) -> Result<Option<Vec<u8>>> {
        self.records = *medium.shaped(records).shape();
        let found = self.newest_record(&mut medium.shaped(records))?;
        if found.is_none() {
            // Blocks that hold no record are not given up for others when the next one is written.
            self.anchor.checkpoints = [0; COPIES];
        }
        Ok(found)
    }

    fn newest_record(&mut self, medium: &mut Medium<'_>) -> Result<Option<Vec<u8>>> {
        let [first, second] = self.anchor.checkpoints;
        let blocks = ANCHOR_BLOCKS..medium.shape().blocks();
        if first == second || !blocks.contains(&first) || !(second == 0 || blocks.contains(&second)) {
            return Ok(None);
        }
        let mut best = Half::read(medium, first)?;
        // A cut may have ended before the second copy.
        let mut is_copied = second != 0 && best.is_copied_to(medium, second)?;
        let is_last = best.newest.as_ref().is_some_and(Newest::is_last);
        let is_decided = is_last && (is_copied || !self.is_numbered());
        let mut is_apart = false;
        self.next = best.used;
        if second != 0 && !is_decided {
            let mut other = Half::read(medium, second)?;
            self.next = self.next.max(other.used);
            if best.order() < other.order() {
                (best, other) = (other, best);
                is_copied = false;
            }
            is_apart = other.newest.is_some() && !other.is_copied_to(medium, best.block)?;
        }
        self.whole = is_copied && is_decided;
        let Some(newest) = best.newest else { return Ok(None) };
        self.alone = (!is_copied).then_some(Alone { block: best.block, used: best.used, is_apart });
        self.newest = self.newest.max(newest.seq);
        Ok(Some(newest.root))
    }

    /// True if records have sequence numbers.
    fn is_numbered(&self) -> bool {
        self.records.tag_place() != TagPlace::Proof
    }

    /// The anchor.
    pub fn anchor(&self) -> &Anchor {
        &self.anchor
    }

    /// The shape of records.
    pub(crate) fn record_shape(&self) -> &Shape {
        &self.records
    }

    /// The sequence number of the anchor that was found.
    pub(crate) fn seq_of_anchor(&self) -> u64 {
        self.rings.seq()
    }

    /// True if one good block is left for anchors: they are written until it is full, as nothing could bring back the
    /// newest after a cut erase.
    pub fn are_at_last_block(&self) -> bool {
        self.rings.is_last_block()
    }

    /// The highest sequence number of the roots that were found: those written next must have higher ones.
    pub fn newest_seq(&self) -> u64 {
        self.newest
    }

    /// True if a block holds records.
    pub fn holds(&self, block: u32) -> bool {
        self.blocks().any(|held| held == block)
    }

    /// The blocks that hold records; none before the first one.
    pub fn blocks(&self) -> impl Iterator<Item = u32> {
        self.anchor.checkpoints.into_iter().filter(|block| *block != 0)
    }

    /// True unless one copy of the newest record is missing or unreadable, so that another should be written soon.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// True if fewer than `least` records, or than half of all, fit behind those in the blocks that hold them. The first
    /// after a mount counts twice. The ends must be found.
    pub fn is_nearly_full(&self, least: u32) -> bool {
        debug_assert!(!self.idle, "ends are found before roots are asked for room");
        let pages = |index| self.records.safe_from(index).count();
        pages(self.next) < pages(0).div_euclid(2).min(least as usize)
    }

    /// True if the next record takes two blocks. The ends must be found.
    pub fn is_full(&self) -> bool {
        debug_assert!(!self.idle, "ends are found before roots are asked for room");
        let records = if self.doubted { 2 } else { 1 };
        self.records.safe_from(self.next).take(records).count() < records
    }

    /// True before the first write after a mount: a cut may have touched the place of the next record, and it takes other
    /// blocks if it does not hold there.
    pub fn is_doubted(&self) -> bool {
        self.doubted
    }

    /// Has the next record written to other blocks, however much room is left in these: an owner does so while it has
    /// two blocks to spare.
    pub fn turn_over(&mut self) {
        self.next = self.records.pages();
    }

    /// Finds the places of the next root writes, before the first one after a mount. True if a cut write may have
    /// touched the blocks taken next, [`DOUBTED`] and as many behind each that was written to: they must be erased again.
    pub fn find_ends(&mut self, medium: &mut Medium<'_>) -> Result<bool> {
        let mut medium = medium.shaped(self.records);
        let shape = *medium.shape();
        self.records = shape;
        if !core::mem::take(&mut self.idle) {
            return Ok(false);
        }
        let mut is_evened = false;
        if let Some(anchors) = Shape::of_anchors(&self.anchor.geometry) {
            let mut medium = medium.shaped(anchors);
            let even = self.rings.find_ends(&mut medium, self.anchor.magic)?;
            is_evened = Rings::may_be_evened(&mut medium)?;
            // The only copy may be left from a cut, and fade: the next record goes to the blocks of a new anchor.
            self.whole &= even;
        }
        for block in self.anchor.checkpoints.into_iter().filter(|block| *block != 0) {
            // A touched page ends both blocks: to skip it would leave a gap in which the search by halves goes astray.
            if let Some(index) = shape.next_safe(self.next, self.next)
                && !medium.is_blank(shape.page(block, index))?
            {
                self.next = shape.pages();
            }
        }
        if !self.whole {
            self.next = shape.pages();
        }
        // An earlier mount that found the roots like this and was cut took other blocks too, and no anchor names them.
        Ok(is_evened || shape.next_safe(self.next, self.next).is_none())
    }

    /// Reads both copies of the newest record and of the newest anchor. False if one is missing, cannot be read or is near
    /// the limit of ECC: then the owner should write the next record elsewhere ([`Roots::turn_over`]), and soon.
    pub fn are_sound(&self, medium: &mut Medium<'_>) -> Result<bool> {
        let Some(shape) = Shape::of_anchors(&self.anchor.geometry) else { return Ok(false) };
        let even = {
            let mut anchors = medium.shaped(shape);
            self.rings.is_even(&mut anchors, self.anchor.magic)? && !anchors.has_tired()
        };
        let mut records = medium.shaped(self.records);
        let mut seqs = Vec::new();
        for block in self.blocks() {
            let used = programmed(&mut records, block)?;
            seqs.push(newest(&mut records, block, used, CHECKPOINT, |_| Some(()))?.map(|newest| newest.seq));
        }
        let same = seqs.iter().all(|seq| seq.is_some() && Some(seq) == seqs.first());
        Ok(even && same && seqs.len() == COPIES && !records.has_tired())
    }

    /// Writes an anchor or record once more if a power cut left only one copy of it. That copy may fade, and then the one
    /// before counts again. Owners that erase blocks of an older state call this first. The ends must be found.
    pub fn secure<'c, K: Keeper<'c>>(&mut self, keeper: &mut K) -> Result<(), K::Error> {
        debug_assert!(!self.idle, "ends are found before roots are written");
        if self.rings.are_uneven() && self.blocks().next().is_some() {
            self.write_anchor(keeper)?;
        }
        let Some(alone) = self.alone.take() else { return Ok(()) };
        // Without sequence numbers the higher page counts: a record at the start of the other block would not.
        let is_numbered = self.is_numbered();
        if (alone.is_apart || !is_numbered) && self.write_behind(keeper, alone)? {
            return Ok(());
        }
        let other = self.blocks().find(|block| *block != alone.block && is_numbered);
        if let Some(other) = other
            && keeper.renew(other)?
        {
            let (payload, seq) = next_record(keeper, self.records, &[])?;
            write_copy(keeper, self.records, other, 0, (&payload, seq))?;
        }
        Ok(())
    }

    /// Writes a record behind one that has no copy, twice: a cut may have touched the first page there. False if there is
    /// no room for both.
    fn write_behind<'c, K: Keeper<'c>>(&self, keeper: &mut K, alone: Alone) -> Result<bool, K::Error> {
        let pages: Vec<u32> = self.records.safe_from(alone.used).take(2).collect();
        if pages.len() < 2 {
            return Ok(false);
        }
        for index in &pages {
            let page = self.records.page(alone.block, *index);
            if !keeper.medium().shaped(self.records).is_blank(page).map_err(K::chip_error)? {
                return Ok(false);
            }
        }
        for index in pages {
            let (payload, seq) = next_record(keeper, self.records, &[])?;
            if !write_copy(keeper, self.records, alone.block, index, (&payload, seq))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Writes a record, twice. A mount after this call finds it. The ends must be found. Returns the blocks that were
    /// given up: nothing in them is needed any more.
    pub fn write<'c, K: Keeper<'c>>(&mut self, keeper: &mut K) -> Result<Vec<u32>, K::Error> {
        debug_assert!(!self.idle, "ends are found before records are written");
        // A record in doubted pages is written once more behind them.
        let again = core::mem::take(&mut self.doubted);
        if self.write_next(keeper)? && (!again || self.write_next(keeper)?) {
            return Ok(Vec::new());
        }
        let mut left: Vec<u32> = self.blocks().collect();
        loop {
            match keeper.take_blocks()? {
                Taken::Both(blocks) if write_copies(keeper, self.records, blocks, 0, &left)? => {
                    self.anchor.checkpoints = blocks;
                    break;
                }
                Taken::Both(blocks) => left.extend(blocks),
                Taken::One(block) => {
                    left.push(block);
                    if self.write_apart(keeper, block)? {
                        left.retain(|old| !self.holds(*old));
                        return Ok(left);
                    }
                }
            }
        }
        (self.next, self.whole) = (1, true);
        self.write_anchor(keeper)?;
        Ok(left)
    }

    /// Writes a record behind the newest one; false if that was not possible.
    fn write_next<'c, K: Keeper<'c>>(&mut self, keeper: &mut K) -> Result<bool, K::Error> {
        let Some(index) = self.records.next_safe(self.next, self.next) else { return Ok(false) };
        self.next = index + 1;
        self.whole = write_copies(keeper, self.records, self.anchor.checkpoints, index, &[])?;
        Ok(self.whole)
    }

    /// Writes a record into this block, and its copy into one of the two that held the last, once an anchor names the
    /// first; false if this block does not hold it.
    fn write_apart<'c, K: Keeper<'c>>(&mut self, keeper: &mut K, block: u32) -> Result<bool, K::Error> {
        if self.blocks().next().is_none() {
            return Err(K::worn_out());
        }
        let [kept, freed] = self.anchor.checkpoints;
        let (payload, seq) = next_record(keeper, self.records, &[freed])?;
        if !write_copy(keeper, self.records, block, 0, (&payload, seq))? {
            return Ok(false);
        }
        // Until its copy is written the next start finds one alone, and has it written elsewhere.
        (self.next, self.whole) = (self.records.pages(), false);
        self.anchor.checkpoints = [block, kept];
        self.write_anchor(keeper)?;
        for second in [freed, kept].into_iter().filter(|block| *block != 0) {
            if keeper.renew(second)? && write_copy(keeper, self.records, second, 0, (&payload, seq))? {
                (self.next, self.whole) = (1, true);
                self.anchor.checkpoints = [block, second];
                self.write_anchor(keeper)?;
                break;
            }
        }
        Ok(true)
    }

    /// Changes the owner's bytes for the next anchor.
    pub fn change_own(&mut self, own: Vec<u8>) {
        self.anchor.own = own;
    }

    /// Writes an anchor. The ends must be found.
    pub fn write_anchor<'c, K: Keeper<'c>>(&mut self, keeper: &mut K) -> Result<(), K::Error> {
        let seq = keeper.medium().next_seq();
        let Some(shape) = Shape::of_anchors(&self.anchor.geometry) else { return Err(K::worn_out()) };
        match self.rings.write(&mut keeper.medium().shaped(shape), &self.anchor, seq) {
            Ok(true) => Ok(()),
            Ok(false) => Err(K::worn_out()),
            Err(error) => Err(K::chip_error(error)),
        }
    }
}

/// The newest record, of which one block has the only copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Alone {
    block: u32,
    /// Pages of the block that were programmed.
    used: u32,
    /// The other block has one that this block has not: it was alone before, and this block was erased for its sake.
    is_apart: bool,
}

/// One of the two blocks of records.
struct Half {
    block: u32,
    /// Pages that were programmed.
    used: u32,
    newest: Option<Newest<Vec<u8>>>,
}

impl Half {
    fn read(medium: &mut Medium<'_>, block: u32) -> Result<Half> {
        let used = programmed(medium, block)?;
        let newest = newest(medium, block, used, CHECKPOINT, |bytes| Some(bytes.to_vec()))?;
        Ok(Half { block, used, newest })
    }

    /// The order in which records were written.
    fn order(&self) -> Option<(u64, u32)> {
        self.newest.as_ref().map(|newest| (newest.seq, newest.index))
    }

    /// True if another block has a copy of its newest record.
    fn is_copied_to(&self, medium: &mut Medium<'_>, other: u32) -> Result<bool> {
        let Some(newest) = &self.newest else { return Ok(false) };
        let page = medium.shape().page(other, newest.index);
        is_copy(medium, page, newest.seq)
    }
}

/// True if a page is the copy of a record, by its header or, without one, by the whole page.
fn is_copy(medium: &mut Medium<'_>, page: u32, seq: u64) -> Result<bool> {
    match medium.peek(page)? {
        Peek::Programmed(Some(header)) => Ok(header == (CHECKPOINT, seq)),
        Peek::Programmed(None) => {
            Ok(medium.read_proved(page)?.is_some_and(|found| found.tag.kind == CHECKPOINT))
        }
        Peek::Erased => Ok(false),
    }
}

/// The payload of the next record, and its sequence number.
fn next_record<'c, K: Keeper<'c>>(
    keeper: &mut K,
    shape: Shape,
    left: &[u32],
) -> Result<(Vec<u8>, u64), K::Error> {
    let mut payload = keeper.record(left)?;
    debug_assert!(payload.len() <= shape.payload(), "a record does not fit its page");
    payload.resize(shape.payload(), 0);
    Ok((payload, keeper.medium().next_seq()))
}

/// Writes a record into both blocks; false if either does not hold it.
fn write_copies<'c, K: Keeper<'c>>(
    keeper: &mut K,
    shape: Shape,
    blocks: [u32; COPIES],
    index: u32,
    left: &[u32],
) -> Result<bool, K::Error> {
    let (payload, seq) = next_record(keeper, shape, left)?;
    for block in blocks {
        if !write_copy(keeper, shape, block, index, (&payload, seq))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Writes a record into a block; false if it does not hold it.
fn write_copy<'c, K: Keeper<'c>>(
    keeper: &mut K,
    shape: Shape,
    block: u32,
    index: u32,
    (payload, seq): (&[u8], u64),
) -> Result<bool, K::Error> {
    let page = shape.page(block, index);
    let held = put(&mut keeper.medium().shaped(shape), CHECKPOINT, page, seq, payload);
    match held {
        Ok(Put::Held) => Ok(true),
        Ok(Put::Lost) => Ok(false),
        Ok(Put::Failed) => {
            keeper.failing(block);
            Ok(false)
        }
        Err(error) => Err(K::chip_error(error)),
    }
}
