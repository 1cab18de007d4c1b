//! Copies from an image to the host, on several threads: one walks the tree and makes directories, the others fill
//! files.

use std::{
    collections::{HashMap, hash_map},
    ffi::OsStr,
    fs::File,
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
};

use pumice_vfs::{Attr, FileKind, FsError, Ino};
use rustix::{
    fs::{AtFlags, linkat, renameat, statat, symlinkat, unlinkat},
    io::Errno,
};

use super::{
    allowance::Allowance,
    fill::Filler,
    host,
    host_dirs::{HostDir, HostDirs, open_below},
    walk::{Place, Step, walk},
    xattrs,
};
use crate::{
    failure::{Failure, Outcome},
    image::Shared,
    interrupt::Interrupt,
    losses::Losses,
    path::join,
    progress::Progress,
    text,
};

/// Threads that fill files, at most.
const WORKERS: usize = 8;
/// A batch of files for a thread ends with the directory, with so many, or with so many bytes: handing over each small
/// file would cost more than copying it.
const BATCH_FILES: usize = 64;
const BATCH_BYTES: u64 = 1 << 20;
/// Batches that wait for a thread, at most.
const QUEUE: usize = 4;

/// A copy under way.
pub(crate) struct Pull<'a> {
    fs: &'a Shared,
    devices: &'a [File],
    /// Replace files that are there already.
    force: bool,
    progress: &'a Progress,
    interrupt: &'a Interrupt,
    losses: &'a Losses,
    /// The source, and the target.
    start: &'a [u8],
    target: &'a Path,
    allowance: Allowance,
    /// The first failure of a thread.
    failed: Mutex<Option<Failure>>,
}

/// The place of a new file on the host.
struct Spot<'a> {
    dir: &'a File,
    name: &'a OsStr,
    /// Its path in the image.
    path: &'a [u8],
}

/// Files of one directory that a thread copies.
struct Batch {
    dir: Arc<HostDir>,
    file: Arc<File>,
    /// The directory's path in the image.
    path: Vec<u8>,
    jobs: Vec<(Vec<u8>, Attr)>,
    bytes: u64,
}

/// The state of the thread that walks.
struct Walker<'a> {
    pull: &'a Pull<'a>,
    filler: Filler<'a>,
    dirs: HostDirs,
    sender: SyncSender<Batch>,
    batch: Option<Batch>,
    /// Inodes with several names: the path of the first, and how many are still to come.
    links: HashMap<Ino, (Box<[u8]>, u32)>,
}

