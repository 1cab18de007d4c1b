//! Files that appear under their name when they are whole, and not before.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::fd::AsRawFd,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use pumice_media::{FileDisk, MediaError};
use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, SeekFrom, copy_file_range, linkat, renameat_with, seek},
    io::Errno,
};

use crate::{
    failure::{Failure, Outcome},
    image,
    interrupt::Interrupt,
    recognise::admit_output,
};

/// A file in the making. Dropped before it has its name, it goes away; where the host can make files without a name
/// (`O_TMPFILE`), it goes away too when the process is killed.
pub(crate) struct Staged {
    /// The place where it is made.
    place: Place,
    /// The place where it will be.
    target: PathBuf,
    /// The same, as it was asked for.
    named: PathBuf,
    interrupt: Interrupt,
    /// The old file, kept from others until it is replaced.
    old: Option<FileDisk>,
}

/// The place of a file before it has its name.
struct Place {
    file: File,
    /// Leads to the file: through this process, if it has no name.
    path: PathBuf,
    /// It has a name already, a hidden one beside its target.
    is_hidden: bool,
}

/// Refuses a path that no file can replace, and without `force` a file that is not empty.
pub(crate) fn admit(target: &Path, force: bool) -> Outcome {
    admit_output(target)?;
    let is_there = fs::metadata(target).is_ok_and(|found| found.len() > 0);
    if is_there && !force {
        let target = target.display();
        return Err(Failure::new(format!("{target}: exists already; use --force to replace it")));
    }
    Ok(())
}

impl Staged {
    /// A stage for something new at `target`, which [`admit`] allows. An old file stays until the end. Signals are
    /// waited for from now on, so that a half-made file goes away.
    pub(crate) fn new(target: &Path, force: bool, interrupt: &Interrupt) -> Outcome<Staged> {
        Staged::made_by(Place::new, target, force, interrupt)
    }

    fn made_by(
        make: impl FnOnce(&Path) -> io::Result<Place>,
        target: &Path,
        force: bool,
        interrupt: &Interrupt,
    ) -> Outcome<Staged> {
        admit(target, force)?;
        let named = target.to_path_buf();
        let is_there = fs::metadata(target).is_ok();
        let target = if is_there { fs::canonicalize(target) } else { Ok(named.clone()) };
        let target = target.map_err(|error| Failure::host(&named, &error))?;
        let old = is_there.then(|| FileDisk::open(&target, 1, false)).transpose();
        let old = old.map_err(|error: MediaError| image::media(&named, &error))?;
        interrupt.watch()?;
        let place = make(&target).map_err(|error| Failure::host(&named, &error))?;
        Ok(Staged { place, target, named, interrupt: interrupt.clone(), old })
    }

    /// The same, beginning as a copy of the old file.
    pub(crate) fn copy_of(target: &Path, interrupt: &Interrupt) -> Outcome<Staged> {
        let staged = Staged::new(target, true, interrupt)?;
        let failed = |error: io::Error| Failure::host(target, &error);
        copy_sparse(&File::open(&staged.target).map_err(failed)?, &staged.open()?).map_err(failed)?;
        Ok(staged)
    }

    /// A path by which this process can open it. It is there already, and empty at first.
    pub(crate) fn path(&self) -> &Path {
        &self.place.path
    }

    /// Opens it to write to.
    pub(crate) fn open(&self) -> Outcome<File> {
        let opened = OpenOptions::new().read(true).write(true).open(self.path());
        opened.map_err(|error| Failure::host(&self.named, &error))
    }

    /// A failure before the end, with the path that the user gave, and the state left. After a signal, that is the
    /// failure.
    pub(crate) fn explain(&self, failure: &Failure) -> Failure {
        let failure = self.interrupt.check().err().unwrap_or(failure.with_path(self.path(), &self.named));
        let name = self.named.display();
        failure.and(&if self.old.is_some() {
            format!("{name} is as it was")
        } else {
            format!("{name} was not made")
        })
    }

    /// Gives it its name, unless a signal has come. Whatever the host does then, the name leads to the old file or to
    /// all of the new one, and to the new one once it returns.
    pub(crate) fn commit(mut self) -> Outcome {
        self.interrupt.check().map_err(|failure| self.explain(&failure))?;
        let old = self.old.take();
        let named = self.place.file.sync_all().and_then(|()| match old {
            Some(_) => self.replace(),
            None => self.place.name(&self.target),
        });
        let kept = named.and_then(|()| keep_name(&self.target));
        kept.map_err(|error| Failure::host(&self.named, &error))
    }

    /// Takes the place of the old file, with its permissions.
    fn replace(&self) -> io::Result<()> {
        self.place.file.set_permissions(fs::metadata(&self.target)?.permissions())?;
        if self.place.is_hidden {
            return fs::rename(self.path(), &self.target);
        }
        // No call gives a nameless file a name that is taken.
        let hidden = beside(&self.target);
        self.place.name(&hidden)?;
        fs::rename(&hidden, &self.target).inspect_err(|_| drop(fs::remove_file(&hidden)))
    }
}

/// Writes a file as a whole, in place of an old one.
pub(crate) fn write(path: &Path, text: &str) -> Outcome {
    let staged = Staged::new(path, true, &Interrupt::default())?;
    let written = staged.open()?.write_all(text.as_bytes());
    written.map_err(|error| staged.explain(&Failure::host(path, &error)))?;
    staged.commit()
}

