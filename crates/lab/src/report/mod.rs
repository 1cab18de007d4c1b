//! A report: all records of a directory as one file of HTML with pictures, which opens without network.

mod bars;
mod chart;
mod colours;
mod frame;
mod html;
mod lines;
mod maps;
mod paint;
mod strip;

pub use strip::strip;

use std::{io, path::Path};

use colours::Styles;

use crate::{
    LabError,
    claim::{Claim, Judged, judge},
    experiment::{Experiment, Line, Stored, Summary, read},
};

/// A report.
#[derive(Clone, Debug)]
pub struct Report {
    /// One page of HTML with all pictures and tables; it needs no other file.
    pub page: String,
    /// Each picture once more.
    pub pictures: Vec<Picture>,
}

/// A picture of one metric of an experiment.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The experiment and the metric, such as `lifetime-waf`.
    pub name: String,
    /// The picture, as SVG.
    pub svg: String,
}

/// Makes the report of these experiments' records in `dir`.
pub fn report(experiments: &[Experiment<'_>], dir: &Path) -> Result<Report, LabError> {
    let (mut page, mut pictures) = (html::Page::default(), Vec::new());
    let all = records(experiments, dir)?;
    let shown = all.iter().filter(|(_, stored)| !stored.lines.is_empty());
    let shown: Vec<_> = shown.map(|(experiment, stored)| (*experiment, stored.lines.clone())).collect();
    if !shown.is_empty() {
        page.claims(&judged(&shown)?);
    }
    for (experiment, stored) in &all {
        let lines = &stored.lines;
        if lines.is_empty() {
            continue;
        }
        page.experiment(experiment, stored);
        let known = (experiment.known)();
        let names = lines.iter().map(|line| line.series.as_str());
        let styles = Styles::new(names.chain(known.iter().map(|known| known.series)));
        for metric in experiment.metrics {
            let summary = Summary::new(experiment, *metric, lines);
            if !summary.is_empty() {
                let svg = chart::draw(experiment, &summary, &styles)?;
                page.summary(experiment, &summary, &svg);
                pictures.push(Picture { name: format!("{}-{}", experiment.name, metric.name()), svg });
            }
        }
        let svg = maps::draw(experiment, lines)?;
        if !svg.is_empty() {
            page.maps(&svg);
            pictures.push(Picture { name: format!("{}-requests", experiment.name), svg });
        }
    }
    if page.is_empty() {
        let passed = all.iter().map(|(_, stored)| stored.passed_over);
        let others: usize = passed.map(|passed| passed.foreign + passed.changed).sum();
        let others = if others > 0 { format!(" of this build, {others} others") } else { String::new() };
        let why = format!("no records there{others}; `pumice lab run` makes some");
        return Err(LabError::File { path: dir.to_owned(), error: io::Error::other(why) });
    }
    // A table alone has no picture.
    pictures.retain(|picture| !picture.svg.is_empty());
    Ok(Report { page: page.finish(), pictures })
}

/// The records of these experiments in a directory, by experiment.
pub fn records<'a>(
    experiments: &[Experiment<'a>],
    dir: &Path,
) -> Result<Vec<(Experiment<'a>, Stored)>, LabError> {
    let mut all = Vec::new();
    for experiment in experiments {
        let stored = read(experiment, dir)?;
        if !stored.is_empty() {
            all.push((*experiment, stored));
        }
    }
    Ok(all)
}

/// All statements of the papers, each judged by the records of its experiment.
pub fn judged(all: &[(Experiment<'_>, Vec<Line>)]) -> Result<Vec<(Claim, Judged)>, LabError> {
    let lines = |claim: &Claim| {
        let of = all.iter().find(|(experiment, _)| Some(experiment.name) == claim.experiment());
        of.map(|(_, lines)| lines.as_slice()).unwrap_or_default()
    };
    let judged = |claim: Claim| {
        let judged = judge(&claim, lines(&claim));
        (claim, judged)
    };
    Ok(Claim::all()?.into_iter().map(judged).collect())
}
