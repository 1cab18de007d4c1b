//! Requests to a disk as maps of time and address, one beneath the other.

use std::error::Error;

use plotters::{
    chart::{ChartBuilder, SeriesLabelPosition},
    coord::Shift,
    element::Rectangle,
    prelude::{DrawingArea, IntoDrawingArea, SVGBackend},
    style::{BLACK, Color, RGBColor, WHITE},
};

use crate::{
    LabError,
    experiment::{Experiment, Line, Outcome, PeerMap, maps},
    measured::RequestMap,
};

/// Width of the picture, and height of a map, in pixels.
const WIDTH: u32 = 920;
const HEIGHT: u32 = 230;
/// The bits of a digit, their meanings, and their colours (Okabe and Ito 2008).
const KINDS: [(u32, &str, RGBColor); 3] = [
    (1, "read", RGBColor(0, 158, 115)),
    (2, "written", RGBColor(0, 114, 178)),
    (4, "discarded", RGBColor(213, 94, 0)),
];

/// The picture, as SVG; empty if no run of the experiment has kept its requests.
pub(super) fn draw(experiment: &Experiment<'_>, lines: &[Line]) -> Result<String, LabError> {
    let own = lines.iter().filter_map(|line| match &line.outcome {
        Outcome::Measured(measured) => Some((format!("{}, {}", line.series, line.x), measured.map.clone()?)),
        Outcome::Simulated(_) => None,
    });
    let mut all: Vec<_> = own.collect();
    // One of several runs is enough.
    all.dedup_by(|one, before| one.0 == before.0);
    let mut svg = String::new();
    if all.is_empty() {
        return Ok(svg);
    }
    let kept = maps(experiment.name).into_iter();
    let name = |peer: &PeerMap| format!("{}, {}, kept {}", peer.file_system, peer.workload, peer.date);
    all.extend(kept.map(|peer| (name(&peer), peer.map)));
    onto(&mut svg, &all).map_err(|error| LabError::Picture(error.to_string()))?;
    Ok(svg)
}

fn onto(svg: &mut String, all: &[(String, RequestMap)]) -> Result<(), Box<dyn Error>> {
    let height = HEIGHT * u32::try_from(all.len())?;
    let area = SVGBackend::with_string(svg, (WIDTH, height)).into_drawing_area();
    area.fill(&WHITE)?;
    for (part, (name, map)) in area.split_evenly((all.len(), 1)).iter().zip(all) {
        panel(part, name, map)?;
    }
    area.present()?;
    Ok(())
}

/// One map: time to the right, addresses upwards.
fn panel(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    name: &str,
    map: &RequestMap,
) -> Result<(), Box<dyn Error>> {
    let mib = f64::from(u32::try_from(map.mib)?);
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .caption(name, ("sans-serif", 15))
        .x_label_area_size(36)
        .y_label_area_size(60)
        .build_cartesian_2d(0.0..map.seconds * 1.15, 0.0..mib)?;
    chart
        .configure_mesh()
        .disable_mesh()
        .x_desc("seconds of device time")
        .y_desc("MiB")
        .label_style(("sans-serif", 12))
        .draw()?;
    let rows = f64::from(u32::try_from(map.rows.len())?);
    for (bit, what, colour) in KINDS {
        let mut marks = Vec::new();
        for (row, digits) in (0_u32..).zip(&map.rows) {
            let columns = f64::from(u32::try_from(digits.len())?);
            let low = f64::from(row) / rows * mib;
            for (column, digit) in (0_u32..).zip(digits.chars()) {
                let kinds = digit.to_digit(8).ok_or("a digit of a map")?;
                if kinds & bit == 0 {
                    continue;
                }
                // Kinds that share a place stand beside each other.
                let (share, before) = (kinds.count_ones(), (kinds & (bit - 1)).count_ones());
                let at = |part: u32| {
                    (f64::from(column) + f64::from(part) / f64::from(share)) / columns * map.seconds
                };
                marks.push(Rectangle::new(
                    [(at(before), low), (at(before + 1), low + mib / rows)],
                    colour.filled(),
                ));
            }
        }
        chart
            .draw_series(marks)?
            .label(what)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled()));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.3))
        .label_font(("sans-serif", 12))
        .draw()?;
    Ok(())
}
