//! `pumice nand export`: writes a raw dump of a chip.

use std::{
    io::{BufWriter, ErrorKind, IsTerminal, Write, stdout},
    path::PathBuf,
};

use pumice_media::{ChipFile, MediaError};

use crate::{
    context::Context,
    failure::{Failure, Outcome},
    image::{self, Access, open_container},
    interrupt::Watched,
    options::Writer,
    output,
    software_ecc::{Code, Sealing},
    staged::{self, Staged},
    verbs::Container,
};

/// Write a simulated chip as a raw dump: each page followed by its spare area, as nanddump --oob does
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Container,
    /// The dump to write; - for standard output
    dump: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    /// Write codes as Linux and U-Boot keep them in the spare area, for a chip without ECC of its own
    #[arg(long, value_name = "CODE")]
    ecc: Option<Code>,
    #[command(flatten)]
    writer: Writer,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        let mut chip = open_container(&self.image.image, Access::Read)?;
        if self.writer.dry_run {
            if self.dump.as_os_str() != "-" {
                staged::admit(&self.dump, self.force)?;
            }
            let (from, to) = (self.image.image.display(), self.dump.display());
            return output::lines([format!("would write a dump of {from} to {to}")]);
        }
        if self.dump.as_os_str() != "-" {
            let staged = Staged::new(&self.dump, self.force, &context.interrupt)?;
            let out = Watched::new(staged.open()?, &context.interrupt);
            self.write(&mut chip, out).map_err(|failure| staged.explain(&failure))?;
            staged.commit()?;
        } else if stdout().is_terminal() {
            return Err(Failure::usage("a dump is not for a terminal; name a file"));
        } else {
            self.write(&mut chip, stdout())?;
        }
        super::close(chip, context)
    }

    fn write(&self, chip: &mut ChipFile, out: impl Write) -> Outcome {
        let mut out = BufWriter::with_capacity(1 << 20, out);
        let written = match self.ecc {
            None => chip.export_dump(&mut out),
            Some(code) => {
                let spec = chip.spec().clone();
                chip.export_dump(&mut Sealing::new(out, code.of(&spec)?, &spec))
            }
        };
        match written {
            Ok(_) => Ok(()),
            // The reader has had enough.
            Err(MediaError::Dump { source, .. }) if source.kind() == ErrorKind::BrokenPipe => {
                Err(Failure::new(""))
            }
            Err(MediaError::Dump { source, .. }) => Err(Failure::host(&self.dump, &source)),
            Err(error) => Err(image::about(&self.dump, &error)),
        }
    }
}