impl<'a> Pull<'a> {
    /// A copy out of `fs`, which is kept on `devices` (none if its bytes can only be read through it): from `start` in
    /// it to `target`.
    pub(crate) fn new(
        fs: &'a Shared,
        devices: &'a [File],
        force: bool,
        (progress, interrupt): (&'a Progress, &'a Interrupt),
        losses: &'a Losses,
        (start, target): (&'a [u8], &'a Path),
    ) -> Pull<'a> {
        let allowance = Allowance::of(fs);
        Pull {
            fs,
            devices,
            force,
            progress,
            interrupt,
            losses,
            start,
            target,
            allowance,
            failed: Mutex::default(),
        }
    }

    /// Copies `found`, which stands at the start, and all below it.
    pub(crate) fn run(self, found: &Attr) -> Outcome {
        if found.kind != FileKind::Dir {
            return self.copy_one(found);
        }
        let (sender, receiver) = sync_channel(QUEUE);
        let receiver = Mutex::new(receiver);
        let workers = thread::available_parallelism().map_or(1, |count| count.get().min(WORKERS));
        let walked = thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| self.work(&receiver));
            }
            self.hand_out(found, sender)
        });
        match self.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(failure) => Err(failure),
            None => walked,
        }
    }

    /// Copies anything but a directory to the target itself.
    fn copy_one(&self, found: &Attr) -> Outcome {
        let above = self.target.parent().filter(|above| !above.as_os_str().is_empty());
        let dir = File::open(above.unwrap_or(Path::new(".")));
        let dir = dir.map_err(|error| self.host(self.start, &error))?;
        let spot = Spot { dir: &dir, name: self.target.file_name().unwrap_or_default(), path: self.start };
        let mut filler = self.filler();
        self.copy(&spot, found, &mut filler).map(drop)
    }

    fn filler(&self) -> Filler<'_> {
        Filler::new(self.fs, self.devices, &self.allowance, self.progress, self.interrupt)
    }

    /// Walks the tree; ends early once a thread has failed.
    fn hand_out(&self, found: &Attr, sender: SyncSender<Batch>) -> Outcome {
        let filler = self.filler();
        let (dirs, links) = (HostDirs::default(), HashMap::new());
        let mut walker = Walker { pull: self, filler, dirs, sender, batch: None, links };
        walk(self.fs, self.start, found, self.losses, &mut |step, place| {
            match (step, place.attr.kind) {
                (Step::Enter, FileKind::Dir) => walker.enter(place),
                (Step::Enter, _) => walker.file(place),
                (Step::Leave, _) => walker.leave(place),
            }?;
            // A failure of a thread is the one that counts.
            if self.is_failed() { Err(Failure::new("")) } else { Ok(()) }
        })?;
        walker.send()
    }

    fn is_failed(&self) -> bool {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn fail(&self, failure: Failure) {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
    }

    /// The place on the host for a path in the image.
    fn host_path(&self, path: &[u8]) -> PathBuf {
        let below = path.get(self.start.len()..).unwrap_or_default();
        let below = below.strip_prefix(b"/").unwrap_or(below);
        if below.is_empty() { self.target.into() } else { self.target.join(OsStr::from_bytes(below)) }
    }

    fn host(&self, path: &[u8], error: &io::Error) -> Failure {
        Failure::host(&self.host_path(path), error)
    }

    /// Takes one batch after the other, until there are no more. After a failure nothing more is copied.
    fn work(&self, batches: &Mutex<Receiver<Batch>>) {
        let mut filler = self.filler();
        loop {
            let batch = batches.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(batch) = batch else { return };
            if let Err(failure) = self.copy_batch(batch, &mut filler) {
                self.fail(failure);
            }
        }
    }

    fn copy_batch(&self, batch: Batch, filler: &mut Filler<'_>) -> Outcome {
        for (name, attr) in &batch.jobs {
            if self.is_failed() {
                return Ok(());
            }
            let path = join(&batch.path, name);
            self.copy(&Spot { dir: &batch.file, name: OsStr::from_bytes(name), path: &path }, attr, filler)?;
        }
        self.let_go(batch.dir, &batch.path)
    }

    /// Copies anything but a directory; false if it is missing afterwards, which is told.
    fn copy(&self, spot: &Spot<'_>, attr: &Attr, filler: &mut Filler<'_>) -> Outcome<bool> {
        let copied = match attr.kind {
            FileKind::File => self.copy_file(spot, attr, filler),
            FileKind::Symlink => match self.fs.readlink(attr.ino) {
                Ok(link) => self.make(spot, || Ok(symlinkat(&*link, spot.dir, spot.name)?)).map(|()| true),
                Err(error) => return Ok(self.lose(spot, &error)),
            },
            _ => self.make_node(spot, attr),
        }?;
        if copied && attr.kind != FileKind::File {
            self.set_xattrs(spot.path, attr.ino, |name, value| {
                host::set_xattr_at(spot.dir, Path::new(spot.name), name, value)
            })?;
            host::set_attributes_at(spot.dir, Path::new(spot.name), attr)
                .map_err(|error| self.host(spot.path, &error))?;
        }
        Ok(copied)
    }

    /// A file; one that is in the way keeps its name until the new one is whole, and half a file goes away.
    fn copy_file(&self, spot: &Spot<'_>, attr: &Attr, filler: &mut Filler<'_>) -> Outcome<bool> {
        let failed = |error: io::Error| self.host(spot.path, &error);
        let part = format!(".pumice-{}-{}.part", std::process::id(), attr.ino.0);
        let mut here = Spot { ..*spot };
        let file = match host::make_file(spot.dir, Path::new(spot.name), attr) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.must_replace(spot)?;
                here.name = OsStr::new(&part);
                host::make_file(spot.dir, Path::new(here.name), attr)
            }
            made => made,
        };
        let copied = self.fill_file(&here, attr, &file.map_err(failed)?, filler).and_then(|is_whole| {
            if is_whole && here.name != spot.name {
                renameat(spot.dir, here.name, spot.dir, spot.name).map_err(|error| failed(error.into()))?;
            }
            Ok(is_whole)
        });
        if !matches!(copied, Ok(true)) {
            // The earlier failure is the one to tell.
            let _ = unlinkat(here.dir, here.name, AtFlags::empty());
        }
        copied
    }

    /// Fills a new file; false if nothing of its content can be read, which is told.
    fn fill_file(&self, spot: &Spot<'_>, attr: &Attr, file: &File, filler: &mut Filler<'_>) -> Outcome<bool> {
        let failed = |error: io::Error| self.host(spot.path, &error);
        let content = filler.fill(attr, file).map_err(failed)?;
        if let Some(missing) = content.missing() {
            self.losses.add(&Failure::new(format!("{}: {missing}", text::name(spot.path))));
        }
        if content.is_lost() {
            return Ok(false);
        }
        self.set_xattrs(spot.path, attr.ino, |name, value| host::set_xattr(file, name, value))?;
        host::set_attributes_of(file, attr).map_err(failed)?;
        Ok(true)
    }

    fn lose(&self, spot: &Spot<'_>, error: &FsError) -> bool {
        self.losses.add(&Failure::inside(spot.path, error));
        false
    }

    /// A device node, pipe or socket; false if this user may not make one.
    fn make_node(&self, spot: &Spot<'_>, attr: &Attr) -> Outcome<bool> {
        let make = || match host::make_node(spot.dir, Path::new(spot.name), attr) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(false),
            made => made.map(|()| true),
        };
        let is_made = self.make(spot, make)?;
        if !is_made {
            crate::message::complain(&format!(
                "{}: a {}, which only root can make; left out",
                text::name(spot.path),
                text::kind(attr.kind)
            ));
        }
        Ok(is_made)
    }

    /// Makes something new. An old file of that name stays, or goes if that was asked for.
    fn make<T>(&self, spot: &Spot<'_>, attempt: impl Fn() -> io::Result<T>) -> Outcome<T> {
        let result = match attempt() {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.must_replace(spot)?;
                unlinkat(spot.dir, spot.name, AtFlags::empty())
                    .map_err(|error| self.host(spot.path, &error.into()))?;
                attempt()
            }
            first => first,
        };
        result.map_err(|error| self.host(spot.path, &error))
    }

    /// Refuses to replace an old file, unless it was asked for.
    fn must_replace(&self, spot: &Spot<'_>) -> Outcome {
        let failed = |error: Errno| self.host(spot.path, &error.into());
        let found = statat(spot.dir, spot.name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
        let is_dir = rustix::fs::FileType::from_raw_mode(found.st_mode).is_dir();
        if self.force && !is_dir {
            return Ok(());
        }
        let hint = if is_dir { "a directory is in the way" } else { "use --force to replace it" };
        Err(Failure::new(format!("{}: exists already; {hint}", self.host_path(spot.path).display())))
    }

    fn set_xattrs(&self, path: &[u8], ino: Ino, set: impl Fn(&[u8], &[u8]) -> io::Result<bool>) -> Outcome {
        for (name, value) in self.losses.pass(xattrs(self.fs, path, ino)).unwrap_or_default() {
            if !set(&name, &value).map_err(|error| self.host(path, &error))? {
                crate::message::complain(&format!(
                    "{}: attribute {} cannot be set here; left out",
                    text::name(path),
                    text::name(&name)
                ));
            }
        }
        Ok(())
    }

    /// Gives a directory its attributes, unless others still have something to do in it.
    fn let_go(&self, dir: Arc<HostDir>, path: &[u8]) -> Outcome {
        let Some((file, attr)) = dir.into_last() else { return Ok(()) };
        self.set_xattrs(path, attr.ino, |name, value| host::set_xattr(&file, name, value))?;
        host::set_attributes_of(&file, &attr).map_err(|error| self.host(path, &error))
    }
}

