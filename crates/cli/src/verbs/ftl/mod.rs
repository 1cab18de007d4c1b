//! `pumice ftl`: the flash memory server, a disk of blocks on a raw chip.

pub(crate) mod check;
mod create;
mod info;
pub(crate) mod mount;
mod scrub;

use crate::{context::Context, failure::Outcome};

/// Make, inspect, check, scrub and mount a disk on a chip, for other file systems
#[derive(clap::Subcommand, Debug)]
pub(crate) enum Verb {
    Check(check::Args),
    Create(create::Args),
    Info(info::Args),
    Mount(mount::Args),
    Scrub(scrub::Args),
}

impl Verb {
    pub(crate) fn run(&self, context: &Context) -> Outcome<u8> {
        match self {
            Verb::Check(args) => return args.run(context),
            Verb::Scrub(args) => return args.run(context),
            Verb::Create(args) => args.run(context),
            Verb::Info(args) => args.run(context),
            Verb::Mount(args) => args.run(context),
        }
        .map(|()| 0)
    }
}
