//! `pumice undelete`: lists files that were deleted, and copies them out.

use std::{ffi::OsString, os::unix::ffi::OsStrExt, path::PathBuf};

use pumice_f2fs::rescue::Deleted;
use pumice_vfs::{FileSystem, Ino};
use serde_json::Map;

use super::rescue::IN_PART;
use crate::{
    context::Context,
    document,
    failure::Outcome,
    image::undeleted,
    options::Reader,
    output::{Entries, Output},
    text,
    verbs::{F2fsImage, find::glob, get},
};

/// List or copy out files that were deleted from an F2FS volume
///
/// Without DIR it lists them: whether everything of a file is there, its bytes, its last path. With DIR it copies those of
/// which everything is there to DIR/sure. The others go to DIR/uncertain: parts may be gone, or another file's. What the kernel
/// or a mount has discarded is gone.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: F2fsImage,
    /// Only files whose path or name matches: `*` is any text, `?` any character
    pattern: Option<OsString>,
    /// Directory to copy into
    dir: Option<PathBuf>,
    /// Replace existing files
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    reader: Reader,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome<u8> {
        let pattern = self.pattern.as_deref().map(OsStrExt::as_bytes);
        let is_wanted = |path: &[u8]| {
            let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            pattern.is_none_or(|pattern| glob(pattern, path) || glob(pattern, name))
        };
        let (undelete, devices) = undeleted(&self.image.image, context, &is_wanted)?;
        self.list(undelete.files())?;
        let Some(dir) = &self.dir else { return Ok(0) };
        let root = undelete.view().attr(Ino::ROOT)?;
        let losses = get::copy(undelete.view(), &devices, self.force, context, (&b"/"[..], dir), &root)?;
        let is_whole = losses.count() == 0 && undelete.files().iter().all(|file| file.is_sure);
        Ok(if is_whole { 0 } else { IN_PART })
    }

    fn list(&self, files: &[Deleted]) -> Outcome {
        if self.reader.json {
            let mut entries = Entries::new("undelete");
            files.iter().try_for_each(|file| entries.add(&entry(file)))?;
            return entries.finish(0);
        }
        let mut output = Output::new();
        for file in files {
            let trust = if file.is_sure { "sure" } else { "uncertain" };
            output.line(format!("{trust:9} {:>12} {}", file.size, text::name(&file.path)))?;
        }
        output.finish()
    }
}

fn entry(file: &Deleted) -> Map<String, serde_json::Value> {
    let mut map = Map::new();
    document::put_bytes(&mut map, "path", &file.path);
    map.insert("inode".into(), file.ino.0.into());
    map.insert("size_bytes".into(), file.size.into());
    map.insert("sure".into(), file.is_sure.into());
    map
}
