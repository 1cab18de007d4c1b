//! Pieces of files, made by several threads, and handed out in their order.

use std::{
    collections::{BTreeMap, VecDeque},
    num::NonZeroUsize,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use super::{
    content::Failed,
    piece::{Files, Maker, Piece, Task, Tasks},
};

/// Bytes and pieces that are made at a time: one large piece, or several small files.
const BATCH_BYTES: u64 = 1 << 20;
const BATCH_PIECES: usize = 64;
/// Batches that are made or wait, for each thread.
const AHEAD: u64 = 2;
/// Pieces kept for their memory.
const SPARE: usize = 16;

/// Pieces, or the visit that failed and why.
type Batch = Result<Vec<Piece>, (usize, Failed)>;

/// The state that the threads share.
struct Shared<'a> {
    files: &'a Files<'a>,
    window: u64,
    state: Mutex<State<'a>>,
    /// There is a batch to be made.
    room: Condvar,
    /// A batch was made, or a thread ended.
    made: Condvar,
}

struct State<'a> {
    tasks: Tasks<'a>,
    /// All tasks were handed out, or one of them failed.
    is_over: bool,
    /// Batches that were handed out to be made, and that were taken.
    begun: u64,
    taken: u64,
    made: BTreeMap<u64, Batch>,
    spare: Vec<Vec<u8>>,
    /// Nobody wants more.
    is_stopped: bool,
    workers: usize,
}

/// The source of pieces.
pub(super) struct Feed<'a, 's> {
    shared: &'s Shared<'a>,
    maker: Maker<'a>,
    ready: VecDeque<Piece>,
}

/// Has `threads` threads make the pieces of all files, of which `consume` is one.
pub(super) fn feed<T>(
    files: &Files<'_>,
    threads: NonZeroUsize,
    consume: impl FnOnce(&mut Feed<'_, '_>) -> T,
) -> T {
    let workers = threads.get() - 1;
    let shared = Shared {
        files,
        window: AHEAD * threads.get() as u64,
        state: Mutex::new(State {
            tasks: Tasks::new(files),
            is_over: false,
            begun: 0,
            taken: 0,
            made: BTreeMap::new(),
            spare: Vec::new(),
            is_stopped: false,
            workers,
        }),
        room: Condvar::new(),
        made: Condvar::new(),
    };
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| shared.work());
        }
        let mut feed = Feed { shared: &shared, maker: Maker::new(files), ready: VecDeque::new() };
        consume(&mut feed)
    })
}

/// A thread on its way; its end is told, a panic too.
struct Working<'s, 'a>(&'s Shared<'a>);

impl Drop for Working<'_, '_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.workers -= 1;
        state.is_over |= thread::panicking();
        drop(state);
        self.0.made.notify_all();
        self.0.room.notify_all();
    }
}

impl<'a> Shared<'a> {
    fn lock(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let working = Working(self);
        let mut maker = Maker::new(self.files);
        loop {
            let mut state = self.lock();
            while !state.is_over && !state.is_stopped && state.begun - state.taken >= self.window {
                state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.is_over || state.is_stopped {
                drop(state);
                break;
            }
            self.make(state, &mut maker);
        }
        drop(working);
    }

    /// Makes the next batch.
    fn make(&self, mut state: MutexGuard<'_, State<'a>>, maker: &mut Maker<'a>) {
        let (tasks, failed) = state.batch();
        let number = state.begun;
        state.begun += 1;
        let kept = state.spare.len().saturating_sub(tasks.len());
        let mut spare = state.spare.split_off(kept);
        drop(state);
        let mut pieces = Vec::with_capacity(tasks.len());
        let made = tasks.iter().try_for_each(|task| {
            let bytes = spare.pop().unwrap_or_default();
            pieces.push(maker.make(task, bytes).map_err(|failed| (task.visit, failed))?);
            Ok(())
        });
        let batch = made.and_then(|()| failed.map_or(Ok(pieces), Err));
        let mut state = self.lock();
        if batch.is_err() {
            state.is_over = true;
        }
        state.made.insert(number, batch);
        drop(state);
        self.made.notify_all();
    }
}

impl<'a> State<'a> {
    /// The tasks of a batch, and the failure behind them.
    fn batch(&mut self) -> (Vec<Task<'a>>, Option<(usize, Failed)>) {
        let (mut tasks, mut bytes) = (Vec::new(), 0);
        while tasks.len() < BATCH_PIECES && bytes < BATCH_BYTES {
            match self.tasks.next() {
                Ok(Some(task)) => {
                    bytes += task.bytes();
                    tasks.push(task);
                }
                Ok(None) => {
                    self.is_over = true;
                    break;
                }
                Err(failed) => {
                    self.is_over = true;
                    return (tasks, Some(failed));
                }
            }
        }
        (tasks, None)
    }
}

impl Feed<'_, '_> {
    /// The next piece. There must be one: whoever asks knows the files and their order.
    pub(super) fn next(&mut self) -> Result<Piece, (usize, Failed)> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Ok(piece);
            }
            self.ready = self.batch()?.into();
        }
    }

    /// Memory of a piece that is written.
    pub(super) fn give_back(&mut self, piece: Piece) {
        let mut state = self.shared.lock();
        if state.spare.len() < SPARE {
            state.spare.push(piece.bytes);
        }
    }

    /// The next batch, made here if nobody has begun it, or while others are making it.
    fn batch(&mut self) -> Batch {
        let mut state = self.shared.lock();
        loop {
            let number = state.taken;
            if let Some(batch) = state.made.remove(&number) {
                state.taken += 1;
                drop(state);
                self.shared.room.notify_one();
                return batch;
            }
            if !state.is_over && state.begun - state.taken < self.shared.window {
                self.shared.make(state, &mut self.maker);
                state = self.shared.lock();
            } else if state.begun > state.taken && state.workers > 0 {
                state = self.shared.made.wait(state).unwrap_or_else(PoisonError::into_inner);
            } else {
                debug_assert!(false, "a piece of no file, or of a thread that ended");
                let ended = std::io::Error::other("the thread that read it ended");
                return Err((0, Failed::Source(ended)));
            }
        }
    }
}

impl Drop for Feed<'_, '_> {
    fn drop(&mut self) {
        self.shared.lock().is_stopped = true;
        self.shared.room.notify_all();
    }
}
