//! The files of an experiment: lines of JSON, and the same as comma-separated values.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::{Line, Outcome};
use crate::LabError;

/// `NAME.jsonl` and `NAME.csv` in a directory.
pub(super) struct Records {
    json: PathBuf,
    csv: PathBuf,
    lines: Vec<Line>,
    /// The open end of the file, for new lines.
    end: File,
}

impl Records {
    /// Opens the files of an experiment, or makes them. Lines of another version count as none.
    pub(super) fn open(dir: &Path, name: &str) -> Result<Records, LabError> {
        fs::create_dir_all(dir).map_err(|error| LabError::File { path: dir.to_owned(), error })?;
        let (json, csv) = (dir.join(format!("{name}.jsonl")), dir.join(format!("{name}.csv")));
        let lines = match read(&json) {
            Err(LabError::File { error, .. }) if error.kind() == io::ErrorKind::Unsupported => Vec::new(),
            lines => lines?,
        };
        // Whole lines only: the last one may have been cut short.
        replace(&json, &text(&json, &lines)?)?;
        let end = named(&json, OpenOptions::new().append(true).open(&json))?;
        Ok(Records { json, csv, lines, end })
    }

    /// The lines that were there.
    pub(super) fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Adds a line, which is out when this returns.
    pub(super) fn append(&mut self, line: &Line) -> Result<(), LabError> {
        let text = text(&self.json, std::slice::from_ref(line))?;
        named(&self.json, self.end.write_all(text.as_bytes()))
    }

    /// Writes both files anew, with these lines and no others.
    pub(super) fn finish(self, lines: &[Line]) -> Result<(), LabError> {
        replace(&self.json, &text(&self.json, lines)?)?;
        let (head, rows) = Outcome::table(lines.iter().map(|line| &line.outcome));
        let row =
            |(line, row): (&Line, String)| format!("{},{},{row}\n", quoted(&line.series), quoted(&line.x));
        let rows: Vec<String> = lines.iter().zip(rows).map(row).collect();
        replace(&self.csv, &(format!("series,x,{head}\n") + &rows.concat()))
    }
}

/// The lines of a file, none if it is not there. A last line that was cut short is passed over.
pub(crate) fn read(path: &Path) -> Result<Vec<Line>, LabError> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => named(path, text)?,
    };
    let mut lines = Vec::new();
    for (number, line) in (1_u64..).zip(text.split_inclusive('\n')) {
        match Line::parse(line) {
            Ok(line) => lines.push(line),
            Err(_) if !line.ends_with('\n') => {}
            Err(error) => {
                let error = io::Error::new(error.kind(), format!("line {number}: {error}"));
                return Err(LabError::File { path: path.to_owned(), error });
            }
        }
    }
    Ok(lines)
}

fn text(path: &Path, lines: &[Line]) -> Result<String, LabError> {
    let json = lines.iter().map(|line| Ok(line.json()? + "\n")).collect::<io::Result<Vec<String>>>();
    Ok(named(path, json)?.concat())
}

/// A cell of comma-separated values; always in quotes, which is allowed (RFC 4180).
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// Puts `text` in place of a file, in one step.
fn replace(path: &Path, text: &str) -> Result<(), LabError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    named(path, fs::write(&beside, text).and_then(|()| fs::rename(&beside, path)))
}

fn named<T>(path: &Path, result: io::Result<T>) -> Result<T, LabError> {
    result.map_err(|error| LabError::File { path: path.to_owned(), error })
}
