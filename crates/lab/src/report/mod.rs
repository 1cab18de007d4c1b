//! A report: all records of a directory as one file of HTML with pictures, which opens without network.

mod bars;
mod chart;
mod html;
mod lines;
mod style;

use std::{io, path::Path};

use crate::{
    LabError,
    experiment::{Experiment, Summary, read},
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
