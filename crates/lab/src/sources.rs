//! The sources that decide the figures of a run, as hashes taken when the laboratory was built.

/// A kind of run, by the code that takes part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sources {
    /// The simulator of cleaning.
    Simulator,
    /// ScaleFFS on a chip.
    ScaleFfs,
    /// CFFS on a chip.
    Cffs,
    /// RCFFS on a chip.
    Rcffs,
    /// nandfs on a chip.
    Nandfs,
    /// F2FS on a disk.
    Disk,
    /// The flash memory server beside the simulator.
    Server,
    /// F2FS on the flash memory server.
    Stack,
}

/// `FILE=HASH` of each file of experiments.
const EXPERIMENTS: &str = env!("SOURCES_OF_EXPERIMENTS");

/// The file of experiments that users describe.
const DESCRIBED: &str = "described";

/// The hash of the file of an experiment; `None` if a user describes it, for the build refuses one of ours that has no
/// file of its name.
fn hash_of(experiment: &str) -> Option<&'static str> {
    let file = experiment.split('-').next().unwrap_or_default();
    EXPERIMENTS.split(';').find_map(|known| known.strip_prefix(file)?.strip_prefix('='))
}

impl Sources {
    const ALL: [Sources; 8] = [
        Sources::Simulator,
        Sources::ScaleFfs,
        Sources::Cffs,
        Sources::Rcffs,
        Sources::Nandfs,
        Sources::Disk,
        Sources::Server,
        Sources::Stack,
    ];

    /// Their hash.
    pub(crate) fn hash(self) -> &'static str {
        match self {
            Sources::Simulator => env!("SOURCES_OF_SIMULATOR"),
            Sources::ScaleFfs => env!("SOURCES_OF_SCALEFFS"),
            Sources::Cffs => env!("SOURCES_OF_CFFS"),
            Sources::Rcffs => env!("SOURCES_OF_RCFFS"),
            Sources::Nandfs => env!("SOURCES_OF_NANDFS"),
            Sources::Disk => env!("SOURCES_OF_DISK"),
            Sources::Server => env!("SOURCES_OF_SERVER"),
            Sources::Stack => env!("SOURCES_OF_STACK"),
        }
    }

    /// The same with the file of an experiment, which decides its points: `KIND-FILE`. Of one that a user describes its
    /// records have all that the description decides.
    pub(crate) fn of(self, experiment: &str) -> String {
        format!("{}-{}", self.hash(), hash_of(experiment).unwrap_or(DESCRIBED))
    }

    /// True if a file of experiments here has this name, or its first word.
    pub fn have(experiment: &str) -> bool {
        hash_of(experiment).is_some()
    }

    /// True if a record of an experiment names the sources of this build.
    pub(crate) fn are_here(experiment: &str, named: &str) -> bool {
        Sources::ALL.iter().any(|kind| kind.of(experiment) == named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;

    #[test]
    fn every_experiment_has_its_sources() {
        for experiment in Experiment::ALL {
            let named = Sources::Nandfs.of(experiment.name);
            assert_eq!(named.len(), 33, "{}: {named}", experiment.name);
            assert!(Sources::are_here(experiment.name, &named));
            assert!(!Sources::are_here(experiment.name, &named.replace(&named[..4], "zzzz")));
        }
        assert!(!Sources::have("options-of-mine") && Sources::have("zipf-of-mine"));
        assert!(Sources::are_here("mine", &Sources::Simulator.of("mine")));
        let mut all: Vec<_> = Sources::ALL.iter().map(|kind| kind.hash()).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), Sources::ALL.len());
    }
}
