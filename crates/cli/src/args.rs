//! The command line: one table of verbs from which parsing, usage and help are made.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::{
    context::Context,
    failure::{Outcome, code},
    size,
    verbs::{
        cat, chips, df, dump, find, fsck, ftl, get, info, lab, ln, ls, map, mkdir, mkfs, mount, mv, nand,
        put, rm, sim, stat, tar, tree, whois,
    },
};

/// Flash file systems in user space
///
/// Makes, fills, mounts, reads and checks file systems on raw NAND flash: a simulated chip in a container
/// file, or a real one behind /dev/mtdN. Reads F2FS, which Linux puts on cards and disks.
#[derive(Parser, Debug)]
#[command(
    name = "pumice",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(crate) struct Command {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What every verb understands.
#[derive(Args, Debug)]
pub(crate) struct Common {
    /// Print on stderr what the chip did: reads, programs, erases, device time
    #[arg(long, global = true, help_heading = "Common options")]
    pub(crate) stats: bool,
    /// Memory for cached and unwritten pages
    #[arg(
        long,
        global = true,
        help_heading = "Common options",
        value_name = "SIZE",
        default_value = "8MiB",
        value_parser = cache_size
    )]
    pub(crate) cache: u64,
    /// A master key of encrypted files (fscrypt), 16 to 64 bytes; may be given several times
    #[arg(long = "key-file", global = true, help_heading = "Common options", value_name = "FILE")]
    pub(crate) key_files: Vec<PathBuf>,
    /// Show a crashed F2FS as its last checkpoint left it
    #[arg(long, global = true, help_heading = "Common options")]
    pub(crate) no_recovery: bool,
}

/// The least a file system can work with.
const CACHE_MIN: u64 = 256 << 10;

/// A size for `--cache`.
pub(crate) fn cache_size(text: &str) -> Result<u64, String> {
    let bytes = size::parse(text)?;
    if bytes < CACHE_MIN {
        return Err(format!("a cache of {bytes} bytes is too small (want at least 256KiB)"));
    }
    Ok(bytes)
}

/// For verbs that read.
#[derive(Args, Debug)]
pub(crate) struct Reader {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// For verbs that write.
#[derive(Args, Debug)]
pub(crate) struct Writer {
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    Mkfs(mkfs::Args),
    Mount(mount::Args),
    Ls(ls::Args),
    Tree(tree::Args),
    Cat(cat::Args),
    Stat(stat::Args),
    Find(find::Args),
    Get(get::Args),
    Tar(tar::Args),
    Put(put::Args),
    Mkdir(mkdir::Args),
    Rm(rm::Args),
    Mv(mv::Args),
    Ln(ln::Args),
    Info(info::Args),
    Df(df::Args),
    Map(map::Args),
    Whois(whois::Args),
    Dump(dump::Args),
    Fsck(fsck::Args),
    Chips(chips::Args),
    #[command(subcommand)]
    Nand(nand::Verb),
    Sim(Box<sim::Args>),
    #[command(subcommand)]
    Lab(lab::Verb),
    #[command(subcommand)]
    Ftl(ftl::Verb),
}

impl Verb {
    /// Runs it; the result is the exit code.
    pub(crate) fn run(&self, context: &Context) -> Outcome<u8> {
        match self {
            Verb::Mkfs(args) => args.run(context),
            Verb::Mount(args) => args.run(context),
            Verb::Ls(args) => args.run(context),
            Verb::Tree(args) => args.run(context),
            Verb::Cat(args) => args.run(context),
            Verb::Stat(args) => args.run(context),
            Verb::Find(args) => args.run(context),
            Verb::Get(args) => args.run(context),
            Verb::Tar(args) => args.run(context),
            Verb::Put(args) => args.run(context),
            Verb::Mkdir(args) => args.run(context),
            Verb::Rm(args) => args.run(context),
            Verb::Mv(args) => args.run(context),
            Verb::Ln(args) => args.run(context),
            Verb::Info(args) => args.run(context),
            Verb::Df(args) => args.run(context),
            Verb::Map(args) => args.run(context),
            Verb::Whois(args) => args.run(context),
            Verb::Dump(args) => args.run(context),
            Verb::Fsck(args) => return args.run(context),
            Verb::Chips(args) => args.run(),
            Verb::Nand(verb) => verb.run(context),
            Verb::Sim(args) => args.run(),
            Verb::Lab(verb) => verb.run(),
            Verb::Ftl(verb) => verb.run(context),
        }
        .map(|()| 0)
    }

    /// What a failure with `failed` becomes, where a manual page says otherwise.
    pub(crate) fn exit_code(&self, failed: u8) -> u8 {
        match (self, failed) {
            (Verb::Fsck(_), code::USAGE) => fsck::USAGE_ERROR,
            (Verb::Fsck(_), _) => fsck::OPERATIONAL_ERROR,
            (Verb::Mount(args), code) => args.exit_code(code),
            (_, code) => code,
        }
    }
}
