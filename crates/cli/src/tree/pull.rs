//! From an image to the host.

use std::{
    collections::HashMap,
    ffi::OsStr,
    fs::{self, File, OpenOptions},
    io,
    os::unix::{
        ffi::OsStrExt,
        fs::{FileExt, symlink},
    },
    path::{Path, PathBuf},
};

use pumice_vfs::{Attr, Errno, FileKind, FileSystem, Ino, Seek, check_name};

use super::{
    CHUNK, host,
    walk::{Place, Step, walk},
};
use crate::{
    failure::{Failure, Outcome},
    progress::Progress,
    text,
};

/// A copy under way.
pub(crate) struct Pull<'a> {
    fs: &'a dyn FileSystem,
    /// Replace what is there already.
    force: bool,
    progress: &'a Progress,
    /// Where inodes with several names went first.
    links: HashMap<Ino, PathBuf>,
    /// What could not be kept, in words.
    lost: Vec<String>,
}

impl<'a> Pull<'a> {
    pub(crate) fn new(fs: &'a dyn FileSystem, force: bool, progress: &'a Progress) -> Pull<'a> {
        Pull { fs, force, progress, links: HashMap::new(), lost: Vec::new() }
    }

    /// Copies `start`, and all below it, to `target`. What is returned could not be kept on this host.
    pub(crate) fn run(mut self, path: &[u8], start: Attr, target: &Path) -> Outcome<Vec<String>> {
        let mut here = target.to_path_buf();
        walk(self.fs, path, start, &mut |step, place| match step {
            Step::Enter => {
                if place.depth > 0 {
                    check_name(&place.name).map_err(|error| Failure::inside(&place.path, &error))?;
                    here.push(OsStr::from_bytes(&place.name));
                }
                self.make(place, &here)?;
                if place.attr.kind != FileKind::Dir && place.depth > 0 {
                    here.pop();
                }
                Ok(())
            }
            Step::Leave => {
                self.finish(place, &here)?;
                here.pop();
                Ok(())
            }
        })?;
        Ok(self.lost)
    }

    fn make(&mut self, place: &Place, target: &Path) -> Outcome {
        let attr = &place.attr;
        if attr.kind == FileKind::Dir {
            return make_dir(target);
        }
        self.make_room(target)?;
        if let Some(first) = self.links.get(&attr.ino) {
            return fs::hard_link(first, target).map_err(|error| Failure::host(target, &error));
        }
        match attr.kind {
            FileKind::File => self.copy_content(place, target)?,
            FileKind::Symlink => {
                let link =
                    self.fs.readlink(attr.ino).map_err(|error| Failure::inside(&place.path, &error))?;
                symlink(OsStr::from_bytes(&link), target).map_err(|error| Failure::host(target, &error))?;
            }
            _ => {
                if !self.make_node(place, target)? {
                    return Ok(());
                }
            }
        }
        if attr.nlink > 1 {
            self.links.insert(attr.ino, target.into());
        }
        self.finish(place, target)
    }

    /// A device node, pipe or socket; false if this user may not make one.
    fn make_node(&mut self, place: &Place, target: &Path) -> Outcome<bool> {
        match host::make_node(target, &place.attr) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.lost.push(format!(
                    "{}: a {}, which only root can make; left out",
                    text::name(&place.path),
                    text::kind(place.attr.kind)
                ));
                Ok(false)
            }
            Err(error) => Err(Failure::host(target, &error)),
        }
    }

    /// Refuses a name that is taken, or frees it if that was asked for.
    fn make_room(&self, target: &Path) -> Outcome {
        match fs::symlink_metadata(target) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(Failure::host(target, &error)),
            Ok(found) if self.force && !found.is_dir() => {
                fs::remove_file(target).map_err(|error| Failure::host(target, &error))
            }
            Ok(found) => {
                let hint =
                    if found.is_dir() { "a directory is in the way" } else { "use --force to replace it" };
                Err(Failure::new(format!("{}: exists already; {hint}", target.display())))
            }
        }
    }

    /// Attributes last: making and filling a file changes them.
    fn finish(&mut self, place: &Place, target: &Path) -> Outcome {
        let inside = |error| Failure::inside(&place.path, &error);
        for name in self.fs.list_xattr(place.attr.ino).map_err(inside)? {
            let value = self.fs.xattr(place.attr.ino, &name).map_err(inside)?;
            let kept =
                host::set_xattr(target, &name, &value).map_err(|error| Failure::host(target, &error))?;
            if !kept {
                self.lost.push(format!(
                    "{}: attribute {} cannot be set here; left out",
                    text::name(&place.path),
                    text::name(&name)
                ));
            }
        }
        host::set_attributes(target, &place.attr).map_err(|error| Failure::host(target, &error))
    }

    fn copy_content(&self, place: &Place, target: &Path) -> Outcome {
        let failed = |error: &io::Error| Failure::host(target, error);
        let file =
            OpenOptions::new().write(true).create_new(true).open(target).map_err(|error| failed(&error))?;
        let mut at = 0;
        let mut buffer = vec![0; CHUNK];
        while let Some((start, end)) = self.next_data(place, at)? {
            self.progress.advance(start - at);
            at = self.copy_range(place, &file, target, (start, end), &mut buffer)?;
        }
        self.progress.advance(place.attr.size.saturating_sub(at));
        file.set_len(place.attr.size).map_err(|error| failed(&error))
    }

    fn copy_range(
        &self,
        place: &Place,
        file: &File,
        target: &Path,
        (mut at, end): (u64, u64),
        buffer: &mut [u8],
    ) -> Outcome<u64> {
        while at < end {
            let want = usize::try_from(end - at).map_or(buffer.len(), |left| left.min(buffer.len()));
            let chunk = buffer.get_mut(..want).unwrap_or_default();
            let got = self
                .fs
                .read(place.attr.ino, at, chunk)
                .map_err(|error| Failure::inside(&place.path, &error))?;
            let data = chunk.get(..got).unwrap_or_default();
            file.write_all_at(data, at).map_err(|error| Failure::host(target, &error))?;
            if got == 0 {
                return Ok(end);
            }
            at += got as u64;
            self.progress.advance(got as u64);
        }
        Ok(at)
    }

    /// The next range that is not a hole.
    fn next_data(&self, place: &Place, from: u64) -> Outcome<Option<(u64, u64)>> {
        let inside = |error| Failure::inside(&place.path, &error);
        let start = match self.fs.seek(place.attr.ino, from, Seek::Data) {
            Ok(start) => start.max(from),
            Err(error) if error.errno() == Errno::NoAddress => return Ok(None),
            Err(error) => return Err(inside(error)),
        };
        let end = self.fs.seek(place.attr.ino, start, Seek::Hole).map_err(inside)?;
        Ok((start < end).then_some((start, end)))
    }
}

/// A directory may be there already, but not a link to one: the copy would leave the target.
fn make_dir(target: &Path) -> Outcome {
    match fs::create_dir(target) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match fs::symlink_metadata(target) {
            Ok(found) if found.is_dir() => Ok(()),
            _ => Err(Failure::new(format!("{}: exists already and is not a directory", target.display()))),
        },
        Err(error) => Err(Failure::host(target, &error)),
    }
}