impl Walker<'_> {
    fn enter(&mut self, place: &Place<'_>) -> Outcome {
        self.send()?;
        let made = match place.depth {
            0 => self.dirs.begin(self.pull.target, *place.attr),
            _ => self.dirs.enter(Path::new(OsStr::from_bytes(place.name)), *place.attr),
        };
        made.map_err(|error| match Errno::from_io_error(&error) {
            Some(Errno::NOTDIR | Errno::LOOP) => {
                let target = self.pull.host_path(place.path);
                Failure::new(format!("{}: exists already and is not a directory", target.display()))
            }
            _ => self.pull.host(place.path, &error),
        })
    }

    fn leave(&mut self, place: &Place<'_>) -> Outcome {
        self.send()?;
        let left = self.dirs.leave().map_err(|error| self.pull.host(place.path, &error))?;
        self.pull.let_go(left, place.path)
    }

    /// Hands over anything but a directory, or copies it here if it has several names: so the first is there when the
    /// next one comes.
    fn file(&mut self, place: &Place<'_>) -> Outcome {
        let (dir, file) = self.dirs.innermost().map_err(|error| self.pull.host(place.path, &error))?;
        if place.attr.nlink > 1 {
            return self.linked(place, &file);
        }
        let batch = self.batch.get_or_insert_with(|| {
            let above = place.path.len() - place.name.len();
            let path = place.path.get(..above).unwrap_or_default().to_vec();
            Batch { dir, file, path, jobs: Vec::new(), bytes: 0 }
        });
        batch.jobs.push((place.name.to_vec(), *place.attr));
        batch.bytes = batch.bytes.saturating_add(place.attr.size);
        if batch.jobs.len() < BATCH_FILES && batch.bytes < BATCH_BYTES { Ok(()) } else { self.send() }
    }

    fn linked(&mut self, place: &Place<'_>, dir: &File) -> Outcome {
        let spot = Spot { dir, name: OsStr::from_bytes(place.name), path: place.path };
        if !self.link(&spot, place.attr.ino)? && self.pull.copy(&spot, place.attr, &mut self.filler)? {
            self.links.insert(place.attr.ino, (place.path.into(), place.attr.nlink - 1));
        }
        Ok(())
    }

    /// Gives a copied file one more name; false if it was not copied.
    fn link(&mut self, spot: &Spot<'_>, ino: Ino) -> Outcome<bool> {
        let hash_map::Entry::Occupied(mut entry) = self.links.entry(ino) else { return Ok(false) };
        let failed = |error: io::Error| self.pull.host(spot.path, &error);
        let (first, left) = entry.get_mut();
        let (above, name) =
            first.split_at(first.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1));
        let below = above.get(self.pull.start.len()..).unwrap_or_default();
        let dir = self.dirs.outermost().and_then(|dir| open_below(&dir, below)).map_err(failed)?;
        self.pull.make(spot, || Ok(linkat(&dir, name, spot.dir, spot.name, AtFlags::empty())?))?;
        *left -= 1;
        if *left == 0 {
            entry.remove();
        }
        Ok(true)
    }

    fn send(&mut self) -> Outcome {
        match self.batch.take() {
            // A thread that has failed says why.
            Some(batch) => self.sender.send(batch).map_err(|_| Failure::new("")),
            None => Ok(()),
        }
    }
}
