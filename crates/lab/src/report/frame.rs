//! The common parts of pictures: title, legend, the names of places, the axis between them.

use std::{error::Error, ops::Range};

use plotters::{
    chart::{ChartBuilder, ChartContext, LabelAreaPosition},
    coord::{Shift, cartesian::Cartesian2d, types::RangedCoordf64},
    element::{PathElement, Text},
    prelude::{DrawingArea, SVGBackend},
    style::{
        BLACK, FontTransform, IntoFont, TextStyle, WHITE,
        text_anchor::{HPos, Pos, VPos},
    },
};

use super::paint::Paint;
use crate::experiment::Summary;

/// Width of a picture in pixels.
const WIDTH: i32 = 960;
/// Height of the part that is plotted.
const PLOT: i32 = 260;
/// Heights of the title, of a line of text, and of a line of the legend.
const TITLE: i32 = 36;
const LINE: i32 = 16;
const ENTRY: i32 = 18;
/// The part of a picture left of the vertical axis, and right of the horizontal one.
const LEFT: i32 = 76;
const RIGHT: i32 = 16;
/// Size of letters, and their mean width in tenths of it.
const LETTERS: i32 = 13;
const WIDE: i32 = 6;

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
pub(super) type Drawn<T = ()> = Result<T, Box<dyn Error>>;

/// The vertical axis.
pub(super) enum Heights {
    /// From nothing to this figure.
    Even(f64),
    /// By powers of ten, between these exponents.
    Powers(f64, f64),
}

impl Heights {
    /// By powers of ten where the highest figure is more than this many times the lowest.
    const APART: f64 = 100.0;

    pub(super) fn of_curves(summary: &Summary) -> Heights {
        let (least, top) = (summary.least(), summary.top());
        if least > 0.0 && top > least * Self::APART {
            Heights::Powers(least.log10().floor(), top.log10())
        } else {
            Heights::Even(top)
        }
    }

    fn range(&self) -> Range<f64> {
        match *self {
            Heights::Even(top) => 0.0..top,
            Heights::Powers(from, to) => from..to,
        }
    }

    /// The place of a figure.
    pub(super) fn at(&self, figure: f64) -> f64 {
        match self {
            Heights::Even(_) => figure,
            Heights::Powers(..) => figure.log10(),
        }
    }

    /// The number of figures beside it, about.
    fn labels(&self) -> usize {
        match self {
            Heights::Even(_) => 10,
            Heights::Powers(..) => 6,
        }
    }

    /// The figure at a place; none between powers of ten.
    fn label(&self, at: f64) -> String {
        match *self {
            Heights::Even(top) => tick(at, top),
            Heights::Powers(..) if (at - at.round()).abs() > 1e-6 => String::new(),
            Heights::Powers(..) => tick(10_f64.powf(at), if at < 0.0 { 0.0 } else { f64::INFINITY }),
        }
    }
}

/// The words of a picture.
pub(super) struct Frame {
    pub(super) title: String,
    /// Below the horizontal axis.
    pub(super) x: String,
    /// At the bottom.
    pub(super) note: Option<String>,
    /// The curves with their names.
    pub(super) legend: Vec<(String, Paint)>,
    /// The names of places on the horizontal axis.
    pub(super) places: Vec<String>,
    /// True if a place is a stretch of the axis, false if it is a point.
    pub(super) grouped: bool,
}

/// Pixels that a text takes, about.
fn width(text: &str, letters: i32) -> i32 {
    i32::try_from(text.chars().count()).unwrap_or(i32::MAX / 100).saturating_mul(letters * WIDE) / 10
}

/// A text in lines no wider than so many pixels, unless a word is.
fn wrapped(text: &str, most: i32) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if width(line, LETTERS) + width(word, LETTERS) + LETTERS / 2 <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

impl Frame {
    fn legend_width(&self) -> i32 {
        let longest = self.legend.iter().map(|(name, _)| width(name, LETTERS)).max().unwrap_or(0);
        (longest + 40).min(WIDTH / 2)
    }

    /// Pixels along the horizontal axis.
    fn span(&self) -> i32 {
        WIDTH - self.legend_width() - LEFT - RIGHT
    }

    /// Pixels between two places.
    fn slot(&self) -> i32 {
        let places = i32::try_from(self.places.len()).unwrap_or(1);
        let parts = if self.grouped { places } else { places - 1 };
        self.span() / parts.max(1) - 8
    }

    /// The names of places in lines.
    fn names(&self) -> Vec<Vec<String>> {
        self.places.iter().map(|place| wrapped(place, self.slot())).collect()
    }

