//! The check: silent on volumes that Linux wrote, loud on damaged ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, missing_docs)]

mod volumes;

use pumice_f2fs::check::{Report, check};

fn run(image: Vec<u8>) -> Report {
    check(vec![Box::new(image)], 2, &mut |_, _| ()).unwrap()
}

/// The findings, one line each.
fn lines(report: &Report) -> Vec<String> {
    let line = |finding: &pumice_f2fs::check::Finding| {
        format!("{}: {}: {}", finding.code.name(), finding.object, finding.detail)
    };
    report.findings.iter().map(line).collect()
}

#[test]
fn volumes_of_linux_are_sound() {
    let mut found = Vec::new();
    for name in [
        "g01-basic",
        "g02-allfeat",
        "g03-inline",
        "g05-deep",
        "g06-compress",
        "g08-crash-rollfwd",
        "g09-crash-orphan",
        "g11-quota",
        "g12-casefold",
        "g13-encrypt",
    ] {
        let Some(image) = volumes::golden(name) else { continue };
        let report = run(image);
        let mut told = lines(&report);
        told.truncate(12);
        if report.count > 0 {
            found.push(format!("{name}: {} findings: {told:#?}", report.count));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
