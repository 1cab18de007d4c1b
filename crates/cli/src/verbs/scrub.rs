//! `pumice scrub`: reads all live data and moves decaying pages. Exit codes are the bits of fsck(8).

use pumice_nandfs::{NandFs, Scrubbed};
use pumice_rcffs::{Rcffs, Scrub};
use pumice_vfs::FsError;
use serde_json::json;

use crate::{
    context::Context,
    failure::{Failure, Outcome},
    image::{Access, Volume, about, holds_f2fs, must_hold_files, open_chip},
    metered::Metered,
    on_chip::{Kind, Mounted},
    options::Reader,
    output,
    progress::Progress,
    recognise::admit,
    text,
    verbs::{
        Image,
        fsck::{CORRECTED, UNCORRECTED},
    },
};

/// Read all live data on a chip, and move decaying pages
///
/// On nandfs every page in use is read in full, anchors, checkpoints and tables included. Erase blocks with a page near
/// the limit of ECC, or with too many reads, are moved. On RCFFS every segment is read, and the contents of one with a
/// wrong page are moved, brought back by parity. A mount of nandfs does the same by itself, once a week unless -o
/// patrol says otherwise.
///
/// Exit codes: 0 nothing had to be moved, 1 all weak pages were moved, 4 something is lost or was left (added to 1 if
/// others were moved), 8 the scrub failed, 16 wrong usage.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Image,
    /// Compare the signatures in the spare areas with those of parity, and read no page: RCFFS, and nandfs with parity pages on
    /// a chip with room for signatures
    #[arg(long)]
    quick: bool,
    /// List the weak pages; change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    #[command(flatten)]
    reader: Reader,
}

/// The results of a scrub.
struct Done {
    /// The same for people and for programs.
    lines: Vec<String>,
    document: serde_json::Value,
    /// Something was moved.
    is_mended: bool,
    /// Something is lost, or weak still.
    is_left: bool,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome<u8> {
        let path = &self.image.image;
        self.refuse_others(context)?;
        if self.quick {
            self.admit_quick(context)?;
        }
        let volume = Volume::open(path, Access::write_unless(self.dry_run), context)?;
        let scrubbed = match &volume {
            Volume::Nand { fs: Mounted::Nandfs(fs), .. } => self.nandfs(fs),
            Volume::Nand { fs: Mounted::Rcffs(fs), .. } => self.rcffs(fs),
            // Somebody made another file system of it in between.
            _ => Err(self.refusal("the present content")),
        };
        let closed = volume.close();
        let done = scrubbed?;
        closed?;
        if self.reader.json {
            output::document("scrub", done.document)?;
        } else {
            output::lines(done.lines)?;
        }
        let bit = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        Ok(bit(done.is_mended, CORRECTED) | bit(done.is_left, UNCORRECTED))
    }

    /// Refuses an image without a scrub before it is opened to be written.
    fn refuse_others(&self, context: &Context) -> Outcome {
        let path = &self.image.image;
        admit(path)?;
        if holds_f2fs(path) {
            return Err(self.refusal("F2FS"));
        }
        match must_hold_files(&mut open_chip(path, Access::Read, context)?, path)? {
            Kind::Nandfs | Kind::Rcffs => Ok(()),
            kind @ (Kind::ScaleFfs | Kind::Cffs) => Err(self.refusal(kind.name())),
        }
    }

    /// Refuses a quick scrub that cannot be made before anything is opened to be written.
    fn admit_quick(&self, context: &Context) -> Outcome {
        let volume = Volume::open(&self.image.image, Access::Read, context)?;
        if let Volume::Nand { fs: Mounted::Nandfs(fs), .. } = &volume {
            fs.admit_quick_scrub().map_err(|error| self.failed(&error))?;
        }
        volume.close()
    }

    fn refusal(&self, what: &str) -> Failure {
        let path = self.image.image.display();
        Failure::new(format!("{path}: {what} has no scrub; nandfs and rcffs have one"))
    }

    fn failed(&self, error: &FsError) -> Failure {
        about(&self.image.image, error)
    }

