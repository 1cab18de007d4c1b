//! Curves.

use plotters::{element::PathElement, series::LineSeries};

use super::frame::{Area, Drawn, Frame, Heights};
use crate::experiment::{Series, Summary};

/// One curve for each series, with a sign at each point and a bar for the range over seeds. A curve has a gap where there is
/// no figure.
pub(super) fn draw(area: &Area<'_>, frame: &Frame, summary: &Summary) -> Drawn {
    let places = places(summary);
    let (first, last) = (places.first().copied().unwrap_or(0.0), places.last().copied().unwrap_or(1.0));
    let margin = (last - first).max(1e-9) * 0.03;
    let heights = Heights::of_curves(summary);
    let mut chart = frame.chart(area, first - margin..last + margin, &heights, &places)?;
    for (series, (_, paint)) in summary.series.iter().zip(&frame.legend) {
        let pieces = pieces(series, &places, &heights);
        for piece in pieces.iter().filter(|piece| piece.len() > 1) {
            chart.draw_series(LineSeries::new(piece.iter().copied(), paint.line()))?;
        }
        let ranges =
            places.iter().zip(&series.cells).filter_map(|(at, cell)| cell.map(|cell| (*at, cell.range)));
        chart.draw_series(
            ranges
                .map(|(at, (least, most))| vec![(at, heights.at(least)), (at, heights.at(most))])
                .map(|ends| PathElement::new(ends, paint.outline())),
        )?;
        for point in pieces.concat() {
            paint.point(area, chart.backend_coord(&point))?;
        }
    }
    Ok(())
}

/// The positions of the places: their numbers, or one after the other.
fn places(summary: &Summary) -> Vec<f64> {
    let counted =
        || (0..summary.xs.len()).scan(0.0, |at, _| Some(std::mem::replace(at, *at + 1.0))).collect();
    summary.numbers().unwrap_or_else(counted)
}

/// The points of a curve, divided where one is missing.
fn pieces(series: &Series, places: &[f64], heights: &Heights) -> Vec<Vec<(f64, f64)>> {
    let mut pieces = vec![Vec::new()];
    for (at, cell) in places.iter().zip(&series.cells) {
        match (cell, pieces.last_mut()) {
            (Some(cell), Some(piece)) => piece.push((*at, heights.at(cell.mean))),
            _ => pieces.push(Vec::new()),
        }
    }
    pieces
}
