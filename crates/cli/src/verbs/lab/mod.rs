//! `pumice lab`: the papers' experiments and our own.

mod description;
mod list;
mod merge;
mod report;
mod run;

use crate::failure::Outcome;

/// List and run experiments, and draw their results
#[derive(clap::Subcommand, Debug)]
pub(crate) enum Verb {
    List(list::Args),
    Run(run::Args),
    Merge(merge::Args),
    Report(report::Args),
}

impl Verb {
    pub(crate) fn run(&self) -> Outcome {
        match self {
            Verb::List(args) => args.run(),
            Verb::Run(args) => args.run(),
            Verb::Merge(args) => args.run(),
            Verb::Report(args) => args.run(),
        }
    }
}
