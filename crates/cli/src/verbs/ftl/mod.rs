//! `pumice ftl`: the flash memory server, a disk of blocks on a raw chip.

mod create;
mod info;
pub(crate) mod mount;

use crate::{context::Context, failure::Outcome};

/// Make, inspect and mount a disk on a chip, for other file systems
#[derive(clap::Subcommand, Debug)]
pub(crate) enum Verb {
    Create(create::Args),
    Info(info::Args),
    Mount(mount::Args),
}

impl Verb {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        match self {
            Verb::Create(args) => args.run(context),
            Verb::Info(args) => args.run(context),
            Verb::Mount(args) => args.run(context),
        }
    }
}
