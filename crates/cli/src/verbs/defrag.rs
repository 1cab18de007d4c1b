//! `pumice defrag`: writes scattered files of F2FS anew.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
};

use pumice_f2fs::WritableF2fs;
use pumice_vfs::{Attr, FileKind, FileSystem, FsError, Ino};

use crate::{
    context::Context,
    failure::{Failure, Outcome},
    image::{only_writable_f2fs, with_writable_f2fs},
    losses::Losses,
    options::Writer,
    output::Output,
    path, text,
    tree::walk::{Place, Step, walk},
    verbs::{F2fsImage, map},
};

/// Write scattered files of F2FS anew, each in one row
///
/// A file goes to free segments behind each other. It stays as it is if there is no room for it in fewer extents than it has:
/// `pumice clean --all` makes room. Prints the extents before and after. If power fails all files are there.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: F2fsImage,
    /// Files, and directories with all below them; everything if there is none
    #[arg(value_name = "PATH", default_value = "/", hide_default_value = true)]
    paths: Vec<OsString>,
    #[command(flatten)]
    writer: Writer,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        if self.writer.dry_run {
            let fs = only_writable_f2fs(&self.image.image, context)?;
            return self.each(&fs, &mut |place| {
                let (inode, _) = fs.inode(place.attr.ino)?;
                let rows = map::rows(&fs, place.attr)?;
                Ok((rows > 1 && !inode.is_pinned())
                    .then(|| format!("would write {} anew: {rows} extents", text::name(place.path))))
            });
        }
        with_writable_f2fs(&self.image.image, context, |fs| {
            self.each(fs, &mut |place| {
                let (before, after) = written(fs, place.attr.ino)?;
                let line = || format!("{}: {before} -> {after} extents", text::name(place.path));
                Ok((before > 1).then(line))
            })
        })
    }

    /// Does something to each file and directory, and prints its line.
    fn each(
        &self,
        fs: &dyn FileSystem,
        work: &mut dyn FnMut(&Place<'_>) -> Result<Option<String>, FsError>,
    ) -> Outcome {
        let (losses, mut output) = (Losses::default(), Output::new());
        for shown in &self.paths {
            let start: Attr = path::find(fs, OsStr::new(shown))?;
            walk(fs, shown.as_bytes(), &start, &losses, &mut |step, place| {
                let has_blocks =
                    matches!(place.attr.kind, FileKind::File | FileKind::Dir | FileKind::Symlink);
                if !matches!(step, Step::Enter) || !has_blocks {
                    return Ok(());
                }
                match work(place).map_err(|error| Failure::inside(place.path, &error)) {
                    Ok(Some(line)) => output.line(line),
                    Ok(None) => Ok(()),
                    Err(failure) => {
                        losses.add(&failure);
                        Ok(())
                    }
                }
            })?;
        }
        output.finish()?;
        losses.end()
    }
}

/// The extents of a file before it was written anew, and behind that.
fn written(fs: &WritableF2fs, ino: Ino) -> Result<(u64, u64), FsError> {
    let (_, before) = fs.rows(ino)?;
    if before > 1 {
        fs.defragment(ino)?;
    }
    Ok((before, fs.rows(ino)?.1))
}
