//! Checking F2FS.

use std::{path::Path, thread};

use pumice_f2fs::check::{Report, check};
use serde_json::json;

use super::UNCORRECTED;
use crate::{
    failure::{Failure, Outcome},
    image::f2fs_disks,
    output::{self, Output},
    progress::Progress,
    text,
};

/// Threads at least and at most: beyond these the device is the limit.
const THREADS: (usize, usize) = (2, 8);

/// Checks a volume and prints the findings.
pub(super) fn run(path: &Path, json: bool) -> Outcome<u8> {
    let threads =
        thread::available_parallelism().map_or(1, std::num::NonZero::get).clamp(THREADS.0, THREADS.1);
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
    let printed = if json { print_json(path, &report) } else { print(path, &report) };
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

fn print_json(path: &Path, report: &Report) -> Outcome {
    let findings: Vec<_> = report
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
        }),
    )
}
