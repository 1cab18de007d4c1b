//! A file as `std::io` has it.

use std::io::{self, Read, Seek, SeekFrom};

use crate::{Errno, FileKind, FileSystem, FsError, Ino, Result, path};

/// A regular file of a file system, open for reading. It stays readable if its last name goes.
pub struct File<'a> {
    fs: &'a dyn FileSystem,
    ino: Ino,
    at: u64,
}

impl<'a> File<'a> {
    /// Opens the file at a path, whose links are followed.
    ///
    /// # Errors
    /// Those of [`path::find_target`]; [`Errno::IsDir`] for a directory, [`Errno::Invalid`] for other kinds.
    pub fn open(fs: &'a dyn FileSystem, path: &[u8]) -> Result<File<'a>> {
        let found = path::find_target(fs, path)?;
        match found.kind {
            FileKind::File => {}
            FileKind::Dir => return Err(Errno::IsDir.into()),
            _ => return Err(FsError::new(Errno::Invalid, "not a regular file".to_owned())),
        }
        fs.hold(found.ino)?;
        Ok(File { fs, ino: found.ino, at: 0 })
    }
}

impl Drop for File<'_> {
    fn drop(&mut self) {
        // Nobody is left to be told.
        let _ = self.fs.release(self.ino);
    }
}

impl Read for File<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fs.read(self.ino, self.at, buffer).map_err(in_io)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for File<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.fs.attr(self.ino).map_err(in_io)?.size.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

/// The error that the same call of the operating system gives, with the words of the file system.
fn in_io(error: FsError) -> io::Error {
    let kind = io::Error::from_raw_os_error(error.errno() as i32).kind();
    io::Error::new(kind, error)
}
