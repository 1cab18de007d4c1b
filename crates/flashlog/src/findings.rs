//! The findings of a check, kept short however many there are.

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

/// Findings of one code that are told in full; further ones are counted.
const TOLD: usize = 200;

/// A list of findings, each with something that it is of.
#[derive(Default)]
pub struct Findings<T> {
    list: Vec<(&'static str, String, T)>,
    counts: BTreeMap<&'static str, usize>,
}

impl<T: Default> Findings<T> {
    /// Adds a finding with its code.
    pub fn add(&mut self, code: &'static str, detail: String) {
        self.add_of(code, T::default(), detail);
    }

    /// Adds one of something.
    pub fn add_of(&mut self, code: &'static str, of: T, detail: String) {
        let count = self.counts.entry(code).or_default();
        *count += 1;
        if *count <= TOLD {
            self.list.push((code, detail, of));
        }
    }

    /// The list as `tell` has it, with one line for the rest of each code at its end.
    pub fn into_list<F>(self, mut tell: impl FnMut(&'static str, String, T) -> F) -> Vec<F> {
        let mut list: Vec<F> = Vec::with_capacity(self.list.len());
        list.extend(self.list.into_iter().map(|(code, detail, of)| tell(code, detail, of)));
        for (code, count) in self.counts.into_iter().filter(|(_, count)| *count > TOLD) {
            list.push(tell(code, format!("{} more of these", count - TOLD), T::default()));
        }
        list
    }
}