    /// True if some name has a word that is wider than its place.
    fn turned(&self) -> bool {
        let words = self.places.iter().flat_map(|place| place.split(' '));
        self.grouped && words.map(|word| width(word, LETTERS)).max().unwrap_or(0) > self.slot() + 8
    }

    fn names_height(&self) -> i32 {
        let longest = self.places.iter().map(|place| width(place, LETTERS)).max().unwrap_or(0);
        let lines = self.names().iter().map(Vec::len).max().unwrap_or(1);
        if self.turned() { longest + 6 } else { i32::try_from(lines).unwrap_or(1) * LINE }
    }

    /// Width and height of the picture.
    pub(super) fn size(&self) -> (u32, u32) {
        let note = if self.note.is_some() { LINE + 4 } else { 0 };
        let entries = i32::try_from(self.legend.len()).unwrap_or(1) * ENTRY;
        let plot = PLOT + self.names_height() + LINE + 22 + note;
        let height = TITLE + plot.max(entries + 16);
        (WIDTH.unsigned_abs(), height.unsigned_abs())
    }

    /// Draws all but the curves: `x` is the range of the horizontal axis, `at` are the positions of the places.
    pub(super) fn chart<'a, 'b>(
        &self,
        area: &'a Area<'b>,
        x: Range<f64>,
        y: &Heights,
        at: &[f64],
    ) -> Drawn<Chart<'a, 'b>> {
        area.fill(&WHITE)?;
        area.draw(&Text::new(self.title.clone(), (12, 10), text(17, HPos::Left)))?;
        let bottom = self.names_height() + LINE + 14;
        let used = (LEFT + self.span() + RIGHT, TITLE + PLOT + bottom);
        let mut chart = ChartBuilder::on(area)
            .margin_top(TITLE)
            .margin_right(WIDTH - used.0)
            .margin_bottom(i32::try_from(area.dim_in_pixel().1)? - used.1)
            .x_label_area_size(bottom)
            .y_label_area_size(LEFT)
            .build_cartesian_2d(x, y.range())?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(1)
            .x_label_formatter(&|_| String::new())
            .set_tick_mark_size(LabelAreaPosition::Bottom, 0)
            .y_labels(y.labels())
            .y_label_formatter(&|at| y.label(*at))
            .label_style(("sans-serif", LETTERS))
            .light_line_style(WHITE)
            .draw()?;
        self.name_places(area, &chart, at, y.range().start)?;
        for ((name, paint), row) in self.legend.iter().zip(0..) {
            let (x, y) = (used.0 + 8, TITLE + 10 + row * ENTRY);
            paint.legend(area, (x, y))?;
            area.draw(&Text::new(name.clone(), (x + 28, y - 7), text(LETTERS, HPos::Left)))?;
        }
        Ok(chart)
    }

    /// Ticks and names of the places, as many names as do not overlap, and the words below them.
    fn name_places(&self, area: &Area<'_>, chart: &Chart<'_, '_>, at: &[f64], foot: f64) -> Drawn {
        let mut free = i32::MIN;
        for ((place, lines), at) in self.places.iter().zip(self.names()).zip(at) {
            let (x, y) = chart.backend_coord(&(*at, foot));
            area.draw(&PathElement::new(vec![(x, y), (x, y + 4)], BLACK))?;
            if self.turned() {
                let style = text(LETTERS, HPos::Left).transform(FontTransform::Rotate90);
                area.draw(&Text::new(place.clone(), (x + LETTERS / 2, y + 6), style))?;
                continue;
            }
            let half = lines.iter().map(|line| width(line, LETTERS)).max().unwrap_or(0) / 2;
            if x - half < free {
                continue;
            }
            free = x + half + 6;
            for (line, row) in lines.into_iter().zip(0..) {
                area.draw(&Text::new(line, (x, y + 6 + row * LINE), text(LETTERS, HPos::Center)))?;
            }
        }
        let below = TITLE + PLOT + self.names_height() + 12;
        let middle = LEFT + self.span() / 2;
        area.draw(&Text::new(self.x.clone(), (middle, below), text(LETTERS, HPos::Center)))?;
        if let Some(note) = &self.note {
            area.draw(&Text::new(note.clone(), (12, below + LINE + 4), text(LETTERS - 2, HPos::Left)))?;
        }
        Ok(())
    }
}

/// Letters of so many pixels.
pub(super) fn text(letters: i32, side: HPos) -> TextStyle<'static> {
    TextStyle::from(("sans-serif", letters).into_font()).pos(Pos::new(side, VPos::Top))
}

/// A figure on the vertical axis, which ends at `top`.
fn tick(value: f64, top: f64) -> String {
    super::html::figure(value, if top < 4.0 { 2 } else { usize::from(top < 20.0) })
}
