//! Seeds averaged, curves put together.

use std::collections::BTreeMap;

use super::{Experiment, Line, Metric, PEERS};

/// The word that marks kept figures.
const KEPT: &str = "kept";

/// A mean over seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Mean.
    pub mean: f64,
    /// Least and most.
    pub range: (f64, f64),
    /// Runs; 0 for a figure not measured here.
    pub runs: usize,
}

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name; of kept figures with the last day on which they were measured.
    pub name: String,
    /// One cell for each place on the horizontal axis, where there is one.
    pub cells: Vec<Option<Cell>>,
}

/// One metric of an experiment: a table, or a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The metric.
    pub metric: Metric,
    /// The places on the horizontal axis.
    pub xs: Vec<String>,
    /// The curves, in the order in which they were run, known ones last.
    pub series: Vec<Series>,
}

impl Summary {
    /// The lines of `experiment` by `metric`.
    pub fn new(experiment: &Experiment<'_>, metric: Metric, lines: &[Line]) -> Summary {
        let mut summary = Summary { metric, xs: Vec::new(), series: Vec::new() };
        let mut values: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
        for line in lines {
            let at = summary.place(&line.series, &line.x);
            values.entry(at).or_default().extend(metric.of(&line.outcome));
        }
        let mut cells: BTreeMap<(usize, usize), Cell> =
            values.iter().filter_map(|(at, values)| Some((*at, Cell::over(values)?))).collect();
        let mut known_values: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
        let all = (experiment.known)();
        for known in all.iter().filter(|known| known.metric == metric) {
            // Where nothing was run there is nothing to compare.
            if summary.xs.iter().any(|x| x == known.x) {
                // Runs of several days are one series.
                let of_series = all.iter().filter(|other| other.series == known.series);
                let name = match of_series.filter_map(|other| other.kept).max() {
                    Some(date) => format!("{}, {KEPT} {date}", known.series),
                    None => known.series.to_owned(),
                };
                known_values.entry(summary.place(&name, known.x)).or_default().push(known.value);
            }
        }
        let known = known_values.iter().filter_map(|(at, values)| Some((*at, Cell::over(values)?)));
        cells.extend(known.map(|(at, cell)| (at, Cell { runs: 0, ..cell })));
        let xs = summary.xs.len();
        for (number, series) in summary.series.iter_mut().enumerate() {
            series.cells = (0..xs).map(|x| cells.get(&(number, x)).copied()).collect();
        }
        summary.series.retain(|series| series.cells.iter().any(Option::is_some));
        summary
    }

    /// The numbers of a curve and a place, which are added if they are new.
    fn place(&mut self, series: &str, x: &str) -> (usize, usize) {
        let known = self.series.iter().position(|known| known.name == series);
        let series = known.unwrap_or_else(|| {
            self.series.push(Series { name: series.to_owned(), cells: Vec::new() });
            self.series.len() - 1
        });
        let known = self.xs.iter().position(|known| known == x);
        let x = known.unwrap_or_else(|| {
            self.xs.push(x.to_owned());
            self.xs.len() - 1
        });
        (series, x)
    }

    /// The origin of kept figures, if some are among the others.
    pub fn note(&self) -> Option<String> {
        let mark = format!(", {KEPT} ");
        let has_kept = self.series.iter().any(|series| series.name.contains(&mark));
        has_kept.then(|| format!("{KEPT}: not run here, but by `{PEERS}` up to the day named"))
    }

    /// The end of the vertical axis: a little above the highest figure, or 1 if all are nothing.
    pub fn top(&self) -> f64 {
        let most = self.cells().map(|cell| cell.range.1.max(cell.mean)).fold(0.0, f64::max);
        if most > 0.0 { most * 1.08 } else { 1.0 }
    }

    /// The lowest figure.
    pub fn least(&self) -> f64 {
        self.cells().map(|cell| cell.range.0.min(cell.mean)).fold(f64::INFINITY, f64::min)
    }

    fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.series.iter().flat_map(|series| &series.cells).flatten()
    }

    /// True if nothing is there to show.
    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// The places as numbers, if all are.
    pub fn numbers(&self) -> Option<Vec<f64>> {
        self.xs.iter().map(|x| x.parse().ok()).collect()
    }
}

impl Cell {
    #[expect(clippy::cast_precision_loss, reason = "seeds are few")]
    fn over(values: &[f64]) -> Option<Cell> {
        let least = values.iter().copied().reduce(f64::min)?;
        let most = values.iter().copied().reduce(f64::max)?;
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        Some(Cell { mean, range: (least, most), runs: values.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sources, run::Record};

    #[test]
    fn seeds_are_averaged_and_known_figures_stand_beside_them() {
        let experiment = Experiment::named("cat-table4").unwrap();
        let line = |series: &str, x: &str, erasures| {
            let record = Record { erasures, ..Record::default() };
            Line::new("cat-table4", (series, x), Sources::Simulator, record)
        };
        let lines = [line("a", "random", 10), line("b", "random", 30), line("a", "random", 20)];
        let summary = Summary::new(experiment, Metric::Erasures, &lines);
        assert_eq!(summary.xs, ["random"]);
        let cell = |name: &str| {
            let series = summary.series.iter().find(|series| series.name == name);
            series.and_then(|series| series.cells[0]).unwrap()
        };
        assert_eq!(cell("a"), Cell { mean: 15.0, range: (10.0, 20.0), runs: 2 });
        assert_eq!((cell("b").mean, cell("paper: greedy").mean), (30.0, 7103.0));
        assert_eq!((summary.numbers(), summary.note()), (None, None));
    }

    #[test]
    fn kept_figures_are_marked() {
        let experiment = Experiment::named("f2fs-fig4").unwrap();
        let line = Line::new("f2fs-fig4", ("F2FS, Pumice", "varmail"), Sources::Stack, Record::default());
        let summary = Summary::new(experiment, experiment.metrics[0], &[line]);
        let names: Vec<_> = summary.series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(names.len(), 4, "{names:?}");
        let ext4 = (experiment.known)().into_iter().filter(|known| known.series == "ext4 (Linux 6.1)");
        let name = format!("ext4 (Linux 6.1), kept {}", ext4.filter_map(|known| known.kept).max().unwrap());
        assert!(names.contains(&name.as_str()), "{names:?}");
        assert!(names.iter().all(|name| name.contains(", kept 20")), "{names:?}");
        let is_of_runs = |cell: &Cell| cell.range.0 < cell.range.1;
        assert!(summary.cells().any(is_of_runs), "runs of several days are one figure with its range");
        assert!(summary.note().unwrap().contains(PEERS));
    }
}
