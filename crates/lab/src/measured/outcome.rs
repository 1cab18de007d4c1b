//! The result of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::RequestMap;

/// One run: setup and figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The file system.
    pub file_system: String,
    /// The chip, by its name or its shape, or the disk.
    pub medium: String,
    /// The work, with its sizes.
    pub work: String,
    /// The seed of all draws.
    pub seed: u64,
    /// The program and its version.
    pub program: String,
    /// Figures by their names.
    pub figures: BTreeMap<String, f64>,
    /// The requests to the disk, where they are to be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<RequestMap>,
}

impl Measured {
    /// True if both were asked for the same, by the same program.
    pub(super) fn is_like(&self, other: &Measured) -> bool {
        (self.without_figures(), self.seed) == (other.without_figures(), other.seed)
    }

    /// The setup alone.
    pub(crate) fn without_findings(&self) -> Measured {
        Measured { figures: BTreeMap::new(), map: None, ..self.clone() }
    }

    fn without_figures(&self) -> [&str; 4] {
        [&self.file_system, &self.medium, &self.work, &self.program]
    }

    /// Every key with its value, figures last.
    pub(crate) fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        for (key, value) in
            ["file_system", "medium", "work", "program"].into_iter().zip(self.without_figures())
        {
            fields.insert(key.to_owned(), Value::from(value));
        }
        fields.insert("seed".to_owned(), Value::from(self.seed));
        fields.extend(self.figures.iter().map(|(name, value)| (name.clone(), Value::from(*value))));
        fields
    }
}
