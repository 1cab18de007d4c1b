//! `pumice ftl check`: checks a logical disk, and repairs it. Exit codes are the bits of fsck(8).

use pumice_ftl::{CheckReport, Finding, FtlError, RepairOptions, Start};
use serde_json::{Value, json};

use crate::{
    context::Context,
    failure::{Failure, Outcome},
    image::{Access, about, flushed, open_chip},
    options::Reader,
    output::{self, Output},
    progress::Progress,
    text,
    verbs::{
        LogicalDisk,
        fsck::{CORRECTED, UNCORRECTED},
    },
};

/// Check a logical disk, and repair it
///
/// Every page is read, and the tags on flash are compared with anchors, checkpoint and tables. With -y the disk is
/// rebuilt from the tags, whichever of those are gone. Lost blocks are named, and read as zeros afterwards; blocks that
/// a power cut may have torn are as they were before it.
///
/// Exit codes: 0 sound, 1 problems repaired, 4 problems found and left, 8 the check failed, 16 wrong usage.
#[derive(clap::Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Args {
    #[command(flatten)]
    image: LogicalDisk,
    /// Change nothing (the default)
    #[arg(short = 'n', conflicts_with_all = ["preen", "yes"])]
    no: bool,
    /// Same as -n: problems are reported, not repaired
    #[arg(short = 'p', short_alias = 'a', conflicts_with = "yes")]
    preen: bool,
    /// Repair: rebuild as much as possible, give up unreadable blocks by number
    #[arg(short = 'y')]
    yes: bool,
    /// Only list the repairs of -y; change nothing
    #[arg(long, requires = "yes")]
    dry_run: bool,
    /// Check a clean disk too (the default)
    #[arg(short = 'f')]
    force: bool,
    #[command(flatten)]
    reader: Reader,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome<u8> {
        let path = &self.image.image;
        let mut chip = open_chip(path, Access::Read, context)?;
        let shown = path.display();
        if pumice_nandfs::probe(&mut chip).map_err(|error| about(path, &error))? {
            return Err(Failure::new(format!(
                "{shown}: no logical disk on this chip, but a file system (nandfs): see `pumice fsck`"
            )));
        }
        let progress = Progress::counted("check");
        let mut tell = |done: u32, all: u32| progress.set(done.into(), all.into());
        let report = pumice_ftl::check(chip, &mut tell).map_err(|error| match error {
            FtlError::Foreign => Failure::new(format!("{shown}: no logical disk on this chip")),
            error => about(path, &error),
        })?;
        drop(progress);
        if self.yes && !report.findings.is_empty() {
            return self.repair(context, &report);
        }
        if self.reader.json {
            self.print_json(&report, &[])?;
        } else {
            self.print(&report)?;
        }
        if report.findings.is_empty() {
            return Ok(0);
        }
        if self.preen {
            crate::message::complain(&format!("{shown}: the problems are left as they are; -y repairs them"));
        }
        Ok(UNCORRECTED)
    }

    /// Repairs the findings of the check.
    fn repair(&self, context: &Context, report: &CheckReport) -> Outcome<u8> {
        let path = &self.image.image;
        let chip = open_chip(path, Access::write_unless(self.dry_run), context)?;
        let options = RepairOptions { dry_run: self.dry_run, uuid: uuid::Uuid::new_v4().into_bytes() };
        let (chip, fixes) =
            pumice_ftl::repair(chip, options, &mut |_, _| {}).map_err(|error| about(path, &error))?;
        if !self.dry_run {
            flushed(chip, path)?;
        }
        if self.reader.json {
            self.print_json(report, &fixes)?;
        } else {
            self.print(report)?;
            let done = if self.dry_run { "would repair" } else { "repaired" };
            output::lines(fixes.iter().map(|fix| format!("{done}: {}: {}", fix.code, fix.detail)))?;
        }
        Ok(if self.dry_run { UNCORRECTED } else { CORRECTED })
    }

    fn print(&self, report: &CheckReport) -> Outcome {
        let mut output = Output::new();
        for finding in &report.findings {
            output.line(format!("{}: {}", finding.code, finding.detail))?;
        }
        for note in &report.notes {
            output.line(format!("note: {}: {}", note.code, note.detail))?;
        }
        let state = match report.findings.len() {
            0 => "sound".to_owned(),
            found => text::count(found as u64, "problem", "problems"),
        };
        let bytes = |blocks: u64| text::size(blocks * u64::from(report.block_bytes));
        let (disk, stored) = (bytes(report.logical_blocks.into()), bytes(report.stored_blocks));
        output
            .line(format!("{}: {state}; a disk of {disk}, {stored} stored", text::path(&self.image.image)))?;
        if report.start == Start::Recovered {
            output.line("it was not closed; the next start recovers it")?;
        }
        output.finish()
    }

    fn print_json(&self, report: &CheckReport, fixes: &[Finding]) -> Outcome {
        let shown = |findings: &[Finding]| -> Vec<Value> {
            findings.iter().map(|it| json!({ "code": it.code, "detail": it.detail })).collect()
        };
        output::document(
            "ftl-check",
            json!({
                "image": self.image.image.to_string_lossy(),
                "sound": report.findings.is_empty(),
                "recovered": report.start == Start::Recovered,
                "block_bytes": report.block_bytes,
                "logical_blocks": report.logical_blocks,
                "stored_blocks": report.stored_blocks,
                "lost_blocks": report.lost,
                "possibly_lost_blocks": report.possibly_lost,
                "findings": shown(&report.findings),
                "notes": shown(&report.notes),
                "repairs": shown(fixes),
            }),
        )
    }
}
