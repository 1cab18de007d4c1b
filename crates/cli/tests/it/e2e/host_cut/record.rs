//! The calls of programs on files, as `strace` saw them, one by one.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::super::mounting::run;

const CALLS: &str =
    "trace=write,pwrite64,fsync,fdatasync,ftruncate,fallocate,linkat,rename,renameat2,copy_file_range";

/// One call; files by the paths that they had then.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// Bytes at a place; where a file's own position is used, the place is not known.
    Write { path: PathBuf, at: Option<u64>, bytes: Vec<u8> },
    /// Zeros from a place on.
    Discard { path: PathBuf, at: u64, count: u64 },
    /// All of the file is to outlive a power cut, once it returns.
    Sync { path: PathBuf },
    /// A file gets a name, or another one.
    Name { to: PathBuf },
    /// Another change of a file: its length, or bytes out of another one.
    Change { path: PathBuf },
}

/// Runs a command that must end well below `strace`, and returns the calls of it and its children, in order of their
/// beginnings.
pub(super) fn record(command: &Command, log: &Path) -> Vec<Call> {
    let mut traced = Command::new("strace");
    traced.args(["--quiet=all", "-f", "-y", "-xx", "-s", "1048576", "-e", CALLS, "-o"]).arg(log).arg("--");
    traced.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    if let Some(place) = command.get_current_dir() {
        traced.current_dir(place);
    }
    run(&mut traced);
    let text = fs::read_to_string(log).unwrap();
    let begun = text.lines().filter(|line| is_begun(line));
    begun.map(|line| call(line).unwrap_or_else(|| panic!("{line:.200}"))).collect()
}

/// Whether a line tells of a call that begins and does not fail; others tell of ends and signals.
fn is_begun(line: &str) -> bool {
    let call = line.split_once(' ').map_or("", |(_process, call)| call.trim_start());
    let has_failed = call.rsplit_once(" = ").is_some_and(|(_, result)| result.starts_with('-'));
    !has_failed && !["<...", "---", "+++"].iter().any(|other| call.starts_with(other))
}

/// The call that a line tells of.
fn call(line: &str) -> Option<Call> {
    let (name, rest) = line.split_once(' ')?.1.trim_start().split_once('(')?;
    let words = rest.rsplit_once(" = ").map_or(rest, |(words, _)| words);
    let words = words.trim_end();
    let words = words.strip_suffix(" <unfinished ...>").or_else(|| words.strip_suffix(')'))?;
    let words: Vec<&str> = words.split(", ").collect();
    // An open file is a number, its path and perhaps `(deleted)`.
    let file = |at: usize| {
        let (path, _) = words.get(at)?.split_once('<')?.1.split_once('>')?;
        String::from_utf8(unescape(path)?).ok().map(PathBuf::from)
    };
    let path = || file(0);
    let text = |at: usize| unescape(words.get(at)?.strip_prefix('"')?.strip_suffix('"')?);
    let number = |at: usize| words.get(at)?.parse::<u64>().ok();
    Some(match name {
        "write" => Call::Write { path: path()?, at: None, bytes: text(1)? },
        "pwrite64" => Call::Write { path: path()?, at: Some(number(3)?), bytes: text(1)? },
        "fallocate" => Call::Discard { path: path()?, at: number(2)?, count: number(3)? },
        "fsync" | "fdatasync" => Call::Sync { path: path()? },
        "ftruncate" => Call::Change { path: path()? },
        "copy_file_range" => Call::Change { path: file(2)? },
        "rename" => Call::Name { to: String::from_utf8(text(1)?).ok()?.into() },
        "linkat" | "renameat2" => Call::Name { to: String::from_utf8(text(3)?).ok()?.into() },
        _ => return None,
    })
}

/// The bytes of `\x41\x42`.
fn unescape(text: &str) -> Option<Vec<u8>> {
    text.split("\\x").skip(1).map(|digits| u8::from_str_radix(digits, 16).ok()).collect()
}

#[test]
fn lines_are_read() {
    let path = PathBuf::from("/a");
    let cases = [
        (
            r#"7 pwrite64(3<\x2f\x61>, "\x01\x02", 2, 512) = 2"#,
            Some(Call::Write { path: path.clone(), at: Some(512), bytes: vec![1, 2] }),
        ),
        (
            r#"7 write(1<\x2f\x61>, "\x37", 1 <unfinished ...>"#,
            Some(Call::Write { path: path.clone(), at: None, bytes: vec![0x37] }),
        ),
        (r"7 fdatasync(3<\x2f\x61>(deleted))     = 0", Some(Call::Sync { path: path.clone() })),
        (r"7 <... fdatasync resumed>)   = 0", None),
        (r"7 fallocate(3<\x2f\x61>, 0x7 /* FALLOC_FL_X */, 0, 4096) = -1 EOPNOTSUPP (x)", None),
        (
            r"7 fallocate(3<\x2f\x61>, 0x3 /* FALLOC_FL_X */, 0, 4096) = 0",
            Some(Call::Discard { path, at: 0, count: 4096 }),
        ),
        (
            r#"7 renameat2(AT_FDCWD<\x2f>, "\x62", AT_FDCWD<\x2f>, "\x2f\x61", RENAME_NOREPLACE) = 0"#,
            Some(Call::Name { to: "/a".into() }),
        ),
    ];
    for (line, wanted) in cases {
        assert_eq!(Some(line).filter(|line| is_begun(line)).and_then(call), wanted, "{line}");
    }
}
