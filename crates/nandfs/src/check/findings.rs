//! The list of findings, kept short however many there are.

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

use pumice_vfs::Finding;

/// Findings told in full for each code; further ones are only counted.
pub(super) const TOLD: usize = 200;

#[derive(Default)]
pub(super) struct Findings {
    /// Findings, each with its node, if that has a path.
    list: Vec<(Finding, Option<u32>)>,
    counts: BTreeMap<&'static str, usize>,
}

impl Findings {
    pub(super) fn add(&mut self, code: &'static str, detail: String) {
        self.add_of(code, None, detail);
    }

    /// The same for a node; its path will be told.
    pub(super) fn add_of(&mut self, code: &'static str, nid: Option<u32>, detail: String) {
        let count = self.counts.entry(code).or_default();
        *count += 1;
        if *count <= TOLD {
            self.list.push((Finding { code, detail }, nid));
        }
    }

    /// The list; `path` gives that of a node.
    pub(super) fn into_list(self, mut path: impl FnMut(u32) -> Option<String>) -> Vec<Finding> {
        let mut list: Vec<Finding> = Vec::with_capacity(self.list.len());
        for (mut finding, nid) in self.list {
            if let Some(path) = nid.and_then(&mut path) {
                finding.detail = format!("{path}: {}", finding.detail);
            }
            list.push(finding);
        }
        for (code, count) in self.counts {
            if count > TOLD {
                list.push(Finding { code, detail: format!("{} more of these", count - TOLD) });
            }
        }
        list
    }
}
