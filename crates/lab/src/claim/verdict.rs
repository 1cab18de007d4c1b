//! The verdict on a statement, with the figures measured.

use core::fmt;

use super::{
    Claim,
    condition::{Conditions, Truth},
    entry::{Standing, Tests},
    expression::{Expression, Value},
    figures::Figures,
};
use crate::experiment::{Experiment, Line};

/// A verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It holds.
    Holds,
    /// It holds with this reservation.
    HoldsIf(String),
    /// It does not hold.
    DoesNot,
    /// The mechanism is carried out in these files.
    Built(String),
    /// Nothing supports it, for this reason.
    Without(String),
    /// The experiment has not been run, or not wholly.
    NotRun,
}

/// A verdict with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    verdict: Verdict,
    /// The figures measured.
    figures: String,
    /// Seeds by which the verdict is the same, and all seeds.
    seeds: (usize, usize),
}

impl Judged {
    /// The verdict.
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// True if each seed by itself gives the same verdict.
    pub fn is_firm(&self) -> bool {
        self.seeds.0 == self.seeds.1
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Holds => f.write_str("holds"),
            Verdict::HoldsIf(words) => write!(f, "holds if {words}"),
            Verdict::DoesNot => f.write_str("does not"),
            Verdict::Built(paths) => write!(f, "built: {paths}"),
            Verdict::Without(reason) => write!(f, "not had: {reason}"),
            Verdict::NotRun => f.write_str("not run"),
        }
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Judged { verdict, figures, seeds: (agree, all) } = self;
        write!(f, "{verdict}")?;
        if !figures.is_empty() {
            write!(f, ": {figures}")?;
        }
        if agree < all {
            write!(f, " (by {agree} of {all} seeds)")?;
        }
        Ok(())
    }
}

/// Judges a statement by the lines of its experiment.
pub fn judge(claim: &Claim, lines: &[Line]) -> Judged {
    let bare = |verdict| Judged { verdict, figures: String::new(), seeds: (0, 0) };
    let (name, tests) = match claim.standing() {
        Standing::Built(paths) => return bare(Verdict::Built(paths.join(", "))),
        Standing::Without(reason) => return bare(Verdict::Without(reason.clone())),
        Standing::Judged { experiment, tests } => (experiment, tests),
    };
    let Ok(experiment) = Experiment::named(name) else { return bare(Verdict::NotRun) };
    let figures = Figures::of(experiment, lines);
    let Some((verdict, shown)) = tests.verdict(experiment, &figures, None) else {
        return bare(Verdict::NotRun);
    };
    let seeds = figures.seeds();
    let agrees = |seed: &&u64| {
        tests.verdict(experiment, &figures, Some(**seed)).is_some_and(|(by_seed, _)| by_seed == verdict)
    };
    let agree = seeds.iter().filter(agrees).count();
    let (plain, mut text) = (evidence(&tests.plain, &figures), evidence(shown, &figures));
    if text != plain {
        text = format!("{text}. Else: {plain}");
    }
    Judged { verdict, figures: text, seeds: (agree, seeds.len()) }
}

impl Tests {
    /// The verdict by the means or by one seed, and the conditions that decided; `None` if a figure is missing.
    fn verdict(
        &self,
        experiment: &Experiment<'_>,
        figures: &Figures,
        seed: Option<u64>,
    ) -> Option<(Verdict, &Conditions)> {
        let plain = self.plain.truth(figures, seed)?;
        if plain == Truth::Everywhere {
            return Some((Verdict::Holds, &self.plain));
        }
        for (words, conditions) in &self.reserved {
            if conditions.truth(figures, seed)? == Truth::Everywhere {
                return Some((Verdict::HoldsIf(words.clone()), conditions));
            }
        }
        let verdict = match plain {
            Truth::At(held, failed) if failed.len() < held.len() => {
                Verdict::HoldsIf(format!("{} is not {}", experiment.x, failed.join(" or ")))
            }
            Truth::At(held, _) => Verdict::HoldsIf(format!("{} is {}", experiment.x, held.join(" or "))),
            Truth::Everywhere | Truth::Nowhere => Verdict::DoesNot,
        };
        Some((verdict, &self.plain))
    }
}

/// Pairs of figures, at most, that are shown with their ranges over seeds.
const RANGES: usize = 2;

/// The figures that conditions are about, with the range over seeds if they are few. Those compared with the same figure
/// stand together.
fn evidence(conditions: &Conditions, figures: &Figures) -> String {
    let with_range = conditions.shown().count() <= RANGES;
    let shown = |expression| shown(expression, figures, with_range);
    let mut parts: Vec<(String, Vec<String>)> = Vec::new();
    for (left, right) in conditions.shown() {
        let Some(left) = shown(left) else { continue };
        let right = right.and_then(shown);
        let last = parts.last_mut().filter(|(last, rights)| *last == left && !rights.is_empty());
        match (last, right) {
            (Some((_, rights)), Some(right)) if rights.contains(&right) => {}
            (Some((_, rights)), Some(right)) => rights.push(right),
            (_, right) => {
                let part = (left, right.into_iter().collect());
                if !parts.contains(&part) {
                    parts.push(part);
                }
            }
        }
    }
    let texts = parts.into_iter().map(|(left, rights)| match rights.as_slice() {
        [] => left,
        rights => format!("{left} against {}", rights.join(", ")),
    });
    texts.collect::<Vec<_>>().join("; ")
}

fn shown(expression: &Expression, figures: &Figures, with_range: bool) -> Option<String> {
    let range = |all: &[f64]| {
        let least = figure(all.iter().copied().reduce(f64::min)?);
        let most = figure(all.iter().copied().reduce(f64::max)?);
        Some((least, most))
    };
    match expression.value(figures, None)? {
        Value::Row(row) => {
            let (least, most) = range(&row.iter().map(|(_, value)| *value).collect::<Vec<_>>())?;
            Some(if least == most { least } else { format!("{least}-{most}") })
        }
        Value::One(mean) => {
            let by_seed = |seed: &u64| match expression.value(figures, Some(*seed))? {
                Value::One(value) => Some(value),
                Value::Row(_) => None,
            };
            let all: Vec<f64> = figures.seeds().iter().filter_map(by_seed).collect();
            let mean = figure(mean);
            Some(match range(&all) {
                Some((least, most)) if with_range && least != most => format!("{mean} ({least}-{most})"),
                Some(_) | None => mean,
            })
        }
    }
}

/// A figure with three digits that count, or as many as stand before its point.
fn figure(value: f64) -> String {
    let size = value.abs();
    let digits = match size {
        _ if size >= 100.0 || size == 0.0 => 0,
        _ if size >= 10.0 => 1,
        _ if size >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}
