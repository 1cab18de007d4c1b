//! A record with its place, as one line of a file.

use std::io;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Outcome;
use crate::{Medium, Sources};

/// The schema that every line of records names.
const SCHEMA: &str = "pumice.lab";

/// The version of the lines that are written, and the only one that is read.
const VERSION: u32 = 5;

/// The end of a line before its checksum, which is over all in front of this.
const CHECKSUM: &str = ",\"checksum\":\"";

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
    /// The sources that decided, as a hash.
    sources: String,
    /// The chip that was asked for, where it is not the experiment's own.
    #[serde(default, skip_serializing_if = "Medium::is_own")]
    on: Medium,
    /// The outcome.
    #[serde(flatten)]
    pub outcome: Outcome,
}

impl Line {
    /// A line for an outcome of this build.
    pub fn new(
        experiment: &str,
        (series, x): (&str, &str),
        sources: Sources,
        outcome: impl Into<Outcome>,
    ) -> Line {
        Line {
            schema: SCHEMA.to_owned(),
            version: VERSION,
            experiment: experiment.to_owned(),
            series: series.to_owned(),
            x: x.to_owned(),
            sources: sources.of(experiment),
            on: Medium::default(),
            outcome: outcome.into(),
        }
    }

    /// The same on the chip that was asked for.
    pub(super) fn on(self, medium: &Medium) -> Line {
        Line { on: medium.clone(), ..self }
    }

    /// The chip that was asked for.
    pub(super) fn medium(&self) -> &Medium {
        &self.on
    }

    /// True if the sources that decided are those of this build.
    pub fn is_of_this_build(&self) -> bool {
        Sources::are_here(&self.experiment, &self.sources)
    }

    /// True if its run would be decided by these sources.
    pub(super) fn is_by(&self, sources: Sources) -> bool {
        self.sources == sources.of(&self.experiment)
    }

    /// The sources that decided, as a hash.
    pub fn sources(&self) -> &str {
        &self.sources
    }

    /// As JSON with a checksum, without the line's end.
    pub fn json(&self) -> io::Result<String> {
        let text = serde_json::to_string(self)?;
        let open = text.strip_suffix('}').ok_or(io::ErrorKind::InvalidData)?;
        Ok(format!("{open}{CHECKSUM}{}\"}}", checksum(open)))
    }

    /// Reads one back; one of another version is [`io::ErrorKind::Unsupported`], one that was changed after it was written
    /// [`io::ErrorKind::InvalidData`].
    pub fn parse(text: &str) -> io::Result<Line> {
        let text = text.trim_end_matches('\n');
        let Head { schema, version } = serde_json::from_str(text)?;
        if schema != SCHEMA || version != VERSION {
            let why = format!("{schema} version {version}, want {SCHEMA} version {VERSION}");
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        match text.rsplit_once(CHECKSUM) {
            Some((open, end)) if end == format!("{}\"}}", checksum(open)) => {
                Ok(serde_json::from_str(&format!("{open}}}"))?)
            }
            Some(_) | None => {
                let why = "the record was changed after it was written";
                Err(io::Error::new(io::ErrorKind::InvalidData, why))
            }
        }
    }
}

/// The first 16 digits of a text's SHA-256, in hexadecimal.
fn checksum(text: &str) -> String {
    let bytes = Sha256::digest(text.as_bytes());
    bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
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

    fn line(record: Record) -> Line {
        Line::new("cat-fig12", ("a", "90/10"), Sources::Simulator, record)
    }

    #[test]
    fn lines_come_back() {
        let lifetime =
            LifetimeRecord { dead_segments: 9, first_death_bytes: Some(1 << 40), ..Default::default() };
        for lifetime in [None, Some(lifetime)] {
            let record = Record { waf: 1.25, victim_utilization: vec![1, 2], lifetime, ..Record::default() };
            let line = line(record);
            assert_eq!(Line::parse(&line.json().unwrap()).unwrap(), line);
            assert!(line.is_of_this_build() && line.is_by(Sources::Simulator) && !line.is_by(Sources::Disk));
        }
    }

    #[test]
    fn other_versions_are_refused() {
        let text = line(Record::default()).json().unwrap();
        let error = Line::parse(&text.replace("\"version\":5", "\"version\":1")).unwrap_err();
        assert_eq!(error.to_string(), "pumice.lab version 1, want pumice.lab version 5");
    }

    #[test]
    fn changed_lines_are_told() {
        let text = line(Record { waf: 1.25, ..Record::default() }).json().unwrap();
        for (old, new) in
            [("1.25", "1.05"), (",\"checksum", " ,\"checksum"), ("90/10", "95/5"), ("\"}", "0\"}")]
        {
            let error = Line::parse(&text.replace(old, new)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{old}: {error}");
        }
    }
}
