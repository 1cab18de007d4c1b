//! The figures of an experiment by metric, series, place and seed.

use std::collections::BTreeMap;

use crate::experiment::{Experiment, Line};

/// The seed of a figure that was not measured here: it stands for every seed.
const ALWAYS: u64 = 0;

/// All figures of one experiment.
#[derive(Debug, Default)]
pub(super) struct Figures {
    cells: BTreeMap<(String, String, String), Vec<(u64, f64)>>,
    /// The places in their order.
    places: Vec<String>,
    seeds: Vec<u64>,
}

impl Figures {
    /// Those of the lines of an experiment, with the known ones.
    pub(super) fn of(experiment: &Experiment<'_>, lines: &[Line]) -> Figures {
        let mut figures = Figures::default();
        for line in lines {
            for metric in experiment.metrics {
                if let Some(value) = metric.of(&line.outcome) {
                    figures.add(metric.name(), &line.series, &line.x, line.outcome.seed(), value);
                }
            }
        }
        for known in (experiment.known)() {
            figures.add(known.metric.name(), known.series, known.x, ALWAYS, known.value);
        }
        figures
    }

    pub(super) fn add(&mut self, metric: &str, series: &str, place: &str, seed: u64, value: f64) {
        if !self.places.iter().any(|known| known == place) {
            self.places.push(place.to_owned());
        }
        if seed != ALWAYS && !self.seeds.contains(&seed) {
            self.seeds.push(seed);
        }
        let key = (metric.to_owned(), series.to_owned(), place.to_owned());
        self.cells.entry(key).or_default().push((seed, value));
    }

    /// The seeds of all runs.
    pub(super) fn seeds(&self) -> &[u64] {
        &self.seeds
    }

    /// One figure: of a seed, or the mean over all.
    #[expect(clippy::cast_precision_loss, reason = "seeds are few")]
    pub(super) fn one(&self, metric: &str, series: &str, place: &str, seed: Option<u64>) -> Option<f64> {
        let key = (metric.to_owned(), series.to_owned(), place.to_owned());
        let cell = self.cells.get(&key)?;
        match seed {
            Some(seed) => {
                let of = cell.iter().find(|(known, _)| [seed, ALWAYS].contains(known));
                of.map(|(_, value)| *value)
            }
            None => Some(cell.iter().map(|(_, value)| value).sum::<f64>() / cell.len() as f64),
        }
    }

    /// A figure for each place that has one.
    pub(super) fn row(&self, metric: &str, series: &str, seed: Option<u64>) -> Vec<(String, f64)> {
        let one = |place: &String| Some((place.clone(), self.one(metric, series, place, seed)?));
        self.places.iter().filter_map(one).collect()
    }
}
