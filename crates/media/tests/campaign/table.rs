//! The counters of a campaign.

use super::{Found, Opened};

/// One line of a campaign's table: one volume, hurt in one way after the other.
pub struct Row {
    title: String,
    pub cases: usize,
    /// Cases in which the volume could not be opened, or for reading only.
    pub unopened: usize,
    pub read_only: usize,
    /// Cases in which something was silently older, wrong or missing, and the most things in one.
    pub silent: usize,
    pub most_silent: usize,
    /// Cases in which something was lost by name, and the most things in one.
    pub named: usize,
    pub most_named: usize,
    /// Cases in which something was lost and the check found nothing.
    pub unreported: usize,
    /// The first case of each kind, to look at.
    examples: Vec<String>,
}

impl Row {
    pub fn new(owner: &str, chip: &str, how: &str) -> Row {
        Row {
            title: format!("{owner} {chip} {how}"),
            cases: 0,
            unopened: 0,
            read_only: 0,
            silent: 0,
            most_silent: 0,
            named: 0,
            most_named: 0,
            unreported: 0,
            examples: Vec::new(),
        }
    }

    /// Counts a case.
    pub fn add(&mut self, case: &str, found: &Found) {
        let first = |count: usize, what: &str| (count == 0).then(|| format!("{case}: {what}"));
        self.cases += 1;
        match found.opened {
            Opened::No => {
                self.examples.extend(first(self.unopened, "does not open"));
                self.unopened += 1;
            }
            Opened::ReadOnly => self.read_only += 1,
            Opened::Writable => {}
        }
        if let Some(what) = found.silent.first() {
            self.examples.extend(first(self.silent, what));
            self.silent += 1;
            self.most_silent = self.most_silent.max(found.silent.len());
        }
        if !found.named.is_empty() {
            self.named += 1;
            self.most_named = self.most_named.max(found.named.len());
            if !found.reported {
                self.examples.extend(first(self.unreported, "lost, and the check is silent"));
                self.unreported += 1;
            }
        }
    }

    /// True if every volume opened and nothing was lost without a word.
    pub fn holds(&self) -> bool {
        self.unopened == 0 && self.silent == 0 && self.unreported == 0
    }

    /// True if nothing was lost at all.
    pub fn is_whole(&self) -> bool {
        self.holds() && self.named == 0
    }

    pub fn print(&self) {
        println!(
            "{}: {} cases, {} do not open, {} read-only; silent in {} (at most {}), named in {} (at most {}), unreported {}",
            self.title,
            self.cases,
            self.unopened,
            self.read_only,
            self.silent,
            self.most_silent,
            self.named,
            self.most_named,
            self.unreported
        );
        self.examples.iter().for_each(|example| println!("    {example}"));
    }
}
