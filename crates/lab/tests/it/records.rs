//! Records determine their run: one that is made again has the same bytes, one that was changed, is of another build or of
//! another trace is never taken for it, and none is lost.

use std::{
    fs,
    path::{Path, PathBuf},
};

use pumice_lab::{
    Medium, Sources,
    experiment::{
        Again, Experiment, Line, Options, Outcome, PassedOver, Point, Points, Seeds, again, merge, run,
    },
    measured::Job,
    report::{records, report},
    run::{Record, plan},
};
use regex::Regex;
use sha2::{Digest, Sha256};

fn options(traces: &Path) -> Options {
    Options { seeds: "2".parse().unwrap(), traces: traces.to_owned(), ..Options::default() }
}

/// A directory with the records of an experiment, their file and its text.
struct Kept {
    dir: tempfile::TempDir,
    experiment: &'static Experiment<'static>,
    file: PathBuf,
    text: String,
}

impl Kept {
    fn new(name: &str, traces: &Path) -> Kept {
        let (dir, experiment) = (tempfile::tempdir().unwrap(), Experiment::named(name).unwrap());
        run(experiment, &options(traces), dir.path(), &()).unwrap();
        let file = dir.path().join(format!("{name}.jsonl"));
        let text = fs::read_to_string(&file).unwrap();
        Kept { dir, experiment, file, text }
    }

    fn len(&self) -> usize {
        self.text.lines().count()
    }

    /// Runs it again with another text in the file: the number of known runs, and of others.
    fn with(&self, text: &str, traces: &Path) -> (usize, PassedOver) {
        fs::write(&self.file, text).unwrap();
        let ran = run(self.experiment, &options(traces), self.dir.path(), &()).unwrap();
        (ran.known, ran.passed_over)
    }

    fn now(&self) -> String {
        fs::read_to_string(&self.file).unwrap()
    }
}

/// A line with the checksum that belongs to it.
fn sealed(line: &str) -> String {
    let (open, _) = line.rsplit_once(",\"checksum\"").unwrap();
    let bytes = Sha256::digest(open.as_bytes());
    let sum = bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    format!("{open},\"checksum\":\"{sum}\"}}")
}

fn passed(foreign: usize, changed: usize) -> PassedOver {
    PassedOver { foreign, changed }
}

#[test]
fn a_changed_record_is_not_taken_for_one() {
    let kept = Kept::new("cat-table4", Path::new("nowhere"));
    let (first, rest) = kept.text.split_once('\n').unwrap();
    let erasures = first.split("\"erasures\":").nth(1).unwrap().split(',').next().unwrap();
    let changed = first.replace(&format!("\"erasures\":{erasures}"), "\"erasures\":1");
    assert_ne!(changed, first);
    let found = kept.with(&format!("{changed}\n{rest}"), Path::new("nowhere"));
    assert_eq!(found, (kept.len() - 1, passed(0, 1)));
    // It stays where it was, and the right one stands where it would be.
    assert_eq!(kept.now(), format!("{changed}\n{}", kept.text));
    let page = report(&Experiment::ALL, kept.dir.path()).unwrap().page;
    assert!(page.contains(&format!("{} runs", kept.len())), "shown once");
    assert!(page.contains("0 records of other builds, 1 that were changed"));
    // What is no record at all is no reason to stop.
    assert_eq!(kept.with(&format!("nonsense\n{}", kept.text), Path::new("nowhere")).1, passed(0, 1));
    assert!(kept.now().starts_with("nonsense\n"));
}

#[test]
fn records_of_another_build_stay_apart() {
    let kept = Kept::new("cat-table4", Path::new("nowhere"));
    let sources = Line::parse(kept.text.lines().next().unwrap()).unwrap().sources().to_owned();
    let (code, file) = sources.split_once('-').unwrap();
    let here = |of: &str| kept.text.replace(&format!("\"sources\":\"{sources}\""), of);
    for other in [format!("0123456789abcdef-{file}"), format!("{code}-0123456789abcdef")] {
        let older: String =
            here(&format!("\"sources\":\"{other}\"")).lines().map(|line| sealed(line) + "\n").collect();
        assert_eq!(kept.with(&older, Path::new("nowhere")), (0, passed(kept.len(), 0)));
        assert_eq!(kept.now(), format!("{older}{}", kept.text));
        let stored = &records(&Experiment::ALL, kept.dir.path()).unwrap()[0].1;
        assert_eq!((stored.lines.len(), stored.passed_over), (kept.len(), passed(kept.len(), 0)));
        // Made again, it comes out with the sources of this build.
        let Again { line, difference } = again(
            &Line::parse(older.lines().next().unwrap()).unwrap(),
            kept.experiment,
            Path::new("nowhere"),
        )
        .unwrap();
        assert!(line.is_of_this_build());
        assert!(difference.unwrap().starts_with("sources is "));
    }
    let older = kept.text.replace("\"version\":5", "\"version\":4");
    assert_eq!(kept.with(&older, Path::new("nowhere")), (0, passed(kept.len(), 0)));
    assert_eq!(kept.now(), format!("{older}{}", kept.text));
}

