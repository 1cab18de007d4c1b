//! Groups of bars.

use std::error::Error;

use plotters::{
    chart::{ChartBuilder, SeriesLabelPosition},
    coord::Shift,
    element::{PathElement, Rectangle},
    prelude::{DrawingArea, SVGBackend},
    style::{BLACK, Color, WHITE},
};

use super::style::{LEGEND, axis, colour, tick, top};
use crate::experiment::{Cell, Experiment, Summary};

/// The part of a group that bars take.
const TAKEN: f64 = 0.86;

/// A group for each place, in it a bar for each series; a line shows the range over seeds.
pub(super) fn draw(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    experiment: &Experiment<'_>,
    summary: &Summary,
) -> Result<(), Box<dyn Error>> {
    let groups = f64::from(u32::try_from(summary.xs.len())?);
    let width = TAKEN / f64::from(u32::try_from(summary.series.len().max(1))?);
    let top = top(summary);
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .x_label_area_size(46)
        .y_label_area_size(80)
        .build_cartesian_2d(-0.5..(groups - 0.5) + groups * LEGEND / (1.0 - LEGEND), 0.0..top)?;
    let name = |at: &f64| {
        let near = summary.xs.iter().zip(0_u32..).find(|(_, group)| (f64::from(*group) - at).abs() < 1e-6);
        near.map(|(x, _)| x.clone()).unwrap_or_default()
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(summary.xs.len() * 2 + 1)
        .x_label_formatter(&name)
        .x_desc(axis(experiment, summary))
        .y_desc(summary.metric.title())
        .y_label_formatter(&|y| tick(*y, top))
        .label_style(("sans-serif", 14))
        .light_line_style(WHITE)
        .draw()?;
    let mut left = -TAKEN / 2.0;
    for (number, series) in summary.series.iter().enumerate() {
        let colour = colour(summary, number);
        let cells = series.cells.iter().zip(0_u32..);
        let cells: Vec<(f64, Cell)> =
            cells.filter_map(|(cell, group)| cell.map(|cell| (f64::from(group) + left, cell))).collect();
        // Known figures are paler than measured ones.
        let faded = if cells.iter().all(|(_, cell)| cell.runs == 0) { 0.45 } else { 1.0 };
        let bar = |(at, cell): &(f64, Cell)| {
            Rectangle::new([(*at, 0.0), (at + width * 0.92, cell.mean)], colour.mix(faded).filled())
        };
        chart
            .draw_series(cells.iter().map(bar))?
            .label(&series.name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.mix(faded).filled()));
        let range = |(at, cell): &(f64, Cell)| {
            let middle = at + width * 0.46;
            PathElement::new(vec![(middle, cell.range.0), (middle, cell.range.1)], BLACK.mix(0.7))
        };
        chart.draw_series(cells.iter().map(range))?;
        left += width;
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
