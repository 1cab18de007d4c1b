//! The tools of the checks: short words for calls on the subject, and for the right answers.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Debug;

use super::Outcome;
use crate::conformance::compare::same;
use crate::conformance::tools::{list, plain, read_all};
use crate::conformance::{Subject, TestClock};
use crate::{
    Attr, Errno, FileKind, FileSystem, FsError, Ino, RenameMode, SetAttr, SpaceMode, Timestamp, XattrMode,
};

pub(super) struct Bench<'a> {
    subject: Box<dyn Subject + 'a>,
    clock: TestClock,
}

/// A value for a check to go on with, or the failure.
pub(super) type Told<T> = Result<T, String>;

pub(super) const ROOT: Ino = Ino::ROOT;

impl<'a> Bench<'a> {
    pub(super) fn new(subject: Box<dyn Subject + 'a>, clock: TestClock) -> Bench<'a> {
        Bench { subject, clock }
    }

    pub(super) fn fs(&self) -> &dyn FileSystem {
        self.subject.fs()
    }

    /// Lets time pass; returns the moment of the next call.
    pub(super) fn tick(&self) -> Timestamp {
        self.clock.tick();
        self.clock.now()
    }

    pub(super) fn remount(&mut self) -> Outcome {
        ok("remount", self.subject.remount())
    }

    pub(super) fn has_btime(&self) -> bool {
        !self.subject.leeway().no_btime
    }

    pub(super) fn has_times(&self) -> bool {
        !self.subject.leeway().no_times
    }

    pub(super) fn make(&self, kind: FileKind, dir: Ino, name: &str) -> Told<Ino> {
        let mut node = plain(kind);
        if kind == FileKind::Symlink {
            node.target = b"target";
        }
        Ok(ok("create", self.fs().create(dir, name.as_bytes(), &node))?.ino)
    }

    pub(super) fn file(&self, dir: Ino, name: &str) -> Told<Ino> {
        self.make(FileKind::File, dir, name)
    }

    pub(super) fn dir(&self, dir: Ino, name: &str) -> Told<Ino> {
        self.make(FileKind::Dir, dir, name)
    }

    pub(super) fn attr(&self, ino: Ino) -> Told<Attr> {
        ok("attr", self.fs().attr(ino))
    }

    pub(super) fn set(&self, ino: Ino, change: SetAttr) -> Told<Attr> {
        ok("set_attr", self.fs().set_attr(ino, &change))
    }

    pub(super) fn truncate(&self, ino: Ino, size: u64) -> Told<Attr> {
        self.set(ino, SetAttr { size: Some(size), ..SetAttr::default() })
    }

    pub(super) fn find(&self, dir: Ino, name: &str) -> Told<Ino> {
        Ok(ok("lookup", self.fs().lookup(dir, name.as_bytes()))?.ino)
    }

    pub(super) fn unlink(&self, dir: Ino, name: &str) -> Outcome {
        ok("unlink", self.fs().unlink(dir, name.as_bytes()))
    }

    pub(super) fn rmdir(&self, dir: Ino, name: &str) -> Outcome {
        ok("rmdir", self.fs().rmdir(dir, name.as_bytes()))
    }

    pub(super) fn rename(&self, from: (Ino, &str), to: (Ino, &str), mode: RenameMode) -> Result<(), FsError> {
        self.fs().rename(from.0, from.1.as_bytes(), to.0, to.1.as_bytes(), mode)
    }

    pub(super) fn write(&self, ino: Ino, offset: u64, data: &[u8]) -> Outcome {
        ok("write", self.fs().write(ino, offset, data))
    }

    pub(super) fn allocate(&self, ino: Ino, mode: SpaceMode, offset: u64, length: u64) -> Outcome {
        ok("allocate", self.fs().allocate(ino, mode, offset, length))
    }

    pub(super) fn set_xattr(&self, ino: Ino, name: &str, value: &[u8]) -> Outcome {
        ok("set_xattr", self.fs().set_xattr(ino, name.as_bytes(), value, XattrMode::Either))
    }

    /// The names in a directory, sorted.
    pub(super) fn names(&self, dir: Ino) -> Told<Vec<Vec<u8>>> {
        let mut names: Vec<_> =
            ok("readdir", list(self.fs(), dir))?.into_iter().map(|(name, ..)| name).collect();
        names.sort();
        Ok(names)
    }

    /// Checks that a file holds these bytes and no others.
    pub(super) fn holds(&self, ino: Ino, want: &[u8]) -> Outcome {
        same("size", &self.attr(ino)?.size, &(want.len() as u64))?;
        let content = ok("read", read_all(self.fs(), ino))?;
        match content.iter().zip(want).position(|(is, want)| is != want) {
            Some(at) => Err(format!("byte {at} is {}, want {}", content[at], want[at])),
            None => same("bytes read", &content.len(), &want.len()),
        }
    }

    pub(super) fn nlink(&self, ino: Ino, want: u32) -> Outcome {
        same("nlink and its right value", &self.attr(ino)?.nlink, &want)
    }

    /// Checks that `mtime` and `ctime` of an inode are the present moment, each as `true` or `false` says.
    pub(super) fn changed(&self, ino: Ino, mtime: bool, ctime: bool) -> Outcome {
        if !self.has_times() {
            return Ok(());
        }
        let (attr, now) = (self.attr(ino)?, self.clock.now());
        same("whether mtime is now, and whether it should be", &(attr.mtime == now), &mtime)?;
        same("whether ctime is now, and whether it should be", &(attr.ctime == now), &ctime)
    }
}

/// Checks that a call works.
pub(super) fn ok<T>(call: &str, result: Result<T, FsError>) -> Told<T> {
    result.map_err(|error| format!("{call}: {error}"))
}

/// Checks that a call fails with one of some errors.
pub(super) fn fails<T: Debug>(call: &str, result: Result<T, FsError>, want: &[Errno]) -> Outcome {
    match result {
        Err(error) if want.contains(&error.errno()) => Ok(()),
        other => Err(format!("{call} should fail with {want:?}: {other:?}")),
    }
}
