//! `pumice cat`: the content of files.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
};

use pumice_vfs::{FileKind, FileSystem};

use crate::{
    context::Context,
    failure::{Failure, Outcome},
    image::{Access, with_volume},
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
            for path in &self.paths {
                print(fs, path, &mut output)?;
            }
            output.finish()
        })
    }
}

fn print(fs: &dyn FileSystem, path: &OsStr, output: &mut Output) -> Outcome {
    let found = path::find_target(fs, path)?;
    match found.kind {
        FileKind::File => {}
        FileKind::Dir => {
            return Err(Failure::new(format!(
                "{}: is a directory; list it with `pumice ls`",
                path.display()
            )));
        }
        other => {
            return Err(Failure::new(format!(
                "{}: a {} has no content in an image",
                path.display(),
                crate::text::kind(other)
            )));
        }
    }
    let mut buffer = vec![0; CHUNK];
    let mut at = 0;
    loop {
        let got =
            fs.read(found.ino, at, &mut buffer).map_err(|error| Failure::inside(path.as_bytes(), &error))?;
        if got == 0 {
            return Ok(());
        }
        output.bytes(buffer.get(..got).unwrap_or_default())?;
        at += got as u64;
    }
}
