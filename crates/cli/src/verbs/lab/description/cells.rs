//! The cells of a sweep: one table of each kind with one of each other, each list of values spread out.

use std::{
    collections::BTreeSet,
    path::{Component, Path},
};

use clap::Parser;
use pumice_lab::{
    experiment::Point,
    run::{Setup, module_file},
};
use toml::{Table, Value};

use crate::{
    failure::{Failure, Outcome},
    verbs::sim,
};

/// Options whose values are names that need no word before them.
const SPEAKING: [&str; 4] = ["access", "victim", "placement", "wear"];

/// Options of `pumice sim` that are no part of a cell.
const OUTSIDE: [&str; 4] = ["seed", "json", "csv", "help"];

/// Cells at most: all of them are planned before the first is run.
const MOST: usize = 100_000;

/// A table with one value for each option.
#[derive(Clone)]
struct Variant {
    name: Option<String>,
    /// Options with their values; of lists one after the other.
    values: Vec<(String, String)>,
    /// The options that had lists.
    spread: BTreeSet<String>,
}

/// All tables of one kind.
struct Axis {
    kind: &'static str,
    variants: Vec<Variant>,
}

/// The directories in which files are looked for.
#[derive(Clone, Copy)]
pub(super) struct Dirs<'a> {
    /// That of traces.
    pub(super) traces: &'a Path,
    /// That of policies: the description's own.
    pub(super) own: &'a Path,
}

/// The points of all cells, in the order of the file, the last kind fastest.
pub(super) fn points(
    tables: [(&'static str, Vec<Table>); 4],
    x: &str,
    dirs: Dirs<'_>,
) -> Outcome<Vec<Point>> {
    let axes = tables.map(|(kind, tables)| Axis::new(kind, &tables));
    let axes = axes.into_iter().collect::<Outcome<Vec<_>>>()?;
    let count = axes.iter().fold(1_usize, |count, axis| count.saturating_mul(axis.variants.len()));
    if count > MOST {
        return Err(Failure::usage(format!("{count} cells are too many (want at most {MOST})")));
    }
    let mut cells: Vec<Vec<&Variant>> = vec![Vec::new()];
    for axis in &axes {
        cells = cells.iter().flat_map(|cell| with_each(cell, axis)).collect();
    }
    let mut seen = BTreeSet::new();
    let point = |cell: Vec<&Variant>| {
        let (series, place) = (series(&axes, &cell, x), place(&axes, &cell, x)?);
        if !seen.insert((series.clone(), place.clone())) {
            return Err(Failure::usage(format!("two cells are `{series}` at `{place}` (want a `name`)")));
        }
        Ok(Point { series, x: place, setup: setup(&cell, dirs)? })
    };
    cells.into_iter().map(point).collect()
}

/// A cell with each variant of one more kind.
fn with_each<'a>(cell: &[&'a Variant], axis: &'a Axis) -> Vec<Vec<&'a Variant>> {
    axis.variants.iter().map(|variant| [cell, &[variant]].concat()).collect()
}

impl Axis {
    fn new(kind: &'static str, tables: &[Table]) -> Outcome<Axis> {
        let mut variants = Vec::new();
        for table in tables {
            variants.extend(spread(kind, table)?);
        }
        if variants.is_empty() {
            variants.push(Variant { name: None, values: Vec::new(), spread: BTreeSet::new() });
        }
        Ok(Axis { kind, variants })
    }

    /// True if not all variants without a name have the same value of an option.
    fn varies(&self, key: &str) -> bool {
        let unnamed = self.variants.iter().filter(|variant| variant.name.is_none());
        unnamed.map(|variant| variant.value(key)).collect::<BTreeSet<_>>().len() > 1
    }

    /// The words for a variant among the others, without those for `x`; none if it is the only one.
    fn label(&self, variant: &Variant, x: &str) -> String {
        let words = |is_told: &dyn Fn(&str) -> bool| {
            let told = variant.values.iter().filter(|(key, _)| key != x && is_told(key));
            let words = told.map(|(key, value)| match SPEAKING.contains(&key.as_str()) {
                true => value.clone(),
                false => format!("{key} {value}"),
            });
            variant.name.clone().into_iter().chain(words).collect::<Vec<_>>().join(" ")
        };
        if variant.name.is_some() {
            return words(&|key| variant.spread.contains(key));
        }
        let label = words(&|key| self.varies(key));
        let has_named = self.variants.iter().any(|other| other.name.is_some());
        if label.is_empty() && has_named { words(&|_| true) } else { label }
    }

    /// The same; all options at their defaults have a name among others.
    fn among_others(&self, variant: &Variant, x: &str) -> String {
        let label = self.label(variant, x);
        let has_others = self.variants.iter().any(|other| !self.label(other, x).is_empty());
        if label.is_empty() && has_others { "default".to_owned() } else { label }
    }
}

impl Variant {
    fn value(&self, key: &str) -> Option<&str> {
        self.values.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }
}

/// A table as variants with one value for each option.
fn spread(kind: &str, table: &Table) -> Outcome<Vec<Variant>> {
    let mut all = vec![Variant { name: None, values: Vec::new(), spread: BTreeSet::new() }];
    for (key, value) in table {
        if OUTSIDE.contains(&key.as_str()) {
            return Err(Failure::usage(format!("`{key}` has no place in a {kind}")));
        }
        let (values, is_list) = match value {
            Value::Array(values) => (values.as_slice(), true),
            one => (std::slice::from_ref(one), false),
        };
        let words = values.iter().map(|value| word(key, value)).collect::<Outcome<Vec<_>>>()?;
        let with = |variant: Variant| -> Vec<Variant> {
            let one = |word: &String| {
                let mut variant = variant.clone();
                match key.as_str() {
                    "name" => variant.name = Some(word.clone()),
                    _ => variant.values.push((key.clone(), word.clone())),
                }
                if is_list {
                    variant.spread.insert(key.clone());
                }
                variant
            };
            words.iter().map(one).collect()
        };
        all = all.into_iter().flat_map(with).collect();
    }
    Ok(all)
}

fn word(key: &str, value: &Value) -> Outcome<String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Boolean(is_set) => Ok(is_set.to_string()),
        Value::Array(_) | Value::Table(_) | Value::Datetime(_) => {
            Err(Failure::usage(format!("`{key}` wants a text, a number, or a list of them")))
        }
    }
}

