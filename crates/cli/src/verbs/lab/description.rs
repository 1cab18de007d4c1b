//! Experiments that users describe, in files of TOML: workloads, policies, stores and options of `pumice sim`, each with
//! each.

mod cells;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use pumice_lab::{
    Sources,
    experiment::{Experiment, Look, Metric, Point, Points, Seeds},
};
use serde::Deserialize;
use toml::Table;

use crate::failure::{Failure, Outcome};
use cells::Dirs;

/// The end of the name of a description.
const SUFFIX: &str = "toml";

/// A file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    /// The subject, in one line.
    about: String,
    /// The option, or the kind of table, that varies along the horizontal axis.
    x: String,
    /// Names of metrics, the most telling first.
    metrics: Vec<String>,
    /// Lines, bars or a table alone.
    look: Option<String>,
    /// Seeds of each point, where the command line names none.
    seeds: Option<String>,
    #[serde(default)]
    workload: Vec<Table>,
    #[serde(default)]
    policy: Vec<Table>,
    #[serde(default)]
    store: Vec<Table>,
    #[serde(default)]
    options: Table,
}

/// An experiment, with all its points.
pub(super) struct Description {
    name: String,
    text: String,
    about: String,
    x: String,
    look: Look,
    metrics: Vec<Metric>,
    seeds: Option<Seeds>,
    points: Vec<Point>,
    /// The policies of a user's own, by their paths from the description on.
    modules: BTreeMap<PathBuf, Vec<u8>>,
}

impl Description {
    /// True if a word on the command line names a file, not an experiment of the laboratory.
    pub(super) fn is_named_by(word: &str) -> bool {
        Path::new(word).extension().is_some_and(|end| end == SUFFIX)
    }

    /// Reads a file; its traces are in `traces`.
    pub(super) fn read(path: &Path, traces: &Path) -> Outcome<Description> {
        let text = fs::read_to_string(path).map_err(|error| Failure::host(path, &error))?;
        let wrong = |why: &str| Failure::usage(format!("{}: {}", path.display(), why));
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        if !name.chars().all(is_plain) || Sources::have(&name) {
            return Err(wrong(
                "want a name of letters, digits, - and _, whose first word is not that of an experiment in `pumice lab list`",
            ));
        }
        let file: File = toml::from_str(&text).map_err(|error| wrong(&told(&text, &error)))?;
        let axes = [
            ("workload", file.workload),
            ("policy", file.policy),
            ("store", file.store),
            ("options", vec![file.options]),
        ];
        let dirs = Dirs { traces, own: path.parent().unwrap_or(Path::new("")) };
        let points = cells::points(axes, &file.x, dirs).map_err(|error| wrong(&error.to_string()))?;
        let metrics = file.metrics.iter().map(|name| metric(name)).collect::<Result<_, _>>();
        let seeds = file.seeds.map(|seeds| seeds.parse::<Seeds>()).transpose();
        Ok(Description {
            name: name.into_owned(),
            about: file.about,
            x: file.x,
            look: look(file.look.as_deref().unwrap_or("lines")).map_err(|why| wrong(&why))?,
            metrics: metrics.map_err(|why| wrong(&why))?,
            seeds: seeds.map_err(|error| wrong(&error.to_string()))?,
            modules: modules(&points, dirs.own)?,
            points,
            text,
        })
    }

    /// The descriptions that stand beside their records in some directories. Of one name there may be several, if they
    /// are the same.
    pub(super) fn beside(dirs: &[PathBuf], traces: &Path) -> Outcome<Vec<Description>> {
        let mut all: Vec<(PathBuf, Description)> = Vec::new();
        let files = dirs.iter().map(|dir| files(dir)).collect::<Outcome<Vec<_>>>()?;
        for path in files.into_iter().flatten() {
            let new = Description::read(&path, traces)?;
            match all.iter().find(|(_, known)| known.name == new.name) {
                Some((other, known)) if known.text != new.text || known.modules != new.modules => {
                    let (one, other) = (path.display(), other.display());
                    return Err(Failure::new(format!("{one} and {other} describe different experiments")));
                }
                Some(_) => {}
                None => all.push((path, new)),
            }
        }
        all.sort_by(|(_, one), (_, other)| one.name.cmp(&other.name));
        Ok(all.into_iter().map(|(_, description)| description).collect())
    }

