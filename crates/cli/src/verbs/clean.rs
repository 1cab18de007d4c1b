//! `pumice clean`: empties sections of F2FS that hold little.

use std::path::Path;

use pumice_vfs::FsError;

use crate::{
    context::Context,
    failure::{Failure, Outcome},
    image::{only_writable_f2fs, with_writable_f2fs},
    options::Writer,
    output,
    verbs::F2fsImage,
};

/// One section in so many is to be free, as a mount has it while it is idle.
const SHARE: u32 = 10;

/// Empty sections of F2FS that hold few blocks
///
/// Their blocks are written elsewhere, close together, the emptiest sections first. Sections that are full to more than
/// seven eighths stay. Without an option one section in ten is to be free. If power fails all files are there.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: F2fsImage,
    /// Stop once so many sections are free
    #[arg(long, value_name = "N", conflicts_with = "all")]
    to_free: Option<u32>,
    /// Go on as long as it gains anything
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    writer: Writer,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        let path = &self.image.image;
        if self.writer.dry_run {
            let sections = only_writable_f2fs(path, context)?.volume().sections();
            let (free, all) = sections.map_err(|error| failed(path, &error))?;
            let wanted = self.wanted(all).min(all);
            return output::lines([format!(
                "would clean until {wanted} of {all} sections are free: {free} are"
            )]);
        }
        let line = with_writable_f2fs(path, context, |fs| {
            let (before, all) = fs.sections();
            fs.clean(self.wanted(all)).map_err(|error| failed(path, &error))?;
            Ok(format!("free_sections: {before} -> {} of {all}", fs.sections().0))
        })?;
        output::lines([line])
    }

    /// Sections that are to be free.
    fn wanted(&self, all: u32) -> u32 {
        if self.all { u32::MAX } else { self.to_free.unwrap_or(all / SHARE) }
    }
}

fn failed(path: &Path, error: &pumice_f2fs::Error) -> Failure {
    Failure::new(format!("{}: {}", path.display(), FsError::from(error.clone())))
}
