//! `pumice nand export`: a chip as a raw dump.

use std::{
    fs::{File, OpenOptions},
    io::{BufWriter, ErrorKind, IsTerminal, Write, stdout},
    path::PathBuf,
};

use crate::{
    context::Context,
    failure::{Failure, Outcome},
    image::{Access, open_container},
    options::Writer,
    output,
    verbs::Image,
};

/// Write a simulated chip as a raw dump: each page followed by its spare area, as nanddump --oob does
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Image,
    /// The dump to write; - for standard output
    dump: PathBuf,
    /// Replace a file that is there already
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    writer: Writer,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        let mut chip = open_container(&self.image.image, Access::Read)?;
        if self.writer.dry_run {
            let (from, to) = (self.image.image.display(), self.dump.display());
            return output::lines([format!("would write a dump of {from} to {to}")]);
        }
        let out: Box<dyn Write> = if self.dump.as_os_str() != "-" {
            Box::new(self.create()?)
        } else if stdout().is_terminal() {
            return Err(Failure::usage("a dump is not for a terminal; name a file"));
        } else {
            Box::new(stdout())
        };
        chip.export_dump(&mut BufWriter::with_capacity(1 << 20, out))
            .map_err(|error| Failure::new(format!("{}: {error}", self.dump.display())))?;
        super::close(chip, context)
    }

    fn create(&self) -> Outcome<File> {
        let mut options = OpenOptions::new();
        options.write(true).truncate(self.force).create(self.force).create_new(!self.force);
        options.open(&self.dump).map_err(|error| {
            let failure = Failure::host(&self.dump, &error);
            match error.kind() {
                ErrorKind::AlreadyExists => Failure::new(format!("{failure}; use --force to replace it")),
                _ => failure,
            }
        })
    }
}
