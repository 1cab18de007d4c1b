//! Curves as they are painted: strength by origin, marks as tints of bars and signs of points.

use plotters::{
    coord::Shift,
    element::{Circle, PathElement, Polygon, Rectangle},
    prelude::{DrawingArea, SVGBackend},
    style::{Color, ShapeStyle},
};

use super::colours::Style;
use crate::experiment::Series;

/// The colour and the mark of a curve, with the strength of its colour.
#[derive(Clone, Copy)]
pub(super) struct Paint {
    style: Style,
    strength: f64,
    is_bar: bool,
}

impl Paint {
    /// Measured curves are full, kept ones paler, published ones palest.
    pub(super) fn new(style: Style, series: &Series, is_bar: bool) -> Paint {
        let is_known = series.cells.iter().flatten().all(|cell| cell.runs == 0);
        let strength = match (is_known, series.name.contains(", kept ")) {
            (false, _) => 1.0,
            (true, true) => 0.6,
            (true, false) => 0.35,
        };
        Paint { style, strength, is_bar }
    }

    /// The fill of a bar; marks are tints of it.
    pub(super) fn fill(self) -> ShapeStyle {
        let tint = [1.0, 0.5, 0.2, 0.0].get(self.style.mark).copied().unwrap_or(1.0);
        self.style.colour.mix(self.strength * tint).filled()
    }

    /// The outline of a bar, and of a point's sign.
    pub(super) fn outline(self) -> ShapeStyle {
        self.style.colour.mix(self.strength).stroke_width(1)
    }

    /// A curve.
    pub(super) fn line(self) -> ShapeStyle {
        self.style.colour.mix(self.strength.max(0.5)).stroke_width(if self.strength < 1.0 { 1 } else { 2 })
    }

    /// The sign of a point that has corners, in pixels.
    fn corners(self, (x, y): (i32, i32)) -> Vec<(i32, i32)> {
        match self.style.mark {
            1 => vec![(x - 4, y - 4), (x + 4, y - 4), (x + 4, y + 4), (x - 4, y + 4)],
            2 => vec![(x, y - 5), (x + 5, y + 4), (x - 5, y + 4)],
            _ => vec![(x - 5, y), (x, y - 5), (x + 5, y), (x, y + 5)],
        }
    }

    /// True of a curve that was measured: its signs are filled.
    fn is_measured(self) -> bool {
        self.strength >= 1.0
    }

    /// Its sign in the legend, at the left end of a line of text.
    pub(super) fn legend(
        self,
        area: &DrawingArea<SVGBackend<'_>, Shift>,
        (x, y): (i32, i32),
    ) -> Result<(), Box<dyn core::error::Error>> {
        if self.is_bar {
            area.draw(&Rectangle::new([(x, y - 5), (x + 20, y + 5)], self.fill()))?;
            area.draw(&Rectangle::new([(x, y - 5), (x + 20, y + 5)], self.outline()))?;
            return Ok(());
        }
        area.draw(&PathElement::new(vec![(x, y), (x + 20, y)], self.line()))?;
        self.point(area, (x + 10, y))
    }

    /// The sign of a point.
    pub(super) fn point(
        self,
        area: &DrawingArea<SVGBackend<'_>, Shift>,
        at: (i32, i32),
    ) -> Result<(), Box<dyn core::error::Error>> {
        let (filled, hollow) = (self.style.colour.filled(), self.style.colour.mix(0.8).stroke_width(2));
        match (self.style.mark, self.is_measured()) {
            (0, true) => area.draw(&Circle::new(at, 3, filled))?,
            (0, false) => area.draw(&Circle::new(at, 4, hollow))?,
            (_, true) => area.draw(&Polygon::new(self.corners(at), filled))?,
            (_, false) => {
                let corners = self.corners(at);
                let closed: Vec<_> = corners.iter().chain(corners.first()).copied().collect();
                area.draw(&PathElement::new(closed, hollow))?;
            }
        }
        Ok(())
    }
}
