//! `pumice nand import`: fills a container from a raw dump.

use std::{fs::File, path::PathBuf};

use pumice_media::{ChipFile, MediaError};

use crate::{
    chip_choice::Spec,
    context::Context,
    failure::{Failure, Outcome},
    image::{self, Access, open_container},
    options::Writer,
    output,
    software_ecc::{Correcting, Found},
    staged::Staged,
};

/// Fill a simulated chip from a raw dump (each page, then its spare area, as nanddump --oob writes it)
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    spec: Spec,
    /// Replace the old contents of the container
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
        let mut dump = self.open_dump()?;
        let exists = self.image.exists();
        if exists && !self.force {
            let path = self.image.display();
            return Err(Failure::new(format!("{path}: exists already; use --force to replace its contents")));
        }
        if !exists {
            self.spec.needed(&self.image)?;
        }
        if self.writer.dry_run {
            let (from, to) = (self.dump.display(), self.image.display());
            return output::lines([format!("would fill {to} from {from}")]);
        }
        let (staged, mut chip) = self.open(context)?;
        let found = self.fill(&mut chip, &mut dump).map_err(|failure| staged.explain(&failure))?;
        super::close(chip, context).map_err(|failure| staged.explain(&failure))?;
        staged.commit()?;
        found.map_or(Ok(()), |found| self.report(&found))
    }

    /// Fills the chip; the results of the codes, if there are any.
    fn fill(&self, chip: &mut ChipFile, dump: &mut File) -> Outcome<Option<Found>> {
        let about = |error: MediaError| image::about(&self.dump, &error);
        let Some(code) = self.spec.ecc() else {
            return chip.import_dump(dump).map(|()| None).map_err(about);
        };
        let mut dump = Correcting::new(dump, code.of(chip.spec())?, chip.spec());
        chip.import_dump(&mut dump).map_err(about)?;
        let found = dump.found();
        if found.pages > 0 && found.lost.len() as u64 == found.pages {
            let path = self.dump.display();
            return Err(Failure::new(format!("{path}: no page fits its codes: they are of another kind")));
        }
        chip.faults_mut().unreadable.extend(&found.lost);
        Ok(Some(found))
    }

    /// Reports the corrections; a failure if something could not be corrected.
    fn report(&self, found: &Found) -> Outcome {
        let (dump, image) = (self.dump.display(), self.image.display());
        let Found { pages, corrected, lost } = found;
        output::lines([format!("{dump}: {pages} pages, wrong bits corrected in {corrected}")])?;
        match lost.as_slice() {
            [] => Ok(()),
            [first, ..] => Err(Failure::new(format!(
                "{dump}: {} pages have more wrong bits than their codes correct, first page {}; they are unreadable in {image}",
                lost.len(),
                first.0
            ))),
        }
    }

    fn open_dump(&self) -> Outcome<File> {
        let failed = |error| Failure::host(&self.dump, &error);
        // Opening a pipe would wait for its other end.
        if !std::fs::metadata(&self.dump).map_err(failed)?.is_file() {
            let path = self.dump.display();
            return Err(Failure::new(format!("{path}: not a regular file, so no dump")));
        }
        File::open(&self.dump).map_err(failed)
    }

    /// A new chip if one was asked for, else a copy of the one that is there, which keeps its wear.
    fn open(&self, context: &Context) -> Outcome<(Staged, ChipFile)> {
        if let Some(spec) = self.spec.named()? {
            let staged = Staged::new(&self.image, self.force, &context.interrupt)?;
            let chip = ChipFile::create(staged.path(), &spec, true);
            let chip = chip.map_err(|error| staged.explain(&image::media(staged.path(), &error)))?;
            return Ok((staged, chip));
        }
        // Told what it is before it is copied.
        drop(open_container(&self.image, Access::Read)?);
        let staged = Staged::copy_of(&self.image, &context.interrupt)?;
        let chip = open_container(staged.path(), Access::Write)?;
        Ok((staged, chip))
    }
}
