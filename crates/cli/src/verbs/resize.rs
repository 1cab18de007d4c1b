//! `pumice resize`: gives a volume of F2FS another size.

use std::{
    fs::{File, OpenOptions},
    path::Path,
};

use pumice_f2fs::repair::Resizing;

use crate::{
    context::now,
    f2fs::args::threads,
    failure::{Failure, Outcome},
    image::{f2fs_disk, f2fs_sizes},
    options::Writer,
    output::Output,
    progress::Progress,
    recognise::admit,
    size,
    verbs::F2fsImage,
};

/// Grow or shrink F2FS
///
/// The volume is checked first and must have been unmounted. An image file gets the new size, too; a device must be large
/// enough. Blocks behind a nearer end are moved, as cleaning does it, and NAT, SIT and SSA are laid anew if they have no room
/// for more. If power fails all files are there, and the same command goes on. The reserve is that of a new volume.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: F2fsImage,
    /// New size, rounded down to whole sections
    #[arg(value_parser = size::parse_some)]
    size: u64,
    #[command(flatten)]
    writer: Writer,
}

impl Args {
    pub(crate) fn run(&self) -> Outcome {
        let path = &self.image.image;
        admit(path)?;
        let sb = f2fs_sizes(path)?;
        let block_bytes = sb.block().bytes();
        if self.writer.dry_run {
            let resizing = self.plan(block_bytes)?;
            if !path.is_file() {
                resizing.check_device().map_err(|error| failed(path, &error))?;
            }
            return print("would set ", &lines(&resizing));
        }
        // Another process that has it open is found before anything changes.
        drop(f2fs_disk(path, block_bytes, false)?);
        let file = image_file(path)?;
        // A file that was cut short stays so, and is refused for it.
        let whole = sb.main_end() * u64::from(block_bytes);
        self.set_length(file.as_ref(), |bytes| if bytes < whole { bytes } else { self.size.max(bytes) })?;
        let planned = self.plan(block_bytes);
        if planned.is_err() {
            // Nothing was written there.
            self.set_length(file.as_ref(), |bytes| bytes)?;
        }
        let resizing = planned?;
        let wanted = resizing.after().bytes;
        let lines = lines(&resizing);
        resizing.run(now()).map_err(|error| failed(path, &error))?;
        self.set_length(file.as_ref(), |_| wanted)?;
        print("", &lines)
    }

    fn plan(&self, block_bytes: u32) -> Outcome<Resizing> {
        let path = &self.image.image;
        let disk = f2fs_disk(path, block_bytes, self.writer.dry_run)?;
        let progress = Progress::counted("check");
        let shown = &mut |done, total| progress.set(done, total);
        Resizing::plan(Box::new(disk), self.size, threads(), shown).map_err(|error| failed(path, &error))
    }

    /// Gives an image file another length.
    fn set_length(&self, file: Option<&(File, u64)>, length: impl Fn(u64) -> u64) -> Outcome {
        let Some((file, bytes)) = file else { return Ok(()) };
        let set = file.set_len(length(*bytes)).and_then(|()| file.sync_all());
        set.map_err(|error| Failure::host(&self.image.image, &error))
    }
}

fn failed(path: &Path, error: &pumice_f2fs::Error) -> Failure {
    Failure::new(format!("{}: {error}", path.display()))
}

/// An image that is a regular file, and its length.
fn image_file(path: &Path) -> Outcome<Option<(File, u64)>> {
    let failed = |error| Failure::host(path, &error);
    let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    Ok(found.is_file().then_some((file, found.len())))
}

fn lines(resizing: &Resizing) -> Vec<String> {
    let (before, after) = (resizing.before(), resizing.after());
    let line = |name: &str, before: u64, after: u64| format!("{name}: {before} -> {after}");
    vec![
        line("bytes", before.bytes, after.bytes),
        line("user_bytes", before.users, after.users),
        line("main_segments", before.segments, after.segments),
        line("metadata_segments", before.metadata, after.metadata),
        line("node_numbers", before.numbers, after.numbers),
        format!("moved_blocks: {}", resizing.moved()),
    ]
}

fn print(done: &str, lines: &[String]) -> Outcome {
    let mut output = Output::new();
    for line in lines {
        output.line(format!("{done}{line}"))?;
    }
    output.finish()
}
