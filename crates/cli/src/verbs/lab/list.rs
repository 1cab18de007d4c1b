//! `pumice lab list`: lists the experiments.

use pumice_lab::experiment::Experiment;
use serde_json::{Value, json};

use crate::{failure::Outcome, options::Reader, output};

/// List the experiments
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    reader: Reader,
}

impl Args {
    pub(crate) fn run(&self) -> Outcome {
        if self.reader.json {
            let list: Vec<Value> =
                Experiment::ALL.iter().map(|e| json!({ "name": e.name, "about": e.about })).collect();
            return output::document("lab-list", json!({ "experiments": list }));
        }
        let width = Experiment::ALL.iter().map(|e| e.name.len()).max().unwrap_or(0);
        output::lines(Experiment::ALL.iter().map(|e| format!("{:<width$} {}", e.name, e.about)))
    }
}
