//! The papers' experiments on file systems: a record is made again to the byte, and seeds differ. Their verdicts are in
//! `claims.rs`.

use std::fs;

use pumice_lab::{
    experiment::{Experiment, Line, Metric, Options, Outcome, run},
    measured::Figure,
};

/// The lines of an experiment by so many seeds.
fn lines(name: &str, seeds: u64) -> Vec<Line> {
    let dir = tempfile::tempdir().unwrap();
    let experiment = Experiment::named(name).unwrap();
    let seeds = seeds.to_string().parse().unwrap();
    let options = Options { seeds, traces: "nowhere".into(), ..Options::default() };
    let lines = run(experiment, &options, dir.path(), &()).unwrap().lines;
    let csv = fs::read_to_string(dir.path().join(format!("{name}.csv"))).unwrap();
    assert_eq!(csv.lines().count(), lines.len() + 1, "{csv}");
    // On record: nothing is run again, and nothing changes.
    let again = run(experiment, &options, dir.path(), &()).unwrap();
    assert_eq!((again.known, &again.lines), (lines.len(), &lines));
    lines
}

/// A figure of a series and a place, by seed.
fn by_seed(lines: &[Line], series: &str, x: &str, figure: Figure) -> Vec<f64> {
    let of = lines.iter().filter(|line| (line.series.as_str(), line.x.as_str()) == (series, x));
    of.map(|line| Metric::Measured(figure).of(&line.outcome).unwrap()).collect()
}

/// A seed is another specimen of the chip, and other draws; the same seed is the same run.
#[test]
fn every_seed_is_a_run_of_its_own() {
    for (name, series, x, figure) in [
        ("cffs-table4", "cffs, 64 MB", "1:10", Figure::Programs),
        ("rcffs-small", "nandfs", "copies", Figure::WriteRate),
        ("rcffs-index", "rcffs", "1", Figure::LookupReads),
    ] {
        let twice = [lines(name, 3), lines(name, 3)];
        assert_eq!(twice[0], twice[1], "{name}");
        let seeds: Vec<u64> = twice[0].iter().take(3).map(|line| line.outcome.seed()).collect();
        assert_eq!(seeds, [1, 2, 3], "{name}");
        let figures = by_seed(&twice[0], series, x, figure);
        assert!(figures.iter().any(|one| (one - figures[0]).abs() > 1e-9), "{name}: {figures:?}");
        let one = lines(name, 1);
        assert_eq!(by_seed(&one, series, x, figure), figures[..1], "{name}");
    }
}

/// F2FS, figure 5: the requests of each run stand in a map.
#[test]
fn requests_to_the_disk_are_kept() {
    for line in lines("f2fs-fig5", 1) {
        let Outcome::Measured(measured) = &line.outcome else { panic!("{}", line.series) };
        let map = measured.map.as_ref().unwrap();
        assert!(map.rows.concat().contains('2') && map.seconds > 0.0, "{}", line.series);
    }
}
