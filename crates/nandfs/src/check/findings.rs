//! The list of what is wrong, kept short however much that is.

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

use crate::options::Finding;

/// Findings told in full for each code; further ones are only counted.
pub(super) const TOLD: usize = 200;

#[derive(Default)]
pub(super) struct Findings {
    list: Vec<Finding>,
    counts: BTreeMap<&'static str, usize>,
}

impl Findings {
    pub(super) fn add(&mut self, code: &'static str, detail: String) {
        let count = self.counts.entry(code).or_default();
        *count += 1;
        if *count <= TOLD {
            self.list.push(Finding { code, detail });
        }
    }

    pub(super) fn into_list(mut self) -> Vec<Finding> {
        for (code, count) in self.counts {
            if count > TOLD {
                self.list.push(Finding { code, detail: format!("{} more of these", count - TOLD) });
            }
        }
        self.list
    }
}
