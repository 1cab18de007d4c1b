//! `pumice man`: writes manual pages.

use std::{fs, path::PathBuf};

use clap::Command;

use crate::{
    failure::{Failure, Outcome},
    output,
};

/// Verbs that mkfs(8), fsck(8) and mount(8) call, by links such as `mkfs.pumice`.
const LINKED: [&str; 3] = ["mkfs", "fsck", "mount"];

/// Write the manual pages: one for each verb, and one for each name the program is linked under
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Directory for the pages; made if it is not there
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

impl Args {
    pub(crate) fn run(&self, command: Command) -> Outcome {
        let failed = |error| Failure::host(&self.dir, &error);
        fs::create_dir_all(&self.dir).map_err(failed)?;
        // Each verb has a page, so none is needed for `help`.
        clap_mangen::generate_to(command.disable_help_subcommand(true), &self.dir).map_err(failed)?;
        for verb in LINKED {
            let page = self.dir.join(format!("{verb}.pumice.8"));
            fs::write(&page, format!(".so man1/pumice-{verb}.1\n"))
                .map_err(|error| Failure::host(&page, &error))?;
        }
        output::lines([self.dir.display().to_string()])
    }
}
