//! Groups of bars.

use plotters::{
    element::{PathElement, Rectangle},
    style::{BLACK, Color},
};

use super::frame::{Area, Drawn, Frame, Heights};
use crate::experiment::{Cell, Summary};

/// The part of a group that bars take.
const TAKEN: f64 = 0.86;

/// A group for each place, in it a bar for each series; a line shows the range over seeds. A figure of 0 is a foot on the
/// axis; where there is no figure there is no foot.
pub(super) fn draw(area: &Area<'_>, frame: &Frame, summary: &Summary) -> Drawn {
    let groups = f64::from(u32::try_from(summary.xs.len())?);
    let places: Vec<f64> = (0..u32::try_from(summary.xs.len())?).map(f64::from).collect();
    let width = TAKEN / f64::from(u32::try_from(summary.series.len().max(1))?);
    let mut chart = frame.chart(area, -0.5..groups - 0.5, &Heights::Even(summary.top()), &places)?;
    let mut left = -TAKEN / 2.0;
    for (series, (_, paint)) in summary.series.iter().zip(&frame.legend) {
        let cells = series.cells.iter().zip(&places);
        let cells: Vec<(f64, Cell)> =
            cells.filter_map(|(cell, place)| cell.map(|cell| (place + left, cell))).collect();
        let corners = |(at, cell): &(f64, Cell)| [(*at, 0.0), (at + width * 0.92, cell.mean)];
        chart.draw_series(cells.iter().map(|bar| Rectangle::new(corners(bar), paint.fill())))?;
        chart.draw_series(cells.iter().map(|bar| Rectangle::new(corners(bar), paint.outline())))?;
        let foot = |(at, _): &(f64, Cell)| {
            PathElement::new(vec![(*at, 0.0), (at + width * 0.92, 0.0)], paint.outline().stroke_width(4))
        };
        chart.draw_series(cells.iter().map(foot))?;
        let range = |(at, cell): &(f64, Cell)| {
            let middle = at + width * 0.46;
            PathElement::new(vec![(middle, cell.range.0), (middle, cell.range.1)], BLACK.mix(0.7))
        };
        chart.draw_series(cells.iter().map(range))?;
        left += width;
    }
    Ok(())
}
