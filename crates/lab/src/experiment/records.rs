//! The files of an experiment: lines of JSON, and the same as comma-separated values.

use std::{
    collections::{BTreeMap, HashSet},
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::{Experiment, Line, Outcome, Point, Points, wanted::store};
use crate::{
    LabError,
    run::{Access, Setup, plan},
};

/// The records of a file that this build made, and the number of the others.
#[derive(Clone, Debug, Default)]
pub struct Stored {
    /// The last one of each curve, place and seed.
    pub lines: Vec<Line>,
    /// The others.
    pub passed_over: PassedOver,
}

impl Stored {
    /// True if there is no record at all.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.passed_over == PassedOver::default()
    }
}

/// Records that are kept in a file and not shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassedOver {
    /// Records of another build: other sources decided.
    pub foreign: usize,
    /// Records that were changed after they were written, and what is no record.
    pub changed: usize,
}

/// `NAME.jsonl` and `NAME.csv` in a directory.
pub(super) struct Records {
    json: PathBuf,
    csv: PathBuf,
    stored: Stored,
    /// The open end of the file, for new lines.
    end: File,
}

impl Records {
    /// Opens the files of an experiment, or makes them.
    pub(super) fn open(dir: &Path, name: &str) -> Result<Records, LabError> {
        fs::create_dir_all(dir).map_err(|error| LabError::File { path: dir.to_owned(), error })?;
        let (json, csv) = (dir.join(format!("{name}.jsonl")), dir.join(format!("{name}.csv")));
        let text = contents(&json)?;
        let end = named(&json, OpenOptions::new().append(true).create(true).open(&json))?;
        // The last line may have been cut short; what is no line is no record.
        named(&json, end.set_len(whole(&text).len() as u64))?;
        Ok(Records { stored: sort(&text, |_| true), json, csv, end })
    }

    /// The records that were there.
    pub(super) fn stored(&self) -> &Stored {
        &self.stored
    }

    /// Adds the whole lines of other files that are not there yet.
    pub(super) fn add(&mut self, files: &[PathBuf]) -> Result<(), LabError> {
        let mut all = contents(&self.json)?;
        for file in files {
            let (more, known) = (contents(file)?, all.clone());
            let known: HashSet<&str> = known.lines().collect();
            all.extend(
                whole(&more).lines().filter(|line| !known.contains(line)).flat_map(|line| [line, "\n"]),
            );
        }
        self.stored = sort(&all, |_| true);
        replace(&self.json, &all)
    }

    /// Adds a line, which is out when this returns.
    pub(super) fn append(&mut self, line: &Line) -> Result<(), LabError> {
        let text = named(&self.json, line.json())? + "\n";
        named(&self.json, self.end.write_all(text.as_bytes()))
    }

    /// Brings these lines to the end of the file in their order, and writes the others of this build and them as CSV. No
    /// record is lost.
    pub(super) fn finish(self, lines: &[Line]) -> Result<(), LabError> {
        let now: Vec<String> = named(&self.json, lines.iter().map(Line::json).collect())?;
        let moved: HashSet<&str> = now.iter().map(String::as_str).collect();
        let before = contents(&self.json)?;
        let others = whole(&before).lines().filter(|line| !moved.contains(line));
        let text: String =
            others.chain(now.iter().map(String::as_str)).flat_map(|line| [line, "\n"]).collect();
        replace(&self.json, &text)?;
        let all = sort(&text, |_| true).lines;
        let (head, rows) = Outcome::table(all.iter().map(|line| &line.outcome));
        let row =
            |(line, row): (&Line, String)| format!("{},{},{row}\n", quoted(&line.series), quoted(&line.x));
        let rows: Vec<String> = all.iter().zip(rows).map(row).collect();
        replace(&self.csv, &(format!("series,x,{head}\n") + &rows.concat()))
    }
}

/// The records of an experiment in a directory, none if they are not there.
pub(crate) fn read(experiment: &Experiment<'_>, dir: &Path) -> Result<Stored, LabError> {
    let text = contents(&dir.join(format!("{}.jsonl", experiment.name)))?;
    Ok(match experiment.points {
        // Its description may have had other points before, or other options of these.
        Points::Described(points) => sort(&text, |line| points.iter().any(|point| is_of(point, line))),
        _ => sort(&text, |_| true),
    })
}

/// True if a record is of this point. A trace stays where its runs were made, and is not asked for here.
fn is_of(point: &Point, line: &Line) -> bool {
    let series = line.medium().own_series(&line.series);
    if (point.series.as_str(), &point.x) != (series, &line.x) {
        return false;
    }
    let Outcome::Simulated(record) = &line.outcome else { return false };
    if matches!(point.setup.access, Access::Trace(_)) {
        return true;
    }
    let setup = Setup { seed: line.outcome.seed(), ..point.setup.clone() };
    let planned = store(setup, line.medium()).and_then(|setup| plan(&[setup]));
    planned.is_ok_and(|all| all.iter().all(|one| one.parameters == record.parameters))
}

/// A file's text, empty if it is not there.
fn contents(path: &Path) -> Result<String, LabError> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        text => named(path, text),
    }
}

/// The whole lines of a text.
fn whole(text: &str) -> &str {
    text.rfind('\n').and_then(|last| text.get(..=last)).unwrap_or_default()
}

/// Sorts the lines of a file: those of this build that are wanted, of which a later one takes the place of an earlier, and
/// the others. A last line that was cut short counts for nothing.
fn sort(text: &str, is_wanted: impl Fn(&Line) -> bool) -> Stored {
    let (mut places, mut stored) = (BTreeMap::new(), Stored::default());
    for line in text.split_inclusive('\n') {
        match Line::parse(line) {
            Ok(line) if line.is_of_this_build() && !is_wanted(&line) => {}
            Ok(line) if line.is_of_this_build() => {
                let place = (line.series.clone(), line.x.clone(), line.outcome.seed());
                let at = *places.entry(place).or_insert(stored.lines.len());
                match stored.lines.get_mut(at) {
                    Some(earlier) => *earlier = line,
                    None => stored.lines.push(line),
                }
            }
            Ok(_) => stored.passed_over.foreign += 1,
            Err(error) if error.kind() == io::ErrorKind::Unsupported => stored.passed_over.foreign += 1,
            Err(_) if line.ends_with('\n') => stored.passed_over.changed += 1,
            Err(_) => {}
        }
    }
    stored
}

/// A cell of comma-separated values; always in quotes, which is allowed (RFC 4180).
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// Puts `text` in place of a file, in one step.
fn replace(path: &Path, text: &str) -> Result<(), LabError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    named(path, fs::write(&beside, text).and_then(|()| fs::rename(&beside, path)))
}

fn named<T>(path: &Path, result: io::Result<T>) -> Result<T, LabError> {
    result.map_err(|error| LabError::File { path: path.to_owned(), error })
}
