//! `pumice nand create`: a fresh simulated chip.

use std::path::PathBuf;

use pumice_media::ChipFile;

use crate::{
    chip_choice::{Spec, would_create},
    failure::{Failure, Outcome},
    image,
    options::Writer,
    output,
};

/// Make a container for a fresh simulated chip
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    spec: Spec,
    /// Replace a file that is there already
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    writer: Writer,
    /// The container to make
    image: PathBuf,
}

impl Args {
    pub(crate) fn run(&self) -> Outcome {
        let spec = self.spec.needed(&self.image)?;
        if self.image.exists() && !self.force {
            let path = self.image.display();
            return Err(Failure::new(format!("{path}: exists already; use --force to replace it")));
        }
        if self.writer.dry_run {
            return output::lines([would_create(&self.image, &spec)]);
        }
        let made = ChipFile::create(&self.image, &spec, self.force);
        made.map(drop).map_err(|error| image::media(&self.image, &error))
    }
}
