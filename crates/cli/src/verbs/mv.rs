//! `pumice mv`: renames and moves.

use std::{ffi::OsString, os::unix::ffi::OsStrExt};

use pumice_vfs::{FileKind, FileSystem, Ino, RenameMode};

use crate::{
    context::Context,
    failure::{Failure, Outcome},
    image::{Access, with_volume},
    options::Writer,
    output, path, text,
    verbs::Writable,
};

/// Rename or move something inside an image
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Writable,
    /// Path to move
    from: OsString,
    /// Its new path, or a directory to move it into
    to: OsString,
    /// Fail if the new name is taken
    #[arg(short, long, conflicts_with = "exchange")]
    no_clobber: bool,
    /// Swap the two
    #[arg(long)]
    exchange: bool,
    #[command(flatten)]
    writer: Writer,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        let access = Access::write_unless(self.writer.dry_run);
        with_volume(&self.image.image, access, context, |fs| self.rename(fs))
    }

    fn rename(&self, fs: &dyn FileSystem) -> Outcome {
        let (dir, name) = path::split(fs, &self.from)?;
        fs.lookup(dir, name).map_err(|error| Failure::inside(self.from.as_bytes(), &error))?;
        let (to_dir, to_name) = self.target(fs, name)?;
        if self.writer.dry_run {
            let to = if to_name == name { self.to.as_bytes().to_vec() } else { to_name.to_vec() };
            return output::lines([format!("would move {} to {}", text::path(&self.from), text::name(&to))]);
        }
        let mode = match (self.no_clobber, self.exchange) {
            (true, _) => RenameMode::NoReplace,
            (_, true) => RenameMode::Exchange,
            _ => RenameMode::Replace,
        };
        fs.rename(dir, name, to_dir, to_name, mode).map_err(|error| {
            Failure::new(format!("{} to {}: {error}", self.from.display(), self.to.display()))
        })
    }

    /// The target: the old name in a directory that is there; otherwise the path itself.
    fn target<'a>(&'a self, fs: &dyn FileSystem, name: &'a [u8]) -> Outcome<(Ino, &'a [u8])> {
        match path::find_target(fs, &self.to) {
            Ok(found) if found.kind == FileKind::Dir && !self.exchange => Ok((found.ino, name)),
            _ => path::split(fs, &self.to),
        }
    }
}
