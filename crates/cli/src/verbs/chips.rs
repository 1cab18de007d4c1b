//! `pumice chips`: lists the known chips.

use pumice_media::{ChipSpec, Pairing, chips};
use serde_json::{Value, json};

use crate::{document, failure::Outcome, options::Reader, output, text};

/// List the known NAND chips: geometry and timing
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    reader: Reader,
}

impl Args {
    pub(crate) fn run(&self) -> Outcome {
        let known = chips();
        if self.reader.json {
            let list: Vec<Value> = known.iter().map(json_of).collect();
            return output::document("chips", json!({ "chips": list }));
        }
        let head = format!(
            "{:<18} {:>10} {:<22} {:>9} {:>9} {:>9} {:>9} {:>9} paired",
            "name", "capacity", "geometry", "read", "spare", "program", "erase", "endurance"
        );
        output::lines([head].into_iter().chain(known.iter().map(line)))
    }
}

fn line(chip: &ChipSpec) -> String {
    let timing = chip.timing();
    format!(
        "{:<18} {:>10} {:<22} {:>9} {:>9} {:>9} {:>9} {:>9} {}",
        chip.name(),
        text::size(chip.geometry().capacity_bytes()),
        text::shape(&chip.geometry()),
        duration(timing.read_page_ns),
        duration(timing.read_spare_ns),
        duration(timing.program_ns),
        duration(timing.erase_ns),
        chip.endurance_erases(),
        pairing(chip.pairing())
    )
}

/// The pages that share cells, in a word.
fn pairing(pairing: Pairing) -> String {
    match pairing {
        Pairing::Unpaired => "no".into(),
        Pairing::Dist3 => "dist3".into(),
        Pairing::WordLine { pages } => format!("by {pages}"),
    }
}

fn duration(ns: u64) -> String {
    if ns < 1_000_000 {
        return format!("{}.{} us", ns / 1000, ns / 100 % 10);
    }
    format!("{}.{:02} ms", ns / 1_000_000, ns / 10_000 % 100)
}

fn json_of(chip: &ChipSpec) -> Value {
    json!({
        "name": chip.name(),
        "geometry": document::geometry(&chip.geometry()),
        "timing": document::timing(&chip.timing()),
        "ecc_step_bytes": chip.ecc().step_bytes,
        "ecc_correctable_bits": chip.ecc().bits,
        "endurance_erases": chip.endurance_erases(),
        "pairing": pairing(chip.pairing()),
    })
}
