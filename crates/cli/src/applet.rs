//! The name the program was called by: `pumice VERB`, or a link with a name that mkfs(8), fsck(8) and
//! mount(8) look for, and then with the arguments they give.

use std::{ffi::OsString, path::Path};

use clap::{
    Arg, ArgMatches, FromArgMatches,
    error::{ContextKind, ErrorKind},
};

use crate::{
    args::{self, Command},
    failure::code,
    message::{self, complain},
    verbs::{fsck, mkfs, mount},
};

/// The exit code of mkfs.f2fs for anything wrong.
const TOOL_FAILED: u8 = 1;

/// The command, or the exit code if the command line was only a question or makes no sense.
pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> Result<Command, u8> {
    let args: Vec<OsString> = args.collect();
    if args.iter().take_while(|word| *word != "--").any(|word| word == "--json") {
        message::as_json();
    }
    let called = args.first().and_then(|name| Path::new(name).file_name()).unwrap_or_default().to_owned();
    let rest = args.get(1..).unwrap_or_default();
    match called.to_str() {
        Some("mkfs.pumice") => parse_as("mkfs", rest, code::USAGE),
        Some("mkfs.f2fs") => parse_as("mkfs", &mkfs::from_tool(rest), TOOL_FAILED),
        Some("fsck.pumice") => parse_as("fsck", rest, fsck::USAGE_ERROR),
        Some("mount.pumice" | "mount.fuse.pumice") => {
            let command = parse_as("mount", &mount::from_helper(rest), mount::HELPER_USAGE)?;
            Ok(with_role(command, mount::Role::Helper))
        }
        Some(mount::BACKGROUND) => Ok(with_role(finish(&args, code::USAGE)?, mount::Role::Background)),
        _ => {
            let mut words = rest.iter().filter(|word| !word.to_string_lossy().starts_with('-'));
            let has_fsck_codes = match words.next() {
                Some(verb) if verb == "ftl" => {
                    words.next().is_some_and(|verb| verb == "check" || verb == "scrub")
                }
                verb => verb.is_some_and(|verb| verb == "fsck" || verb == "scrub"),
            };
            finish(&args, if has_fsck_codes { fsck::USAGE_ERROR } else { code::USAGE })
        }
    }
}

fn with_role(mut command: Command, role: mount::Role) -> Command {
    command.verb.set_role(role);
    command
}

fn parse_as(verb: &str, rest: &[OsString], usage: u8) -> Result<Command, u8> {
    let words: Vec<OsString> =
        ["pumice", verb].into_iter().map(Into::into).chain(rest.iter().cloned()).collect();
    finish(&words, usage)
}

/// The table of verbs. A number below zero is a value, so that it is refused as one.
fn table() -> clap::Command {
    fn below(command: clap::Command) -> clap::Command {
        let is_option = |arg: &Arg| arg.get_action().takes_values() && !arg.is_positional();
        let option = |arg: Arg| if is_option(&arg) { arg.allow_negative_numbers(true) } else { arg };
        command.mut_args(option).mut_subcommands(below)
    }
    below(args::table())
}

fn parsed(words: &[OsString]) -> Result<Command, clap::Error> {
    let mut table = table();
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

fn finish(words: &[OsString], usage: u8) -> Result<Command, u8> {
    parsed(words).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // A closed stream is not worth another error.
            let _ = error.print();
            if error.use_stderr() { usage } else { 0 }
        }
        _ => {
            complain(&format!("{}; see `{} --help`", mistake(&error), verb_of(words)));
            usage
        }
    })
}

/// The mistake, in one line, and a tip if there is one.
fn mistake(error: &clap::Error) -> String {
    let text = error.to_string();
    let context = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let (argument, value) = (context(ContextKind::InvalidArg), context(ContextKind::InvalidValue));
    if let (ErrorKind::ValueValidation, Some(why)) = (error.kind(), std::error::Error::source(error)) {
        let option = argument.split(' ').next().unwrap_or_default();
        let why = why.to_string();
        // Our own parsers name what they refuse.
        if !value.is_empty() && why.contains(&value) && !why.contains(" is not in ") {
            return format!("{option}: {why}");
        }
        return format!("{option}: invalid value `{value}` ({})", reason(&why));
    }
    let text = text.split("Usage:").next().unwrap_or_default();
    let text = text.split("For more information").next().unwrap_or_default();
    let lines = text.trim().trim_start_matches("error: ").lines().map(str::trim);
    let text = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let (said, tip) = text.split_once(" tip: ").unwrap_or((&text, ""));
    // A number below zero is no path that only looks like an option.
    let is_number = argument.trim_start_matches('-').starts_with(|letter: char| letter.is_ascii_digit());
    if tip.is_empty() || is_number { said.to_owned() } else { format!("{said}; {tip}") }
}

/// The reason for refusing a number, in place of the words of the standard library.
fn reason(why: &str) -> String {
    match why {
        "invalid digit found in string" | "cannot parse integer from empty string" => {
            "want a whole number".into()
        }
        "number too large to fit in target type" => "the number is too large".into(),
        "number too small to fit in target type" => "the number is too small".into(),
        "invalid float literal" | "cannot parse float from empty string" => "want a number".into(),
        _ => match why.split_once(" is not in ").and_then(|(_, range)| range.split_once("..")) {
            Some((least, most)) if most.starts_with('=') => {
                format!("want {least} to {}", most.trim_start_matches('='))
            }
            Some((least, end)) => match end.parse::<u64>() {
                Ok(end) => format!("want {least} to {}", end.saturating_sub(1)),
                Err(_) => format!("want at least {least}"),
            },
            None => why.into(),
        },
    }
}

/// The program and the verb that words call, to name its help.
fn verb_of(words: &[OsString]) -> String {
    let table = args::table();
    let (mut verb, mut name) = (&table, table.get_name().to_owned());
    for word in words.iter().skip(1) {
        if let Some(found) = verb.find_subcommand(word) {
            (verb, name) = (found, format!("{name} {}", found.get_name()));
        }
    }
    name
}
