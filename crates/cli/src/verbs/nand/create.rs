//! `pumice nand create`: makes a simulated chip.

use std::path::PathBuf;

use pumice_media::ChipFile;

use crate::{
    chip_choice::{Spec, would_create},
    context::Context,
    failure::Outcome,
    image,
    options::Writer,
    output,
    staged::{self, Staged},
};

/// Make a container for a fresh simulated chip
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    spec: Spec,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    writer: Writer,
    /// Container to make
    image: PathBuf,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        let spec = self.spec.needed(&self.image)?;
        if self.writer.dry_run {
            staged::admit(&self.image, self.force)?;
            return output::lines([would_create(&self.image, &spec)]);
        }
        let staged = Staged::new(&self.image, self.force, &context.interrupt)?;
        let made = ChipFile::create(staged.path(), &spec, true);
        made.map_err(|error| staged.explain(&image::media(staged.path(), &error)))?;
        staged.commit()
    }
}