    /// Puts a copy of the file and of its modules into a directory of records, so that they can be merged, shown and made
    /// again.
    pub(super) fn keep(&self, dir: &Path) -> Outcome {
        let own = (Path::new(&self.name).with_extension(SUFFIX), self.text.as_bytes());
        let modules = self.modules.iter().map(|(path, bytes)| (path.clone(), bytes.as_slice()));
        modules.chain([own]).try_for_each(|(path, bytes)| copy(&dir.join(path), bytes))
    }

    /// The seeds that it asks for.
    pub(super) fn seeds(&self) -> Option<Seeds> {
        self.seeds
    }

    pub(super) fn experiment(&self) -> Experiment<'_> {
        Experiment {
            name: &self.name,
            about: &self.about,
            x: &self.x,
            look: self.look,
            metrics: &self.metrics,
            points: Points::Described(&self.points),
            known: Vec::new,
        }
    }
}

/// Writes a file, unless it is there.
fn copy(path: &Path, bytes: &[u8]) -> Outcome {
    let same = fs::read(path).is_ok_and(|there| there == bytes);
    let dir = path.parent().unwrap_or(Path::new(""));
    let write = || fs::create_dir_all(dir).and_then(|()| fs::write(path, bytes));
    if same { Ok(()) } else { write().map_err(|error| Failure::host(path, &error)) }
}

/// The modules of some points, which lie in a directory.
fn modules(points: &[Point], dir: &Path) -> Outcome<BTreeMap<PathBuf, Vec<u8>>> {
    let mut modules = BTreeMap::new();
    for path in
        points.iter().flat_map(|point| [point.setup.victim.file(), point.setup.placement.file()]).flatten()
    {
        let within = path.strip_prefix(dir);
        debug_assert!(within.is_ok(), "{} lies elsewhere", path.display());
        let within = within.unwrap_or(path);
        if !modules.contains_key(within) {
            let bytes = fs::read(path).map_err(|error| Failure::host(path, &error))?;
            modules.insert(within.to_owned(), bytes);
        }
    }
    Ok(modules)
}

/// The laboratory's experiments and these.
pub(super) fn with(described: &[Description]) -> Vec<Experiment<'_>> {
    let own = described.iter().map(Description::experiment);
    Experiment::ALL.into_iter().chain(own).collect()
}

/// The descriptions in a directory that have records beside them; none if it is not there yet.
fn files(dir: &Path) -> Outcome<Vec<PathBuf>> {
    let entries = match fs::read_dir(dir).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        entries => entries.map_err(|error| Failure::host(dir, &error))?,
    };
    let mut paths: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
    paths.retain(|path| {
        path.extension().is_some_and(|end| end == SUFFIX) && path.with_extension("jsonl").exists()
    });
    paths.sort();
    Ok(paths)
}

/// The line of a mistake, and what it is.
fn told(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    let line = before.map(|before| format!("line {}: ", before.matches('\n').count() + 1));
    format!("{}{}", line.unwrap_or_default(), error.message())
}

fn metric(name: &str) -> Result<Metric, String> {
    let found = Metric::SIMULATED.into_iter().find(|metric| metric.name() == name);
    found.ok_or_else(|| {
        format!("unknown metric `{name}` (known: {})", Metric::SIMULATED.map(Metric::name).join(", "))
    })
}

fn look(name: &str) -> Result<Look, String> {
    match name {
        "lines" => Ok(Look::Lines),
        "bars" => Ok(Look::Bars),
        "table" => Ok(Look::Table),
        _ => Err(format!("unknown look `{name}` (want lines, bars or table)")),
    }
}
