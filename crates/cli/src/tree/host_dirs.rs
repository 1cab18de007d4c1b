//! Directories of the host that are being filled, however deep: everything is done in an open directory, never by a
//! path, and only the innermost ones are open.

use std::{
    fs::File,
    io,
    os::unix::fs::MetadataExt,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use pumice_vfs::Attr;
use rustix::{
    fs::{CWD, Mode, OFlags, mkdirat, openat},
    io::Errno,
};

/// Directories that are open at a time, those beside that files are being made in.
const OPEN_MAX: usize = 64;

const OPENED: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A directory. Whoever lets go of it last gives it its attributes, which would change with everything made in it.
pub(crate) struct HostDir {
    file: Mutex<Option<Arc<File>>>,
    /// Device and inode.
    identity: (u64, u64),
    /// The attributes that it shall have in the end.
    attr: Attr,
}

impl HostDir {
    fn new(file: File, attr: Attr) -> io::Result<HostDir> {
        let identity = identity(&file)?;
        Ok(HostDir { file: Mutex::new(Some(Arc::new(file))), identity, attr })
    }

    fn file(&self) -> Option<Arc<File>> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn put(&self, file: Option<Arc<File>>) {
        *self.file.lock().unwrap_or_else(PoisonError::into_inner) = file;
    }

    /// The open directory and its attributes, if nobody else has it any more.
    pub(crate) fn into_last(self: Arc<HostDir>) -> Option<(Arc<File>, Attr)> {
        let dir = Arc::into_inner(self)?;
        let file = dir.file.into_inner().unwrap_or_else(PoisonError::into_inner)?;
        Some((file, dir.attr))
    }
}

/// The way from the outermost directory to the one that is being filled.
#[derive(Default)]
pub(crate) struct HostDirs {
    stack: Vec<Arc<HostDir>>,
}

impl HostDirs {
    /// Makes the outermost directory at a path, or takes it if it is there.
    pub(crate) fn begin(&mut self, target: &Path, attr: Attr) -> io::Result<()> {
        self.push(CWD, target, attr)
    }

    /// Makes a directory in the innermost one, or takes it if it is there, and goes into it.
    pub(crate) fn enter(&mut self, name: &Path, attr: Attr) -> io::Result<()> {
        let (_, parent) = self.innermost()?;
        self.push(&*parent, name, attr)?;
        // Those that are far up are opened again on the way back.
        let far = self.stack.len().saturating_sub(OPEN_MAX + 1);
        if let Some(dir) = self.stack.get(far).filter(|_| far > 0) {
            dir.put(None);
        }
        Ok(())
    }

    fn push<Fd: std::os::fd::AsFd>(&mut self, parent: Fd, name: &Path, attr: Attr) -> io::Result<()> {
        match mkdirat(&parent, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        // A link to a directory is none: the copy would leave the target.
        let file = openat(&parent, name, OPENED, Mode::empty())?;
        self.stack.push(Arc::new(HostDir::new(file.into(), attr)?));
        Ok(())
    }

    /// The directory that is being filled.
    pub(crate) fn innermost(&self) -> io::Result<(Arc<HostDir>, Arc<File>)> {
        let dir = self.stack.last().ok_or_else(gone)?;
        Ok((dir.clone(), dir.file().ok_or_else(gone)?))
    }

    /// The outermost directory, which is always open.
    pub(crate) fn outermost(&self) -> io::Result<Arc<File>> {
        self.stack.first().and_then(|dir| dir.file()).ok_or_else(gone)
    }

    /// Goes out of the innermost directory, which is handed back.
    pub(crate) fn leave(&mut self) -> io::Result<Arc<HostDir>> {
        let left = self.stack.pop().ok_or_else(gone)?;
        if let Some(parent) = self.stack.last().filter(|parent| parent.file().is_none()) {
            let inner = left.file().ok_or_else(gone)?;
            let file: File = openat(&*inner, c"..", OPENED, Mode::empty())?.into();
            if identity(&file)? != parent.identity {
                return Err(io::Error::other("the directory was moved away"));
            }
            parent.put(Some(Arc::new(file)));
        }
        Ok(left)
    }
}

fn identity(file: &File) -> io::Result<(u64, u64)> {
    let found = file.metadata()?;
    Ok((found.dev(), found.ino()))
}

fn gone() -> io::Error {
    io::Error::from(io::ErrorKind::NotFound)
}

/// Opens the directory at a path below `dir`, however long: a name at a time.
pub(crate) fn open_below(dir: &File, path: &[u8]) -> io::Result<File> {
    let mut here = dir.try_clone()?;
    for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
        here = openat(&here, name, OPENED, Mode::empty())?.into();
    }
    Ok(here)
}
