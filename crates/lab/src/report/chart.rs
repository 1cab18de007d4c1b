//! A summary as a picture.

use std::error::Error;

use plotters::{
    prelude::{IntoDrawingArea, SVGBackend},
    style::WHITE,
};

use super::{bars, lines};
use crate::{
    LabError,
    experiment::{Experiment, Look, Summary},
};

/// Width and height of a picture in pixels.
const SIZE: (u32, u32) = (920, 380);

/// The picture, as SVG; empty if there is to be none.
pub(super) fn draw(experiment: &Experiment<'_>, summary: &Summary) -> Result<String, LabError> {
    let mut svg = String::new();
    if experiment.look == Look::Table {
        return Ok(svg);
    }
    onto(&mut svg, experiment, summary).map_err(|error| LabError::Picture(error.to_string()))?;
    Ok(svg)
}

fn onto(svg: &mut String, experiment: &Experiment<'_>, summary: &Summary) -> Result<(), Box<dyn Error>> {
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    match experiment.look {
        Look::Lines => lines::draw(&area, experiment, summary)?,
        Look::Bars => bars::draw(&area, experiment, summary)?,
        Look::Table => {}
    }
    area.present()?;
    Ok(())
}
