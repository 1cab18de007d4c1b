//! `pumice man`: writes manual pages.

use std::{
    fs,
    io::{self, Write},
    path::PathBuf,
};

use clap::{Arg, Command};
use clap_mangen::Man;

use crate::{
    examples,
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
        let mut command = command.disable_help_subcommand(true);
        command.build();
        self.pages(&command).map_err(failed)?;
        for verb in LINKED {
            let page = self.dir.join(format!("{verb}.pumice.8"));
            fs::write(&page, format!(".so man1/pumice-{verb}.1\n"))
                .map_err(|error| Failure::host(&page, &error))?;
        }
        output::lines([crate::text::path(&self.dir)])
    }

    /// Writes the page of a verb, and those of the verbs below it.
    fn pages(&self, command: &Command) -> io::Result<()> {
        let mut text = Vec::new();
        page(command, &mut text)?;
        fs::write(self.dir.join(format!("{}.1", page_name(command))), text)?;
        command.get_subcommands().try_for_each(|below| self.pages(below))
    }
}

fn page_name(command: &Command) -> &str {
    command.get_display_name().unwrap_or(command.get_name())
}

fn page(command: &Command, out: &mut Vec<u8>) -> io::Result<()> {
    let man = Man::new(command.clone());
    man.render_title(out)?;
    man.render_name_section(out)?;
    synopsis(command, out)?;
    man.render_description_section(out)?;
    man.render_options_section(out)?;
    if command.has_subcommands() {
        man.render_subcommands_section(out)?;
    }
    let verb = command.get_bin_name().and_then(|name| name.split_once(' ')).map_or("", |(_, verb)| verb);
    section(out, "EXIT STATUS", &exit_status(verb))?;
    section(out, "FILES", &files(verb))?;
    if let Some(example) = examples::of(verb) {
        writeln!(out, ".SH EXAMPLES\n.nf\n{}\n.fi", escaped(example))?;
    }
    let mut related: Vec<String> = command.get_subcommands().map(page_name).map(str::to_owned).collect();
    related.extend(see_also(verb));
    writeln!(out, ".SH \"SEE ALSO\"\n{}", escaped(&related.join(", ")))
}

/// The command line, with the values of its options.
fn synopsis(command: &Command, out: &mut Vec<u8>) -> io::Result<()> {
    writeln!(out, ".SH SYNOPSIS\n\\fB{}\\fR", escaped(command.get_bin_name().unwrap_or("pumice")))?;
    let shown = |arg: &&Arg| !arg.is_hide_set() && arg.get_id() != "help";
    let (places, options): (Vec<&Arg>, Vec<&Arg>) =
        command.get_arguments().filter(shown).partition(|arg| arg.is_positional());
    for arg in options.into_iter().chain(places) {
        let names = [
            arg.get_short().map(|short| format!("-{short}")),
            arg.get_long().map(|long| format!("--{long}")),
        ];
        let names: Vec<String> = names.into_iter().flatten().collect();
        let takes = arg.get_action().takes_values();
        let value =
            arg.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect::<Vec<_>>();
        let value = if takes { value.join(" ") } else { String::new() };
        let names = names.join("|");
        let gap = if names.is_empty() || value.is_empty() { "" } else { " " };
        let more =
            if takes && arg.is_positional() && arg.get_num_args().is_some_and(|count| count.max_values() > 1)
            {
                "..."
            } else {
                ""
            };
        let word = format!("\\fB{}\\fR{gap}\\fI{}\\fR{more}", escaped(&names), escaped(&value));
        writeln!(out, "{}", if arg.is_required_set() { word } else { format!("[{word}]") })?;
    }
    if command.has_subcommands() {
        writeln!(out, "\\fICOMMAND\\fR")?;
    }
    Ok(())
}

fn section(out: &mut Vec<u8>, name: &str, rows: &[(&str, &str)]) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, ".SH \"{name}\"")?;
    rows.iter()
        .try_for_each(|(item, what)| writeln!(out, ".TP\n\\fB{}\\fR\n{}", escaped(item), escaped(what)))
}

fn exit_status(verb: &str) -> Vec<(&'static str, &'static str)> {
    let mut rows = match verb {
        "fsck" | "scrub" | "ftl check" | "ftl scrub" => vec![
            ("0", "sound"),
            ("1", "problems repaired, or data moved"),
            ("4", "problems found and left (5 if others were repaired)"),
            ("8", "the check itself failed"),
            ("16", "the command line is wrong"),
        ],
        "mount" => vec![
            ("0", "mounted and unmounted again"),
            ("1", "failed; called by mount(8): the command line is wrong"),
            ("2", "the command line is wrong"),
            ("32", "called by mount(8): failed"),
        ],
        _ => {
            vec![("0", "done"), ("1", "failed, or something is missing"), ("2", "the command line is wrong")]
        }
    };
    rows.push(("128+N", "ended by signal N"));
    rows
}

fn files(verb: &str) -> Vec<(&'static str, &'static str)> {
    match verb.split(' ').next() {
        Some("lab") => vec![
            ("lab/", "records of runs: NAME.jsonl and NAME.csv"),
            ("traces/", "traces that experiments play"),
        ],
        Some("mount") => vec![
            ("/dev/fuse", "what mounts go through"),
            ("/dev/mtdN", "a raw NAND chip"),
            ("/etc/fstab", "lines of type pumice"),
        ],
        Some("" | "chips" | "sim" | "man" | "completions") | None => vec![],
        _ => vec![("/dev/mtdN", "a raw NAND chip"), ("/dev/sdXN", "a disk or card with F2FS")],
    }
}

/// Pages of this program and of others.
fn see_also(verb: &str) -> Vec<String> {
    let others: &[&str] = match verb.split(' ').next().unwrap_or_default() {
        "mkfs" => &["pumice-fsck(1)", "mkfs.f2fs(8)", "sload.f2fs(8)"],
        "fsck" => &["pumice-scrub(1)", "fsck.f2fs(8)"],
        "mount" => &["mount(8)", "fusermount3(1)", "fstab(5)"],
        "nand" => &["nanddump(1)", "nandwrite(1)"],
        "dump" | "map" | "whois" => &["dump.f2fs(8)"],
        "tar" => &["tar(1)"],
        _ => &[],
    };
    let parent = if verb.is_empty() { None } else { Some("pumice(1)") };
    parent.into_iter().chain(others.iter().copied()).map(str::to_owned).collect()
}

/// Text in which troff finds nothing to obey.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}
