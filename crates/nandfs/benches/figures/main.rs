//! The figures that README quotes. Device time and operation counts are those of simulated chips, the same on every
//! machine; the speed of this code is the host's. `--quick` leaves out slow figures and those that need an optimised
//! build; a word selects the figures with it in their names.
#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "a program that prints a table, and stops at the first thing that goes wrong"
)]

mod aged;
mod chip;
mod cleaning;
mod fsync;
mod growth;
mod host;
mod latency;
mod memory;
mod mounting;
mod packing;
mod pairs;
mod parity;
mod postmark;
mod sequential;
mod small;
mod xattrs;

/// One line of the table.
pub struct Figure {
    pub name: String,
    pub unit: &'static str,
    pub measured: f64,
    pub bound: Bound,
}

/// The goal of a figure.
#[derive(Clone, Copy)]
pub enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

impl Figure {
    pub fn at_most(name: impl Into<String>, unit: &'static str, measured: f64, bound: f64) -> Figure {
        Figure { name: name.into(), unit, measured, bound: Bound::AtMost(bound) }
    }

    pub fn at_least(name: impl Into<String>, unit: &'static str, measured: f64, bound: f64) -> Figure {
        Figure { name: name.into(), unit, measured, bound: Bound::AtLeast(bound) }
    }

    fn row(&self) -> String {
        let (sign, bound, reached) = match self.bound {
            Bound::AtMost(bound) => ("<=", bound, self.measured <= bound),
            Bound::AtLeast(bound) => (">=", bound, self.measured >= bound),
        };
        let mark = if reached { "" } else { ", MISSED" };
        format!("| {} | {:.3} {} | {sign} {bound}{mark} |", self.name, self.measured, self.unit)
    }
}

type Group = (&'static str, bool, fn() -> Vec<Figure>);

/// Name, whether it is quick, and the work.
const GROUPS: [Group; 13] = [
    ("mount", true, mounting::figures),
    ("sequential", true, sequential::figures),
    ("fsync", true, fsync::figures),
    ("small", true, small::figures),
    ("postmark", true, postmark::figures),
    ("packing", true, packing::figures),
    ("crash", true, mounting::after_cut),
    ("pairs", false, pairs::figures),
    ("parity", false, parity::figures),
    ("memory", false, memory::figures),
    ("growth", false, growth::figures),
    ("cleaning", false, cleaning::figures),
    ("host", false, host::figures),
];

/// Name and work of a table that bounds nothing.
type Table = (&'static str, fn() -> Vec<String>);

/// Tables, each by the word that asks for it.
const TABLES: [Table; 2] = [("latency", latency::table), ("policies", cleaning::policies)];

/// Tables that are printed only if asked for.
const ASKED: [Table; 5] = [
    ("cuts", aged::cuts),
    ("rewrite", aged::sequential),
    ("processor", aged::processor),
    ("heap", memory::least),
    ("xattrs", xattrs::table),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let quick = words.iter().any(|word| word == "--quick");
    let chosen: Vec<&String> = words.iter().filter(|word| !word.starts_with("--")).collect();
    let is_asked = |name: &str| chosen.iter().any(|word| *word == name);
    println!("| figure | measured | wanted |\n|---|---|---|");
    for (name, is_quick, run) in GROUPS {
        let wanted = if chosen.is_empty() { is_quick || !quick } else { is_asked(name) };
        if wanted {
            for figure in run() {
                println!("{}", figure.row());
            }
        }
    }
    let all = TABLES.iter().map(|(name, rows)| (name, rows, chosen.is_empty() && !quick));
    for (name, rows, is_wanted) in all.chain(ASKED.iter().map(|(name, rows)| (name, rows, false))) {
        if is_wanted || is_asked(name) {
            println!();
            for row in rows() {
                println!("{row}");
            }
        }
    }
}