impl Drop for Staged {
    fn drop(&mut self) {
        if self.place.is_hidden {
            // Gone already if it has its name.
            let _ = fs::remove_file(&self.place.path);
        }
    }
}

impl Place {
    fn new(target: &Path) -> io::Result<Place> {
        // A host that cannot, or where /proc is missing, makes a file with a hidden name, or says why not.
        Place::nameless(target).or_else(|_| Place::hidden(target))
    }

    fn nameless(target: &Path) -> io::Result<Place> {
        let access = Mode::from_raw_mode(0o666);
        let file = File::from(rustix::fs::open(
            above(target),
            OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC,
            access,
        )?);
        let path = Path::new("/proc/self/fd").join(file.as_raw_fd().to_string());
        fs::metadata(&path)?;
        Ok(Place { file, path, is_hidden: false })
    }

    fn hidden(target: &Path) -> io::Result<Place> {
        let path = beside(target);
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        Ok(Place { file, path, is_hidden: true })
    }

    /// Gives it a name that is free.
    fn name(&self, to: &Path) -> io::Result<()> {
        if self.is_hidden {
            return rename_new(&self.path, to);
        }
        Ok(linkat(CWD, &self.path, CWD, to, AtFlags::SYMLINK_FOLLOW)?)
    }
}

/// The directory that a file is in.
fn above(target: &Path) -> &Path {
    target.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes the name of a file outlive a power cut of the host, where that can be asked for: some file systems cannot do it,
/// and a directory may be closed to readers.
pub(crate) fn keep_name(file: &Path) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    match File::open(above(file)).and_then(|dir| dir.sync_all()) {
        Err(error) if [InvalidInput, PermissionDenied, Unsupported].contains(&error.kind()) => Ok(()),
        done => done,
    }
}

/// A hidden name in the same directory, so that a rename is enough.
fn beside(target: &Path) -> PathBuf {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    target.with_file_name(OsString::from(format!(".pumice-{}-{number}.part", std::process::id())))
}

/// Renames, unless somebody else has made something there meanwhile.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some file systems cannot promise that.
        Err(Errno::INVAL | Errno::NOSYS) => fs::rename(from, to),
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
            Err(Errno::NXIO) => break,
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
    use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};

    use super::*;

    type Make = fn(&Path) -> io::Result<Place>;
    /// All ways, for any host.
    const WAYS: [Make; 2] = [Place::new, Place::hidden];

    fn staged(make: Make, target: &Path, force: bool) -> Staged {
        Staged::made_by(make, target, force, &Interrupt::default()).unwrap()
    }

    fn names(dir: &Path) -> usize {
        fs::read_dir(dir).unwrap().count()
    }

    #[test]
    fn what_is_not_committed_goes_away() {
        for make in WAYS {
            let dir = tempfile::tempdir().unwrap();
            let target = dir.path().join("file");
            let staged = staged(make, &target, false);
            fs::write(staged.path(), "half").unwrap();
            assert!(!target.exists());
            drop(staged);
            assert_eq!(names(dir.path()), 0);
        }
    }

    #[test]
    fn what_is_committed_takes_its_name_but_nobody_elses() {
        for make in WAYS {
            let dir = tempfile::tempdir().unwrap();
            let target = dir.path().join("file");
            let (first, second) = (staged(make, &target, false), dir.path().join("other"));
            fs::write(first.path(), "first").unwrap();
            fs::write(&second, "second").unwrap();
            first.commit().unwrap();
            assert_eq!(fs::read_to_string(&target).unwrap(), "first");

            fs::remove_file(&target).unwrap();
            let late = staged(make, &target, false);
            fs::rename(&second, &target).unwrap();
            assert!(late.commit().unwrap_err().to_string().ends_with("file exists"));
            assert_eq!(fs::read_to_string(&target).unwrap(), "second");

            let third = staged(make, &target, true);
            fs::write(third.path(), "third").unwrap();
            fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
            third.commit().unwrap();
            assert_eq!(fs::read_to_string(&target).unwrap(), "third");
            assert_eq!(fs::metadata(&target).unwrap().mode() & 0o777, 0o640);
            assert_eq!(names(dir.path()), 1);
        }
    }

    #[test]
    fn what_cannot_be_made_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("missing/file");
        for make in WAYS {
            let failure = Staged::made_by(make, &target, false, &Interrupt::default()).err().unwrap();
            assert_eq!(failure.to_string(), format!("{}: no such file or directory", target.display()));
        }
    }

    #[test]
    fn a_copy_keeps_holes_and_takes_the_place_of_what_was_there() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("file");
        let file = File::create(&target).unwrap();
        file.write_all_at(b"middle", 5 << 20).unwrap();
        file.set_len(64 << 20).unwrap();
        let staged = Staged::copy_of(&target, &Interrupt::default()).unwrap();
        File::options().write(true).open(staged.path()).unwrap().write_all_at(b"new", 9 << 20).unwrap();
        staged.commit().unwrap();
        let found = fs::metadata(&target).unwrap();
        assert!(found.len() == 64 << 20 && found.blocks() * 512 < 1 << 20, "{}", found.blocks());
        let bytes = fs::read(&target).unwrap();
        assert!(bytes[5 << 20..].starts_with(b"middle") && bytes[9 << 20..].starts_with(b"new"));
        assert_eq!(names(dir.path()), 1);
    }
}
