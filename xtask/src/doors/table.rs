//! The table at the end of a soak.

use std::{fmt, time::Duration};

use super::{programs::Run, ran::Line};

/// The outcome of a campaign.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It was not begun.
    NoTime,
    /// Its rounds passed.
    Nothing,
    /// It cannot be run here.
    Skipped(String),
    /// The failure, and the command that repeats it.
    Found(String),
}

impl Outcome {
    /// The outcome of one round; it noted something, or nothing.
    pub(crate) fn of(run: &Run, has_noted: bool, replay: &str) -> Outcome {
        if !run.status.success() {
            return Outcome::Found(format!("{}\n    {replay}", failure(run)));
        }
        let skipped = run.said.lines().find_map(|line| line.split_once("SKIPPED: "));
        match (has_noted, skipped) {
            (true, _) => Outcome::Nothing,
            (false, Some((_, why))) => Outcome::Skipped(why.to_owned()),
            // A table that names no test finds nothing for ever.
            (false, None) => Outcome::Found(format!("nothing was run\n    {replay}")),
        }
    }
}

/// The message of the failure that stands last, or the end of the output.
fn failure(run: &Run) -> String {
    let said = run.said.split_once("\nfailures:\n").map_or(&*run.said, |(_, failures)| failures);
    let mut lines = said.lines();
    let mut message = None;
    while let Some(line) = lines.by_ref().find(|line| line.contains("panicked at ")) {
        message = lines.next().or(Some(line));
    }
    let last = || run.said.lines().rfind(|line| !line.is_empty());
    format!("{}: {}", run.status, message.or_else(last).unwrap_or("no word"))
}

/// One campaign.
#[derive(Debug)]
pub(crate) struct Row {
    name: &'static str,
    pub(crate) rounds: u64,
    /// The seeds, from and to in front of, or the parts.
    seeds: Option<(u64, u64)>,
    parts: Vec<String>,
    pub(crate) cases: u64,
    pub(crate) time: Duration,
    pub(crate) outcome: Outcome,
}

impl Row {
    pub(crate) fn new(name: &'static str) -> Row {
        let (seeds, parts, time) = (None, Vec::new(), Duration::ZERO);
        Row { name, rounds: 0, seeds, parts, cases: 0, time, outcome: Outcome::NoTime }
    }

    /// Adds a test's note.
    pub(crate) fn add(&mut self, line: &Line) {
        self.cases += line.cases;
        match line.seeds() {
            Some((first, end)) => {
                let (from, to) = self.seeds.unwrap_or((first, end));
                self.seeds = Some((from.min(first), to.max(end)));
            }
            None if !self.parts.contains(&line.covered) => self.parts.push(line.covered.clone()),
            None => {}
        }
    }

    /// The seeds, or the number of parts.
    fn covered(&self) -> String {
        match (self.seeds, self.parts.first().and_then(|part| part.split_once('/'))) {
            (Some((from, to)), _) => format!("{from}..{to}"),
            (None, Some((_, of))) if self.parts.len().to_string() == of => "whole".to_owned(),
            (None, Some((_, of))) => format!("{} of {of} parts", self.parts.len()),
            (None, None) => "-".to_owned(),
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row { name, rounds, cases, time, outcome, .. } = self;
        write!(f, "{name:62} {rounds:6}  {:22} {cases:9} {:6.0}  ", self.covered(), time.as_secs_f64())?;
        match outcome {
            Outcome::NoTime => write!(f, "no time was left"),
            Outcome::Nothing => write!(f, "nothing"),
            Outcome::Skipped(why) => write!(f, "skipped: {why}"),
            Outcome::Found(what) => write!(f, "FOUND: {what}"),
        }
    }
}

/// All campaigns, by name.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut rows: Vec<&Row> = rows.iter().collect();
    rows.sort_by_key(|row| row.name);
    let head = format!("{:62} {:>6}  {:22} {:>9} {:>6}  found", "campaign", "rounds", "seeds", "cases", "s");
    let lines = rows.into_iter().map(Row::to_string);
    std::iter::once(head).chain(lines).map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use std::{os::unix::process::ExitStatusExt, process::ExitStatus};

    use super::*;

    fn run(code: i32, said: &str) -> Run {
        let (cpu, wall) = (Duration::ZERO, Duration::ZERO);
        Run { name: "7".into(), status: ExitStatus::from_raw(code << 8), cpu, wall, said: said.into() }
    }

    #[test]
    fn a_failure_is_told_with_its_message() {
        let said = "panicked at a canary:\nfound\n\nfailures:\n\n---- a::b stdout ----\npanicked at x.rs:1:\ncaught\n\
                    thread 'a::b' panicked at y.rs:2:\nPUMICE_SEED=7: lost\nnote: more\n\nfailures:\n    a::b\n";
        let Outcome::Found(found) = Outcome::of(&run(101, said), true, "again") else { panic!() };
        assert_eq!(found, "exit status: 101: PUMICE_SEED=7: lost\n    again");
        let Outcome::Found(found) = Outcome::of(&run(6, "case 5 does not end\n\n"), false, "again") else {
            panic!()
        };
        assert_eq!(found, "exit status: 6: case 5 does not end\n    again");
    }

    #[test]
    fn a_round_that_runs_nothing_is_no_success() {
        assert!(matches!(Outcome::of(&run(0, "ok"), true, ""), Outcome::Nothing));
        assert!(matches!(Outcome::of(&run(0, "0 passed"), false, ""), Outcome::Found(_)));
        let skipped = Outcome::of(&run(0, "SKIPPED: no QEMU\n"), false, "");
        assert!(matches!(skipped, Outcome::Skipped(why) if why == "no QEMU"));
    }

    #[test]
    fn rows_sum_up_their_rounds() {
        let line = |covered: &str, cases| Line { campaign: "a".into(), covered: covered.into(), cases };
        let mut seeds = Row::new("by seeds");
        for line in [line("seeds 5..9", 4), line("seeds 9..20", 11)] {
            seeds.add(&line);
        }
        assert_eq!((seeds.covered(), seeds.cases), ("5..20".into(), 15));
        let mut parts = Row::new("by parts");
        for line in [line("part 1/3", 4), line("part 1/3", 4), line("part 2/3", 5)] {
            parts.add(&line);
        }
        assert_eq!((parts.covered(), parts.cases), ("2 of 3 parts".into(), 13));
        parts.add(&line("part 0/3", 1));
        assert_eq!(parts.covered(), "whole");
        let text = table(&[seeds, parts]);
        assert!(text.lines().nth(1).unwrap().starts_with("by parts"), "{text}");
    }
}
