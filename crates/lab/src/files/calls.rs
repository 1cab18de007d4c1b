//! System calls of an application, as Mobibench's tool recorded them, made again without the pauses.
//!
//! Each line is a thread, a time, a call and its arguments: `open PATH FLAGS FD`, `close FD`, `read` and `write FD
//! BYTES`, `pread` and `pwrite FD OFFSET BYTES`, `fsync FD`, `unlink PATH`; others look at files, which costs no medium
//! anything. A descriptor that was open before the recording is a file of its own. All files lie in one directory.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use pumice_vfs::{Errno, FileSystem, FsError, Ino};

use super::{append, make};
use crate::LabError;

/// A recording.
pub(super) struct Calls(Vec<Call>);

enum Call {
    Open {
        fd: u32,
        name: String,
        truncates: bool,
    },
    Close(u32),
    Read {
        fd: u32,
        offset: Option<u64>,
        bytes: u64,
    },
    Write {
        fd: u32,
        offset: Option<u64>,
        bytes: u64,
    },
    Fsync(u32),
    Unlink(String),
    /// Costs no medium anything.
    Look,
}

/// The state of the files while calls go on.
#[derive(Default)]
struct Open {
    /// Name and place of each open file.
    by_fd: HashMap<u32, (String, u64)>,
}

impl Open {
    /// The file, and the place that a call is about; a call without an offset moves the place on.
    fn place(&mut self, fd: u32, offset: Option<u64>, bytes: u64) -> (String, u64) {
        let (name, at) = self.by_fd.entry(fd).or_insert_with(|| (format!("open before as {fd}"), 0));
        let place = offset.unwrap_or(*at);
        if offset.is_none() {
            *at += bytes;
        }
        (name.clone(), place)
    }
}

impl Calls {
    /// Understands a recording.
    pub(super) fn parse(text: &str) -> Result<Calls, LabError> {
        let mut calls = Vec::new();
        for (line, number) in text.lines().zip(1..) {
            let wrong = || LabError::Setup(format!("line {number} of the recorded calls: `{line}`"));
            calls.push(Call::parse(line).ok_or_else(wrong)?);
        }
        Ok(Calls(calls))
    }

    /// Makes the files that are read or written without being made, as long as they are read.
    pub(super) fn prepare(&self, fs: &dyn FileSystem) -> Result<(), LabError> {
        let (mut open, mut known) = (Open::default(), BTreeSet::new());
        let mut ends: BTreeMap<String, u64> = BTreeMap::new();
        for call in &self.0 {
            match call {
                Call::Open { fd, name, truncates } => {
                    open.by_fd.insert(*fd, (name.clone(), 0));
                    // A file that is emptied at first need not have been there.
                    if *truncates && !ends.contains_key(name) {
                        known.insert(name.clone());
                    }
                }
                Call::Close(fd) => drop(open.by_fd.remove(fd)),
                Call::Read { fd, offset, bytes } => {
                    let (name, at) = open.place(*fd, *offset, *bytes);
                    if !known.contains(&name) {
                        let end = ends.entry(name).or_default();
                        *end = (*end).max(at + bytes);
                    }
                }
                Call::Write { fd, offset, bytes } => drop(open.place(*fd, *offset, *bytes)),
                Call::Fsync(_) | Call::Look => {}
                Call::Unlink(name) => drop(known.insert(name.clone())),
            }
        }
        for (name, end) in ends {
            append(fs, make(fs, Ino::ROOT, &name)?, 0, end)?;
        }
        Ok(())
    }

