//! The words of `pumice sim`.

use std::ops::RangeInclusive;

use pumice_cleaning::registry::{
    Axis, Entry, Parameter, PlacementRule, PolicyError, Rule, VictimRule, WearRule, Wrapper,
};
use pumice_lab::{
    run::{Access, Amount, Policy, TraceFile},
    trace::{Format, Pattern, Reading},
};

use super::Work;
use crate::{
    failure::{Failure, Outcome},
    size,
};

/// All values of an option.
pub(super) fn list<T>(words: &[String], parse: impl Fn(&str) -> Outcome<T>) -> Outcome<Vec<T>> {
    words.iter().map(|word| parse(word)).collect()
}

pub(super) fn bytes(word: &str) -> Outcome<u64> {
    size::parse(word).map_err(Failure::usage)
}

/// A value that an option cannot take.
fn invalid(option: &str, word: &str, want: &str) -> Failure {
    Failure::usage(format!("invalid --{option} `{word}` (want {want})"))
}

/// `90%`, above 0 and below 100.
pub(super) fn part(word: &str) -> Outcome<f64> {
    let percent = word.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
    let part = percent.map(|percent| percent / 100.0).filter(|part| *part > 0.0 && *part < 1.0);
    part.ok_or_else(|| invalid("fill", word, "a percentage such as 90%, above 0 and below 100"))
}

/// `15%`, a whole number from 1 to 99.
pub(super) fn garbage(word: &str) -> Result<u32, String> {
    let percent = word.strip_suffix('%').and_then(|number| number.parse().ok());
    let percent = percent.filter(|percent| (1..100).contains(percent));
    percent.ok_or_else(|| "want a percentage from 1% to 99%".to_owned())
}

/// A number above 1.
pub(super) fn alpha(word: &str) -> Outcome<f64> {
    let alpha = word.parse::<f64>().ok().filter(|alpha| *alpha > 1.0 && alpha.is_finite());
    alpha.ok_or_else(|| invalid("alpha", word, "a number above 1"))
}

/// `192M` or `6x`.
pub(super) fn amount(option: &str, word: &str) -> Outcome<Amount> {
    let times = word.strip_suffix('x').and_then(|number| number.parse::<f64>().ok());
    match times.filter(|times| *times >= 0.0 && times.is_finite()) {
        Some(times) => Ok(Amount::Turnovers(times)),
        None => size::parse(word)
            .map(Amount::Bytes)
            .map_err(|_| invalid(option, word, "a size such as 192M, or 6x the logical blocks")),
    }
}

/// `7` or `1..4`.
pub(super) fn seeds(word: &str) -> Outcome<RangeInclusive<u64>> {
    let range = match word.split_once("..") {
        Some((first, last)) => first.parse().ok().zip(last.parse().ok()),
        None => word.parse().ok().map(|seed| (seed, seed)),
    };
    let range = range.filter(|(first, last): &(u64, u64)| first <= last);
    let range = range.map(|(first, last)| first..=last);
    range.ok_or_else(|| invalid("seed", word, "a number, or a range such as 1..4"))
}

/// A workload or a trace.
pub(super) fn access(name: &str, work: &Work) -> Outcome<Access> {
    match name.strip_prefix("trace:") {
        Some("") => Err(Failure::usage("`trace:` names no file (want trace:FILE)")),
        Some(path) => {
            let reading = reading(work)?;
            Ok(Access::Trace(TraceFile { path: path.into(), reading, compact: work.compact }))
        }
        None => match name.parse() {
            Ok(pattern) => Ok(Access::Pattern(pattern)),
            Err(error) => Err(Failure::usage(format!("{error}, or trace:FILE"))),
        },
    }
}

fn reading(work: &Work) -> Outcome<Reading> {
    let wrong = |error: pumice_lab::trace::TraceError| Failure::usage(error.to_string());
    Ok(match (&work.format, &work.pattern) {
        (Some(name), _) => Reading::As(Format::named(name).map_err(wrong)?),
        (_, Some(pattern)) => Reading::Pattern(Pattern::new(pattern).map_err(wrong)?),
        _ => Reading::Detect,
    })
}

/// A policy by name, or one of a user's own.
pub(super) fn policy<T: Axis>(word: &str) -> Outcome<Policy<Rule<T>>> {
    word.parse()
        .map_err(|error: PolicyError| Failure::usage(format!("{error}, or a module FILE.wasm or FILE.wat")))
}

/// A policy by name.
pub(super) fn rule<T: Axis>(word: &str) -> Outcome<Rule<T>> {
    word.parse().map_err(|error: PolicyError| Failure::usage(error.to_string()))
}

/// Every name there is, for the help.
pub(super) fn names() -> String {
    let formats = Format::TABLE.map(|format| format!("  {:<21} {}", format.name, format.fields)).join("\n");
    format!(
        "Policies by name; `default` is the first of its kind.\n\nVictims:\n{}\n\nPlacements:\n{}\n\nWear rules:\n{}\n\nTraces (plain, gzip or zstd):\n{formats}",
        rules(VictimRule::all()),
        rules(PlacementRule::all()),
        rules(WearRule::all())
    )
}

/// One policy a line; N is the number that may follow its name.
fn rules<T: Axis>(all: impl Iterator<Item = Rule<T>>) -> String {
    let line = |rule: Rule<T>| rule.wrapper().map_or_else(|| line(rule.entry()), around);
    all.map(line).collect::<Vec<_>>().join("\n")
}

/// One that is around another.
fn around<T: Axis>(wrapper: &'static Wrapper<T>) -> String {
    let Wrapper { name, about, usual, .. } = wrapper;
    let other = T::NAME.to_uppercase();
    format!("  {:<21} {about} ({other} {usual})", format!("{name}[:{other}]"))
}

fn line<T>(entry: &Entry<T>) -> String {
    let Entry { name, about, .. } = entry;
    match entry.parameter {
        None => format!("  {name:<21} {about}"),
        Some(Parameter { least, most, usual }) => {
            format!("  {:<21} {about} (N {usual}; {least} to {most})", format!("{name}[:N]"))
        }
    }
}
