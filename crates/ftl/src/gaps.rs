//! Pages that a start cannot read, and whose they were: the page that was programmed next says so, in whatever segment
//! it lies. A page that the power cut tore has none behind it, and nobody names it.

use alloc::{collections::BTreeMap, vec::Vec};

use pumice_media::Nand;

use crate::error::Result;
use crate::flash::{Flash, Found};
use crate::shape::{Place, Shape};
use crate::summary::Contents;

/// What a start met.
#[derive(Default)]
pub(crate) struct Gaps {
    /// Pages that cannot be read, each with the sequence number of one that was programmed before it.
    pub(crate) places: Vec<(Place, u64)>,
    /// Pages of which it is known what they hold, by sequence number.
    known: Vec<(u64, Place)>,
}

/// A page that is lost.
pub(crate) struct Lost {
    pub(crate) place: Place,
    /// A sequence number in the order of all pages.
    pub(crate) sequence: u64,
    /// Its logical blocks.
    pub(crate) lbas: Vec<u32>,
    /// The segment whose tags tell so.
    pub(crate) told_by: u32,
}

/// The newest page, and what it held.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Doubted {
    pub(crate) place: Place,
    pub(crate) lbas: Vec<u32>,
}

impl Gaps {
    /// Takes in what a segment holds.
    pub(crate) fn add_known(&mut self, shape: &Shape, block: u32, found: &Contents, since: u64) {
        let mut last = None;
        for (index, (sequence, _)) in (0..).zip(found.pages(shape)) {
            if sequence >= since && last < Some(sequence) {
                self.known.push((sequence, Place { block, index }));
            }
            last = Some(sequence);
        }
    }

    /// The pages that a later one names, and those that none does. Looks at those later ones alone before which a number
    /// is missing.
    pub(crate) fn named<N: Nand>(
        mut self,
        flash: &mut Flash<N>,
        shape: &Shape,
    ) -> Result<(Vec<Lost>, Vec<Place>)> {
        let Some(first) = self.places.iter().map(|(_, before)| *before).min() else {
            return Ok((Vec::new(), Vec::new()));
        };
        let mut gaps: BTreeMap<u32, Place> =
            self.places.iter().map(|(place, _)| (shape.page(*place), *place)).collect();
        self.known.sort_unstable_by_key(|(sequence, _)| *sequence);
        let mut found = Vec::new();
        let mut last = first;
        for (sequence, teller) in self.known.into_iter().skip_while(|(sequence, _)| *sequence <= first) {
            let is_behind = last + 1 < sequence || last == first;
            last = sequence;
            if !is_behind {
                continue;
            }
            let Found::Page(tag, _) = flash.read(teller)? else { continue };
            let Some(before) = tag.before else { continue };
            if let Some(place) = gaps.remove(&before.page) {
                // None lies between the two.
                found.push(Lost { place, sequence: sequence - 1, lbas: before.lbas, told_by: teller.block });
            }
        }
        Ok((found, gaps.into_values().collect()))
    }
}
