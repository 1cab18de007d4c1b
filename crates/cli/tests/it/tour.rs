//! The tour in README is run as it stands there, and prints the same.
//! `PUMICE_BLESS=1 cargo test --test cli tour::` writes down its present output.

use std::{
    env,
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use pumice_knobs::BLESS;

/// Blocks of commands begin so; with `fuse`, they need a mount.
const BLOCK: &str = "```console";

fn can_mount() -> bool {
    let root = rustix::process::geteuid().is_root();
    root && fs::OpenOptions::new().read(true).write(true).open("/dev/fuse").is_ok()
}

fn readme() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")
}

/// The output of a command, on both streams.
fn output(command: &str, dir: &Path) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_pumice")).parent().unwrap();
    let path = format!("{}:{}", program.display(), env::var("PATH").unwrap());
    let mut sh = Command::new("sh");
    sh.args(["-c", &format!("exec 2>&1; umask 022; {command}")]).current_dir(dir).env("PATH", path);
    let output = sh.env("LC_ALL", "C").stdin(Stdio::null()).output().unwrap();
    nameless(&String::from_utf8(output.stdout).unwrap())
}

/// The same with one number for all processes.
fn nameless(text: &str) -> String {
    const BY: &str = "in use by process ";
    let mut parts = text.split(BY);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + BY + "4711" + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// The same text with the commands run in `dir` and their output put in place of the old one.
fn played(text: &str, dir: &Path) -> String {
    let mut lines = text.lines();
    let mut result = String::new();
    while let Some(line) = lines.next() {
        writeln!(result, "{line}").unwrap();
        let Some(word) = line.strip_prefix(BLOCK) else { continue };
        let skipped = word.trim() == "fuse" && !can_mount();
        if skipped {
            // Past the test runner, which would keep it to itself.
            let _ =
                writeln!(std::io::stderr(), "SKIPPED: the mount in README's tour: needs root and /dev/fuse");
        }
        for line in lines.by_ref() {
            let command = line.strip_prefix("$ ");
            if skipped || command.is_some() || line == "```" {
                writeln!(result, "{line}").unwrap();
            }
            if let Some(command) = command.filter(|_| !skipped) {
                result.push_str(&output(command, dir));
            }
            if line == "```" {
                break;
            }
        }
    }
    result
}

#[test]
fn the_tour_prints_what_readme_says() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let text = fs::read_to_string(readme()).unwrap();
    let now = played(&text, dir.path());
    if BLESS.is_set() {
        fs::write(readme(), &now).unwrap();
        return;
    }
    for (number, (wanted, got)) in text.lines().zip(now.lines()).enumerate() {
        assert_eq!(got, wanted, "README.md:{}; see the head of this test", number + 1);
    }
    assert_eq!(now.lines().count(), text.lines().count());
}
