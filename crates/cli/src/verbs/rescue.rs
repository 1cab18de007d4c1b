//! `pumice rescue`: copies out what is there of a damaged volume.

use std::path::PathBuf;

use pumice_f2fs::rescue::Found;
use pumice_vfs::{FileSystem, Ino};

use crate::{
    context::Context,
    failure::Outcome,
    image::rescued,
    message::complain,
    options::Writer,
    output, text,
    verbs::{F2fsImage, get},
};

/// The exit code if something is missing, or has a guessed name.
pub(super) const IN_PART: u8 = 4;

/// Copy out what is there of an F2FS volume that cannot be read any more
///
/// The whole volume is searched for files; neither checkpoints nor tables are needed. What directories name goes to DIR/tree.
/// Files whose directory is gone go to DIR/guessed, under the name that they remember: it may be an old one. Exits with 0 if
/// everything was found under its name, with 4 if something is missing or guessed.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: F2fsImage,
    /// Directory to copy into
    dir: PathBuf,
    /// UUID of a volume that has lost both super blocks, if keys of encrypted files derive from it
    #[arg(long)]
    uuid: Option<uuid::Uuid>,
    /// Replace existing files
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    writer: Writer,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome<u8> {
        let (rescue, devices) =
            rescued(&self.image.image, self.uuid.unwrap_or_default().into_bytes(), context)?;
        let (fs, ends) = (rescue.files(), (&b"/"[..], self.dir.as_path()));
        let root = fs.attr(Ino::ROOT)?;
        let losses = if self.writer.dry_run {
            get::say(fs, &root, ends)?
        } else {
            get::copy(fs, &devices, self.force, context, ends, &root)?
        };
        let found = rescue.found();
        if !found.has_super_block {
            let image = self.image.image.display();
            complain(&format!("{image}: no super block is left, so that sizes and features are guessed"));
        }
        output::lines([format!("{}: {}", self.image.image.display(), summary(found, losses.count()))])?;
        let is_whole = losses.count() + found.guessed + found.missing + found.unread == 0;
        Ok(if is_whole { 0 } else { IN_PART })
    }
}

fn summary(found: &Found, losses: u64) -> String {
    let directories = text::count(found.directories, "directory", "directories");
    let files = text::count(found.files, "other file", "other files");
    let mut parts = vec![format!("{directories} and {files} under their names")];
    let mut tell = |count: u64, one: &str, many: &str| {
        parts.extend((count > 0).then(|| text::count(count, one, many)));
    };
    tell(found.guessed, "under a guessed name", "under guessed names");
    tell(losses, "thing could not be read", "things could not be read");
    tell(found.unread, "block could not be read", "blocks could not be read");
    tell(found.deleted.len() as u64, "was probably deleted", "were probably deleted");
    parts.join(", ")
}
