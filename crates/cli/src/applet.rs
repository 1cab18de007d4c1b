//! Under which name the program was called: `pumice VERB`, or a link with a name that mkfs(8), fsck(8) and
//! mount(8) look for, and then with the arguments they give.

use std::{ffi::OsString, path::Path};

use clap::{ArgMatches, CommandFactory, FromArgMatches, error::ErrorKind};

use crate::{args::Command, complain, failure::code, verbs::fsck, verbs::mount};

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
            finish(parsed(&args), if is_fsck { fsck::USAGE_ERROR } else { code::USAGE })
        }
    }
}

fn parse_as(verb: &str, rest: &[OsString], usage: u8) -> Result<Command, u8> {
    let words = ["pumice".into(), verb.into()];
    finish(parsed(words.iter().chain(rest)), usage)
}

fn parsed<T: Into<OsString> + Clone>(words: impl IntoIterator<Item = T>) -> Result<Command, clap::Error> {
    let mut table = Command::command();
    let matches = table.try_get_matches_from_mut(words)?;
    if matches.get_flag(JSON) && !knows_json(&table, &matches) {
        return Err(table.error(ErrorKind::UnknownArgument, "this verb has no --json"));
    }
    Command::from_arg_matches(&matches)
}

/// The option that may stand in front of a verb although not every verb has it.
const JSON: &str = "json";

/// True if the verb that was called has the option itself, and not only because it may stand anywhere.
fn knows_json(table: &clap::Command, matches: &ArgMatches) -> bool {
    let (mut verb, mut rest) = (table, matches);
    while let Some((name, below)) = rest.subcommand() {
        let Some(found) = verb.find_subcommand(name) else { return false };
        if found.get_arguments().any(|arg| arg.get_id() == JSON && !arg.is_hide_set()) {
            return true;
        }
        (verb, rest) = (found, below);
    }
    false
}

fn finish(parsed: Result<Command, clap::Error>, usage: u8) -> Result<Command, u8> {
    parsed.map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // If nobody listens there is nobody to tell.
            let _ = error.print();
            if error.use_stderr() { usage } else { 0 }
        }
        _ => {
            complain(&one_line(&error.to_string()));
            usage
        }
    })
}

/// A mistake in one line: what is wrong, a tip if there is one, and where help is.
fn one_line(text: &str) -> String {
    let (mistake, usage) = text.split_once("Usage:").unwrap_or((text, ""));
    let mistake = mistake.trim().trim_start_matches("error: ");
    let lines: Vec<&str> = mistake.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mistake = lines.join(" ").replace(" tip: ", "; ");
    let verb = usage.split_whitespace().take_while(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()));
    let verb = verb.collect::<Vec<_>>().join(" ");
    format!("{mistake}; see `{} --help`", if verb.is_empty() { "pumice" } else { &verb })
}
