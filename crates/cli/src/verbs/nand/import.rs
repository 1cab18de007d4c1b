//! `pumice nand import`: a raw dump into a container.

use std::{fs::File, path::PathBuf};

use pumice_media::ChipFile;

use crate::{
    chip_choice::Spec,
    context::Context,
    failure::{Failure, Outcome},
    image::{self, Access, open_container},
    options::Writer,
    output,
};

/// Fill a simulated chip from a raw dump: each page followed by its spare area, as nanddump --oob writes it
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    spec: Spec,
    /// Replace what the container holds
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    writer: Writer,
    /// The raw dump
    dump: PathBuf,
    /// The container; made if it is not there
    image: PathBuf,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        let mut dump = File::open(&self.dump).map_err(|error| Failure::host(&self.dump, &error))?;
        let exists = self.image.exists();
        if exists && !self.force {
            let path = self.image.display();
            return Err(Failure::new(format!(
                "{path}: exists already; use --force to replace what it holds"
            )));
        }
        if !exists {
            self.spec.needed(&self.image)?;
        }
        if self.writer.dry_run {
            let (from, to) = (self.dump.display(), self.image.display());
            return output::lines([format!("would fill {to} from {from}")]);
        }
        let mut chip = self.open()?;
        if let Err(error) = chip.import_dump(&mut dump) {
            drop(chip);
            if !exists {
                // Ours, and it holds nothing; the dump's own failure is the one to tell.
                let _ = std::fs::remove_file(&self.image);
            }
            return Err(Failure::new(format!("{}: {error}", self.dump.display())));
        }
        super::close(chip, context)
    }

    /// A new chip if one was asked for, else the one that is there.
    fn open(&self) -> Outcome<ChipFile> {
        match self.spec.wanted()? {
            Some(spec) => ChipFile::create(&self.image, &spec, self.force)
                .map_err(|error| image::media(&self.image, &error)),
            None => open_container(&self.image, Access::Write),
        }
    }
}
