//! From an image to the host, on several threads: one walks the tree and makes directories, the others fill files.

use std::{
    collections::HashMap,
    ffi::OsStr,
    fs::{self, File, OpenOptions},
    io,
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
};

use pumice_vfs::{Attr, FileKind, Ino, check_name};

use super::{
    fill::Filler,
    host,
    walk::{Place, Step, walk},
};
use crate::{
    failure::{Failure, Outcome},
    image::Shared,
    progress::Progress,
    text,
};

/// Threads that fill files, at most.
const WORKERS: usize = 8;
/// A batch of files for a thread ends with so many, or with so many bytes: handing over each small file would cost
/// more than copying it.
const BATCH_FILES: usize = 64;
const BATCH_BYTES: u64 = 1 << 20;
/// Batches that wait for a thread, at most.
const QUEUE: usize = 16;

/// A copy under way.
pub(crate) struct Pull<'a> {
    fs: &'a Shared,
    devices: &'a [File],
    /// Replace what is there already.
    force: bool,
    progress: &'a Progress,
    /// What could not be kept, in words.
    lost: Mutex<Vec<String>>,
    /// The first failure of a thread.
    failed: Mutex<Option<Failure>>,
}

/// Something that a thread copies.
struct Job {
    place: Place,
    target: PathBuf,
}

/// Files to be copied, on their way to the threads.
struct Batches {
    sender: SyncSender<Vec<Job>>,
    batch: Vec<Job>,
    bytes: u64,
}

impl Batches {
    fn new(sender: SyncSender<Vec<Job>>) -> Batches {
        Batches { sender, batch: Vec::new(), bytes: 0 }
    }

    fn add(&mut self, job: Job) -> Outcome {
        self.bytes = self.bytes.saturating_add(job.place.attr.size);
        self.batch.push(job);
        if self.batch.len() < BATCH_FILES && self.bytes < BATCH_BYTES { Ok(()) } else { self.send() }
    }

    fn send(&mut self) -> Outcome {
        self.bytes = 0;
        self.sender.send(std::mem::take(&mut self.batch)).map_err(|_| ended())
    }
}

/// A thread has failed, and says why.
fn ended() -> Failure {
    Failure::new("the copy has failed")
}

/// What must wait until all files are there.
#[derive(Default)]
struct Later {
    /// Where inodes with several names went first.
    first: HashMap<Ino, PathBuf>,
    /// Further names: of what, and where.
    links: Vec<(PathBuf, PathBuf)>,
    /// Directories, whose times change with everything that is made in them.
    dirs: Vec<Job>,
}

