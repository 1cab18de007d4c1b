//! Curves.

use std::error::Error;

use plotters::{
    chart::{ChartBuilder, SeriesLabelPosition},
    coord::Shift,
    element::{Circle, EmptyElement, PathElement},
    prelude::{DrawingArea, SVGBackend},
    series::{LineSeries, PointSeries},
    style::{BLACK, Color, WHITE},
};

use super::style::{LEGEND, axis, colour, tick, top};
use crate::experiment::{Experiment, Series, Summary};

/// One curve for each series, with rings for known figures and a bar for the range over seeds.
pub(super) fn draw(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    experiment: &Experiment<'_>,
    summary: &Summary,
) -> Result<(), Box<dyn Error>> {
    let places = places(summary);
    let (first, last) = (places.first().copied().unwrap_or(0.0), places.last().copied().unwrap_or(1.0));
    let width = (last - first).max(1e-9);
    let top = top(summary);
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .x_label_area_size(46)
        .y_label_area_size(80)
        .build_cartesian_2d(first - width * 0.03..last + width * LEGEND / (1.0 - LEGEND), 0.0..top)?;
    let name = |at: &f64| label(summary, &places, *at);
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(if summary.numbers().is_some() { 12 } else { places.len() * 2 + 1 })
        .x_label_formatter(&name)
        .x_desc(axis(experiment, summary))
        .y_desc(summary.metric.title())
        .y_label_formatter(&|y| tick(*y, top))
        .label_style(("sans-serif", 14))
        .light_line_style(WHITE)
        .draw()?;
    for (number, series) in summary.series.iter().enumerate() {
        let colour = colour(summary, number);
        let points = points(series, &places);
        let line = colour.stroke_width(if is_known(series) { 1 } else { 2 });
        chart
            .draw_series(LineSeries::new(points.clone(), line))?
            .label(&series.name)
            .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 18, y)], line));
        let ranges =
            places.iter().zip(&series.cells).filter_map(|(at, cell)| cell.map(|cell| (*at, cell.range)));
        chart.draw_series(
            ranges.map(|(at, range)| PathElement::new(vec![(at, range.0), (at, range.1)], colour)),
        )?;
        let (size, style) = if is_known(series) { (6, colour.stroke_width(2)) } else { (3, colour.filled()) };
        chart.draw_series(PointSeries::of_element(points, size, style, &|at, size, style| {
            EmptyElement::at(at) + Circle::new((0, 0), size, style)
        }))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.3))
        .label_font(("sans-serif", 13))
        .draw()?;
    Ok(())
}

/// The positions of the places: their numbers, or one after the other.
fn places(summary: &Summary) -> Vec<f64> {
    let counted =
        || (0..summary.xs.len()).scan(0.0, |at, _| Some(std::mem::replace(at, *at + 1.0))).collect();
    summary.numbers().unwrap_or_else(counted)
}

fn is_known(series: &Series) -> bool {
    series.cells.iter().flatten().all(|cell| cell.runs == 0)
}

fn points(series: &Series, places: &[f64]) -> Vec<(f64, f64)> {
    let cells = places.iter().zip(&series.cells);
    cells.filter_map(|(at, cell)| cell.map(|cell| (*at, cell.mean))).collect()
}

/// The label of a place on the axis: its number, or its name where there is one.
fn label(summary: &Summary, places: &[f64], at: f64) -> String {
    if summary.numbers().is_some() {
        return super::html::figure(at, if at.fract().abs() < 1e-9 { 0 } else { 2 });
    }
    let near = places.iter().position(|place| (place - at).abs() < 1e-6);
    near.and_then(|near| summary.xs.get(near)).cloned().unwrap_or_default()
}
