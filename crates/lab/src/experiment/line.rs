//! A record with its place, as one line of a file.

use std::io;

use serde::{Deserialize, Serialize};

use super::Outcome;

/// The schema that every line of records names.
const SCHEMA: &str = "pumice.lab";

/// The version of the lines that are written, and the only one that is read.
const VERSION: u32 = 3;

/// One run of an experiment and its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    schema: String,
    version: u32,
    /// The experiment's name.
    pub experiment: String,
    /// The curve.
    pub series: String,
    /// The place on the horizontal axis.
    pub x: String,
    /// The outcome.
    #[serde(flatten)]
    pub outcome: Outcome,
}

impl Line {
    /// A line for an outcome.
    pub fn new(experiment: &str, series: &str, x: &str, outcome: impl Into<Outcome>) -> Line {
        Line {
            schema: SCHEMA.to_owned(),
            version: VERSION,
            experiment: experiment.to_owned(),
            series: series.to_owned(),
            x: x.to_owned(),
            outcome: outcome.into(),
        }
    }

    /// As JSON, without the line's end.
    pub fn json(&self) -> io::Result<String> {
        Ok(serde_json::to_string(self)?)
    }

    /// Reads one back; one of another version is [`io::ErrorKind::Unsupported`].
    pub fn parse(text: &str) -> io::Result<Line> {
        let Head { schema, version } = serde_json::from_str(text)?;
        if schema == SCHEMA && version == VERSION {
            return Ok(serde_json::from_str(text)?);
        }
        let why = format!("{schema} version {version}, want {SCHEMA} version {VERSION}");
        Err(io::Error::new(io::ErrorKind::Unsupported, why))
    }
}

/// The beginning of every line, of whatever version.
#[derive(Deserialize)]
struct Head {
    schema: String,
    version: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{LifetimeRecord, Record};

    #[test]
    fn lines_come_back() {
        let lifetime =
            LifetimeRecord { dead_segments: 9, first_death_bytes: Some(1 << 40), ..Default::default() };
        for lifetime in [None, Some(lifetime)] {
            let record = Record { waf: 1.25, victim_utilization: vec![1, 2], lifetime, ..Record::default() };
            let line = Line::new("cat-fig12", "a", "90/10", record);
            assert_eq!(Line::parse(&line.json().unwrap()).unwrap(), line);
        }
    }

    #[test]
    fn other_versions_are_refused() {
        let text = Line::new("a", "b", "c", Record::default()).json().unwrap();
        let error = Line::parse(&text.replace("\"version\":3", "\"version\":1")).unwrap_err();
        assert_eq!(error.to_string(), "pumice.lab version 1, want pumice.lab version 3");
    }
}
