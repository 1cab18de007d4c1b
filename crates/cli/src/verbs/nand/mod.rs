//! `pumice nand`: works on simulated chips, whatever they hold.

mod age;
mod create;
mod cut;
mod disturb;
mod export;
mod flip;
mod import;
mod kill;
mod stats;
mod wear;

use pumice_media::{BlockId, ChipFile, Nand, PageId};

use crate::{
    context::Context,
    failure::{Failure, Outcome},
    image::{Access, open_container},
    options::Writer,
    output,
    verbs::Container,
};

/// Simulated chips: make them, import and export dumps, set faults, age and wear
#[derive(clap::Subcommand, Debug)]
pub(crate) enum Verb {
    Create(create::Args),
    Import(import::Args),
    Export(export::Args),
    Flip(flip::Args),
    Kill(kill::Args),
    Age(age::Args),
    Wear(wear::Args),
    Disturb(disturb::Args),
    Cut(cut::Args),
    Stats(stats::Args),
}

impl Verb {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        match self {
            Verb::Create(args) => args.run(context),
            Verb::Import(args) => args.run(context),
            Verb::Export(args) => args.run(context),
            Verb::Flip(args) => args.run(context),
            Verb::Kill(args) => args.run(context),
            Verb::Age(args) => args.run(context),
            Verb::Wear(args) => args.run(context),
            Verb::Disturb(args) => args.run(context),
            Verb::Cut(args) => args.run(context),
            Verb::Stats(args) => args.run(context),
        }
    }
}

/// Changes a chip's memory, or with `--dry-run` lists the changes. Both refuse changes that the chip does not allow.
fn alter(
    image: &Container,
    writer: &Writer,
    context: &Context,
    say: impl FnOnce(&ChipFile) -> Outcome<Vec<String>>,
    apply: impl FnOnce(&mut ChipFile) -> Outcome,
) -> Outcome {
    let mut chip = open_container(&image.image, Access::write_unless(writer.dry_run))?;
    let lines = say(&chip)?;
    if writer.dry_run {
        return output::lines(lines);
    }
    apply(&mut chip)?;
    close(chip, context)
}

/// The same for changes that no chip refuses.
fn set(
    image: &Container,
    writer: &Writer,
    context: &Context,
    lines: Vec<String>,
    apply: impl FnOnce(&mut ChipFile),
) -> Outcome {
    alter(
        image,
        writer,
        context,
        |_| Ok(lines),
        |chip| {
            apply(chip);
            Ok(())
        },
    )
}

/// Writes a changed chip back and takes in its figures.
fn close(mut chip: ChipFile, context: &Context) -> Outcome {
    let flushed = chip.flush().map_err(|error| Failure::new(error.to_string()));
    context.meter.add(chip.stats());
    flushed
}

fn checked_page(chip: &ChipFile, page: u32) -> Outcome<PageId> {
    let pages = chip.geometry().pages();
    if u64::from(page) >= pages {
        return Err(Failure::new(format!("no page {page}: the chip has pages 0 to {}", pages - 1)));
    }
    Ok(PageId(page))
}

fn checked_block(chip: &ChipFile, block: u32) -> Outcome<BlockId> {
    let blocks = chip.geometry().blocks;
    if block >= blocks {
        return Err(Failure::new(format!("no block {block}: the chip has blocks 0 to {}", blocks - 1)));
    }
    Ok(BlockId(block))
}
