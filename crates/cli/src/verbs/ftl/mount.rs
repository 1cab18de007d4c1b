//! `pumice ftl mount`: shows a logical disk as a file, for mkfs and loop devices.

use crate::{
    context::Context,
    failure::Outcome,
    image::Volume,
    verbs::{LogicalDisk, mount::How},
};

/// Mount a directory with a logical disk as its file `disk`
///
/// Runs in the foreground until the directory is unmounted, as `pumice mount` does. fsync(2) of the file flushes the
/// disk; a hole punched with fallocate(2) is trimmed.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: LogicalDisk,
    #[command(flatten)]
    how: How,
}

impl Args {
    pub(crate) fn how_mut(&mut self) -> &mut How {
        &mut self.how
    }

    pub(crate) fn run(&self, context: &Context) -> Outcome {
        self.how.run(&self.image.image, &["ftl", "mount"], context, Volume::open_disk)
    }
}
