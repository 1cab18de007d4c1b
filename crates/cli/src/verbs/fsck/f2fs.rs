//! Checking and repairing F2FS.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::Path,
};

use pumice_f2fs::{
    check::{Finding, Report, check},
    repair::{Extent, Repair, Undo, plan},
};
use serde_json::{Value, json};

use super::{CORRECTED, UNCORRECTED};
use crate::{
    context::now,
    f2fs::args::threads,
    failure::{Failure, Outcome},
    image::{f2fs_block_bytes, f2fs_disk, f2fs_disks},
    output::{self, Output},
    progress::Progress,
    staged::keep_name,
    text,
};

/// Bytes of a block of most volumes.
const BLOCK_BYTES: u32 = 4096;

/// A repair as it was asked for.
pub(super) struct Mending<'a> {
    pub(super) path: &'a Path,
    pub(super) extent: Extent,
    pub(super) dry_run: bool,
    /// Keeps the blocks that are changed.
    pub(super) undo: Option<&'a Path>,
    pub(super) json: bool,
}

impl Mending<'_> {
    /// Checks a volume, repairs it and prints both.
    pub(super) fn run(&self) -> Outcome<u8> {
        let disk = f2fs_disk(self.path, self.block_bytes()?, self.dry_run)?;
        let failed = |error| Failure::new(format!("{}: {error}", self.path.display()));
        let progress = Progress::counted("check");
        let shown = &mut |done, total| progress.set(done, total);
        let repair = plan(Box::new(disk), self.extent, now(), threads(), shown).map_err(failed)?;
        drop(progress);
        let (before, left) = (repair.before().clone(), repair.after().count);
        let changes = !repair.is_empty();
        let lines = lines(&repair);
        let promises = repair.broken().iter().map(ToString::to_string);
        let broken: Vec<String> =
            promises.chain(repair.lost_limits().iter().map(ToString::to_string)).collect();
        if changes && !self.dry_run {
            self.keep_undo(&repair)?;
            repair.commit().map_err(failed)?;
        }
        let fixed = u8::from(changes && !self.dry_run) * CORRECTED;
        if self.json {
            print_json(self.path, &before, &lines, &broken)?;
        } else {
            print(self.path, &before)?;
            let mut output = Output::new();
            let done = if self.dry_run { "would repair" } else { "repaired" };
            for line in lines {
                output.line(format!("{done}: {line}"))?;
            }
            let lost = if self.dry_run { "would give up" } else { "gave up" };
            for line in broken {
                output.line(format!("{lost}: {line}"))?;
            }
            if before.count > 0 {
                let state = match (left, self.dry_run) {
                    (0, true) => "would be sound".to_owned(),
                    (0, false) => "is sound now".to_owned(),
                    (_, true) => format!("{} would be left", text::count(left as u64, "problem", "problems")),
                    (_, false) => format!("{} left", text::count(left as u64, "problem is", "problems are")),
                };
                output.line(format!("{}: {state}", self.path.display()))?;
            }
            output.finish()?;
        }
        let is_left = left > 0 || (self.dry_run && before.count > 0);
        Ok(fixed | if is_left { UNCORRECTED } else { 0 })
    }

    /// Bytes of a block; of a volume that has lost its super blocks, those that nearly all have.
    fn block_bytes(&self) -> Outcome<u32> {
        let found = f2fs_block_bytes(self.path);
        if matches!(self.extent, Extent::Rebuild { .. }) { Ok(found.unwrap_or(BLOCK_BYTES)) } else { found }
    }

    /// The file is safe before the volume is touched.
    fn keep_undo(&self, repair: &Repair) -> Outcome {
        let Some(file) = self.undo else { return Ok(()) };
        let failed = |error| Failure::new(format!("{}: {error}", self.path.display()));
        let bytes = repair.undo().map_err(failed)?.to_bytes();
        let written = OpenOptions::new().write(true).create_new(true).open(file).and_then(|mut to| {
            to.write_all(&bytes)?;
            to.sync_all()?;
            keep_name(file)
        });
        written.map_err(|error| Failure::host(file, &error))
    }
}

/// A line for each fault that is put right. Of an object that was found again, what the check would have done is not
/// what was done.
fn lines(repair: &Repair) -> Vec<String> {
    let line = |finding: &Finding| format!("{}: {}: {}", finding.code.name(), finding.object, finding.detail);
    repair.fixes().iter().map(|fix| line(&fix.finding)).collect()
}

/// Puts back what a repair changed.
pub(super) fn put_back(path: &Path, file: &Path) -> Outcome {
    let bytes = fs::read(file).map_err(|error| Failure::host(file, &error))?;
    let undo = Undo::from_bytes(&bytes)
        .ok_or_else(|| Failure::new(format!("{}: no file of fsck --undo, or damaged", file.display())))?;
    let mut disk = f2fs_disk(path, undo.block_bytes(), false)?;
    undo.put_back(&mut disk).map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
    let mut output = Output::new();
    output.line(format!(
        "{}: {} put back",
        path.display(),
        text::count(undo.blocks() as u64, "block", "blocks")
    ))?;
    output.finish()
}

/// Checks a volume and prints the findings.
pub(super) fn run(path: &Path, json: bool) -> Outcome<u8> {
    let threads = threads();
    let progress = Progress::counted("check");
    let report = check(f2fs_disks(path)?, threads, &mut |done, total| progress.set(done, total))
        .map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
    drop(progress);
    // Every volume has a root: a report without one checked nothing, and "sound" would be a lie.
    if report.count == 0 && report.directories == 0 {
        return Err(Failure::new(format!(
            "{}: the check did not reach the root directory, so nothing is known",
            path.display()
        )));
    }
    let printed = if json { print_json(path, &report, &[], &[]) } else { print(path, &report) };
    printed?;
    Ok(if report.count == 0 { 0 } else { UNCORRECTED })
}

fn print(path: &Path, report: &Report) -> Outcome {
    let mut output = Output::new();
    for finding in &report.findings {
        let code = finding.code;
        output.line(format!(
            "{}: {}: {}; fix: {}",
            code.name(),
            finding.object,
            finding.detail,
            code.fix()
        ))?;
    }
    let state = match report.count {
        0 => "sound".to_owned(),
        count => text::count(count as u64, "problem", "problems"),
    };
    output.line(format!(
        "{}: {state}; {}, {}, {}",
        path.display(),
        text::count(report.directories, "directory", "directories"),
        text::count(report.files, "other file", "other files"),
        text::size(bytes(report))
    ))?;
    if report.fsynced_nodes > 0 {
        output.line(format!(
            "it was not unmounted; the next mount recovers the promises of fsync ({})",
            text::count(report.fsynced_nodes, "node", "nodes")
        ))?;
    }
    output.finish()
}

fn bytes(report: &Report) -> u64 {
    report.blocks.saturating_mul(report.block_bytes.into())
}

fn print_json(path: &Path, report: &Report, repairs: &[String], given_up: &[String]) -> Outcome {
    let findings: Vec<Value> = report
        .findings
        .iter()
        .map(|finding| {
            json!({
                "code": finding.code.name(),
                "object": finding.object.to_string(),
                "detail": finding.detail,
                "fix": finding.code.fix(),
            })
        })
        .collect();
    output::document(
        "fsck",
        json!({
            "image": path.to_string_lossy(),
            "sound": report.count == 0,
            "problems": report.count,
            "fsynced_nodes": report.fsynced_nodes,
            "inodes": report.directories + report.files,
            "directories": report.directories,
            "data_bytes": bytes(report),
            "findings": findings,
            "repairs": repairs,
            "given_up": given_up,
        }),
    )
}
