//! The common parts of pictures of both kinds: colours, legend, the vertical axis.

use plotters::style::RGBColor;

use crate::experiment::{Experiment, Summary};

/// Colours that the colour-blind can tell apart (Okabe and Ito 2008), then darker ones.
const COLOURS: [RGBColor; 12] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
    RGBColor(130, 130, 130),
    RGBColor(120, 60, 0),
    RGBColor(110, 0, 110),
    RGBColor(0, 90, 0),
    RGBColor(170, 170, 0),
];

/// The colour of curve `number`; a known one, `paper: greedy`, has that of the one it is to be compared with, `greedy`.
pub(super) fn colour(summary: &Summary, number: usize) -> RGBColor {
    let name = summary.series.get(number).map_or("", |series| series.name.as_str());
    let measured = name.split_once(": ").map_or(name, |(_, measured)| measured);
    let like = summary.series.iter().position(|series| series.name == measured).unwrap_or(number);
    COLOURS.get(like % COLOURS.len()).copied().unwrap_or(RGBColor(0, 0, 0))
}

/// The words below the horizontal axis, with the origin of kept figures.
pub(super) fn axis(experiment: &Experiment<'_>, summary: &Summary) -> String {
    let note = summary.note().map(|note| format!(" ({note})")).unwrap_or_default();
    format!("{}{note}", experiment.x)
}

/// The part of the width that is left to the legend.
pub(super) const LEGEND: f64 = 0.3;

/// A figure on the vertical axis, which ends at `top`.
pub(super) fn tick(value: f64, top: f64) -> String {
    super::html::figure(value, if top < 4.0 { 2 } else { usize::from(top < 20.0) })
}

/// The end of the vertical axis: a little above the highest figure.
pub(super) fn top(summary: &Summary) -> f64 {
    let cells = summary.series.iter().flat_map(|series| &series.cells).flatten();
    cells.map(|cell| cell.range.1.max(cell.mean)).fold(0.0, f64::max).max(1e-9) * 1.08
}
