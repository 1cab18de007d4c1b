//! `pumice ln`: makes hard and symbolic links.

use std::{ffi::OsString, os::unix::ffi::OsStrExt};

use pumice_vfs::{FileKind, FileSystem, NewNode};

use crate::{
    context::Context,
    failure::{Failure, Outcome},
    image::{Access, with_volume},
    options::Writer,
    output, path,
    verbs::Writable,
};

/// Make a hard or symbolic link inside an image
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Writable,
    /// Target of the link; with -s any text
    target: OsString,
    /// Path of the link
    link: OsString,
    /// Make a symbolic link
    #[arg(short, long)]
    symbolic: bool,
    #[command(flatten)]
    writer: Writer,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        let access = Access::write_unless(self.writer.dry_run);
        with_volume(&self.image.image, access, context, |fs| self.link(fs))
    }

    fn link(&self, fs: &dyn FileSystem) -> Outcome {
        let (dir, name) = path::split(fs, &self.link)?;
        let target = if self.symbolic { None } else { Some(path::find(fs, &self.target)?) };
        if self.writer.dry_run {
            let kind = if self.symbolic { "symbolic" } else { "hard" };
            let line =
                format!("would make the {kind} link {} to {}", self.link.display(), self.target.display());
            return output::lines([line]);
        }
        let made = if let Some(target) = target {
            fs.link(target.ino, dir, name)
        } else {
            let (uid, gid) = super::put::owner();
            let target = self.target.as_bytes();
            fs.create(dir, name, &NewNode { kind: FileKind::Symlink, perm: 0o777, uid, gid, rdev: 0, target })
        };
        made.map(drop).map_err(|error| Failure::inside(self.link.as_bytes(), &error))
    }
}