    fn nandfs(&self, fs: &NandFs<Metered>) -> Outcome<Done> {
        let progress = Progress::counted("scrub");
        let tell = &mut |done, all| progress.set(done, all);
        let found = if self.quick { fs.quick_scrub(tell) } else { fs.scrub(tell) };
        let found = found.map_err(|error| self.failed(&error))?;
        drop(progress);
        let weak = found.weak_blocks > 0 || found.weak_roots;
        Ok(Done {
            lines: self.nandfs_lines(&found),
            document: json!({
                "image": self.image.image.to_string_lossy(),
                "file_system": "nandfs",
                "quick": self.quick,
                "read_pages": found.pages,
                "read_spare_areas": found.spare_areas,
                "corrected_bits": found.corrected_bits,
                "weak_blocks": found.weak_blocks,
                "weak_roots": found.weak_roots,
                "rebuilt_pages": found.rebuilt_pages,
                "moved": weak && !found.read_only,
                "unreadable_pages": found.unreadable,
                "lost_bytes": found.lost_bytes,
            }),
            is_mended: weak && !found.read_only,
            is_left: found.lost_bytes > 0 || (weak && found.read_only),
        })
    }

    fn nandfs_lines(&self, found: &Scrubbed) -> Vec<String> {
        let mut lines = Vec::new();
        let left = if self.dry_run {
            "left where they are"
        } else {
            "left where they are: the volume can only be read"
        };
        if found.weak_blocks > 0 {
            let blocks = text::count(found.weak_blocks.into(), "erase block", "erase blocks");
            let done = if found.read_only { left } else { "moved" };
            let why = if self.quick {
                "without parity that fits, or read too often"
            } else if found.rebuilt_pages > 0 {
                "near the limit of ECC, read too often, or with pages that parity brought back"
            } else {
                "near the limit of ECC, or read too often"
            };
            lines.push(format!("weak: {blocks} {why}; {done}"));
        }
        if found.rebuilt_pages > 0 {
            let pages = text::count(found.rebuilt_pages, "page", "pages");
            lines.push(format!("rebuilt: {pages} that could not be read, by parity"));
        }
        if found.weak_roots {
            let done = if found.read_only { left } else { "written anew" };
            lines.push(format!("weak: anchors, or records of checkpoints; {done}"));
        }
        if !found.unreadable.is_empty() {
            let pages = found.unreadable.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
            lines.push(format!("unreadable: log pages {pages}"));
        }
        if found.lost_bytes > 0 {
            let size = text::size(found.lost_bytes);
            lines.push(format!("lost: {size}; `pumice fsck` tells of which files, and -y gives them up"));
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

    fn rcffs(&self, fs: &Rcffs<Metered>) -> Outcome<Done> {
        let progress = Progress::counted("scrub");
        let mut tell = |done: u32, all: u32| progress.set(done.into(), all.into());
        let found = fs.volume().scrub(self.quick, &mut tell).map_err(|error| self.failed(&error))?;
        drop(progress);
        Ok(Done {
            lines: self.rcffs_lines(&found),
            document: json!({
                "image": self.image.image.to_string_lossy(),
                "file_system": "rcffs",
                "quick": self.quick,
                "read_pages": found.pages,
                "wrong": found.wrong,
                "moved_segments": found.moved,
                "lost_pages": found.lost,
            }),
            is_mended: found.moved > 0,
            is_left: found.lost > 0 || (found.wrong > 0 && found.moved == 0),
        })
    }

    fn rcffs_lines(&self, found: &Scrub) -> Vec<String> {
        let (what, looked) =
            if self.quick { ("groups of signatures", "spare areas") } else { ("pages", "pages") };
        let mut lines = Vec::new();
        if found.wrong > 0 {
            let done = match found.moved {
                0 => "left where they are".into(),
                moved => format!("{} moved", text::count(moved.into(), "segment", "segments")),
            };
            lines.push(format!("wrong: {} {what}; {done}", found.wrong));
        }
        if found.lost > 0 {
            let pages = text::count(found.lost, "page", "pages");
            lines.push(format!("lost: {pages} that no parity brings back"));
        }
        lines.push(format!("{}: {} {looked} read", text::path(&self.image.image), found.pages));
        lines
    }
}
