//! The proof in the pages of a segment, read one by one: no use is made of the tables.

use alloc::{vec, vec::Vec};

use crate::error::Result;
use crate::flash::{Flash, Found};
use crate::layout::{Kind, TRIM_BLOCK};
use crate::shape::{Place, Shape};
use crate::summary::{Contents, Summary};
use crate::tag::Entry;
use crate::trims;

/// A page of trimmed ranges: its sequence number, and first and end of each.
pub(super) type Trimmed = (u64, Vec<(u32, u32)>);

/// A segment as its pages tell.
pub(super) struct Evidence {
    /// The contents of the pages that count, in order; an unreadable one has no entries. `None` if nothing tells.
    pub(super) contents: Option<Contents>,
    /// Whether each page proves itself and holds logical blocks.
    pub(super) proved: Vec<bool>,
    /// Pages of trimmed ranges.
    pub(super) trims: Vec<Trimmed>,
    /// Summaries that prove themselves, by the index of their pages.
    pub(super) summaries: Vec<(u32, Contents)>,
    /// Pages up to the last one that was programmed.
    pub(super) used: u32,
}

impl Evidence {
    /// Reads every page of a segment.
    pub(super) fn read(flash: &mut Flash<'_>, shape: &Shape, block: u32) -> Result<Evidence> {
        let mut evidence = Evidence {
            contents: None,
            proved: vec![false; shape.pages as usize],
            trims: Vec::new(),
            summaries: Vec::new(),
            used: 0,
        };
        let mut tagged = Contents::default();
        let mut counts = shape.tagged;
        // The start passes such a segment by: a power cut stopped its erase.
        let mut is_erased = false;
        for index in 0..shape.pages {
            let found = flash.read(Place { block, index })?;
            if matches!(found, Found::Erased) {
                is_erased |= index == 0;
                continue;
            }
            // Pages may have been passed over, never the first.
            counts &= index < evidence.used + shape.reach && (evidence.used > 0 || index == 0);
            // The first page of all has none before it.
            let before = tagged.sequences.last().copied();
            debug_assert!(
                !counts || index == 0 || before.is_some(),
                "page {index} counts, and none before it"
            );
            let before = before.unwrap_or(0);
            while counts && tagged.sequences.len() < index as usize {
                tagged.push(shape, before, &[]);
            }
            evidence.used = index + 1;
            let Found::Page(tag, page) = found else {
                if counts {
                    tagged.push(shape, before, &[]);
                }
                continue;
            };
            match tag.kind {
                Kind::Data => {
                    if let Some(proved) = evidence.proved.get_mut(index as usize) {
                        *proved = true;
                    }
                }
                Kind::Trim => {
                    evidence.trims.push((tag.sequence, trims::decode(&page.payload, TRIM_BLOCK)));
                }
                Kind::Summary => {
                    let summary = Summary::decode(shape, Place { block, index }, &page.payload);
                    evidence.summaries.extend(summary.map(|summary| (index, summary.contents)));
                }
                Kind::Checkpoint | Kind::Map => {}
            }
            let is_next = tagged.sequences.last().is_none_or(|last| *last < tag.sequence);
            counts &= is_next && matches!(tag.kind, Kind::Data | Kind::Trim);
            if counts {
                (tagged.class, tagged.erases, tagged.opened) = (tag.class, tag.erases, tag.opened);
                tagged.push(shape, tag.sequence, &tag.entries);
            }
        }
        let is_known = tagged.sequences.last().is_some_and(|last| *last > 0);
        evidence.contents = match shape.tagged {
            true => Some(tagged).filter(|_| is_known),
            false if is_erased => None,
            false => evidence.summaries.last().map(|(_, contents)| contents.clone()),
        };
        Ok(evidence)
    }

    /// The highest sequence number that counts; 0 if none does.
    pub(super) fn newest(&self) -> u64 {
        self.contents.as_ref().and_then(|contents| contents.sequences.last()).copied().unwrap_or(0)
    }

    /// True if a page is one of those that hold logical blocks and can be read.
    pub(super) fn is_proved(&self, index: u32) -> bool {
        self.proved.get(index as usize) == Some(&true)
    }
}

/// True if two lists of pages agree as far as the shorter goes, but for those of which nothing is known.
pub(super) fn agree(shape: &Shape, one: &Contents, other: &Contents) -> bool {
    let is_blank = |entries: &[Entry]| entries.iter().all(|entry| *entry == Entry::NONE);
    one.pages(shape).zip(other.pages(shape)).all(|((sequence, entries), (theirs, others))| {
        is_blank(entries) || is_blank(others) || sequence == theirs && entries == others
    })
}
