//! Plays steps on a chip and on the model side by side and writes their history.

use std::sync::{Arc, Mutex};

use pumice_media::Nand;
use pumice_nandfs::NandFs;
use pumice_vfs::conformance::{TestClock, resolve};
use pumice_vfs::model::MemFs;
use pumice_vfs::{Errno, FileKind, FileSystem, FsError};

use super::contract::{History, Promise, Touched};
use super::image::Image;
use super::step::{Held, Step};
use super::verify::mount;

/// The notes on a player for its watchers.
#[derive(Clone)]
pub struct Notes {
    pub history: Arc<Mutex<History>>,
    /// The promise of the call that is being made.
    pub promise: Arc<Mutex<Promise>>,
}

impl Notes {
    pub fn promise(&self) -> Promise {
        *self.promise.lock().unwrap()
    }
}

/// A mounted chip and its model.
pub struct Player<N: Nand + Send + 'static> {
    /// None once an unmount failed.
    pub fs: Option<NandFs<N>>,
    pub model: MemFs,
    pub clock: TestClock,
    pub notes: Notes,
    held: Held,
    model_held: Held,
    number: usize,
    /// Bytes of a write at the most: longer ones are several calls. The power may go between the pieces that a mount with a
    /// small cache makes of one.
    pub piece: u32,
}

impl<N: Nand + Send + 'static> Player<N> {
    /// Mounts a fresh chip, formatted at the clock's time.
    pub fn new(nand: N, clock: TestClock) -> Player<N> {
        let fs = mount(nand, &clock).unwrap();
        let model = MemFs::new(clock.clock());
        Player::of(fs, model, clock, 0)
    }

    /// Goes on with a file system and a model that hold the same; `number` tells its data from that of others.
    pub fn of(fs: NandFs<N>, model: MemFs, clock: TestClock, number: usize) -> Player<N> {
        let image = Image::take(&model, &Image::default()).unwrap();
        let notes = Notes {
            history: Arc::new(Mutex::new(History::new(image))),
            promise: Arc::new(Mutex::new(Promise::Nothing)),
        };
        Player {
            fs: Some(fs),
            model,
            clock,
            notes,
            held: Held::new(),
            model_held: Held::new(),
            number,
            piece: u32::MAX,
        }
    }

    fn promise_of(&self, step: &Step) -> Promise {
        match step {
            Step::Sync | Step::Remount => Promise::Everything,
            Step::Fsync(path) => match resolve(&self.model, path) {
                Ok(attr) if attr.kind == FileKind::Dir => Promise::Names(attr.ino),
                Ok(attr) => Promise::Inode(attr.ino),
                Err(_) => Promise::Nothing,
            },
            _ => Promise::Nothing,
        }
    }

    /// Makes a call on both sides, a long write in pieces. The error is the chip's: its power is gone, or something is
    /// broken.
    pub fn play(&mut self, step: &Step) -> Result<(), FsError> {
        match step {
            Step::Write(path, at, length) if *length > self.piece => {
                (0..*length).step_by(self.piece as usize).try_for_each(|from| {
                    let piece = self.piece.min(length - from);
                    self.play_whole(&Step::Write(path.clone(), at + u64::from(from), piece))
                })
            }
            _ => self.play_whole(step),
        }
    }

    fn play_whole(&mut self, step: &Step) -> Result<(), FsError> {
        let promise = self.promise_of(step);
        *self.notes.promise.lock().unwrap() = promise;
        self.clock.tick();
        self.number += 1;
        let done = self.call(step);
        let mut touched = self.touched(step);
        let kept = match &done {
            Err(error) if matches!(error.errno(), Errno::Io | Errno::ReadOnly) => return done,
            // The model never runs full.
            Err(error) if error.errno() == Errno::NoSpace => {
                assert!(step.may_need_space(), "{step:?}: {error}");
                touched = Touched::default();
                Promise::Nothing
            }
            _ => {
                let model = self.call_model(step);
                assert_eq!(done.is_ok(), model.is_ok(), "{step:?}: {done:?}, the model {model:?}");
                if done.is_err() {
                    touched = Touched::default();
                } else if let Step::Create(path) | Step::Make(path, _) = step {
                    let made = resolve(&self.model, path).unwrap();
                    touched.made.push(made.ino);
                    touched.dirs.extend((made.kind == FileKind::Dir).then_some(made.ino));
                }
                if done.is_ok() { promise } else { Promise::Nothing }
            }
        };
        let mut history = self.notes.history.lock().unwrap();
        let image = Image::take(&self.model, history.last()).unwrap();
        history.push(image, kept, touched);
        Ok(())
    }

    /// The changes of names that a call is about to make, but for the inodes that it makes.
    fn touched(&self, step: &Step) -> Touched {
        let mut touched = Touched::default();
        let of = |path: &str| resolve(&self.model, path).ok();
        let above =
            |path: &str| of(path.rsplit_once('/').map_or("", |(above, _)| above)).map(|attr| attr.ino);
        let (paths, moves): (Vec<&String>, bool) = match step {
            Step::Create(path) | Step::Make(path, _) => (vec![path], false),
            Step::Link(from, to) => {
                touched.moved.extend(of(from).map(|attr| attr.ino));
                (vec![to], false)
            }
            // Two names of the same inode: POSIX has it that nothing happens.
            Step::Rename(from, to, _)
                if of(from).is_some_and(|one| of(to).is_some_and(|other| one.ino == other.ino)) =>
            {
                return touched;
            }
            Step::Rename(from, to, _) => (vec![from, to], true),
            Step::Unlink(path) | Step::Rmdir(path) => (vec![path], true),
            _ => return touched,
        };
        for path in paths {
            touched.dirs.extend(above(path));
            if moves {
                touched.moved.extend(above(path));
                touched.moved.extend(of(path).map(|attr| attr.ino));
                touched.dirs.extend(of(path).filter(|attr| attr.kind == FileKind::Dir).map(|attr| attr.ino));
            }
        }
        touched
    }

    fn call(&mut self, step: &Step) -> Result<(), FsError> {
        let fs = self.fs.as_ref().ok_or(Errno::Io)?;
        if *step != Step::Remount {
            return step.apply(fs, self.number, &mut self.held);
        }
        self.held.clear();
        let nand = self.fs.take().ok_or(Errno::Io)?.unmount()?;
        self.fs = Some(mount(nand, &self.clock)?);
        Ok(())
    }

    fn call_model(&mut self, step: &Step) -> Result<(), FsError> {
        if *step == Step::Remount {
            self.model_held.clear();
            self.model.remount();
        }
        step.apply(&self.model, self.number, &mut self.model_held)
    }

    /// Compares the mounted tree with the model's.
    pub fn compare(&self) -> Result<(), String> {
        let fs = self.fs.as_ref().ok_or("not mounted")?;
        let found = Image::take(fs as &dyn FileSystem, &Image::default()).map_err(|e| e.to_string())?;
        self.notes.history.lock().unwrap().last().compare(&found).map_err(|what| format!("{what:?}"))
    }
}
