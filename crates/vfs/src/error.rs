//! Errors as callers tell them apart, each with its errno.

use alloc::string::String;
use core::fmt;

/// The caller's choices. The discriminants are Linux's errno numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(i32)]
#[non_exhaustive]
pub enum Errno {
    /// Operation not permitted.
    Perm = 1,
    /// No such file or directory.
    NoEntry = 2,
    /// The device failed, or its contents are damaged.
    Io = 5,
    /// No such device or address (`SEEK_DATA` past the last data).
    NoAddress = 6,
    /// The object is in use.
    Busy = 16,
    /// Exists already.
    Exists = 17,
    /// The two are in different parts of the file system, between which nothing is moved or linked.
    CrossDevice = 18,
    /// Not a directory.
    NotDir = 20,
    /// Is a directory.
    IsDir = 21,
    /// An argument makes no sense here.
    Invalid = 22,
    /// Larger than a file can be.
    FileTooBig = 27,
    /// No space left.
    NoSpace = 28,
    /// Mounted read-only.
    ReadOnly = 30,
    /// Too many links.
    TooManyLinks = 31,
    /// The buffer is too small.
    Range = 34,
    /// Name longer than 255 bytes.
    NameTooLong = 36,
    /// Directory not empty.
    NotEmpty = 39,
    /// No such attribute.
    NoData = 61,
    /// Not supported by this file system.
    NotSupported = 95,
    /// The inode is gone.
    Stale = 116,
    /// A quota allows no more.
    Quota = 122,
    /// The key of something encrypted was not given.
    NoKey = 126,
}

/// An error: a number for the caller's choice, and a line for people with the fault and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FsError {
    errno: Errno,
    detail: Option<String>,
}

/// The result of every call of [`crate::FileSystem`].
pub type Result<T> = core::result::Result<T, FsError>;

impl FsError {
    /// An error with a line for people: lower case, naming the object and the numbers.
    pub fn new(errno: Errno, detail: String) -> FsError {
        FsError { errno, detail: Some(detail) }
    }

    /// The caller's choice.
    pub fn errno(&self) -> Errno {
        self.errno
    }

    /// Linux's number for it.
    pub fn code(&self) -> i32 {
        self.errno as i32
    }
}

impl From<Errno> for FsError {
    fn from(errno: Errno) -> FsError {
        FsError { errno, detail: None }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Errno::Perm => "operation not permitted",
            Errno::NoEntry => "no such file or directory",
            Errno::Io => "input/output error",
            Errno::NoAddress => "no such device or address",
            Errno::Busy => "in use",
            Errno::Exists => "file exists",
            Errno::CrossDevice => "invalid cross-device link",
            Errno::NotDir => "not a directory",
            Errno::IsDir => "is a directory",
            Errno::Invalid => "invalid argument",
            Errno::FileTooBig => "file too large",
            Errno::NoSpace => "no space left on device",
            Errno::ReadOnly => "read-only file system",
            Errno::TooManyLinks => "too many links",
            Errno::Range => "buffer too small",
            Errno::NameTooLong => "file name too long",
            Errno::NotEmpty => "directory not empty",
            Errno::NoData => "no such attribute",
            Errno::NotSupported => "operation not supported",
            Errno::Stale => "stale file handle",
            Errno::Quota => "disk quota exceeded",
            Errno::NoKey => "required key not available",
        })
    }
}

impl fmt::Display for FsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.detail {
            Some(detail) => write!(f, "{}: {detail}", self.errno),
            None => self.errno.fmt(f),
        }
    }
}

impl core::error::Error for FsError {}
