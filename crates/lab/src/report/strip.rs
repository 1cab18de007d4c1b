//! The life of a store as a picture: a column for each moment, in it all segments by head and live part.

use plotters::{
    element::{Rectangle, Text},
    prelude::{IntoDrawingArea, SVGBackend},
    style::{BLACK, Color, RGBColor, WHITE, text_anchor::HPos},
};

use super::frame::{Area, Drawn, text};
use crate::{
    LabError,
    run::{Life, Seen},
};

/// The plotted part in pixels: left, top, width and height.
const PLOT: (i32, i32, i32, i32) = (70, 62, 720, 384);
const SIZE: (u32, u32) = (960, 500);
/// Steps of the live part that are told apart.
const LEVELS: u8 = 5;
/// Heads from hot to cold; of more, the colours go on between these.
const WARMTH: [RGBColor; 5] = [
    RGBColor(213, 94, 0),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(86, 180, 233),
    RGBColor(0, 114, 178),
];
const FREE: RGBColor = RGBColor(225, 225, 225);

/// The picture, as SVG.
///
/// # Errors
/// If it cannot be drawn.
pub fn strip(life: &Life) -> Result<String, LabError> {
    let mut svg = String::new();
    onto(&mut svg, life).map_err(|error| LabError::Picture(error.to_string()))?;
    Ok(svg)
}

fn onto(svg: &mut String, life: &Life) -> Drawn {
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let segments = life.moments.first().map_or(0, Vec::len);
    let title = format!("{segments} segments: {}", life.title);
    area.draw(&Text::new(title, (12, 10), text(17, HPos::Left)))?;
    let about = "each column all segments: heads from hot (below) to cold, in each from full to empty";
    area.draw(&Text::new(about.to_owned(), (12, 36), text(13, HPos::Left)))?;
    let (left, top, width, height) = PLOT;
    let columns = i32::try_from(life.moments.len())?.max(1);
    let heads = heads(life);
    for (moment, column) in life.moments.iter().zip(0..) {
        let across = (left + column * width / columns, left + (column + 1) * width / columns);
        draw_column(&area, moment, across, heads)?;
    }
    area.draw(&Rectangle::new([(left, top), (left + width, top + height)], BLACK))?;
    let bottom = top + height + 6;
    let writes = life.writes.to_string();
    area.draw(&Text::new("0".to_owned(), (left, bottom), text(13, HPos::Center)))?;
    area.draw(&Text::new(writes, (left + width, bottom), text(13, HPos::Center)))?;
    area.draw(&Text::new("user writes".to_owned(), (left + width / 2, bottom), text(13, HPos::Center)))?;
    area.draw(&Text::new("0".to_owned(), (left - 6, top + height - 12), text(13, HPos::Right)))?;
    area.draw(&Text::new(segments.to_string(), (left - 6, top), text(13, HPos::Right)))?;
    legend(&area, heads)?;
    area.present()?;
    Ok(())
}

/// Heads that wrote something.
fn heads(life: &Life) -> u8 {
    let classes = life.moments.iter().flatten().filter_map(|seen| seen.class);
    classes.max().map_or(1, |last| last + 1)
}

/// The look of a segment: its head and the step of its live part.
fn look(seen: &Seen) -> Option<(u8, u8)> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share in steps")]
    let level = (seen.live.clamp(0.0, 1.0) * f64::from(LEVELS)).round() as u8;
    seen.class.map(|class| (class, LEVELS - level))
}

fn colour(look: Option<(u8, u8)>, heads: u8) -> impl Color {
    let Some((class, dead)) = look else { return FREE.mix(1.0) };
    let last = WARMTH.len() - 1;
    let at = usize::from(class) * last / usize::from(heads.max(2) - 1);
    let warmth = WARMTH.get(at.min(last)).copied().unwrap_or(BLACK);
    // Most segments are nearly full, so that the first steps are the largest.
    warmth.mix(1.0 - (f64::from(dead) / f64::from(LEVELS)).sqrt() * 0.9)
}

/// One moment: stretches of segments that look alike, and its victims.
fn draw_column(area: &Area<'_>, moment: &[Seen], (left, right): (i32, i32), heads: u8) -> Drawn {
    let mut sorted: Vec<&Seen> = moment.iter().collect();
    // Free ones on top.
    let rank = |seen: &Seen| look(seen).map_or((u8::MAX, 0), |look| look);
    sorted.sort_by(|one, other| rank(one).cmp(&rank(other)).then(other.live.total_cmp(&one.live)));
    let (_, top, _, height) = PLOT;
    let count = i32::try_from(sorted.len())?.max(1);
    let up = |at: usize| -> Result<i32, std::num::TryFromIntError> {
        Ok(top + height - i32::try_from(at)? * height / count)
    };
    let mut from = 0;
    for stretch in sorted.chunk_by(|one, other| look(one) == look(other)) {
        let to = from + stretch.len();
        let of = stretch.first().and_then(|seen| look(seen));
        area.draw(&Rectangle::new([(left, up(to)?), (right, up(from)?)], colour(of, heads).filled()))?;
        from = to;
    }
    let middle = i32::midpoint(left, right);
    let mut from = 0;
    for stretch in sorted.chunk_by(|one, other| one.is_victim == other.is_victim) {
        let to = from + stretch.len();
        if stretch.first().is_some_and(|seen| seen.is_victim) {
            let mark = [(middle - 1, up(to)?), (middle + 1, up(from)?)];
            area.draw(&Rectangle::new(mark, BLACK.filled()))?;
        }
        from = to;
    }
    Ok(())
}

fn legend(area: &Area<'_>, heads: u8) -> Drawn {
    let x = PLOT.0 + PLOT.2 + 20;
    let mut y = PLOT.1 + 10;
    let mut entry = |colour: plotters::style::RGBAColor, name: String| -> Drawn {
        area.draw(&Rectangle::new([(x, y - 6), (x + 20, y + 6)], colour.filled()))?;
        area.draw(&Text::new(name, (x + 28, y - 7), text(13, HPos::Left)))?;
        y += 18;
        Ok(())
    };
    entry(FREE.mix(1.0), "free".to_owned())?;
    for class in (0..heads).rev() {
        entry(colour(Some((class, 0)), heads).to_rgba(), format!("head {class}"))?;
    }
    for dead in 1..=LEVELS {
        let percent = 100 - u32::from(dead) * 100 / u32::from(LEVELS);
        entry(colour(Some((0, dead)), heads).to_rgba(), format!("{percent} % live"))?;
    }
    area.draw(&Rectangle::new([(x + 9, y - 4), (x + 11, y + 4)], BLACK.filled()))?;
    area.draw(&Text::new("cleaned next".to_owned(), (x + 28, y - 7), text(13, HPos::Left)))?;
    Ok(())
}
