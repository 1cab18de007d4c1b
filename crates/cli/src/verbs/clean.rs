//! `pumice clean`: empties sections of F2FS that hold little.

use std::path::Path;

use pumice_f2fs::{SegNo, Volume as Tables};
use pumice_vfs::FsError;

use crate::{
    context::Context,
    failure::{Failure, Outcome},
    image::{Access, Volume, only_f2fs},
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
            let (free, all) =
                sections(only_f2fs(path, context)?.volume()).map_err(|error| failed(path, &error))?;
            let wanted = self.wanted(all).min(all);
            return output::lines([format!(
                "would clean until {wanted} of {all} sections are free: {free} are"
            )]);
        }
        let volume = Volume::open(path, Access::Write, context)?;
        let done = match volume.f2fs() {
            Some(fs) => {
                let (before, all) = fs.sections();
                let cleaned = fs.clean(self.wanted(all)).map_err(|error| failed(path, &error));
                cleaned.map(|()| format!("free_sections: {before} -> {} of {all}", fs.sections().0))
            }
            None => Err(Failure::new(format!("{}: not F2FS", path.display()))),
        };
        volume.close()?;
        output::lines([done?])
    }

    /// Sections that are to be free.
    fn wanted(&self, all: u32) -> u32 {
        if self.all { u32::MAX } else { self.to_free.unwrap_or(all / SHARE) }
    }
}

fn failed(path: &Path, error: &pumice_f2fs::Error) -> Failure {
    Failure::new(format!("{}: {}", path.display(), FsError::from(error.clone())))
}

/// Sections that are free, and all.
fn sections(volume: &Tables) -> Result<(u32, u32), pumice_f2fs::Error> {
    let section = volume.super_block().raw().segs_per_sec.get();
    let all = volume.super_block().main_segments() / section;
    let mut free = 0;
    for first in (0..all).map(|at| at * section) {
        let mut is_free = true;
        for segno in (first..first + section).map(SegNo) {
            let is_open = volume.log_heads().iter().any(|head| head.segno == segno);
            is_free &= !is_open && volume.sit_entry(segno)?.bits() == 0;
        }
        free += u32::from(is_free);
    }
    Ok((free, all))
}