/// Writes a trace of so many requests to so many blocks.
fn put(traces: &Path, requests: u32, blocks: u32) {
    let lines: Vec<_> = (0..requests).map(|at| format!("{at} 0 {} 8 0", at * 7919 % blocks * 8)).collect();
    fs::write(traces.join("disk.ascii"), lines.join("\n")).unwrap();
}

#[test]
fn records_of_another_trace_are_others() {
    let (traces, elsewhere, dir) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // Too few blocks for a run: one that is tried fails.
    put(traces.path(), 300, 100);
    fs::copy(traces.path().join("disk.ascii"), elsewhere.path().join("disk.ascii")).unwrap();
    let experiment = Experiment::named("traces").unwrap();
    let lines = planned(experiment, &options(traces.path()));
    let text: String = lines.iter().map(|line| line.json().unwrap() + "\n").collect();
    let file = dir.path().join("traces.jsonl");
    fs::write(&file, &text).unwrap();
    // Another place of the same bytes is the same trace.
    for traces in [&traces, &elsewhere] {
        let ran = run(experiment, &options(traces.path()), dir.path(), &()).unwrap();
        assert_eq!((ran.known, &ran.lines), (lines.len(), &lines));
    }
    put(traces.path(), 301, 100);
    let error = run(experiment, &options(traces.path()), dir.path(), &()).unwrap_err().to_string();
    assert!(error.contains("leaves nothing to reclaim"), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    let error = again(&lines[0], experiment, traces.path()).unwrap_err().to_string();
    assert!(error.contains("trace_sha256 is \""), "{error}");
}

/// Figure 11 of CAT has the runs of table 4; one of them is forged, to be known again.
#[test]
fn a_run_of_another_experiment_is_taken_over() {
    let nowhere = Path::new("nowhere");
    let [kept, own] = ["cat-fig11", "cat-table4"].map(|name| Kept::new(name, nowhere));
    let first = kept.text.lines().next().unwrap();
    let erasures = Regex::new("\"erasures\":\\d+").unwrap();
    let forge = |line: &str| sealed(&erasures.replace(line, "\"erasures\":1"));
    fs::write(&kept.file, kept.text.replace(first, &forge(first))).unwrap();
    let table = |fresh| {
        let options = Options { fresh, ..options(nowhere) };
        let ran = run(own.experiment, &options, kept.dir.path(), &()).unwrap();
        (ran.known, ran.lines.iter().map(|line| line.json().unwrap() + "\n").collect::<String>())
    };
    let same = own.text.lines().next().unwrap();
    assert_eq!(table(false), (0, own.text.replace(same, &forge(same))));
    assert_eq!(table(true), (0, own.text));
}

#[test]
fn fewer_seeds_lose_nothing() {
    let kept = Kept::new("cat-table4", Path::new("nowhere"));
    let one = Options { seeds: Seeds::default(), ..options(Path::new("nowhere")) };
    let ran = run(kept.experiment, &one, kept.dir.path(), &()).unwrap();
    assert_eq!(ran.lines.len() * 2, kept.len());
    assert_eq!(sorted(&kept.now()), sorted(&kept.text));
}

fn sorted(text: &str) -> Vec<String> {
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// The records of an experiment without figures.
fn planned(experiment: &Experiment<'_>, options: &Options) -> Vec<Line> {
    fn all<J: Job>(name: &str, points: &[Point<J>]) -> Vec<Line> {
        let line = |point: &Point<J>| line(name, point, point.setup.sources(), point.setup.planned(1));
        points.iter().map(line).collect()
    }
    fn line<T>(name: &str, point: &Point<T>, sources: Sources, outcome: impl Into<Outcome>) -> Line {
        Line::new(name, (&point.series, &point.x), sources, outcome)
    }
    match experiment.points {
        Points::Simulated(points) => {
            let points = points(options).unwrap();
            let setups: Vec<_> = points.iter().map(|point| point.setup.clone()).collect();
            let records = plan(&setups).unwrap().into_iter();
            let records =
                records.map(|planned| Record { parameters: planned.parameters, ..Record::default() });
            let lines = points.iter().zip(records);
            lines.map(|(point, record)| line(experiment.name, point, Sources::Simulator, record)).collect()
        }
        Points::Described(_) => Vec::new(),
        Points::OnChip(points) => all(experiment.name, &points()),
        Points::OnDisk(points) => all(experiment.name, &points()),
        Points::OnServer(points) => all(experiment.name, &points()),
        Points::OnStack(points) => all(experiment.name, &points(options).unwrap()),
    }
}

#[test]
fn a_record_of_each_experiment_is_made_again_to_the_byte() {
    let traces = tempfile::tempdir().unwrap();
    put(traces.path(), 4200, 4160);
    let one = Options { seeds: Seeds::default(), ..options(traces.path()) };
    for experiment in Experiment::ALL {
        let planned = planned(&experiment, &one).remove(0);
        let made = again(&planned, &experiment, traces.path()).unwrap().line;
        let twice = again(&made, &experiment, traces.path()).unwrap();
        assert_eq!(twice.difference, None, "{}", experiment.name);
        assert_eq!(twice.line.json().unwrap(), made.json().unwrap(), "{}", experiment.name);
        assert_ne!(made, planned, "{}", experiment.name);
    }
}

/// Every part of the runs by itself, one of them cut short and run again, the parts in any order: what one run makes.
#[test]
fn shards_become_one_run() {
    let nowhere = Path::new("nowhere");
    for name in ["cat-table4", "rcffs-repair"] {
        let whole = Kept::new(name, nowhere);
        let out = tempfile::tempdir().unwrap();
        let parts: Vec<PathBuf> = (1..=4).map(|part| out.path().join(part.to_string())).collect();
        for (dir, part) in parts.iter().zip(1..) {
            let shard = format!("{part}/4").parse().unwrap();
            run(whole.experiment, &Options { shard, ..options(nowhere) }, dir, &()).unwrap();
        }
        // Killed in the middle of a line.
        let file = parts[1].join(format!("{name}.jsonl"));
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, &text[..text.len() - 40]).unwrap();
        let merged = out.path().join("merged");
        let lines = merge(&Experiment::ALL, &parts, &merged, nowhere).unwrap();
        assert_eq!(lines, [(name, whole.len() - 1)]);
        let shard = "2/4".parse().unwrap();
        let ran = run(whole.experiment, &Options { shard, ..options(nowhere) }, &parts[1], &()).unwrap();
        assert_eq!((ran.known, ran.lines.len()), (text.lines().count() - 1, text.lines().count()));
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
        let backwards: Vec<_> = parts.iter().rev().cloned().collect();
        assert_eq!(merge(&Experiment::ALL, &backwards, &merged, nowhere).unwrap(), [(name, whole.len())]);
        for kind in ["jsonl", "csv"] {
            let text = |dir: &Path| fs::read_to_string(dir.join(format!("{name}.{kind}"))).unwrap();
            assert_eq!(text(&merged), text(whole.dir.path()), "{name}.{kind}");
        }
    }
}

/// Runs on another chip stand beside those on the experiment's own, and are made again as well.
#[test]
fn another_chip_is_another_curve() {
    let nowhere = Path::new("nowhere");
    let chip = |chip: Option<&str>, size_bytes| Options {
        seeds: Seeds::default(),
        medium: Medium { chip: chip.map(str::to_owned), size_bytes },
        ..options(nowhere)
    };
    for (name, asked, series) in [
        (
            "rcffs-repair",
            chip(Some("slc-2k-2g"), Some(64 << 20)),
            "rcffs, plain, on slc-2k-2g of 67108864 bytes",
        ),
        (
            "cat-fig13-sequential",
            chip(Some("slc-2k-2g"), Some(16 << 20)),
            "greedy, on slc-2k-2g of 16777216 bytes",
        ),
        ("cat-fig13-sequential", chip(None, Some(16 << 20)), "greedy, on 16777216 bytes"),
    ] {
        let kept = Kept::new(name, nowhere);
        let ran = run(kept.experiment, &asked, kept.dir.path(), &()).unwrap();
        assert_eq!(ran.known, 0);
        assert!(kept.now().starts_with(&kept.text), "{name}");
        let line =
            ran.lines.iter().find(|line| line.series == series).unwrap_or_else(|| panic!("{:?}", ran.lines));
        let again = again(line, kept.experiment, nowhere).unwrap();
        assert_eq!((&again.line, again.difference), (line, None));
        let own = asked.own(&ran.lines);
        assert!(own.iter().all(|line| kept.text.contains(&format!("\"series\":\"{}\"", line.series))));
        let figures = |text: &str| text.split("\"seed\"").nth(1).unwrap().to_owned();
        let first = kept.text.lines().next().unwrap();
        assert_ne!(figures(&line.json().unwrap()), figures(first), "{name}");
    }
    // A file system that is not for that chip has no figures.
    let (dir, experiment) = (tempfile::tempdir().unwrap(), Experiment::named("scaleffs-reclaim").unwrap());
    let ran = run(experiment, &chip(Some("slc-2k-2g"), Some(64 << 20)), dir.path(), &()).unwrap();
    let figures = |line: &Line| experiment.metrics[0].of(&line.outcome);
    let [scaleffs, nandfs] = ran.lines.as_slice() else { panic!("{:?}", ran.lines) };
    assert!(figures(scaleffs).is_none() && figures(nandfs).is_some_and(|ms| ms > 0.0), "{:?}", ran.lines);
    for (name, why) in [
        ("scaleffs-fig5", "several chips"),
        ("cat-fig16", "stores of several sizes"),
        ("f2fs-fig6", "a disk in memory"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let asked = chip(Some("slc-2k-2g"), Some(64 << 20));
        let error = run(Experiment::named(name).unwrap(), &asked, dir.path(), &()).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains(name), "{error}");
    }
}