impl<'a> Pull<'a> {
    /// A copy out of `fs`, which is kept on `devices`; empty if its bytes can only be read through it.
    pub(crate) fn new(fs: &'a Shared, devices: &'a [File], force: bool, progress: &'a Progress) -> Pull<'a> {
        Pull { fs, devices, force, progress, lost: Mutex::default(), failed: Mutex::default() }
    }

    /// Copies `start`, and all below it, to `target`. What is returned could not be kept on this host.
    pub(crate) fn run(self, path: &[u8], start: Attr, target: &Path) -> Outcome<Vec<String>> {
        let (sender, receiver) = sync_channel(QUEUE);
        let receiver = Mutex::new(receiver);
        let workers = thread::available_parallelism().map_or(1, |count| count.get().min(WORKERS));
        let later = thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| self.work(&receiver));
            }
            self.hand_out(path, start, target, Batches::new(sender))
        });
        if let Some(failure) = self.failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(failure);
        }
        let later = later?;
        for (first, target) in &later.links {
            // The first name may have been left out.
            if fs::symlink_metadata(first).is_ok() {
                self.make(target, || fs::hard_link(first, target))?;
            }
        }
        for dir in later.dirs.iter().rev() {
            self.finish(&dir.place, &dir.target)?;
        }
        let mut lost = self.lost.into_inner().unwrap_or_else(PoisonError::into_inner);
        lost.sort();
        Ok(lost)
    }

    /// Walks the tree; ends early once a thread has failed.
    fn hand_out(&self, path: &[u8], start: Attr, target: &Path, mut batches: Batches) -> Outcome<Later> {
        let mut here = target.to_path_buf();
        let mut later = Later::default();
        walk(self.fs, path, start, &mut |step, place| match step {
            Step::Enter => {
                if place.depth > 0 {
                    check_name(&place.name).map_err(|error| Failure::inside(&place.path, &error))?;
                    here.push(OsStr::from_bytes(&place.name));
                }
                self.begin(place, &here, &mut later, &mut batches)?;
                if place.attr.kind != FileKind::Dir && place.depth > 0 {
                    here.pop();
                }
                Ok(())
            }
            Step::Leave => {
                here.pop();
                Ok(())
            }
        })?;
        batches.send()?;
        Ok(later)
    }

    fn begin(&self, place: &Place, target: &Path, later: &mut Later, batches: &mut Batches) -> Outcome {
        let job = Job { place: place.clone(), target: target.into() };
        if place.attr.kind == FileKind::Dir {
            make_dir(target)?;
            later.dirs.push(job);
            return Ok(());
        }
        if let Some(first) = later.first.get(&place.attr.ino) {
            later.links.push((first.clone(), target.into()));
            return Ok(());
        }
        if place.attr.nlink > 1 {
            later.first.insert(place.attr.ino, target.into());
        }
        // A failure of a thread is the one that counts.
        if self.failed.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            return Err(ended());
        }
        batches.add(job)
    }

    /// Takes one batch after the other, until there are no more. After a failure nothing more is copied.
    fn work(&self, batches: &Mutex<Receiver<Vec<Job>>>) {
        let mut filler = Filler::new(self.fs, self.devices, self.progress);
        loop {
            let batch = batches.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(batch) = batch else { return };
            for job in batch {
                if self.failed.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
                    break;
                }
                if let Err(failure) = self.copy(&job, &mut filler) {
                    self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
                }
            }
        }
    }

    fn copy(&self, job: &Job, filler: &mut Filler<'_>) -> Outcome {
        let (place, target) = (&job.place, &job.target);
        match place.attr.kind {
            FileKind::File => {
                let new = || OpenOptions::new().write(true).create_new(true).open(target);
                let file = self.make(target, new)?;
                filler.fill(place, &file, target)?;
                self.set_xattrs(place, target)?;
                return host::set_attributes_of(&file, &place.attr)
                    .map_err(|error| Failure::host(target, &error));
            }
            FileKind::Symlink => {
                let link =
                    self.fs.readlink(place.attr.ino).map_err(|error| Failure::inside(&place.path, &error))?;
                self.make(target, || symlink(OsStr::from_bytes(&link), target))?;
            }
            _ => {
                if !self.make_node(place, target)? {
                    return Ok(());
                }
            }
        }
        self.finish(place, target)
    }

    fn lose(&self, what: String) {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    /// A device node, pipe or socket; false if this user may not make one.
    fn make_node(&self, place: &Place, target: &Path) -> Outcome<bool> {
        let make = || match host::make_node(target, &place.attr) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(false),
            made => made.map(|()| true),
        };
        let is_made = self.make(target, make)?;
        if !is_made {
            self.lose(format!(
                "{}: a {}, which only root can make; left out",
                text::name(&place.path),
                text::kind(place.attr.kind)
            ));
        }
        Ok(is_made)
    }

    /// Makes something new. What has the name already stays, or goes if that was asked for.
    fn make<T>(&self, target: &Path, attempt: impl Fn() -> io::Result<T>) -> Outcome<T> {
        let result = match attempt() {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.make_room(target)?;
                attempt()
            }
            first => first,
        };
        result.map_err(|error| Failure::host(target, &error))
    }

    fn make_room(&self, target: &Path) -> Outcome {
        match fs::symlink_metadata(target) {
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
    fn finish(&self, place: &Place, target: &Path) -> Outcome {
        self.set_xattrs(place, target)?;
        host::set_attributes(target, &place.attr).map_err(|error| Failure::host(target, &error))
    }

    fn set_xattrs(&self, place: &Place, target: &Path) -> Outcome {
        let inside = |error| Failure::inside(&place.path, &error);
        for name in self.fs.list_xattr(place.attr.ino).map_err(inside)? {
            let value = self.fs.xattr(place.attr.ino, &name).map_err(inside)?;
            let kept =
                host::set_xattr(target, &name, &value).map_err(|error| Failure::host(target, &error))?;
            if !kept {
                self.lose(format!(
                    "{}: attribute {} cannot be set here; left out",
                    text::name(&place.path),
                    text::name(&name)
                ));
            }
        }
        Ok(())
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
