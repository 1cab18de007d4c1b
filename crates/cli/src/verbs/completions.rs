//! `pumice completions`: prints completions for a shell.

use clap::{Command, ValueEnum};
use clap_complete::{Shell as Generator, generate};

use crate::{failure::Outcome, output::Output};

/// Print completions for a shell
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Args {
    pub(crate) fn run(&self, mut command: Command) -> Outcome {
        let generator = match self.shell {
            Shell::Bash => Generator::Bash,
            Shell::Zsh => Generator::Zsh,
            Shell::Fish => Generator::Fish,
        };
        let mut text = Vec::new();
        generate(generator, &mut command, "pumice", &mut text);
        let mut output = Output::new();
        output.bytes(&text)?;
        output.finish()
    }
}
