//! `pumice cat`: prints files.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
};

use pumice_vfs::{FileKind, FileSystem, Ino};

use crate::{
    context::Context,
    failure::{Failure, Outcome},
    image::{Access, with_volume},
    losses::Losses,
    output::Output,
    path,
    tree::CHUNK,
    verbs::Image,
};

/// Print files of an image; links are followed inside the image
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Image,
    /// Files to print
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        with_volume(&self.image.image, Access::Read, context, |fs| {
            let mut output = Output::new();
            let losses = Losses::default();
            for path in &self.paths {
                let printed = match file(fs, path) {
                    Ok(found) => print(fs, path, found, &mut output)?,
                    Err(failure) => Err(failure),
                };
                losses.pass_named(printed, self.paths.len())?;
            }
            output.finish()?;
            losses.end()
        })
    }
}

/// The file at a path; nothing else has content.
fn file(fs: &dyn FileSystem, path: &OsStr) -> Outcome<Ino> {
    let found = path::find_target(fs, path)?;
    match found.kind {
        FileKind::File => Ok(found.ino),
        FileKind::Dir => {
            Err(Failure::new(format!("{}: is a directory; list it with `pumice ls`", path.display())))
        }
        other => Err(Failure::new(format!(
            "{}: a {} has no content in an image",
            path.display(),
            crate::text::kind(other)
        ))),
    }
}

/// Prints a file up to the first byte that cannot be read: the inner result. The outer one is that of printing.
fn print(fs: &dyn FileSystem, path: &OsStr, ino: Ino, output: &mut Output) -> Outcome<Outcome> {
    let mut buffer = vec![0; CHUNK];
    let mut at = 0;
    loop {
        let got = match fs.read(ino, at, &mut buffer) {
            Ok(got) => got,
            Err(error) => return Ok(Err(Failure::inside(path.as_bytes(), &error))),
        };
        if got == 0 {
            return Ok(Ok(()));
        }
        output.bytes(buffer.get(..got).unwrap_or_default())?;
        at += got as u64;
    }
}
