//! The statements of the five papers, each with a verdict: judged by an experiment, built as described, or not had for a
//! reason. `claims.txt` lists them; its head describes the form.

mod condition;
mod entry;
mod expression;
mod figures;
mod page;
mod verdict;

pub use entry::{Claim, Paper, Standing};
pub use page::{counts, figures, lists, starts, statements};
pub use verdict::{Judged, Verdict, judge};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;

    /// The issue asks for so many at least.
    const CLAIMS: usize = 150;

    #[test]
    fn every_paper_has_its_claims_and_every_experiment_of_a_paper_one() {
        let all = Claim::all().unwrap();
        assert!(all.len() >= CLAIMS, "{}", all.len());
        for paper in Paper::ALL {
            assert!(all.iter().filter(|claim| claim.paper() == paper).count() >= 20, "{paper:?}");
        }
        let of_papers = Experiment::ALL.iter().filter(|experiment| experiment.is_of_a_paper());
        for experiment in of_papers {
            assert!(
                all.iter().any(|claim| claim.experiment() == Some(experiment.name)),
                "{}",
                experiment.name
            );
        }
    }

    #[test]
    fn claims_name_experiments_metrics_and_files_that_are_there() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for claim in Claim::all().unwrap() {
            match claim.standing() {
                Standing::Judged { experiment, .. } => {
                    let experiment = Experiment::named(experiment).unwrap();
                    for metric in claim.metrics() {
                        let is_known = experiment.metrics.iter().any(|known| known.name() == metric);
                        assert!(is_known, "{}: no `{metric}` in {}", claim.says(), experiment.name);
                    }
                }
                Standing::Built(paths) => {
                    for path in paths {
                        assert!(root.join("crates").join(path).exists(), "{}: no {path}", claim.says());
                    }
                }
                Standing::Without(_) => {}
            }
        }
    }
}
