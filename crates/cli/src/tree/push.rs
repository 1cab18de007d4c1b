//! Copies from the host into an image.

use std::{
    collections::HashMap,
    ffi::OsString,
    fs::{self, File},
    os::unix::{
        ffi::OsStrExt,
        fs::{FileExt, MetadataExt},
    },
    path::{Path, PathBuf},
};

use pumice_vfs::{Attr, Errno, FileKind, FileSystem, Ino, NewNode, RenameMode, SetAttr, XattrMode};
use rustix::{fs::SeekFrom, io::Errno as HostErrno};

use super::{CHUNK, host};
use crate::{
    failure::{Failure, Outcome},
    interrupt::Interrupt,
    progress::Progress,
    text,
};

/// Counts the bytes and the files of a tree on the host, as far as they can be seen.
pub(crate) fn measure(path: &Path) -> (u64, u64) {
    let Ok(found) = fs::symlink_metadata(path) else { return (0, 0) };
    let own = if found.is_file() { found.len() } else { 0 };
    let below = if found.is_dir() { children(path).unwrap_or_default() } else { Vec::new() };
    below
        .iter()
        .map(|name| measure(&path.join(name)))
        .fold((own, 1), |sum, part| (sum.0 + part.0, sum.1 + part.1))
}

/// Names in a directory of the host, sorted.
pub(crate) fn children(path: &Path) -> Outcome<Vec<OsString>> {
    let failed = |error| Failure::host(path, &error);
    let mut names = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        names.push(entry.map_err(failed)?.file_name());
    }
    names.sort();
    Ok(names)
}

/// A name that was made.
struct Made {
    dir: Ino,
    name: Vec<u8>,
    is_dir: bool,
}

/// The name of a file until it is whole, where it takes the place of another.
const PART: &[u8] = b".pumice-put.part";

/// A copy under way.
pub(crate) struct Push<'a> {
    fs: &'a dyn FileSystem,
    /// Replace files that are there already.
    force: bool,
    progress: &'a Progress,
    interrupt: &'a Interrupt,
    /// New files and directories, in this order.
    made: Vec<Made>,
    /// Files that took the place of others.
    replaced: usize,
    /// Inodes made for host files with several names, by device and inode there.
    links: HashMap<(u64, u64), Ino>,
    /// The losses, in words.
    lost: Vec<String>,
}

