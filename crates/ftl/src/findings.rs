//! The findings of a check, kept short however many there are.

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

/// Findings of one kind that are told in full; further ones are counted.
const TOLD: usize = 200;

/// Something that a check found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The thing at fault: `anchors`, `records`, `identity`, `checkpoint`, `heads`, `table`, `segment`, `bad-block`,
    /// `summary`, `trims`, `page`, `missing`, `lost` or `possibly-lost`.
    pub code: &'static str,
    /// The exact fault and its place.
    pub detail: String,
}

/// A list of findings.
#[derive(Default)]
pub(crate) struct Findings {
    list: Vec<Finding>,
    counts: BTreeMap<&'static str, usize>,
}

impl Findings {
    pub(crate) fn add(&mut self, code: &'static str, detail: String) {
        let count = self.counts.entry(code).or_default();
        *count += 1;
        if *count <= TOLD {
            self.list.push(Finding { code, detail });
        }
    }

    /// The list, with one line for the uncounted rest of each code at its end.
    pub(crate) fn into_list(self) -> Vec<Finding> {
        let Findings { mut list, counts } = self;
        for (code, count) in counts.into_iter().filter(|(_, count)| *count > TOLD) {
            list.push(Finding { code, detail: format!("{} more of these", count - TOLD) });
        }
        list
    }
}
