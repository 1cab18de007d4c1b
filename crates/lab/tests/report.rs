//! Experiments and the report of them.
#![allow(clippy::unwrap_used, missing_docs)]

use std::{collections::BTreeSet, fs};

use pumice_lab::{
    experiment::{Experiment, Line, Metric, Options, Point, Summary, run},
    report::report,
    run::Record,
};

fn options() -> Options {
    Options { seeds: 1, traces: "nowhere".into() }
}

#[test]
fn every_experiment_has_points_and_a_place_for_each_known_figure() {
    let names: BTreeSet<_> = Experiment::ALL.iter().map(|experiment| experiment.name).collect();
    assert_eq!(names.len(), Experiment::ALL.len());
    for experiment in Experiment::ALL.iter().filter(|experiment| experiment.name != "traces") {
        let points = (experiment.points)(&options()).unwrap();
        let places: BTreeSet<_> = points.iter().map(|point| point.x.as_str()).collect();
        assert!(places.len() > 1, "{}", experiment.name);
        for known in (experiment.known)() {
            assert!(places.contains(known.x) && experiment.metrics.contains(&known.metric), "{known:?}");
        }
        let twice = (experiment.points)(&Options { seeds: 2, ..options() }).unwrap();
        assert_eq!(twice.len(), 2 * points.len(), "{}", experiment.name);
    }
}

#[test]
fn an_experiment_is_run_kept_and_reported() {
    let dir = tempfile::tempdir().unwrap();
    let experiment = Experiment::named("cat-table4").unwrap();
    let lines = run(experiment, &options(), dir.path(), &()).unwrap();
    let kept = fs::read_to_string(dir.path().join("cat-table4.jsonl")).unwrap();
    assert_eq!(kept.lines().map(|line| Line::parse(line).unwrap()).collect::<Vec<_>>(), lines);
    let csv = fs::read_to_string(dir.path().join("cat-table4.csv")).unwrap();
    assert!(csv.lines().count() == lines.len() + 1 && csv.starts_with("series,x,access,"), "{csv}");

    let erasures = Summary::new(experiment, Metric::Erasures, &lines);
    assert_eq!(erasures.xs, ["sequential", "random", "locality:90/10"]);
    let of = |name: &str| {
        let series = erasures.series.iter().find(|series| series.name == name).unwrap();
        series.cells.iter().map(|cell| cell.unwrap().mean).collect::<Vec<_>>()
    };
    for (name, tolerance) in [("greedy", 0.05), ("cost-benefit", 0.05), ("CAT", 0.05)] {
        for (ours, papers) in of(name).iter().zip(of(&format!("paper: {name}"))) {
            assert!((ours / papers - 1.0).abs() < tolerance, "{name}: {ours} of {papers}");
        }
    }

    let page = report(dir.path()).unwrap();
    assert_eq!(page.matches("<svg").count(), 4);
    assert!(page.contains("<td class=\"known\">7103</td>") && page.contains("id=\"cat-table4\""));
    // Nothing is loaded from elsewhere: the one address is the name of SVG's name space.
    assert_eq!(page.matches("http").count(), page.matches("xmlns=\"http://www.w3.org/2000/svg\"").count());
    assert!(!page.contains("<script") && !page.contains("<link"));
}

#[test]
fn curves_and_words_are_drawn_too() {
    let dir = tempfile::tempdir().unwrap();
    for (name, xs) in [("theory", ["1.05", "1.1"]), ("cat-fig12", ["50/50", "90/10"])] {
        let lines = xs.map(|x| Line::new(name, "a < b", x, Record { waf: 2.0, ..Record::default() }));
        let text = lines.map(|line| line.json().unwrap()).join("\n");
        fs::write(dir.path().join(format!("{name}.jsonl")), text).unwrap();
    }
    let page = report(dir.path()).unwrap();
    assert!(page.contains("a &lt; b") && !page.contains("a < b"));
    assert!(page.contains("theory: greedy") && page.contains("50/50"));
}

#[test]
fn damaged_records_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let empty = report(dir.path()).unwrap_err().to_string();
    assert!(empty.contains("no records there"), "{empty}");
    let good = Line::new("theory", "a", "2", Record::default()).json().unwrap();
    fs::write(dir.path().join("theory.jsonl"), format!("{good}\n{{}}\n")).unwrap();
    let error = report(dir.path()).unwrap_err().to_string();
    assert!(error.contains("theory.jsonl: line 2: missing field `schema`"), "{error}");
}

#[test]
fn traces_are_played_under_every_pair_and_shown_as_a_table() {
    let dir = tempfile::tempdir().unwrap();
    let traces = dir.path().join("traces");
    fs::create_dir(&traces).unwrap();
    fs::write(traces.join("disk.ascii"), "1000 0 16 8 0\n2000 0 80 8 0\n").unwrap();
    let experiment = Experiment::named("traces").unwrap();
    let points = (experiment.points)(&Options { seeds: 1, traces }).unwrap();
    let series: BTreeSet<_> = points.iter().map(|point| point.series.as_str()).collect();
    let places: BTreeSet<_> = points.iter().map(|point| point.x.as_str()).collect();
    assert_eq!(points.len(), series.len() * places.len());
    assert!(places.contains("disk 1.1765"), "{places:?}");
    assert!(series.contains("default") && series.contains("chain:4, root-age"), "{series:?}");

    let line = |point: &Point| Line::new("traces", &point.series, &point.x, Record::default());
    let lines: Vec<_> = points.iter().map(|point| line(point).json().unwrap()).collect();
    fs::write(dir.path().join("traces.jsonl"), lines.join("\n")).unwrap();
    let page = report(dir.path()).unwrap();
    assert!(page.contains("<th>chain:4, root-age</th>") && !page.contains("<svg"));
}
