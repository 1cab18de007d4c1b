//! Running an experiment and keeping what comes out.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use super::{Experiment, Line, Options, Point};
use crate::{
    LabError,
    run::{Progress, Record, Setup, sweep},
};

/// Runs `experiment` and writes each record, as soon as it is there, to `dir`: one line of `NAME.jsonl` and one of
/// `NAME.csv`. Files of an earlier run are replaced.
pub fn run(
    experiment: &Experiment,
    options: &Options,
    dir: &Path,
    progress: &dyn Progress,
) -> Result<Vec<Line>, LabError> {
    let points = (experiment.points)(options)?;
    let setups: Vec<Setup> = points.iter().map(|point| point.setup.clone()).collect();
    let mut files = Files::create(dir, experiment.name)?;
    let mut lines = Vec::with_capacity(points.len());
    sweep(&setups, progress, |at, record| -> Result<(), LabError> {
        if let Some(Point { series, x, .. }) = points.get(at) {
            let line = Line::new(experiment.name, series, x, record.clone());
            files.write(&line)?;
            lines.push(line);
        }
        Ok(())
    })?;
    Ok(lines)
}

/// The two files of an experiment.
struct Files {
    json: Text,
    csv: Text,
}

impl Files {
    fn create(dir: &Path, name: &str) -> Result<Files, LabError> {
        fs::create_dir_all(dir).map_err(|error| LabError::File { path: dir.to_owned(), error })?;
        let mut csv = Text::create(dir.join(format!("{name}.csv")))?;
        csv.line(&format!("series,x,{}", Record::csv_head()))?;
        Ok(Files { json: Text::create(dir.join(format!("{name}.jsonl")))?, csv })
    }

    fn write(&mut self, line: &Line) -> Result<(), LabError> {
        let json = self.json.named(line.json())?;
        self.json.line(&json)?;
        self.csv.line(&format!("{},{},{}", quoted(&line.series), quoted(&line.x), line.record.csv()))
    }
}

/// A cell of comma-separated values; always in quotes, which is allowed (RFC 4180).
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// A file of lines, each of which is out when it is written.
struct Text {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Text {
    fn create(path: PathBuf) -> Result<Text, LabError> {
        match File::create(&path) {
            Ok(file) => Ok(Text { path, file: BufWriter::new(file) }),
            Err(error) => Err(LabError::File { path, error }),
        }
    }

    fn line(&mut self, text: &str) -> Result<(), LabError> {
        let written = writeln!(self.file, "{text}").and_then(|()| self.file.flush());
        self.named(written)
    }

    fn named<T>(&self, result: io::Result<T>) -> Result<T, LabError> {
        result.map_err(|error| LabError::File { path: self.path.clone(), error })
    }
}
