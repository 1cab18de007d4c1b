//! `pumice fsck`: checks a volume. Exit codes are the bits of fsck(8).

mod f2fs;

use std::path::PathBuf;

use pumice_f2fs::repair::Extent;
use pumice_vfs::{CheckReport, Finding};
use serde_json::json;

use crate::{
    context::{Context, now},
    failure::{Failure, Outcome},
    image::{Access, about, flushed, holds_f2fs, must_hold_files, open_chip},
    on_chip::Kind,
    options::Reader,
    output::{self, Output},
    progress::Progress,
    recognise::admit,
    text,
    verbs::Image,
};

/// Something was wrong and was repaired.
pub(crate) const CORRECTED: u8 = 1;
/// Something is wrong and was left as it is.
pub(crate) const UNCORRECTED: u8 = 4;
/// The check itself could not be done.
pub(crate) const OPERATIONAL_ERROR: u8 = 8;
/// The command line makes no sense.
pub(crate) const USAGE_ERROR: u8 = 16;

/// Check a file system, and repair nandfs and F2FS
///
/// Exit codes: 0 sound, 1 problems repaired, 4 problems found and left, 5 some of both, 8 the check failed, 16 wrong usage.
#[derive(clap::Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Args {
    #[command(flatten)]
    image: Image,
    /// Change nothing (the default)
    #[arg(short = 'n', conflicts_with_all = ["preen", "yes"])]
    no: bool,
    /// Repair F2FS if nothing is lost by it: tables, counts, copies; others are only checked
    #[arg(short = 'p', short_alias = 'a', conflicts_with = "yes", group = "mends")]
    preen: bool,
    /// Repair nandfs and F2FS: rebuild as much as possible, give up by name what cannot be kept
    #[arg(short = 'y', group = "mends")]
    yes: bool,
    #[command(flatten)]
    anew: Anew,
    /// Only list the repairs of -p or -y; change nothing
    #[arg(long, requires = "mends")]
    dry_run: bool,
    /// Keep all blocks that the repair of F2FS changes in a new file, as they were
    #[arg(long, value_name = "FILE", requires = "mends")]
    undo: Option<PathBuf>,
    /// Put the blocks of such a file back: the volume is as before the repair
    #[arg(long, value_name = "FILE", conflicts_with_all = ["no", "mends", "undo"])]
    put_back: Option<PathBuf>,
    /// Check a clean volume too (the default)
    #[arg(short = 'f')]
    force: bool,
    /// Accepted for fsck(8); no effect
    #[arg(short = 'v', hide = true)]
    verbose: bool,
    /// File descriptor for fsck(8)'s progress bar; the bar goes to stderr
    #[arg(short = 'C', value_name = "FD", num_args = 0..=1, default_missing_value = "0", hide = true)]
    bar: Option<i32>,
    #[command(flatten)]
    reader: Reader,
}

/// Making lost structures anew.
#[derive(clap::Args, Debug)]
struct Anew {
    /// Also make lost checkpoints, tables and super blocks of F2FS anew, from all files that a search finds
    #[arg(long, requires = "yes")]
    rebuild: bool,
    /// UUID of a volume that has lost both super blocks, if keys of encrypted files derive from it
    #[arg(long, requires = "rebuild")]
    uuid: Option<uuid::Uuid>,
}

impl Anew {
    fn extent(&self) -> Option<Extent> {
        self.rebuild.then(|| Extent::Rebuild { uuid: self.uuid.unwrap_or_default().into_bytes() })
    }
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome<u8> {
        admit(&self.image.image)?;
        if let Some(file) = &self.put_back {
            return f2fs::put_back(&self.image.image, file).map(|()| 0);
        }
        let code = if !self.anew.rebuild && !holds_f2fs(&self.image.image) {
            self.check_chip(context)?
        } else if self.preen || self.yes {
            let usual = if self.yes { Extent::All } else { Extent::Safe };
            let extent = self.anew.extent().unwrap_or(usual);
            let (dry_run, undo, json) = (self.dry_run, self.undo.as_deref(), self.reader.json);
            f2fs::Mending { path: &self.image.image, extent, dry_run, undo, json }.run()?
        } else {
            f2fs::run(&self.image.image, self.reader.json)?
        };
        if code & UNCORRECTED != 0 && (self.preen || self.yes) && !self.dry_run {
            let path = self.image.image.display();
            crate::message::complain(&format!(
                "{path}: the problems are left as they are; copy all readable files with `pumice get`"
            ));
        }
        Ok(code)
    }

