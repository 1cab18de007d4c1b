//! Experiments and the report of them.

use std::{
    collections::BTreeSet,
    fs,
    sync::atomic::{AtomicU64, Ordering},
};

use pumice_lab::{
    Sources,
    experiment::{Experiment, Line, Metric, Options, Point, Points, Summary, run},
    report::{Report, report},
    run::{Progress, Record, plan},
};

fn options() -> Options {
    Options { traces: "nowhere".into(), ..Options::default() }
}

#[test]
fn every_experiment_has_points_and_a_place_for_each_known_figure() {
    let names: BTreeSet<_> = Experiment::ALL.iter().map(|experiment| experiment.name).collect();
    assert_eq!(names.len(), Experiment::ALL.len());
    for experiment in Experiment::ALL.iter().filter(|experiment| experiment.name != "traces") {
        let places: BTreeSet<String> = match experiment.points {
            Points::Simulated(_) => {
                let points = simulated(experiment, &options());
                let twice = simulated(experiment, &Options { seeds: "2".parse().unwrap(), ..options() });
                assert_eq!(twice.len(), 2 * points.len(), "{}", experiment.name);
                points.into_iter().map(|point| point.x).collect()
            }
            Points::Described(points) => points.iter().map(|point| point.x.clone()).collect(),
            Points::OnChip(points) => points().into_iter().map(|point| point.x).collect(),
            Points::OnDisk(points) => points().into_iter().map(|point| point.x).collect(),
            Points::OnServer(points) => points().into_iter().map(|point| point.x).collect(),
            Points::OnStack(points) => {
                // Applications are there if their recorded calls are.
                let traces = tempfile::tempdir().unwrap();
                for name in ["facebook", "twitter"] {
                    fs::write(traces.path().join(format!("mobigen-{name}.txt.zst")), "").unwrap();
                }
                let options = Options { traces: traces.path().to_owned(), ..options() };
                points(&options).unwrap().into_iter().map(|point| point.x).collect()
            }
        };
        assert!(!places.is_empty(), "{}", experiment.name);
        for known in (experiment.known)() {
            assert!(places.contains(known.x) && experiment.metrics.contains(&known.metric), "{known:?}");
        }
    }
}

fn simulated(experiment: &Experiment<'_>, options: &Options) -> Vec<Point> {
    match experiment.points {
        Points::Simulated(points) => points(options).unwrap(),
        Points::Described(points) => points.to_vec(),
        Points::OnChip(_) | Points::OnDisk(_) | Points::OnServer(_) | Points::OnStack(_) => {
            panic!("{} is not simulated", experiment.name)
        }
    }
}

#[test]
fn an_experiment_is_run_kept_and_reported() {
    let dir = tempfile::tempdir().unwrap();
    let experiment = Experiment::named("cat-table4").unwrap();
    let lines = run(experiment, &options(), dir.path(), &()).unwrap().lines;
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

    let Report { page, pictures } = report(&Experiment::ALL, dir.path()).unwrap();
    assert_eq!(page.matches("<svg").count(), 5);
    assert_eq!(pictures.len(), 5);
    assert!(pictures[0].name == "cat-table4-erasures" && page.contains(&pictures[0].svg));
    assert!(page.contains("<code>pumice lab run cat-table4 --seeds 1</code>"));
    assert!(page.contains("<td class=\"known\">7103</td>") && page.contains("id=\"cat-table4\""));
    // Nothing is loaded from elsewhere: the one address is the name of SVG's name space.
    assert_eq!(page.matches("http").count(), page.matches("xmlns=\"http://www.w3.org/2000/svg\"").count());
    assert!(!page.contains("<script") && !page.contains("<link"));
}

/// The number of runs made.
#[derive(Default)]
struct Runs(AtomicU64);

impl Progress for Runs {
    fn expect(&self, _writes: u64) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn done(&self, _writes: u64) {}
}

