//! Under which name the program was called: `pumice VERB`, or a link with a name that mkfs(8), fsck(8) and
//! mount(8) look for, and then with the arguments they give.

use std::{ffi::OsString, path::Path};

use clap::{Parser, error::ErrorKind};

use crate::{args::Command, failure::code, verbs::fsck, verbs::mount};

/// The command, or the exit code if the command line was only a question or makes no sense.
pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> Result<Command, u8> {
    let args: Vec<OsString> = args.collect();
    let called = args.first().and_then(|name| Path::new(name).file_name()).unwrap_or_default().to_owned();
    let rest = args.get(1..).unwrap_or_default();
    match called.to_str() {
        Some("mkfs.pumice") => parse_as("mkfs", rest, code::USAGE),
        Some("fsck.pumice") => parse_as("fsck", rest, fsck::USAGE_ERROR),
        Some("mount.pumice" | "mount.fuse.pumice") => {
            parse_as("mount", &mount::from_helper(rest), mount::HELPER_USAGE)
        }
        _ => {
            let is_fsck = rest
                .iter()
                .find(|word| !word.to_string_lossy().starts_with('-'))
                .is_some_and(|word| word == "fsck");
            finish(Command::try_parse_from(&args), if is_fsck { fsck::USAGE_ERROR } else { code::USAGE })
        }
    }
}

fn parse_as(verb: &str, rest: &[OsString], usage: u8) -> Result<Command, u8> {
    let words = ["pumice".into(), verb.into()];
    finish(Command::try_parse_from(words.iter().chain(rest)), usage)
}

fn finish(parsed: Result<Command, clap::Error>, usage: u8) -> Result<Command, u8> {
    parsed.map_err(|error| {
        // Help goes to stdout, mistakes to stderr; if that is closed there is nobody to tell.
        let _ = error.print();
        match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => 0,
            _ => usage,
        }
    })
}
