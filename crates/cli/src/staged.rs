//! Files that appear under their name when they are whole, and not before.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use pumice_media::{FileDisk, MediaError};
use rustix::fs::{CWD, RenameFlags, SeekFrom, copy_file_range, renameat_with, seek};

use crate::{
    failure::{Failure, Outcome},
    image,
    interrupt::Interrupt,
    recognise::admit_output,
};

/// A file in the making, beside the one whose place it will take. Dropped before that, it goes away.
pub(crate) struct Staged {
    /// Where it is made.
    path: PathBuf,
    /// Where it will be.
    target: PathBuf,
    /// The same, as it was asked for.
    named: PathBuf,
    interrupt: Interrupt,
    /// What is there already, kept from others until it is replaced.
    old: Option<FileDisk>,
}

impl Staged {
    /// For something new at `target`. What is there already stays until the end, and is replaced only with `force`;
    /// an empty file holds nothing and counts as not there. Signals are waited for from now on, so that what is half
    /// done goes away.
    pub(crate) fn new(target: &Path, force: bool, interrupt: &Interrupt) -> Outcome<Staged> {
        admit_output(target)?;
        let found = fs::metadata(target);
        let is_there = found.as_ref().is_ok_and(|found| found.len() > 0);
        if is_there && !force {
            return Err(Failure::new(format!(
                "{}: exists already; use --force to replace it",
                target.display()
            )));
        }
        let named = target.to_path_buf();
        let target = if found.is_ok() { fs::canonicalize(target) } else { Ok(named.clone()) };
        let target = target.map_err(|error| Failure::host(&named, &error))?;
        let old = found.is_ok().then(|| FileDisk::open(&target, 1, false)).transpose();
        let old = old.map_err(|error: MediaError| image::media(&named, &error))?;
        let path = beside(&target);
        interrupt.watch()?;
        Ok(Staged { path, target, named, interrupt: interrupt.clone(), old })
    }

    /// The same, beginning as a copy of what is there.
    pub(crate) fn copy_of(target: &Path, interrupt: &Interrupt) -> Outcome<Staged> {
        let staged = Staged::new(target, true, interrupt)?;
        let failed = |error: io::Error| Failure::host(target, &error);
        copy_sparse(&File::open(&staged.target).map_err(failed)?, &staged.create()?).map_err(failed)?;
        Ok(staged)
    }

    /// Where it is made.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes it, empty.
    pub(crate) fn create(&self) -> Outcome<File> {
        let made = OpenOptions::new().read(true).write(true).create_new(true).open(&self.path);
        made.map_err(|error| Failure::host(&self.named, &error))
    }

    /// A failure on the way, in the words of whoever asked for it, and what that leaves. A signal counts for more.
    pub(crate) fn explain(&self, failure: &Failure) -> Failure {
        let failure = self.interrupt.check().err().unwrap_or(failure.with_path(&self.path, &self.named));
        let name = self.named.display();
        failure.and(&if self.old.is_some() {
            format!("{name} is as it was")
        } else {
            format!("{name} was not made")
        })
    }

    /// Gives it its name, unless a signal has come.
    pub(crate) fn commit(mut self) -> Outcome {
        self.interrupt.check().map_err(|failure| self.explain(&failure))?;
        let failed = |error: io::Error| Failure::host(&self.named, &error);
        match self.old.take() {
            Some(_) => {
                let access = fs::metadata(&self.target).map_err(failed)?.permissions();
                fs::set_permissions(&self.path, access).map_err(failed)?;
                fs::rename(&self.path, &self.target).map_err(failed)
            }
            None => rename_new(&self.path, &self.target).map_err(failed),
        }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // Gone already if it has its name.
        let _ = fs::remove_file(&self.path);
    }
}

/// A hidden name in the same directory, so that a rename is enough.
fn beside(target: &Path) -> PathBuf {
    target.with_file_name(OsString::from(format!(".pumice-{}.part", std::process::id())))
}

/// Renames, unless somebody else has made something there meanwhile.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some file systems cannot promise that.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => fs::rename(from, to),
        renamed => Ok(renamed?),
    }
}

/// Copies a file, holes as holes.
fn copy_sparse(from: &File, to: &File) -> io::Result<()> {
    let size = from.metadata()?.len();
    to.set_len(size)?;
    let mut at = 0;
    while at < size {
        let start = match seek(from, SeekFrom::Data(at)) {
            Ok(start) => start,
            Err(rustix::io::Errno::NXIO) => break,
            Err(error) => return Err(error.into()),
        };
        let end = seek(from, SeekFrom::Hole(start))?;
        let (mut read, mut write) = (start, start);
        while read < end {
            let count = usize::try_from(end - read).unwrap_or(usize::MAX);
            if copy_file_range(from, Some(&mut read), to, Some(&mut write), count)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        at = end;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileExt, MetadataExt};

    use super::*;

    #[test]
    fn what_is_not_committed_goes_away() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("file");
        let staged = Staged::new(&target, false, &Interrupt::default()).ok().unwrap();
        staged.create().ok().unwrap();
        assert!(!target.exists());
        drop(staged);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_copy_keeps_holes_and_takes_the_place_of_what_was_there() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("file");
        let file = File::create(&target).unwrap();
        file.write_all_at(b"middle", 5 << 20).unwrap();
        file.set_len(64 << 20).unwrap();
        let staged = Staged::copy_of(&target, &Interrupt::default()).ok().unwrap();
        File::options().write(true).open(staged.path()).unwrap().write_all_at(b"new", 9 << 20).unwrap();
        assert!(staged.commit().is_ok());
        let found = fs::metadata(&target).unwrap();
        assert!(found.len() == 64 << 20 && found.blocks() * 512 < 1 << 20, "{}", found.blocks());
        let bytes = fs::read(&target).unwrap();
        assert!(bytes[5 << 20..].starts_with(b"middle") && bytes[9 << 20..].starts_with(b"new"));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
