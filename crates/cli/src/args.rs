//! The command line: one table of verbs from which parsing, usage and help are made.

use clap::{CommandFactory, Parser, Subcommand};

use crate::{
    context::Context,
    examples::with_examples,
    failure::{Outcome, code},
    options::Common,
    verbs::{
        attr, cat, chips, clean, completions, defrag, df, dump, find, fsck, ftl, get, info, lab, ln, ls, man,
        map, mkdir, mkfs, mount, mv, nand, put, quota, rescue, resize, rm, scrub, seal, sim, stat, tar, tree,
        tune, undelete, whois,
    },
};

/// Flash file systems in user space
///
/// Makes, fills, mounts, reads and checks file systems on raw NAND flash: on a simulated chip in a container
/// file, or on a real one behind /dev/mtdN. Makes, reads and checks F2FS, the format of Linux and Android.
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

/// The table of verbs, with an example of each.
pub(crate) fn table() -> clap::Command {
    with_examples(Command::command())
}

#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    Mkfs(Box<mkfs::Args>),
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
    Quota(quota::Args),
    Attr(attr::Args),
    Seal(seal::Args),
    Tune(tune::Args),
    Resize(resize::Args),
    Defrag(defrag::Args),
    Clean(clean::Args),
    Info(info::Args),
    Df(df::Args),
    Map(map::Args),
    Whois(whois::Args),
    Dump(dump::Args),
    Fsck(fsck::Args),
    Rescue(rescue::Args),
    Undelete(undelete::Args),
    Scrub(scrub::Args),
    Chips(chips::Args),
    #[command(subcommand)]
    Nand(nand::Verb),
    Sim(Box<sim::Args>),
    #[command(subcommand)]
    Lab(lab::Verb),
    #[command(subcommand)]
    Ftl(ftl::Verb),
    Man(man::Args),
    Completions(completions::Args),
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
            Verb::Quota(args) => args.run(context),
            Verb::Attr(args) => args.run(context),
            Verb::Seal(args) => args.run(context),
            Verb::Tune(args) => args.run(),
            Verb::Resize(args) => args.run(),
            Verb::Defrag(args) => args.run(context),
            Verb::Clean(args) => args.run(context),
            Verb::Info(args) => args.run(context),
            Verb::Df(args) => args.run(context),
            Verb::Map(args) => args.run(context),
            Verb::Whois(args) => args.run(context),
            Verb::Dump(args) => args.run(context),
            Verb::Fsck(args) => return args.run(context),
            Verb::Rescue(args) => return args.run(context),
            Verb::Undelete(args) => return args.run(context),
            Verb::Scrub(args) => return args.run(context),
            Verb::Chips(args) => args.run(),
            Verb::Nand(verb) => verb.run(context),
            Verb::Sim(args) => args.run(),
            Verb::Lab(verb) => verb.run(),
            Verb::Ftl(verb) => return verb.run(context),
            Verb::Man(args) => args.run(table()),
            Verb::Completions(args) => args.run(table()),
        }
        .map(|()| 0)
    }

    /// Tells a mount who runs it.
    pub(crate) fn set_role(&mut self, role: mount::Role) {
        match self {
            Verb::Mount(args) => args.how_mut().set_role(role),
            Verb::Ftl(ftl::Verb::Mount(args)) => args.how_mut().set_role(role),
            _ => {}
        }
    }

    /// The exit code for a failure with `failed`, which a manual page may change.
    pub(crate) fn exit_code(&self, failed: u8) -> u8 {
        match (self, failed) {
            (
                Verb::Fsck(_) | Verb::Scrub(_) | Verb::Ftl(ftl::Verb::Check(_) | ftl::Verb::Scrub(_)),
                failed,
            ) => match failed {
                code::USAGE => fsck::USAGE_ERROR,
                _ => fsck::OPERATIONAL_ERROR,
            },
            (Verb::Mount(args), code) => args.exit_code(code),
            (_, code) => code,
        }
    }
}
