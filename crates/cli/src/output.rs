//! Data for stdout: text that is written as it comes, or one JSON document.

use std::io::{self, BufWriter, StdoutLock, Write};

use serde_json::{Map, Value};

use crate::failure::{Failure, Outcome, host_reason};

/// Standard output, buffered.
pub(crate) struct Output {
    inner: BufWriter<StdoutLock<'static>>,
}

impl Output {
    pub(crate) fn new() -> Output {
        Output { inner: BufWriter::with_capacity(1 << 16, io::stdout().lock()) }
    }

    /// Writes a line.
    pub(crate) fn line(&mut self, text: impl AsRef<str>) -> Outcome {
        self.bytes(text.as_ref().as_bytes())?;
        self.bytes(b"\n")
    }

    /// Writes bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Outcome {
        self.inner.write_all(bytes).map_err(|error| broken(&error))
    }

    /// Flushes the buffer, so that a reader sees it now.
    pub(crate) fn flush(&mut self) -> Outcome {
        self.inner.flush().map_err(|error| broken(&error))
    }

    /// Flushes the rest; without this, errors would be lost.
    pub(crate) fn finish(mut self) -> Outcome {
        self.flush()
    }
}

/// A reader that has closed the pipe (`| head`) gets no message, only an exit code.
fn broken(error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Failure::new("");
    }
    Failure::new(format!("cannot write to standard output: {}", host_reason(error)))
}

/// Writes a document: `schema` and `version` first, then `fields` in their order.
pub(crate) fn document(schema: &str, fields: Value) -> Outcome {
    let text = serde_json::to_string_pretty(&headed(schema, fields)).map_err(unwritable)?;
    lines([text])
}

/// A document with a list of entries that is written as they come, so that it may be long.
pub(crate) struct Entries {
    output: Output,
    schema: &'static str,
    count: u64,
}

impl Entries {
    /// A document of which nothing is written before there is an entry or an end.
    pub(crate) fn new(schema: &'static str) -> Entries {
        Entries { output: Output::new(), schema, count: 0 }
    }

    fn start(&mut self) -> Outcome {
        let head = headed(self.schema, Value::Object(Map::new()));
        let head = serde_json::to_string_pretty(&head).map_err(unwritable)?;
        self.output.bytes(head.trim_end_matches("\n}").as_bytes())?;
        self.output.bytes(b",\n  \"entries\": [")
    }

    /// Writes an entry.
    pub(crate) fn add(&mut self, entry: &Map<String, Value>) -> Outcome {
        let text = serde_json::to_string_pretty(entry).map_err(unwritable)?;
        if self.count == 0 {
            self.start()?;
        }
        let gap = if self.count == 0 { "\n    " } else { ",\n    " };
        self.count += 1;
        self.output.bytes(gap.as_bytes())?;
        self.output.bytes(text.replace('\n', "\n    ").as_bytes())
    }

    /// Ends the document with the number of missing entries.
    pub(crate) fn finish(mut self, missing: u64) -> Outcome {
        if self.count == 0 {
            self.start()?;
        }
        let gap = if self.count == 0 { "" } else { "\n  " };
        self.output.line(format!("{gap}],\n  \"missing\": {missing}\n}}"))?;
        self.output.finish()
    }
}

/// A document on one line, for output of several.
pub(crate) fn document_line(schema: &str, fields: Value) -> Outcome<String> {
    serde_json::to_string(&headed(schema, fields)).map_err(unwritable)
}

fn headed(schema: &str, fields: Value) -> Map<String, Value> {
    let mut document = Map::new();
    document.insert("schema".into(), format!("pumice.{schema}").into());
    document.insert("version".into(), 1.into());
    match fields {
        Value::Object(fields) => document.extend(fields),
        other => {
            document.insert("value".into(), other);
        }
    }
    document
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn unwritable(error: serde_json::Error) -> Failure {
    Failure::new(error.to_string())
}

/// Writes lines of text.
pub(crate) fn lines<T: AsRef<str>>(lines: impl IntoIterator<Item = T>) -> Outcome {
    let mut output = Output::new();
    for line in lines {
        output.line(line)?;
    }
    output.finish()
}
