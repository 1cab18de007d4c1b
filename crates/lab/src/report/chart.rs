//! A summary as a picture.

use plotters::prelude::{IntoDrawingArea, SVGBackend};

use super::{
    bars,
    colours::Styles,
    frame::{Drawn, Frame},
    lines,
    paint::Paint,
};
use crate::{
    LabError,
    experiment::{Experiment, Look, Series, Summary},
};

/// The picture, as SVG; empty if there is to be none.
pub(super) fn draw(
    experiment: &Experiment<'_>,
    summary: &Summary,
    styles: &Styles,
) -> Result<String, LabError> {
    let mut svg = String::new();
    if experiment.look != Look::Table {
        onto(&mut svg, experiment, summary, styles).map_err(|error| LabError::Picture(error.to_string()))?;
    }
    Ok(svg)
}

fn onto(svg: &mut String, experiment: &Experiment<'_>, summary: &Summary, styles: &Styles) -> Drawn {
    let is_bar = experiment.look == Look::Bars;
    let entry = |series: &Series| (series.name.clone(), Paint::new(styles.of(&series.name), series, is_bar));
    let frame = Frame {
        title: format!("{}: {}", experiment.name, summary.metric.title()),
        x: experiment.x.to_owned(),
        note: summary.note(),
        legend: summary.series.iter().map(entry).collect(),
        places: summary.xs.clone(),
        grouped: is_bar,
    };
    let area = SVGBackend::with_string(svg, frame.size()).into_drawing_area();
    match experiment.look {
        Look::Lines => lines::draw(&area, &frame, summary)?,
        Look::Bars => bars::draw(&area, &frame, summary)?,
        Look::Table => {}
    }
    area.present()?;
    Ok(())
}
