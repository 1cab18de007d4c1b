//! `pumice ftl create`: makes a chip with a logical disk.

use std::path::PathBuf;

use pumice_cleaning::registry::{PlacementRule, VictimRule, WearRule};
use pumice_ftl::{CreateOptions, Export, PolicyNames};
use pumice_media::{ChipFile, Nand, SimChip};

use crate::{
    chip_choice::{Spec, would_create},
    context::Context,
    failure::{Failure, Outcome},
    image,
    metered::Metered,
    options::Writer,
    output,
    progress::Progress,
    size,
    staged::{self, Staged},
    text,
};

/// Make a container for a simulated chip with a logical disk on it
#[derive(clap::Args, Debug)]
#[command(after_help = "`pumice sim --help` lists the policies.")]
pub(crate) struct Args {
    #[command(flatten)]
    spec: Spec,
    /// Size of the disk, or its share of the chip; a smaller disk needs less cleaning
    #[arg(long, value_name = "SIZE|PERCENT%", default_value = "87.5%", value_parser = export)]
    export: Export,
    /// Bytes of a logical block, a power of two from 512 to 64k
    #[arg(long, value_name = "SIZE", default_value = "4096", value_parser = size::parse)]
    block: u64,
    /// Policy that chooses the segment to clean next
    #[arg(long, value_name = "NAME", default_value_t)]
    victim: VictimRule,
    /// Policy that chooses the head for a block
    #[arg(long, value_name = "NAME", default_value_t)]
    placement: PlacementRule,
    /// Policy that chooses the next free segment, and the cold data to move
    #[arg(long, value_name = "NAME", default_value_t)]
    wear: WearRule,
    /// Log pages of each segment that hold parity over the others, up to 8: so many of a segment may become unreadable
    #[arg(long, value_name = "K", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=8))]
    parity_pages: u8,
    /// UUID of the disk [default: random]
    #[arg(short = 'U', long)]
    uuid: Option<uuid::Uuid>,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    writer: Writer,
    /// Container to make
    image: PathBuf,
}

/// A size, or a share of the chip in percent with one digit behind the point.
fn export(text: &str) -> Result<Export, String> {
    let Some(percent) = text.strip_suffix('%') else { return size::parse(text).map(Export::Bytes) };
    let (whole, part) = percent.split_once('.').unwrap_or((percent, "0"));
    let permille = (part.len() == 1).then(|| format!("{whole}{part}").parse().ok()).flatten();
    match permille.filter(|permille| (1..1000).contains(permille)) {
        Some(permille) => Ok(Export::Permille(permille)),
        None => {
            Err(format!("invalid share `{text}` (want a percentage such as 87.5%, above 0 and below 100)"))
        }
    }
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        let spec = self.spec.needed(&self.image)?;
        let path = self.image.display();
        let block_bytes = u32::try_from(self.block).map_err(|_| {
            Failure::usage(format!("blocks of {} bytes are too large (want at most 64k)", self.block))
        })?;
        let uuid = self.uuid.unwrap_or_else(uuid::Uuid::new_v4);
        let policies = PolicyNames { victim: self.victim, placement: self.placement, wear: self.wear };
        let options = CreateOptions {
            block_bytes,
            export: self.export,
            policies,
            uuid: uuid.into_bytes(),
            endurance: spec.endurance_erases(),
            parity_pages: self.parity_pages,
            erased: true,
        };
        if self.writer.dry_run {
            staged::admit(&self.image, self.force)?;
            // What a chip in memory refuses is refused.
            let tried = pumice_ftl::create(&mut SimChip::new(&spec), &options, &mut |_, _| ());
            tried.map_err(|error| image::about(&self.image, &error))?;
            let disk = format!("would make a logical disk on {path}");
            return output::lines([would_create(&self.image, &spec), disk]);
        }
        let staged = Staged::new(&self.image, self.force, &context.interrupt)?;
        let file = ChipFile::create(staged.path(), &spec, true);
        let file = file.map_err(|error| staged.explain(&image::media(staged.path(), &error)))?;
        let mut chip = Metered::new(Box::new(file), context.meter.clone());
        let geometry = chip.geometry();
        let progress = Progress::counted("create");
        let made =
            pumice_ftl::create(&mut chip, &options, &mut |done, all| progress.set(done.into(), all.into()));
        drop((progress, chip));
        let blocks = made.map_err(|error| staged.explain(&image::about(&self.image, &error)))?;
        staged.commit()?;
        let disk = text::size(u64::from(blocks) * self.block);
        let chip = format!("{}, {}", text::shape(&geometry), text::size(geometry.capacity_bytes()));
        output::lines([format!("{path}: logical disk of {disk} in {blocks} blocks, on {chip}, uuid {uuid}")])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_sizes_are_understood() {
        assert_eq!(export("87.5%"), Ok(Export::Permille(875)));
        assert_eq!(export("90%"), Ok(Export::Permille(900)));
        assert_eq!(export("20M"), Ok(Export::Bytes(20 << 20)));
        for wrong in ["0%", "100%", "87.55%", "%", "-1%", "a%", "87.%"] {
            assert!(export(wrong).is_err(), "{wrong}");
        }
    }
}
