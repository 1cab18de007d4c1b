//! Real traces under every placement.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{Experiment, Look, Metric, Options, Point, scheme::Scheme, zipf::schemes};
use crate::{
    LabError,
    run::{Access, Amount, Room, Setup, TraceFile},
    trace::{Reading, open},
};

/// Each trace over and over on a store of its own size.
pub(super) const TRACES: Experiment = Experiment {
    name: "traces",
    about: "every trace at hand, repeated, segments of 32 blocks, alpha 1.15: all placements",
    x: "trace",
    look: Look::Bars,
    metrics: &[Metric::Waf, Metric::WearDeviation],
    points,
    known: Vec::new,
};

fn points(options: &Options) -> Result<Vec<Point>, LabError> {
    let mut points = Vec::new();
    for path in traces(&options.traces)? {
        let x = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        for scheme in schemes() {
            let setup = setup(&scheme, &path)?;
            points.push(Point { series: scheme.name.to_owned(), x: x.clone(), setup });
        }
    }
    if points.is_empty() {
        let why = "no block traces there; name a directory with --traces".to_owned();
        return Err(LabError::Unplayable { path: options.traces.clone(), why });
    }
    Ok(points)
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

fn setup(scheme: &Scheme, path: &Path) -> Result<Setup, LabError> {
    let trace = TraceFile { path: path.to_owned(), reading: Reading::Detect, compact: true };
    let mut setup = scheme.setup(Access::Trace(trace))?;
    setup.store.flash = None;
    setup.store.header = 0;
    setup.store.reserve = Some(1);
    setup.store.room = Room::Alpha(1.15);
    setup.warm_up = Amount::Turnovers(10.0);
    setup.write = Some(Amount::Turnovers(30.0));
    Ok(setup)
}