    fn check_chip(&self, context: &Context) -> Outcome<u8> {
        let path = self.image.image.display();
        if self.undo.is_some() {
            return Err(Failure::new(format!("{path}: --undo is for F2FS, and this is none")));
        }
        let mut chip = open_chip(&self.image.image, Access::Read, context)?;
        // Where all anchors are gone, a repair may still find nodes.
        let kind = match must_hold_files(&mut chip, &self.image.image) {
            Ok(kind) => kind,
            Err(failure) => {
                if !self.yes
                    || pumice_ftl::probe(&mut chip).map_err(|error| about(&self.image.image, &error))?
                {
                    return Err(failure);
                }
                drop(chip);
                return self.repair(context, &CheckReport::default());
            }
        };
        let repairs = self.yes && kind == Kind::Nandfs;
        let progress = Progress::counted("check");
        let report = match kind.check(chip, &mut |done, total| progress.set(done, total)) {
            Ok(report) => report,
            // No checkpoint can be read.
            Err(error) if repairs && error.errno() == pumice_vfs::Errno::Io => {
                drop(progress);
                crate::message::complain(&format!("{path}: {error}"));
                return self.repair(context, &CheckReport::default());
            }
            Err(error) => return Err(Failure::new(format!("{path}: {error}"))),
        };
        drop(progress);
        // Every volume has a root: a report without one checked nothing, and "sound" would be a lie.
        if report.findings.is_empty() && report.directories == 0 {
            return Err(Failure::new(format!(
                "{path}: the check did not reach the root directory, so nothing is known"
            )));
        }
        if repairs && !report.findings.is_empty() {
            return self.repair(context, &report);
        }
        let printed = if self.reader.json { self.print_json(&report, &[]) } else { self.print(&report) };
        printed?;
        Ok(if report.findings.is_empty() { 0 } else { UNCORRECTED })
    }

    /// Repairs the findings of the check.
    fn repair(&self, context: &Context, report: &CheckReport) -> Outcome<u8> {
        let path = &self.image.image;
        let chip = open_chip(path, Access::write_unless(self.dry_run), context)?;
        let uuid = *uuid::Uuid::new_v4().as_bytes();
        let options = pumice_nandfs::RepairOptions::default().with(|it| {
            it.dry_run = self.dry_run;
            it.uuid = uuid;
            it.now = now();
        });
        let failed = |error| Failure::new(format!("{}: {error}", path.display()));
        let (chip, fixes) = pumice_nandfs::repair(chip, options).map_err(failed)?;
        if !self.dry_run {
            flushed(chip, path)?;
        }
        if self.reader.json {
            self.print_json(report, &fixes)?;
        } else {
            if report.directories > 0 {
                self.print(report)?;
            }
            let mut output = Output::new();
            let done = if self.dry_run { "would repair" } else { "repaired" };
            for fix in &fixes {
                output.line(format!("{done}: {}: {}", fix.code, fix.detail))?;
            }
            let tables = if self.dry_run { "would be" } else { "were" };
            output.line(format!("{}: both tables {tables} counted anew", text::path(path)))?;
            output.finish()?;
        }
        Ok(if self.dry_run { UNCORRECTED } else { CORRECTED })
    }

    fn print(&self, report: &CheckReport) -> Outcome {
        let mut output = Output::new();
        for finding in &report.findings {
            output.line(format!("{}: {}", finding.code, finding.detail))?;
        }
        let state = match report.findings.len() {
            0 => "sound".to_owned(),
            found => text::count(found as u64, "problem", "problems"),
        };
        let files = report.inodes.saturating_sub(report.directories);
        output.line(format!(
            "{}: {state}; {}, {}, {}",
            self.image.image.display(),
            text::count(report.directories, "directory", "directories"),
            text::count(files, "other file", "other files"),
            text::size(report.data_bytes)
        ))?;
        if report.recovered {
            output.line("it was not unmounted; the next mount recovers it")?;
        }
        if let Some(page) = report.newest_page {
            output.line(format!(
                "log page {page}, the newest, cannot be read: the power cut tore it, or the last promise of fsync is lost"
            ))?;
        }
        output.finish()
    }

    fn print_json(&self, report: &CheckReport, fixes: &[Finding]) -> Outcome {
        let shown = |finding: &Finding| json!({ "code": finding.code, "detail": finding.detail });
        let findings: Vec<_> = report.findings.iter().map(shown).collect();
        let repairs: Vec<_> = fixes.iter().map(shown).collect();
        output::document(
            "fsck",
            json!({
                "image": self.image.image.to_string_lossy(),
                "sound": report.findings.is_empty(),
                "recovered": report.recovered,
                "newest_page_unreadable": report.newest_page,
                "inodes": report.inodes,
                "directories": report.directories,
                "data_bytes": report.data_bytes,
                "findings": findings,
                "repairs": repairs,
            }),
        )
    }
}