#[test]
fn an_experiment_goes_on_where_it_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let experiment = Experiment::named("cat-table4").unwrap();
    let (json, csv) = (dir.path().join("cat-table4.jsonl"), dir.path().join("cat-table4.csv"));
    let again = |options: &Options| {
        let runs = Runs::default();
        let ran = run(experiment, options, dir.path(), &runs).unwrap();
        (ran.known, runs.0.into_inner(), fs::read_to_string(&json).unwrap())
    };
    let (known, runs, whole) = again(&options());
    let all = whole.lines().count();
    assert_eq!((known, runs), (0, all as u64));
    let table = fs::read_to_string(&csv).unwrap();

    // Killed in the middle of a line, with the last ones missing.
    let part = whole.split_inclusive('\n').take(4).collect::<Vec<_>>().concat();
    fs::write(&json, format!("{part}{}", &whole.lines().nth(4).unwrap()[..40])).unwrap();
    fs::remove_file(&csv).unwrap();
    assert!(report(&Experiment::ALL, dir.path()).unwrap().page.contains("4 runs"));
    assert_eq!(again(&options()), (4, all as u64 - 4, whole.clone()));
    assert_eq!(fs::read_to_string(&csv).unwrap(), table);

    // All there: nothing is run; wanted afresh: everything.
    assert_eq!(again(&options()), (all, 0, whole.clone()));
    assert_eq!(again(&Options { fresh: true, ..options() }), (0, all as u64, whole.clone()));

    // More seeds: those that are missing, in between.
    let two = Options { seeds: "2".parse().unwrap(), ..options() };
    let (known, runs, both) = again(&two);
    assert_eq!((known, runs), (all, all as u64));
    assert_eq!(both, { again(&Options { fresh: true, ..two }).2 });
}

#[test]
fn records_carry_every_parameter() {
    let dir = tempfile::tempdir().unwrap();
    let traces = dir.path().join("traces");
    fs::create_dir(&traces).unwrap();
    let lines: Vec<_> = (0..2000_u32).map(|at| format!("{at} 0 {} 8 0", at * 7919 % 500 * 8)).collect();
    fs::write(traces.join("disk.ascii"), lines.join("\n")).unwrap();
    let experiment = Experiment::named("traces").unwrap();
    let points = simulated(experiment, &Options { traces: traces.clone(), ..options() });
    let one = |bytes: &str| {
        fs::write(traces.join("disk.ascii"), bytes).unwrap();
        plan(&[points[0].setup.clone()]).unwrap().remove(0).parameters
    };
    let parameters = one(&lines.join("\n"));
    assert_eq!(parameters.trace_sha256.as_ref().map(String::len), Some(64));
    assert_eq!(parameters.program, concat!("pumice ", env!("CARGO_PKG_VERSION")));
    assert_eq!((parameters.reserve, parameters.header_blocks, parameters.trace_compact), (1, 0, Some(true)));
    assert_eq!(parameters.writes, Some(30 * 500));
    // The same name with other bytes is another trace.
    assert_ne!(one(&lines[1..].join("\n")).trace_sha256, parameters.trace_sha256);
}

#[test]
fn curves_and_words_are_drawn_too() {
    let dir = tempfile::tempdir().unwrap();
    for (name, xs) in [("theory", ["1.05", "1.1"]), ("cat-fig12", ["50/50", "90/10"])] {
        let record = Record { waf: 2.0, ..Record::default() };
        let lines = xs.map(|x| Line::new(name, ("a < b", x), Sources::Simulator, record.clone()));
        let text = lines.map(|line| line.json().unwrap()).join("\n");
        fs::write(dir.path().join(format!("{name}.jsonl")), text).unwrap();
    }
    let page = report(&Experiment::ALL, dir.path()).unwrap().page;
    assert!(page.contains("a &lt; b") && !page.contains("a < b"));
    assert!(page.contains("theory: greedy") && page.contains("50/50"));
}

/// The texts of a picture: their anchor, place and contents.
fn texts(svg: &str) -> Vec<(String, i32, i32, String)> {
    let of = |part: &str, key: &str| {
        let value = part.split(&format!(" {key}=\"")).nth(1).and_then(|rest| rest.split('"').next());
        value.unwrap_or_default().to_owned()
    };
    let texts = svg.split("<text").skip(1);
    let text = |part: &str| {
        let (head, rest) = part.split_once('>').unwrap();
        let head = format!(" {head}");
        let number = |key| of(&head, key).parse().unwrap();
        let contents = rest.split("</text>").next().unwrap().trim().to_owned();
        (of(&head, "text-anchor"), number("x"), number("y"), contents)
    };
    texts.map(text).collect()
}

