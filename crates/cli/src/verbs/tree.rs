//! `pumice tree`: draws a tree.

use std::{ffi::OsString, os::unix::ffi::OsStrExt};

use pumice_vfs::{FileKind, FileSystem};
use serde_json::Map;

use crate::{
    context::Context,
    document,
    failure::{Failure, Outcome},
    image::{Access, with_volume},
    losses::Losses,
    options::Reader,
    output::{Entries, Output},
    path, text,
    tree::walk::{Place, Step, walk},
    verbs::Image,
};

/// Show a directory of an image and all below it
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Image,
    /// Directory to search
    #[arg(default_value = "/")]
    path: OsString,
    #[command(flatten)]
    reader: Reader,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        with_volume(&self.image.image, Access::Read, context, |fs| {
            let losses = Losses::default();
            if self.reader.json { self.print_json(fs, &losses) } else { self.draw(fs, &losses) }?;
            losses.end()
        })
    }

    fn visit(
        &self,
        fs: &dyn FileSystem,
        losses: &Losses,
        each: &mut dyn FnMut(&Place<'_>, Option<Vec<u8>>) -> Outcome,
    ) -> Outcome {
        let start = path::find_target(fs, &self.path)?;
        walk(fs, self.path.as_bytes(), &start, losses, &mut |step, place| match step {
            Step::Leave => Ok(()),
            Step::Enter => {
                let link =
                    (place.attr.kind == FileKind::Symlink).then(|| fs.readlink(place.attr.ino)).transpose();
                // A dangling link is listed too.
                let link = losses.pass(link.map_err(|error| Failure::inside(place.path, &error)));
                each(place, link.flatten())
            }
        })
    }

    fn draw(&self, fs: &dyn FileSystem, losses: &Losses) -> Outcome {
        let mut output = Output::new();
        let (mut dirs, mut files) = (0_u64, 0_u64);
        // For each level above, whether a line goes on down to later entries.
        let mut open: Vec<bool> = Vec::new();
        self.visit(fs, losses, &mut |place, target| {
            let is_dir = place.attr.kind == FileKind::Dir;
            *(if is_dir { &mut dirs } else { &mut files }) += 1;
            if place.depth == 0 {
                return output.line(text::name(place.path));
            }
            open.truncate(place.depth - 1);
            let stem: String = open.iter().map(|open| if *open { "│   " } else { "    " }).collect();
            open.push(!place.last);
            let branch = if place.last { "└── " } else { "├── " };
            let arrow = target.map(|target| format!(" -> {}", text::name(&target))).unwrap_or_default();
            output.line(format!("{stem}{branch}{}{arrow}", text::name(place.name)))
        })?;
        let below = dirs.saturating_sub(1);
        output.line(format!(
            "\n{}, {}",
            text::count(below, "directory", "directories"),
            text::count(files, "other file", "other files")
        ))?;
        output.finish()
    }

    fn print_json(&self, fs: &dyn FileSystem, losses: &Losses) -> Outcome {
        let mut entries = Entries::new("tree");
        self.visit(fs, losses, &mut |place, target| {
            let mut map = Map::new();
            document::put_bytes(&mut map, "path", place.path);
            map.insert("depth".into(), place.depth.into());
            map.extend(document::attr(place.attr));
            if let Some(target) = target {
                document::put_bytes(&mut map, "target", &target);
            }
            entries.add(&map)
        })?;
        entries.finish(losses.count())
    }
}
