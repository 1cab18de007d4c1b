//! A report: all records of a directory as one file of HTML with pictures, which opens without network.

mod bars;
mod chart;
mod html;
mod lines;
mod style;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    LabError,
    experiment::{Experiment, Line, Summary},
};

/// Makes the report of the records in `dir`.
pub fn report(dir: &Path) -> Result<String, LabError> {
    let mut page = html::Page::default();
    for experiment in &Experiment::ALL {
        let lines = read(&dir.join(format!("{}.jsonl", experiment.name)))?;
        if lines.is_empty() {
            continue;
        }
        page.experiment(experiment, &lines);
        for metric in experiment.metrics {
            let summary = Summary::new(experiment, *metric, &lines);
            if summary.is_measured() {
                page.summary(experiment, &summary, &chart::draw(experiment, &summary)?);
            }
        }
    }
    if page.is_empty() {
        let error = io::Error::other("no records there; `pumice lab run` makes some");
        return Err(LabError::File { path: dir.to_owned(), error });
    }
    Ok(page.finish())
}

/// The lines of a file; none if it is not there.
fn read(path: &PathBuf) -> Result<Vec<Line>, LabError> {
    let failed = |error| LabError::File { path: path.clone(), error };
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.map_err(failed)?,
    };
    let numbered = (1..).zip(text.lines());
    let parse = |(number, line): (u32, &str)| {
        Line::parse(line).map_err(|error| failed(io::Error::other(format!("line {number}: {error}"))))
    };
    numbered.map(parse).collect()
}
