//! The result of a run on a chip.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Task;
use crate::{experiment::Metric, run::PROGRAM};

/// One run: what was asked for and what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The file system.
    pub file_system: String,
    /// The chip: its name, or its shape.
    pub chip: String,
    /// What was done, with its sizes.
    pub work: String,
    /// The program and its version.
    pub program: String,
    /// Figures by the names of their metrics.
    pub figures: BTreeMap<String, f64>,
}

impl Measured {
    pub(super) fn new(task: &Task, figures: impl IntoIterator<Item = (Metric, f64)>) -> Measured {
        Measured {
            file_system: task.system.name().to_owned(),
            chip: task.chip.clone(),
            work: task.work.to_string(),
            program: PROGRAM.to_owned(),
            figures: figures.into_iter().map(|(metric, value)| (metric.name().to_owned(), value)).collect(),
        }
    }

    /// True if a run of `task` by this program would be the same.
    pub(crate) fn is_of(&self, task: &Task) -> bool {
        self.without_figures() == Measured::new(task, []).without_figures()
    }

    fn without_figures(&self) -> [&str; 4] {
        [&self.file_system, &self.chip, &self.work, &self.program]
    }

    /// Every key with its value, figures last.
    pub(crate) fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        for (key, value) in ["file_system", "chip", "work", "program"].into_iter().zip(self.without_figures())
        {
            fields.insert(key.to_owned(), Value::from(value));
        }
        fields.extend(self.figures.iter().map(|(name, value)| (name.clone(), Value::from(*value))));
        fields
    }
}
