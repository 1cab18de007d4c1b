//! The notes of campaigns about their runs.

use std::{collections::BTreeMap, fs, io::ErrorKind, path::PathBuf, process::Command};

use pumice_knobs::RAN;
use xtask::Failure;

/// A file to which campaigns add their runs.
pub(crate) struct Ran(PathBuf);

/// One test's run of a campaign.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) campaign: String,
    /// `seeds A..B`, `part K/N` or `a sample`.
    pub(crate) covered: String,
    pub(crate) cases: u64,
}

impl Ran {
    /// Nothing has run yet.
    pub(crate) fn new(path: PathBuf) -> Result<Ran, Failure> {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
            _ => Ok(Ran(path)),
        }
    }

    /// Has a test program note its runs there.
    pub(crate) fn asked_of(&self, command: &mut Command) {
        command.env(RAN.name, &self.0);
    }

    /// The runs; nothing if no campaign came to its end.
    pub(crate) fn lines(&self) -> Result<Vec<Line>, Failure> {
        let text = match fs::read_to_string(&self.0) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            text => text?,
        };
        let lines = text.lines().map(|line| Line::read(line).ok_or_else(|| format!("not a note: {line}")));
        Ok(lines.collect::<Result<Vec<_>, _>>()?)
    }

    /// The same, runs with the same coverage summed up, in the order of names.
    pub(crate) fn sums(&self) -> Result<Vec<Line>, Failure> {
        let mut sums = BTreeMap::new();
        for line in self.lines()? {
            *sums.entry((line.campaign, line.covered)).or_insert(0) += line.cases;
        }
        Ok(sums.into_iter().map(|((campaign, covered), cases)| Line { campaign, covered, cases }).collect())
    }
}

impl Line {
    fn read(line: &str) -> Option<Line> {
        let mut fields = line.split('\t').map(str::to_owned);
        let (campaign, covered) = (fields.next()?, fields.next()?);
        Some(Line { campaign, covered, cases: fields.next()?.parse().ok()? })
    }

    /// The seeds, if it was by seeds: the first and the one behind the last.
    pub(crate) fn seeds(&self) -> Option<(u64, u64)> {
        let (first, end) = self.covered.strip_prefix("seeds ")?.split_once("..")?;
        Some((first.parse().ok()?, end.parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_read_as_they_are_written() {
        let place = tempfile::tempdir().unwrap();
        let ran = Ran::new(place.path().join("ran")).unwrap();
        assert_eq!(ran.lines().unwrap(), []);
        fs::write(&ran.0, "b: two\tpart 1/3\t7\na: one\tseeds 5..9\t30\na: one\tseeds 5..9\t10\n").unwrap();
        assert_eq!(ran.lines().unwrap().len(), 3);
        let lines = ran.sums().unwrap();
        assert_eq!(
            (lines[0].campaign.as_str(), lines[0].seeds(), lines[0].cases),
            ("a: one", Some((5, 9)), 40)
        );
        assert_eq!((lines[1].covered.as_str(), lines[1].seeds()), ("part 1/3", None));
        fs::write(&ran.0, "nonsense\n").unwrap();
        assert!(ran.lines().is_err());
        assert_eq!(Ran::new(place.path().join("ran")).unwrap().lines().unwrap(), []);
    }
}