    /// Makes all calls.
    pub(super) fn run(&self, fs: &dyn FileSystem) -> Result<(), LabError> {
        let (mut open, mut buffer) = (Open::default(), Vec::new());
        for call in &self.0 {
            match call {
                Call::Open { fd, name, truncates } => {
                    if *truncates {
                        remove(fs, name)?;
                    }
                    find(fs, name)?;
                    open.by_fd.insert(*fd, (name.clone(), 0));
                }
                Call::Close(fd) => drop(open.by_fd.remove(fd)),
                Call::Read { fd, offset, bytes } => {
                    let (name, at) = open.place(*fd, *offset, *bytes);
                    let length =
                        usize::try_from(*bytes).map_err(|error| LabError::Setup(error.to_string()))?;
                    buffer.resize(length, 0);
                    fs.read(find(fs, &name)?, at, &mut buffer)?;
                }
                Call::Write { fd, offset, bytes } => {
                    let (name, at) = open.place(*fd, *offset, *bytes);
                    append(fs, find(fs, &name)?, at, *bytes)?;
                }
                Call::Fsync(fd) => {
                    let (name, _) = open.place(*fd, Some(0), 0);
                    fs.fsync(find(fs, &name)?, false)?;
                }
                Call::Unlink(name) => remove(fs, name)?,
                Call::Look => {}
            }
        }
        Ok(())
    }
}

/// The file of a name, made if it is missing.
fn find(fs: &dyn FileSystem, name: &str) -> Result<Ino, LabError> {
    match fs.lookup(Ino::ROOT, name.as_bytes()) {
        Err(error) if error.errno() == Errno::NoEntry => make(fs, Ino::ROOT, name),
        found => Ok(found?.ino),
    }
}

/// Removes a file that may be there.
fn remove(fs: &dyn FileSystem, name: &str) -> Result<(), LabError> {
    match fs.unlink(Ino::ROOT, name.as_bytes()) {
        Err(error) if error.errno() != Errno::NoEntry => Err(FsError::into(error)),
        _ => Ok(()),
    }
}

impl Call {
    /// The call of a line; `None` if the line makes no sense.
    fn parse(line: &str) -> Option<Call> {
        let mut words = line.split_whitespace();
        let _thread: u32 = words.next()?.parse().ok()?;
        let _time: u64 = words.next()?.parse().ok()?;
        let call = words.next()?;
        let words: Vec<&str> = words.collect();
        // A path may have spaces in it; the words after it have none.
        let fd = || words.first()?.parse().ok();
        let number = |at: usize| words.get(at)?.parse::<u64>().ok();
        // A call that failed tells -1 in place of its bytes.
        let has_failed = words.last() == Some(&"-1");
        let name = |behind: usize| {
            let path = words.get(..words.len().checked_sub(behind)?)?.join(" ");
            Some(path.trim_matches('"').replace('/', "|"))
        };
        Some(match call {
            _ if has_failed => Call::Look,
            "open" => {
                let flags = words.get(words.len().checked_sub(2)?)?;
                if flags.contains("O_DIRECTORY") {
                    return Some(Call::Look);
                }
                let fd = words.last()?.parse().ok()?;
                Call::Open { fd, name: name(2)?, truncates: flags.contains("O_TRUNC") }
            }
            "close" => Call::Close(fd()?),
            "read" => Call::Read { fd: fd()?, offset: None, bytes: number(1)? },
            "write" => Call::Write { fd: fd()?, offset: None, bytes: number(1)? },
            "pread" => Call::Read { fd: fd()?, offset: Some(number(1)?), bytes: number(2)? },
            "pwrite" => Call::Write { fd: fd()?, offset: Some(number(1)?), bytes: number(2)? },
            "fsync" => Call::Fsync(fd()?),
            "unlink" => Call::Unlink(name(1)?),
            "access" | "stat64" | "lstat64" | "fstat64" => Call::Look,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_understood() {
        let text = "7 79699 pwrite 89 4616 4\n1 1 open \"/data/a b\" O_RDWR|O_TRUNC|O_CREAT 5\n2 3 access \"/x\" -1\n";
        let calls = Calls::parse(text).unwrap().0;
        assert!(matches!(calls.as_slice(), [_, _, Call::Look]));
        assert!(matches!(calls.first(), Some(Call::Write { fd: 89, offset: Some(4616), bytes: 4 })));
        assert!(
            matches!(calls.get(1), Some(Call::Open { fd: 5, name, truncates: true }) if name == "|data|a b")
        );
        for wrong in ["7 x pwrite 1 2 3", "7 1 pwrite 1 2", "7 1 mmap 1", "7"] {
            assert!(Calls::parse(wrong).is_err(), "{wrong}");
        }
    }
}
