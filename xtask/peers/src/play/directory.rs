//! A directory of this machine as a file system, as far as workloads need one: files and directories by name, inodes as they come.

use std::{
    collections::HashMap,
    fs::{self, File},
    io,
    os::unix::{ffi::OsStrExt, fs::FileExt, fs::MetadataExt},
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
};

use pumice_vfs::{
    Attr, DirEntry, Errno, FileKind, FileSystem, FsError, Ino, NewNode, Result, SpaceInfo, Timestamp,
};

/// A directory, which is the root.
pub(crate) struct Directory {
    root: PathBuf,
    known: Mutex<Known>,
}

/// The files that have got a number.
#[derive(Default)]
struct Known {
    paths: HashMap<u64, PathBuf>,
    open: HashMap<u64, File>,
}

/// Files that are open at a time.
const OPEN_MOST: usize = 500;

impl Directory {
    pub(crate) fn new(root: &str) -> Directory {
        Directory { root: root.into(), known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, ino: Ino) -> Result<PathBuf> {
        if ino == Ino::ROOT {
            return Ok(self.root.clone());
        }
        self.known().paths.get(&ino.0).cloned().ok_or(Errno::Stale.into())
    }

    fn entry(&self, dir: Ino, name: &[u8]) -> Result<PathBuf> {
        Ok(self.path(dir)?.join(std::ffi::OsStr::from_bytes(name)))
    }

    /// The attributes at a path; remembers them.
    fn look(&self, path: PathBuf) -> Result<Attr> {
        let found = fs::symlink_metadata(&path).map_err(|error| failed(&error))?;
        let kind = if found.is_dir() { FileKind::Dir } else { FileKind::File };
        let ino = Ino(found.ino());
        self.known().paths.insert(ino.0, path);
        let time = Timestamp::default();
        Ok(Attr {
            ino,
            kind,
            perm: found.mode() & 0o7777,
            nlink: u32::try_from(found.nlink()).unwrap_or(u32::MAX),
            uid: found.uid(),
            gid: found.gid(),
            rdev: 0,
            size: found.size(),
            allocated: found.blocks() * 512,
            atime: time,
            mtime: time,
            ctime: time,
            btime: time,
            generation: 0,
        })
    }

    /// Does something with an open file.
    fn with<R>(&self, ino: Ino, work: impl FnOnce(&File) -> io::Result<R>) -> Result<R> {
        let path = self.path(ino)?;
        let mut known = self.known();
        if !known.open.contains_key(&ino.0) {
            if known.open.len() >= OPEN_MOST {
                known.open.clear();
            }
            let file = File::options().read(true).write(true).open(path).map_err(|error| failed(&error))?;
            known.open.insert(ino.0, file);
        }
        let file = known.open.get(&ino.0).ok_or(Errno::Stale)?;
        work(file).map_err(|error| failed(&error))
    }
}

fn failed(error: &io::Error) -> FsError {
    let errno = match error.kind() {
        io::ErrorKind::NotFound => Errno::NoEntry,
        io::ErrorKind::AlreadyExists => Errno::Exists,
        io::ErrorKind::StorageFull => Errno::NoSpace,
        _ => Errno::Io,
    };
    FsError::new(errno, error.to_string())
}

impl FileSystem for Directory {
    fn space(&self) -> Result<SpaceInfo> {
        let found = rustix::fs::statvfs(&self.root).map_err(|error| failed(&error.into()))?;
        Ok(SpaceInfo {
            total_bytes: found.f_blocks * found.f_frsize,
            free_bytes: found.f_bavail * found.f_frsize,
            ..SpaceInfo::default()
        })
    }

    fn attr(&self, ino: Ino) -> Result<Attr> {
        self.look(self.path(ino)?)
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Attr> {
        self.look(self.entry(dir, name)?)
    }

    fn parent(&self, _dir: Ino) -> Result<Ino> {
        Ok(Ino::ROOT)
    }

    fn create(&self, dir: Ino, name: &[u8], node: &NewNode<'_>) -> Result<Attr> {
        let path = self.entry(dir, name)?;
        let made = match node.kind {
            FileKind::Dir => fs::create_dir(&path),
            _ => File::create_new(&path).map(drop),
        };
        made.map_err(|error| failed(&error))?;
        self.look(path)
    }

    fn unlink(&self, dir: Ino, name: &[u8]) -> Result<()> {
        let path = self.entry(dir, name)?;
        let ino = self.look(path.clone())?.ino;
        let mut known = self.known();
        known.open.remove(&ino.0);
        known.paths.remove(&ino.0);
        fs::remove_file(path).map_err(|error| failed(&error))
    }

    fn read(&self, ino: Ino, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        self.with(ino, |file| file.read_at(buffer, offset))
    }

    fn write(&self, ino: Ino, offset: u64, data: &[u8]) -> Result<()> {
        self.with(ino, |file| file.write_all_at(data, offset))
    }

    fn fsync(&self, ino: Ino, data_only: bool) -> Result<()> {
        self.with(ino, |file| if data_only { file.sync_data() } else { file.sync_all() })
    }

    fn sync(&self) -> Result<()> {
        rustix::fs::sync();
        Ok(())
    }

    fn readdir(&self, _dir: Ino, _cookie: u64, _each: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        Err(Errno::NotSupported.into())
    }
}
