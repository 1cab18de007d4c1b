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

    /// One figure: the mean over all runs, or over those of a seed and those that stand for every seed.
    #[expect(clippy::cast_precision_loss, reason = "seeds are few")]
    pub(super) fn one(&self, metric: &str, series: &str, place: &str, seed: Option<u64>) -> Option<f64> {
        let key = (metric.to_owned(), series.to_owned(), place.to_owned());
        let counts = |known: u64| seed.is_none_or(|seed| [seed, ALWAYS].contains(&known));
        let cell = self.cells.get(&key)?.iter().filter(|(known, _)| counts(*known));
        let values: Vec<f64> = cell.map(|(_, value)| *value).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// A figure for each place that has one.
    pub(super) fn row(&self, metric: &str, series: &str, seed: Option<u64>) -> Vec<(String, f64)> {
        let one = |place: &String| Some((place.clone(), self.one(metric, series, place, seed)?));
        self.places.iter().filter_map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_a_peer_stand_for_every_seed_by_their_mean() {
        let mut figures = Figures::default();
        for (series, seed, value) in
            [("peer", ALWAYS, 1.0), ("peer", ALWAYS, 3.0), ("ours", 1, 4.0), ("ours", 2, 8.0)]
        {
            figures.add("time", series, "at", seed, value);
        }
        let one = |series, seed| figures.one("time", series, "at", seed);
        assert_eq!([None, Some(1), Some(2)].map(|seed| one("peer", seed)), [Some(2.0); 3]);
        assert_eq!([None, Some(1), Some(2)].map(|seed| one("ours", seed)), [Some(6.0), Some(4.0), Some(8.0)]);
        assert_eq!(one("ours", Some(3)), None);
    }
}
