//! `pumice ftl scrub`: reads a logical disk and moves decaying pages. Exit codes are the bits of fsck(8).

use pumice_ftl::Scrubbed;
use serde_json::json;

use crate::{
    context::{Context, now},
    failure::Outcome,
    image::{Access, about, flushed, open_disk},
    options::Reader,
    output,
    progress::Progress,
    text,
    verbs::{
        LogicalDisk,
        fsck::{CORRECTED, UNCORRECTED},
    },
};

/// Read all of a logical disk, and move decaying pages
///
/// Every page of every segment with live data is read, parity, checkpoint and anchors included. Segments with a page
/// near the limit of ECC, or that have lost a page of their parity, are emptied.
///
/// Exit codes: 0 nothing had to be moved, 1 all weak pages were moved, 4 something is lost or was left (added to 1 if
/// others were moved), 8 the scrub failed, 16 wrong usage.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: LogicalDisk,
    /// Compare the signatures in the spare areas with those of parity, and read no page: where there are parity pages, on a chip
    /// with room for signatures
    #[arg(long)]
    quick: bool,
    /// List the weak pages; change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    #[command(flatten)]
    reader: Reader,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome<u8> {
        let path = &self.image.image;
        if self.quick {
            // An impossible scrub is refused before anything is opened to be written.
            let disk = open_disk(path, Access::Read, context)?;
            disk.admit_quick_scrub().map_err(|error| about(path, &error))?;
        }
        let mut disk = open_disk(path, Access::write_unless(self.dry_run), context)?;
        let progress = Progress::counted("scrub");
        let tell = &mut |done: u32, all: u32| progress.set(done.into(), all.into());
        let scrubbed = if self.quick { disk.quick_scrub(tell) } else { disk.scrub(now().seconds, tell) };
        drop(progress);
        let found = scrubbed.map_err(|error| about(path, &error))?;
        let chip = disk.close().map_err(|error| about(path, &error))?;
        if !found.read_only {
            flushed(chip, path)?;
        }
        let is_weak = found.weak_segments > 0 || found.weak_roots;
        if self.reader.json {
            output::document(
                "ftl-scrub",
                json!({
                    "image": path.to_string_lossy(),
                    "quick": self.quick,
                    "read_pages": found.pages,
                    "read_spare_areas": found.spare_areas,
                    "corrected_bits": found.corrected_bits,
                    "rebuilt_pages": found.rebuilt_pages,
                    "weak_segments": found.weak_segments,
                    "unreadable_pages": found.unreadable,
                    "weak_roots": found.weak_roots,
                    "moved": is_weak && !found.read_only,
                    "lost_blocks": found.lost,
                }),
            )?;
        } else {
            output::lines(self.lines(&found))?;
        }
        let bit = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        let is_left = !found.lost.is_empty() || (is_weak && found.read_only);
        Ok(bit(is_weak && !found.read_only, CORRECTED) | bit(is_left, UNCORRECTED))
    }

    fn lines(&self, found: &Scrubbed) -> Vec<String> {
        let done = |done| match found.read_only {
            true if self.dry_run => "left where they are",
            true => "left where they are: the disk can only be read",
            false => done,
        };
        let mut lines = Vec::new();
        if found.weak_segments > 0 {
            let segments = text::count(found.weak_segments.into(), "segment", "segments");
            let why = if self.quick {
                "without parity that fits, or read too often"
            } else {
                "near the limit of ECC, read too often, or without parity"
            };
            lines.push(format!("weak: {segments} {why}; {}", done("emptied")));
        }
        if found.rebuilt_pages > 0 {
            let pages = text::count(found.rebuilt_pages, "page", "pages");
            lines.push(format!("rebuilt: {pages} that could not be read, by parity"));
        }
        if found.weak_roots {
            lines.push(format!("weak: checkpoint, records or anchors; {}", done("written anew")));
        }
        if !found.lost.is_empty() {
            let blocks = found.lost.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
            lines.push(format!("lost: blocks {blocks}; `pumice ftl check -y` gives them up"));
        }
        if self.quick {
            let areas = text::count(found.spare_areas, "spare area", "spare areas");
            lines.push(format!("{}: {areas} read", text::path(&self.image.image)));
            return lines;
        }
        let pages = text::count(found.pages, "page", "pages");
        let bits = text::count(found.corrected_bits, "wrong bit", "wrong bits");
        lines.push(format!("{}: {pages} read, {bits} put right", text::path(&self.image.image)));
        lines
    }
}