/// The curve of a cell: what tells it from others, but for its place.
fn series(axes: &[Axis], cell: &[&Variant], x: &str) -> String {
    let labels = axes.iter().zip(cell).filter(|(axis, _)| axis.kind != x);
    let labels =
        labels.map(|(axis, variant)| axis.among_others(variant, x)).filter(|label| !label.is_empty());
    let labels = labels.collect::<Vec<_>>().join(", ");
    if labels.is_empty() { "all".to_owned() } else { labels }
}

/// The place of a cell on the horizontal axis; percents as numbers.
fn place(axes: &[Axis], cell: &[&Variant], x: &str) -> Outcome<String> {
    if let Some((axis, variant)) = axes.iter().zip(cell).find(|(axis, _)| axis.kind == x) {
        return Ok(axis.among_others(variant, ""));
    }
    let value = cell.iter().find_map(|variant| variant.value(x));
    let value = value.ok_or_else(|| Failure::usage(format!("x is `{x}`, which a cell does not set")))?;
    Ok(value.strip_suffix('%').unwrap_or(value).to_owned())
}

/// The options of `pumice sim`.
#[derive(Parser, Debug)]
#[command(no_binary_name = true)]
struct Options {
    #[command(flatten)]
    sim: sim::Args,
}

/// The setup of a cell, as `pumice sim` takes its options.
fn setup(cell: &[&Variant], dirs: Dirs<'_>) -> Outcome<Setup> {
    let (mut keys, mut words) = (BTreeSet::new(), Vec::new());
    for (key, value) in cell.iter().flat_map(|variant| &variant.values) {
        if !keys.insert(key) {
            return Err(Failure::usage(format!("a cell sets `{key}` twice")));
        }
        match (key.as_str(), value.as_str()) {
            (_, "true") => words.push(format!("--{key}")),
            (_, "false") => {}
            ("access", value) => words.push(format!("--{key}={}", access(value, dirs.traces))),
            ("victim" | "placement", value) => words.push(format!("--{key}={}", policy(value, dirs.own)?)),
            (_, value) => words.push(format!("--{key}={value}")),
        }
    }
    let options = Options::try_parse_from(words).map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        Failure::usage(first.strip_prefix("error: ").unwrap_or(first))
    })?;
    match options.sim.setups()?.as_slice() {
        [setup] => Ok(setup.clone()),
        _ => {
            Err(Failure::usage("a cell has several values of an option (want a list: [\"one\", \"other\"])"))
        }
    }
}

/// The access, a trace in its directory.
fn access(value: &str, traces: &Path) -> String {
    match value.strip_prefix("trace:") {
        Some(file) => format!("trace:{}", traces.join(file).display()),
        None => value.to_owned(),
    }
}

/// A policy, a module in the description's directory: it is kept with its records.
fn policy(value: &str, own: &Path) -> Outcome<String> {
    let Some(file) = module_file(value) else { return Ok(value.to_owned()) };
    if !file.components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(Failure::usage(format!(
            "want a path below the description's own directory, not `{value}`"
        )));
    }
    Ok(own.join(file).display().to_string())
}
