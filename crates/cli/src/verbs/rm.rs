//! `pumice rm`: removes files and directories.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
};

use pumice_vfs::{FileKind, FileSystem, FsError};

use crate::{
    context::Context,
    failure::{Failure, Outcome},
    image::{Access, with_volume},
    losses::Losses,
    options::Writer,
    output::Output,
    path, text,
    tree::walk::{Place, Step, walk},
    verbs::Writable,
};

/// Remove files and directories from an image
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Writable,
    /// Paths to remove
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,
    /// Remove directories with all they hold
    #[arg(short, long)]
    recursive: bool,
    /// Ignore missing paths
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    writer: Writer,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        let access = Access::write_unless(self.writer.dry_run);
        with_volume(&self.image.image, access, context, |fs| {
            let mut output = Output::new();
            let losses = Losses::default();
            for path in &self.paths {
                self.remove(fs, path, &losses, &mut output)?;
            }
            output.finish()?;
            losses.end()
        })
    }

    fn remove(&self, fs: &dyn FileSystem, path: &OsStr, losses: &Losses, output: &mut Output) -> Outcome {
        let (dir, name) = path::split(fs, path)?;
        let found = match fs.lookup(dir, name) {
            Err(error) if self.force && error.errno() == pumice_vfs::Errno::NoEntry => return Ok(()),
            found => found.map_err(|error| Failure::inside(path.as_bytes(), &error))?,
        };
        if found.kind == FileKind::Dir && !self.recursive {
            return Err(Failure::new(format!("{}: is a directory; use -r to remove it", path.display())));
        }
        walk(fs, path.as_bytes(), &found, losses, &mut |step, place| {
            let (dir, name) = if place.depth == 0 { (dir, name) } else { (place.parent, place.name) };
            let goes_now = matches!(step, Step::Leave) || place.attr.kind != FileKind::Dir;
            if !goes_now {
                return Ok(());
            }
            if self.writer.dry_run {
                return output.line(format!("would remove {}", text::name(place.path)));
            }
            unlink(fs, dir, name, place).map_err(|error| Failure::inside(place.path, &error))
        })
    }
}

fn unlink(fs: &dyn FileSystem, dir: pumice_vfs::Ino, name: &[u8], place: &Place<'_>) -> Result<(), FsError> {
    if place.attr.kind == FileKind::Dir { fs.rmdir(dir, name) } else { fs.unlink(dir, name) }
}