impl<'a> Push<'a> {
    pub(crate) fn new(
        fs: &'a dyn FileSystem,
        force: bool,
        progress: &'a Progress,
        interrupt: &'a Interrupt,
    ) -> Push<'a> {
        Push {
            fs,
            force,
            progress,
            interrupt,
            made: Vec::new(),
            replaced: 0,
            links: HashMap::new(),
            lost: Vec::new(),
        }
    }

    /// Copies `source`, and all below it, under the name `name` into `dir`.
    pub(crate) fn put(&mut self, source: &Path, dir: Ino, name: &[u8]) -> Outcome {
        let found = fs::symlink_metadata(source).map_err(|error| Failure::host(source, &error))?;
        let linked = (found.nlink() > 1 && !found.is_dir()).then(|| (found.dev(), found.ino()));
        if found.is_dir() {
            let made = self.make_dir(source, &found, dir, name)?;
            return self.put_content(source, made);
        }
        self.interrupt.check()?;
        let replaces = self.must_replace(source, dir, name)?;
        let here = if replaces { PART } else { name };
        if let Some(first) = linked.and_then(|key| self.links.get(&key)) {
            self.fs.link(*first, dir, here).map_err(|error| Failure::inside(name, &error))?;
            self.note(dir, here, false);
        } else {
            let made = self.make(source, &found, dir, here)?;
            if let Some(key) = linked {
                self.links.insert(key, made);
            }
            if found.is_file() {
                self.copy_content(source, &found, made)?;
            }
            self.finish(source, &found, made)?;
        }
        if replaces { self.replace(dir, name) } else { Ok(()) }
    }

    fn note(&mut self, dir: Ino, name: &[u8], is_dir: bool) {
        self.made.push(Made { dir, name: name.to_vec(), is_dir });
    }

    /// Gives the newest file the name of the one that it replaces.
    fn replace(&mut self, dir: Ino, name: &[u8]) -> Outcome {
        let renamed = self.fs.rename(dir, PART, dir, name, RenameMode::Replace);
        renamed.map_err(|error| Failure::inside(name, &error))?;
        self.made.pop();
        self.replaced += 1;
        Ok(())
    }

    /// Removes all new files again, after `failure`, and tells the outcome of all.
    pub(crate) fn undo(&mut self, failure: Failure) -> Failure {
        for made in self.made.drain(..).rev() {
            let removed = match made.is_dir {
                true => self.fs.rmdir(made.dir, &made.name),
                false => self.fs.unlink(made.dir, &made.name),
            };
            if removed.is_err() {
                let name = text::name(&made.name);
                return failure.and(&format!("earlier copies could not be removed again ({name})"));
            }
        }
        match self.replaced {
            0 => failure.and("nothing was copied"),
            1 => failure.and("nothing was copied but one file that was replaced before"),
            many => failure.and(&format!("nothing was copied but {many} files that were replaced before")),
        }
    }

    /// Copies the entries of the directory `source`, and its own attributes, to the directory `dir`.
    pub(crate) fn put_content(&mut self, source: &Path, dir: Ino) -> Outcome {
        for name in children(source)? {
            self.put(&source.join(&name), dir, name.as_bytes())?;
        }
        let found = fs::symlink_metadata(source).map_err(|error| Failure::host(source, &error))?;
        self.finish(source, &found, dir)
    }

    /// The losses.
    pub(crate) fn into_lost(self) -> Vec<String> {
        self.lost
    }

    fn make_dir(&mut self, source: &Path, found: &fs::Metadata, dir: Ino, name: &[u8]) -> Outcome<Ino> {
        match self.existing(dir, name)? {
            Some(there) if there.kind == FileKind::Dir => Ok(there.ino),
            Some(_) => {
                Err(Failure::new(format!("{}: exists already and is not a directory", text::name(name))))
            }
            None => self.make(source, found, dir, name),
        }
    }

    fn make(&mut self, source: &Path, found: &fs::Metadata, dir: Ino, name: &[u8]) -> Outcome<Ino> {
        let kind = host::kind(found);
        let target = match kind {
            FileKind::Symlink => fs::read_link(source).map_err(|error| Failure::host(source, &error))?,
            _ => PathBuf::new(),
        };
        let is_device = matches!(kind, FileKind::CharDevice | FileKind::BlockDevice);
        let node = NewNode {
            kind,
            perm: found.mode() & 0o7777,
            uid: found.uid(),
            gid: found.gid(),
            rdev: if is_device { host::rdev(found) } else { 0 },
            target: host::bytes(&target),
        };
        let made = self.fs.create(dir, name, &node).map_err(|error| failed(source, &error))?;
        self.note(dir, name, kind == FileKind::Dir);
        Ok(made.ino)
    }

    /// True if something has the name already and may be replaced.
    fn must_replace(&self, source: &Path, dir: Ino, name: &[u8]) -> Outcome<bool> {
        match self.existing(dir, name)? {
            None => Ok(false),
            Some(there) if there.kind == FileKind::Dir => Err(Failure::new(format!(
                "{}: a directory is in the way of {}",
                text::name(name),
                source.display()
            ))),
            Some(_) if self.force => Ok(true),
            Some(_) => {
                Err(Failure::new(format!("{}: exists already; use --force to replace it", text::name(name))))
            }
        }
    }

    fn existing(&self, dir: Ino, name: &[u8]) -> Outcome<Option<Attr>> {
        match self.fs.lookup(dir, name) {
            Ok(attr) => Ok(Some(attr)),
            Err(error) if error.errno() == Errno::NoEntry => Ok(None),
            Err(error) => Err(Failure::inside(name, &error)),
        }
    }

    /// Attributes last: filling a file or a directory changes them.
    fn finish(&mut self, source: &Path, found: &fs::Metadata, made: Ino) -> Outcome {
        for (name, value) in host::xattrs(source).map_err(|error| Failure::host(source, &error))? {
            match self.fs.set_xattr(made, &name, &value, XattrMode::Either) {
                Ok(()) => {}
                Err(error) if matches!(error.errno(), Errno::NotSupported | Errno::Range) => {
                    self.lost.push(format!(
                        "{}: attribute {} left out: {error}",
                        source.display(),
                        text::name(&name)
                    ));
                }
                Err(error) => return Err(failed(source, &error)),
            }
        }
        let (atime, mtime) = host::times(found);
        let change = SetAttr {
            perm: (!found.is_symlink()).then(|| found.mode() & 0o7777),
            uid: Some(found.uid()),
            gid: Some(found.gid()),
            atime: Some(atime),
            mtime: Some(mtime),
            ..SetAttr::default()
        };
        self.fs.set_attr(made, &change).map(drop).map_err(|error| failed(source, &error))
    }

    fn copy_content(&self, source: &Path, found: &fs::Metadata, made: Ino) -> Outcome {
        let host_failed = |error| Failure::host(source, &error);
        let file = File::open(source).map_err(host_failed)?;
        let mut buffer = vec![0; CHUNK];
        let mut at = 0;
        while let Some((start, end)) = next_data(&file, at, found.len()).map_err(host_failed)? {
            self.progress.advance(start - at);
            at = start;
            while at < end {
                let want = usize::try_from(end - at).map_or(CHUNK, |left| left.min(CHUNK));
                let got =
                    file.read_at(buffer.get_mut(..want).unwrap_or_default(), at).map_err(host_failed)?;
                if got == 0 {
                    break;
                }
                let data = buffer.get(..got).unwrap_or_default();
                self.interrupt.check()?;
                self.fs.write(made, at, data).map_err(|error| failed(source, &error))?;
                at += got as u64;
                self.progress.advance(got as u64);
            }
            at = end;
        }
        self.progress.advance(found.len().saturating_sub(at));
        let size = SetAttr { size: Some(found.len()), ..SetAttr::default() };
        self.fs.set_attr(made, &size).map(drop).map_err(|error| failed(source, &error))
    }
}

fn failed(source: &Path, error: &pumice_vfs::FsError) -> Failure {
    Failure::new(format!("{}: {error}", source.display()))
}

/// The next range of a host file that is not a hole; where holes cannot be told, all that is left.
pub(crate) fn next_data(file: &File, from: u64, size: u64) -> std::io::Result<Option<(u64, u64)>> {
    if from >= size {
        return Ok(None);
    }
    let start = match rustix::fs::seek(file, SeekFrom::Data(from)) {
        Ok(start) => start,
        Err(HostErrno::NXIO) => return Ok(None),
        Err(HostErrno::INVAL | HostErrno::OPNOTSUPP) => return Ok(Some((from, size))),
        Err(error) => return Err(error.into()),
    };
    let end = rustix::fs::seek(file, SeekFrom::Hole(start))?.min(size);
    Ok((start < end).then_some((start, end)))
}
