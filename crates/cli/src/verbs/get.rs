//! `pumice get`: copies from an image to the host.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use pumice_vfs::{Attr, FileKind, FileSystem};

use crate::{
    context::Context,
    failure::{Failure, Outcome},
    image::{Access, Shared, devices, with_volume},
    losses::Losses,
    options::Writer,
    output::Output,
    path,
    progress::Progress,
    text,
    tree::{
        pull::Pull,
        walk::{Step, walk},
    },
    verbs::Image,
};

/// Copy a file or a tree out of an image, with modes, times, links, attributes and holes
///
/// As root it keeps owners and makes device nodes.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Image,
    /// Path to copy
    path: OsString,
    /// Target: a new name, or a directory to copy into
    #[arg(default_value = ".")]
    target: PathBuf,
    /// Replace existing files
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    writer: Writer,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        with_volume(&self.image.image, Access::Read, context, |fs| {
            let found = path::find(fs, &self.path)?;
            let target = self.target(&found);
            let ends = (self.path.as_bytes(), target.as_path());
            if self.writer.dry_run {
                return say(fs, &found, ends)?.end();
            }
            let devices = devices(&self.image.image)?;
            copy(fs, &devices, self.force, context, ends, &found)?.end()
        })
    }

    /// The target: a name in a directory that is there, under the same name. The root has no name: its content goes in.
    fn target(&self, found: &Attr) -> PathBuf {
        let name = self.path.as_bytes().rsplit(|byte| *byte == b'/').find(|name| !name.is_empty());
        let name = name.filter(|name| *name != b"." && *name != b"..");
        match name {
            Some(name) if self.target.is_dir() && found.ino != pumice_vfs::Ino::ROOT => {
                self.target.join(OsStr::from_bytes(name))
            }
            _ => self.target.clone(),
        }
    }
}

/// Copies `found` from the first of two ends, a path in an image, to the second on the host; returns what cannot be read.
pub(crate) fn copy(
    fs: &Shared,
    devices: &[File],
    force: bool,
    context: &Context,
    ends: (&[u8], &Path),
    found: &Attr,
) -> Outcome<Losses> {
    context.interrupt.watch()?;
    let progress = Progress::bytes("get");
    if progress.is_shown() {
        progress.set_total(measure(fs, ends.0, found)?);
    }
    let losses = Losses::default();
    let pull = Pull::new(fs, devices, force, (&progress, &context.interrupt), &losses, ends);
    pull.run(found).map_err(|failure| match context.interrupt.check() {
        Ok(()) => failure,
        Err(interrupted) => interrupted.and("the files that are there are whole"),
    })?;
    Ok(losses)
}

/// Says what [`copy`] would write.
pub(crate) fn say(fs: &dyn FileSystem, found: &Attr, (path, target): (&[u8], &Path)) -> Outcome<Losses> {
    let mut output = Output::new();
    let losses = Losses::default();
    walk(fs, path, found, &losses, &mut |step, place| match step {
        Step::Leave => Ok(()),
        Step::Enter => {
            let below = text::name(place.path.get(path.len()..).unwrap_or_default());
            let below = below.trim_start_matches('/');
            let target = if below.is_empty() { target.to_path_buf() } else { target.join(below) };
            output.line(format!("would write {} ({})", text::path(target), text::kind(place.attr.kind)))
        }
    })?;
    output.finish()?;
    Ok(losses)
}

/// Bytes of all files of a tree.
fn measure(fs: &dyn FileSystem, path: &[u8], start: &Attr) -> Outcome<u64> {
    let mut bytes = 0_u64;
    walk(fs, path, start, &Losses::silent(), &mut |step, place| {
        if matches!(step, Step::Enter) && place.attr.kind == FileKind::File {
            bytes = bytes.saturating_add(place.attr.size);
        }
        Ok::<(), Failure>(())
    })?;
    Ok(bytes)
}
