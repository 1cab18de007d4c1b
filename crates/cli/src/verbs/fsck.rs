//! `pumice fsck`: checks a volume. Exit codes are the bits of fsck(8).

mod f2fs;

use serde_json::json;

use crate::{
    context::Context,
    failure::{Failure, Outcome},
    image::{Access, holds_f2fs, must_hold_nandfs, open_chip},
    options::Reader,
    output::{self, Output},
    progress::Progress,
    recognise::admit,
    text,
    verbs::Image,
};

/// Something is wrong and was left as it is.
pub(crate) const UNCORRECTED: u8 = 4;
/// The check itself could not be done.
pub(crate) const OPERATIONAL_ERROR: u8 = 8;
/// The command line makes no sense.
pub(crate) const USAGE_ERROR: u8 = 16;

/// Check a file system
///
/// Exit codes: 0 sound, 4 problems found, 8 the check failed, 16 wrong usage.
#[derive(clap::Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Args {
    #[command(flatten)]
    image: Image,
    /// Change nothing (the default)
    #[arg(short = 'n', conflicts_with_all = ["preen", "yes"])]
    no: bool,
    /// Same as -n: problems are reported, not repaired
    #[arg(short = 'p', short_alias = 'a', conflicts_with = "yes")]
    preen: bool,
    /// The same
    #[arg(short = 'y')]
    yes: bool,
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

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome<u8> {
        admit(&self.image.image)?;
        let code = if holds_f2fs(&self.image.image) {
            f2fs::run(&self.image.image, self.reader.json)?
        } else {
            self.check_nandfs(context)?
        };
        if code != 0 && (self.preen || self.yes) {
            let path = self.image.image.display();
            crate::complain(&format!(
                "{path}: the problems are left as they are; copy what can be read with `pumice get`"
            ));
        }
        Ok(code)
    }

    fn check_nandfs(&self, context: &Context) -> Outcome<u8> {
        let path = self.image.image.display();
        let mut chip = open_chip(&self.image.image, Access::Read, context)?;
        let failed = |error: pumice_vfs::FsError| Failure::new(format!("{path}: {error}"));
        must_hold_nandfs(&mut chip, &self.image.image)?;
        let progress = Progress::counted("check");
        let report =
            pumice_nandfs::check(chip, &mut |done, total| progress.set(done, total)).map_err(failed)?;
        drop(progress);
        // Every volume has a root: a report without one checked nothing, and "sound" would be a lie.
        if report.findings.is_empty() && report.directories == 0 {
            return Err(Failure::new(format!(
                "{path}: the check did not reach the root directory, so nothing is known"
            )));
        }
        let printed = if self.reader.json { self.print_json(&report) } else { self.print(&report) };
        printed?;
        Ok(if report.findings.is_empty() { 0 } else { UNCORRECTED })
    }

    fn print(&self, report: &pumice_nandfs::CheckReport) -> Outcome {
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
        output.finish()
    }

    fn print_json(&self, report: &pumice_nandfs::CheckReport) -> Outcome {
        let findings: Vec<_> = report
            .findings
            .iter()
            .map(|finding| json!({ "code": finding.code, "detail": finding.detail }))
            .collect();
        output::document(
            "fsck",
            json!({
                "image": self.image.image.to_string_lossy(),
                "sound": report.findings.is_empty(),
                "recovered": report.recovered,
                "inodes": report.inodes,
                "directories": report.directories,
                "data_bytes": report.data_bytes,
                "findings": findings,
            }),
        )
    }
}
