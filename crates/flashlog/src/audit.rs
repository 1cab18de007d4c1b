//! Faults of the roots: copies that a reader can do without, and would not miss.

use alloc::vec::Vec;
use core::fmt;

use crate::Result;
use crate::medium::Medium;
use crate::ring::{ANCHOR, ANCHOR_BLOCKS, COPIES, RING_BLOCKS};
use crate::roots::{CHECKPOINT, Roots};
use crate::shape::Shape;

/// A fault of the roots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RootFlaw {
    /// A ring, counted from 0, holds no anchor of this volume.
    NoAnchor(u32),
    /// A ring does not hold the newest anchor.
    OldAnchor(u32),
    /// A block holds no record, or not the newest one.
    OldRecord(u32),
    /// One block is named for both copies, or none for the second.
    OneBlock,
}

impl RootFlaw {
    /// True if an anchor is missing, false if a record is.
    pub fn is_of_anchors(&self) -> bool {
        matches!(self, RootFlaw::NoAnchor(_) | RootFlaw::OldAnchor(_))
    }
}

impl fmt::Display for RootFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RootFlaw::NoAnchor(ring) => write!(f, "ring {ring} of the anchors holds none that can be read"),
            RootFlaw::OldAnchor(ring) => write!(f, "ring {ring} of the anchors does not hold the newest one"),
            RootFlaw::OldRecord(block) => {
                write!(f, "erase block {block} does not hold the newest record of a checkpoint")
            }
            RootFlaw::OneBlock => f.write_str("the newest record of a checkpoint has no second block"),
        }
    }
}

impl Roots {
    /// Reads every copy of the newest anchor and the newest record. `newest` is the highest sequence number of all
    /// other pages: a root followed by another page was written in full, so both its copies must be there. Each flaw
    /// comes with true if it is damage for sure; otherwise a power cut may have left it. The roots must be as they were
    /// found: nothing was written since.
    pub fn flaws(&self, medium: &mut Medium<'_>, newest: u64) -> Result<Vec<(RootFlaw, bool)>> {
        let mut flaws = Vec::new();
        let records = self.records_of(medium)?;
        let last_record =
            records.iter().filter_map(|(_, seqs)| seqs.iter().max()).max().copied().unwrap_or(0);
        if let Some(shape) = Shape::of_anchors(&self.anchor().geometry) {
            self.anchor_flaws(&mut medium.shaped(shape), newest.max(last_record), &mut flaws)?;
        }
        if records.len() < COPIES {
            flaws.push((RootFlaw::OneBlock, true));
        }
        // An anchor follows once both copies of a record are there, or behind the first of a pair alone.
        let main = records.iter().filter(|(_, seqs)| seqs.iter().max() == Some(&last_record));
        let length = main.map(|(_, seqs)| seqs.len()).max().unwrap_or(0);
        for (block, seqs) in &records {
            let is_followed = newest > last_record || self.seq_of_anchor() > last_record && length > 1;
            let is_behind = seqs.iter().max() != Some(&last_record);
            if is_behind {
                flaws.push((RootFlaw::OldRecord(*block), is_followed || seqs.is_empty() && length > 2));
            }
        }
        Ok(flaws)
    }

    /// The blocks of records, each with the sequence numbers of those that prove themselves.
    fn records_of(&self, medium: &mut Medium<'_>) -> Result<Vec<(u32, Vec<u64>)>> {
        let mut medium = medium.shaped(*self.record_shape());
        let blocks: Vec<u32> = self.blocks().collect();
        blocks
            .into_iter()
            .map(|block| Ok((block, proved(&mut medium, block, CHECKPOINT, |_| true)?)))
            .collect()
    }

    fn anchor_flaws(
        &self,
        medium: &mut Medium<'_>,
        newest: u64,
        flaws: &mut Vec<(RootFlaw, bool)>,
    ) -> Result<()> {
        let seq = self.seq_of_anchor();
        for ring in 0..ANCHOR_BLOCKS / RING_BLOCKS {
            let (mut seqs, mut good) = (Vec::new(), 0);
            for block in ring * RING_BLOCKS..(ring + 1) * RING_BLOCKS {
                if medium.is_bad(block)? {
                    continue;
                }
                good += 1;
                seqs.extend(proved(medium, block, ANCHOR, |bytes| bytes.starts_with(&self.anchor().magic))?);
            }
            // A ring without good blocks stays behind; one with a single one is empty while that is erased.
            match seqs.iter().max() {
                None if good == RING_BLOCKS => flaws.push((RootFlaw::NoAnchor(ring), true)),
                Some(last) if *last < seq && good > 0 => {
                    flaws.push((RootFlaw::OldAnchor(ring), newest > seq));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The sequence numbers of the pages of a block that prove themselves, are of this kind and are accepted.
fn proved(medium: &mut Medium<'_>, block: u32, kind: u8, accept: impl Fn(&[u8]) -> bool) -> Result<Vec<u64>> {
    let shape = *medium.shape();
    let mut seqs = Vec::new();
    let mut next = 0;
    while let Some((index, _)) = medium.next_programmed(block, next)? {
        next = index + 1;
        if let Some(found) = medium.read_proved(shape.page(block, index))?
            && found.tag.kind == kind
            && accept(&found.payload)
        {
            seqs.push(found.tag.seq);
        }
    }
    Ok(seqs)
}
