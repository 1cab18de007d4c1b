//! Real traces under every fixed pair of victim and placement, and under the default.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    Experiment, Look, Metric, Options, Point, Points,
    scheme::{DEFAULT, PLACEMENTS, Scheme},
};
use crate::{
    LabError,
    run::{Access, Amount, Room, Setup, TraceFile},
    trace::{Reading, open},
};

/// Each trace over and over on stores of its own size.
pub(super) const TRACES: Experiment<'static> = Experiment {
    name: "traces",
    about: "every trace at hand, repeated, segments of 32 blocks, by alpha: default and all placements, by victim",
    x: "trace and alpha",
    look: Look::Table,
    metrics: &[Metric::Waf],
    points: Points::Simulated(points),
    known: Vec::new,
};

/// Physical blocks for each that the trace writes to.
const ALPHAS: [f64; 4] = [1.075, 1.1, 1.18, 1.28];

/// The victim rules that are best of all on some workload.
const VICTIMS: [&str; 4] = ["greedy", "cost-benefit", "root-age", "cat"];

fn points(options: &Options) -> Result<Vec<Point>, LabError> {
    let mut points = Vec::new();
    for path in traces(&options.traces)? {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name = name.split('.').next().unwrap_or_default();
        for alpha in ALPHAS {
            for (series, scheme) in schemes() {
                points.push(Point {
                    series,
                    x: format!("{name} {alpha}"),
                    setup: setup(&scheme, &path, alpha)?,
                });
            }
        }
    }
    if points.is_empty() {
        let why = "no block traces there; name a directory with --traces".to_owned();
        return Err(LabError::Unplayable { path: options.traces.clone(), why });
    }
    Ok(points)
}

/// The default, and every fixed pair; none knows the future, none levels wear.
fn schemes() -> Vec<(String, Scheme)> {
    let pairs = PLACEMENTS.into_iter().flat_map(|placement| {
        // MiDAS is of one piece.
        let victims: &[&str] = if placement == "midas" { &["midas"] } else { &VICTIMS };
        victims.iter().map(move |victim| {
            let series =
                if placement == "midas" { placement.to_owned() } else { format!("{placement}, {victim}") };
            (series, Scheme::new(placement, victim, placement))
        })
    });
    let default = ("default".to_owned(), Scheme { wear: "none", ..DEFAULT });
    [default].into_iter().chain(pairs).collect()
}

/// The files of `dir` that look like block traces, by name.
fn traces(dir: &Path) -> Result<Vec<PathBuf>, LabError> {
    let failed = |error: io::Error| LabError::File { path: dir.to_owned(), error };
    let entries = fs::read_dir(dir).map_err(failed)?.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let mut paths: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
    paths.retain(|path| path.is_file() && open(path, &Reading::Detect).is_ok());
    paths.sort();
    Ok(paths)
}

fn setup(scheme: &Scheme, path: &Path, alpha: f64) -> Result<Setup, LabError> {
    let trace = TraceFile { path: path.to_owned(), reading: Reading::Detect, compact: true };
    let mut setup = scheme.setup(Access::Trace(trace))?;
    setup.store.flash = None;
    setup.store.header = 0;
    setup.store.reserve = 1;
    setup.store.room = Room::Alpha(alpha);
    setup.warm_up = Amount::Turnovers(10.0);
    setup.write = Some(Amount::Turnovers(30.0));
    Ok(setup)
}