/// Two curves by a long way to name them; one has a figure of 0 where the other has none.
#[test]
fn a_picture_has_a_title_ends_at_its_data_and_names_do_not_overlap() {
    let places =
        ["50/50", "a place with a name that is long", "another place whose name is longer still", "95/5"];
    let picture = |name: &str, first: Option<f64>| {
        let dir = tempfile::tempdir().unwrap();
        let line = |series: &str, x: &str, waf| {
            let record = Record { waf, erasures: 7, ..Record::default() };
            Line::new(name, (series, x), Sources::Simulator, record).json().unwrap()
        };
        let mut lines: Vec<_> = places.iter().map(|x| line("one curve", x, 2.0)).collect();
        lines.extend(first.map(|waf| line("the other curve", places[0], waf)));
        lines.push(line("the other curve", places[3], 1.0));
        fs::write(dir.path().join(format!("{name}.jsonl")), lines.join("\n")).unwrap();
        report(&Experiment::ALL, dir.path()).unwrap().pictures.remove(0).svg
    };
    for name in ["theory", "zipf"] {
        let svg = picture(name, Some(0.0));
        let texts = texts(&svg);
        assert_eq!(texts[0].3, format!("{name}: write amplification"));
        let place = |of: &str| texts.iter().find(|(.., contents)| contents == of).unwrap().clone();
        // What is right of the last place is the legend alone.
        let (last, legend) = (place("95/5"), place("the other curve"));
        assert!(legend.1 > last.1, "{texts:?}");
        let right: Vec<_> =
            texts.iter().filter(|text| text.1 > last.1 + 60).map(|text| text.3.as_str()).collect();
        assert!(right.iter().all(|name| name.contains("curve") || name.contains(": ")), "{right:?}");
        for (at, one) in texts.iter().enumerate() {
            for other in texts.iter().skip(at + 1).filter(|other| other.2 == one.2) {
                let ends = |(anchor, x, _, contents): &(String, i32, i32, String)| {
                    let width = i32::try_from(contents.chars().count() * 6).unwrap();
                    let left = match anchor.as_str() {
                        "middle" => x - width / 2,
                        "end" => x - width,
                        _ => *x,
                    };
                    (left, left + width)
                };
                let (one_ends, other_ends) = (ends(one), ends(other));
                assert!(one_ends.1 <= other_ends.0 || other_ends.1 <= one_ends.0, "{one:?} {other:?}");
            }
        }
        // A figure of 0 is drawn, no figure is not.
        assert!(svg.len() > picture(name, None).len() + 40, "{name}");
    }
}

#[test]
fn no_records_are_no_report() {
    let dir = tempfile::tempdir().unwrap();
    let empty = report(&Experiment::ALL, dir.path()).unwrap_err().to_string();
    assert!(empty.contains("no records there; "), "{empty}");
    fs::write(dir.path().join("theory.jsonl"), "{}\n").unwrap();
    let others = report(&Experiment::ALL, dir.path()).unwrap_err().to_string();
    assert!(others.contains("no records there of this build, 1 others; "), "{others}");
}

#[test]
fn traces_are_played_under_every_pair_and_shown_as_a_table() {
    let dir = tempfile::tempdir().unwrap();
    let traces = dir.path().join("traces");
    fs::create_dir(&traces).unwrap();
    fs::write(traces.join("disk.ascii"), "1000 0 16 8 0\n2000 0 80 8 0\n").unwrap();
    let experiment = Experiment::named("traces").unwrap();
    let points = simulated(experiment, &Options { traces, ..Options::default() });
    let series: BTreeSet<_> = points.iter().map(|point| point.series.as_str()).collect();
    let places: BTreeSet<_> = points.iter().map(|point| point.x.as_str()).collect();
    assert_eq!(points.len(), series.len() * places.len());
    assert!(places.contains("disk 1.075"), "{places:?}");
    assert!(series.contains("default") && series.contains("chain:4, root-age"), "{series:?}");

    let line =
        |point: &Point| Line::new("traces", (&point.series, &point.x), Sources::Simulator, Record::default());
    let lines: Vec<_> = points.iter().map(|point| line(point).json().unwrap()).collect();
    fs::write(dir.path().join("traces.jsonl"), lines.join("\n")).unwrap();
    let page = report(&Experiment::ALL, dir.path()).unwrap().page;
    assert!(page.contains("<th>chain:4, root-age</th>") && !page.contains("<svg"));
}
