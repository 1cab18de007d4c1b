//! The outcome of a run of any kind.

use crate::{
    measured::Measured,
    run::{Record, csv},
};
use serde::{Deserialize, Serialize};

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "nearly all are of the large kind")]
pub enum Outcome {
    /// The simulator of cleaning counted it.
    Simulated(Record),
    /// A file system did it on a simulated medium.
    Measured(Measured),
}

impl From<Record> for Outcome {
    fn from(record: Record) -> Outcome {
        Outcome::Simulated(record)
    }
}

impl From<Measured> for Outcome {
    fn from(measured: Measured) -> Outcome {
        Outcome::Measured(measured)
    }
}

impl Outcome {
    /// The seed that it was drawn with.
    pub fn seed(&self) -> u64 {
        match self {
            Outcome::Simulated(record) => record.parameters.seed,
            Outcome::Measured(measured) => measured.seed,
        }
    }

    /// The head of a table of `outcomes`, which are of one kind, and its rows: comma-separated values, each a line without
    /// its end.
    pub(super) fn table<'a>(outcomes: impl Iterator<Item = &'a Outcome> + Clone) -> (String, Vec<String>) {
        let mut columns: Vec<String> = Vec::new();
        for outcome in outcomes.clone() {
            if let Outcome::Measured(measured) = outcome {
                let new = measured.fields().into_iter().map(|(key, _)| key);
                columns.extend(new.filter(|key| !columns.contains(key)).collect::<Vec<_>>());
            }
        }
        let row = |outcome: &Outcome| match outcome {
            Outcome::Simulated(record) => record.csv(),
            Outcome::Measured(measured) => csv::row(&measured.fields(), &columns),
        };
        let rows = outcomes.map(row).collect();
        (if columns.is_empty() { Record::csv_head() } else { csv::line(&columns) }, rows)
    }
}
