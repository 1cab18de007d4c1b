//! The `pumice` command: flash file systems from the shell.

mod applet;
mod args;
mod chip_choice;
mod context;
mod disk;
mod document;
mod examples;
mod f2fs;
mod failure;
mod image;
mod interrupt;
mod logger;
mod losses;
mod message;
mod metered;
mod on_chip;
mod options;
mod output;
mod path;
mod progress;
mod recognise;
mod size;
mod software_ecc;
mod source;
mod staged;
mod text;
mod tree;
mod verbs;

use std::process::ExitCode;

use message::complain;

fn main() -> ExitCode {
    logger::install();
    let code = match applet::parse(std::env::args_os()) {
        Ok(command) => run(&command),
        Err(ended) => ended,
    };
    ExitCode::from(code)
}

fn run(command: &args::Command) -> u8 {
    let context = context::Context::new(&command.common);
    let ran = command.verb.run(&context);
    if command.common.stats {
        message::report(&context.meter.report());
    }
    match ran {
        Ok(code) => code,
        Err(failure) => {
            complain(&failure.to_string());
            command.verb.exit_code(failure.code())
        }
    }
}
