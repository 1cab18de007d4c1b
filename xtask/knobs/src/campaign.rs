//! A campaign of tests: a small part of it runs always, more of it where knobs ask for that.

use std::{fs::OpenOptions, io::Write, ops::Range};

use crate::{
    environment::fail,
    knob::Knob,
    knobs::{LIVES, PART, RAN, SEED},
    part::Part,
};

/// A campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Campaign {
    /// The subject and the trial.
    pub name: &'static str,
    /// Its tests.
    pub tests: Tests,
    /// The knob for its size.
    pub size: Knob,
    /// The unit of its size.
    pub of: &'static str,
    /// A size for hours.
    pub longer: &'static str,
    /// The way to repeat one case; empty if that is by its seed.
    pub again: &'static str,
    /// The way it is divided.
    pub rounds: Rounds,
}

/// The place of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tests {
    /// The program: each has a name of its own in the workspace.
    pub program: &'static str,
    /// The beginnings of their names.
    pub names: &'static [&'static str],
}

/// The division of a campaign into rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounds {
    /// Rounds by seeds; a round of this size takes seconds.
    Seeds(u64),
    /// It ends: all of it can be taken in so many parts, of a minute at most each.
    Parts(u64),
}

impl Campaign {
    /// The crate that it tries: its name begins with it.
    #[must_use]
    pub fn of_crate(&self) -> &'static str {
        self.name.split_once(':').map_or(self.name, |(name, _)| name)
    }

    /// The size that is asked for in place of the usual one, if it is a count.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        self.size.number()
    }

    /// The first seed: the usual one, or the one that is asked for.
    #[must_use]
    pub fn first_seed(&self, usual: u64) -> u64 {
        SEED.number().unwrap_or(usual)
    }

    /// The seeds, one for each case: those, or as many as are asked for, from the one that is asked for.
    #[must_use]
    pub fn seeds(&self, usual: Range<u64>) -> Range<u64> {
        let first = self.first_seed(usual.start);
        let count = self.count().unwrap_or(usual.end - usual.start);
        let end = first.checked_add(count);
        first
            ..end.unwrap_or_else(|| {
                fail(&format!("{}={first}: {count} seeds from there are too many", SEED.name))
            })
    }

    /// Whether nothing else is asked for than the usual run: then its results are known.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        !self.size.is_set() && !SEED.is_set()
    }

    /// The part that is to be run whole; none where a sample is enough.
    #[must_use]
    pub fn whole(&self) -> Option<Part> {
        let is_whole = self.size.text().is_some_and(|text| self.size.is_whole(&text));
        is_whole.then(|| PART.part().unwrap_or(Part { index: 0, of: 1 }))
    }

    /// All cases of a part, or one of so many.
    #[must_use]
    pub fn sample(&self, one_of: u64) -> Part {
        self.whole().unwrap_or(Part { index: 0, of: one_of })
    }

    /// Names the next seed: a failure after it belongs to it.
    #[expect(clippy::print_stdout, reason = "this is what a test says")]
    pub fn begin(&self, seed: u64) {
        println!("{}: {}={seed}", self.name, SEED.name);
    }

    /// Plays every second seed, from the first or the second on: two tests are two threads.
    pub fn every_second(&self, usual: Range<u64>, from: usize, mut case: impl FnMut(u64)) {
        let seeds = self.seeds(usual);
        let mut cases = 0;
        for seed in seeds.clone().skip(from).step_by(2) {
            self.begin(seed);
            case(seed);
            cases += 1;
        }
        self.ran(seeds, cases);
    }

    /// Notes the cases of a test at its end: cases of these seeds.
    pub fn ran(&self, seeds: Range<u64>, cases: u64) {
        self.note(&format!("seeds {}..{}", seeds.start, seeds.end), cases);
    }

    /// The number of times that a chip is used, for each seed: the usual, or the number asked for.
    #[must_use]
    pub fn lives(&self, usual: u64) -> u64 {
        LIVES.number().unwrap_or(usual)
    }

    /// Notes at the end of a test how many cases of the part, or of the sample, were run.
    pub fn ran_part(&self, cases: u64) {
        let part = self.whole().map(|Part { index, of }| format!("part {index}/{of}"));
        self.note(part.as_deref().unwrap_or("a sample"), cases);
    }

    /// Prints it, and adds a line to the file that is asked for. Nobody sees the output of a test that passes.
    #[expect(clippy::print_stdout, reason = "this is what a test says")]
    fn note(&self, covered: &str, cases: u64) {
        println!("{}: {covered}, {cases} cases", self.name);
        let Some(path) = RAN.text() else { return };
        let line = format!("{}\t{covered}\t{cases}\n", self.name);
        let file = OpenOptions::new().create(true).append(true).open(&path);
        if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
            fail(&format!("{}={path}: {error}", RAN.name));
        }
    }
}
