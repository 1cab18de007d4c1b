//! Background work while no requests come: write-back, cleaning, and a checkpoint now and then.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use pumice_vfs::FileSystem;

use crate::volume::Volume;

/// Intervals of the background work.
#[derive(Clone, Copy)]
struct Pace {
    /// The interval at which the thread checks for work.
    look: Duration,
    /// The time for which a change may wait for a checkpoint: so much may a power cut cost programs that do not call
    /// fsync.
    sync: Duration,
}

const PACE: Pace = Pace { look: Duration::from_secs(1), sync: Duration::from_secs(5) };

/// The background thread; dropping this ends it.
pub(crate) struct Idle {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Idle {
    pub(crate) fn start<F: FileSystem + Send + Sync + ?Sized + 'static>(
        volume: Arc<Volume<F>>,
    ) -> std::io::Result<Idle> {
        Idle::start_at(volume, PACE)
    }

    fn start_at<F: FileSystem + Send + Sync + ?Sized + 'static>(
        volume: Arc<Volume<F>>,
        pace: Pace,
    ) -> std::io::Result<Idle> {
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new()
            .name("pumice-idle".into())
            .spawn(move || run(&volume, &stopped, pace))?;
        Ok(Idle { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic in there has been reported by the panic hook; there is nothing to add.
            let _ = thread.join();
        }
    }
}

fn run<F: FileSystem + ?Sized>(volume: &Volume<F>, stopped: &Receiver<()>, pace: Pace) {
    let mut seen = volume.requests();
    let mut synced = Instant::now();
    while stopped.recv_timeout(pace.look) == Err(RecvTimeoutError::Timeout) {
        if synced.elapsed() >= pace.sync {
            synced = Instant::now();
            checkpoint(volume);
        }
        let now = volume.requests();
        if now == seen && !volume.is_read_only() {
            maintain(volume, now, stopped);
        }
        seen = volume.requests();
    }
}

fn checkpoint<F: FileSystem + ?Sized>(volume: &Volume<F>) {
    if volume.take_dirty() {
        report("checkpoint", volume.with(FileSystem::sync));
    }
}

/// Works until nothing is left to do or a request comes; `requests` is their number so far.
fn maintain<F: FileSystem + ?Sized>(volume: &Volume<F>, requests: u64, stopped: &Receiver<()>) {
    let wanted =
        || volume.requests() == requests && stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty);
    while wanted() && report("maintenance", volume.with(FileSystem::maintain)) == Some(true) {}
}

/// The value, unless the session has ended or the work failed.
fn report<T>(what: &str, result: Option<pumice_vfs::Result<T>>) -> Option<T> {
    match result? {
        Ok(value) => Some(value),
        Err(error) => {
            log::error!("{what}: {error}");
            None
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use pumice_vfs::{
        Attr, DirEntry, Ino, NewNode, RenameMode, Result, Seek, SetAttr, SpaceInfo, SpaceMode, Timestamp,
        XattrMode, model::MemFs,
    };

    use super::*;
    use crate::table::Mount;

    const QUICK: Pace = Pace { look: Duration::from_millis(10), sync: Duration::from_millis(50) };

    /// Counts the thread's calls, and has so many pieces of work to do.
    struct Counting {
        inner: MemFs,
        syncs: AtomicU64,
        work: AtomicU64,
    }

    macro_rules! hand_on {
        ($($name:ident($($arg:ident: $kind:ty),*) -> $back:ty;)*) => {
            $(fn $name(&self, $($arg: $kind),*) -> Result<$back> { self.inner.$name($($arg),*) })*
        };
    }

    impl FileSystem for Counting {
        hand_on! {
            space() -> SpaceInfo;
            attr(ino: Ino) -> Attr;
            set_attr(ino: Ino, change: &SetAttr) -> Attr;
            lookup(dir: Ino, name: &[u8]) -> Attr;
            parent(dir: Ino) -> Ino;
            readlink(ino: Ino) -> Vec<u8>;
            create(dir: Ino, name: &[u8], node: &NewNode<'_>) -> Attr;
            link(ino: Ino, dir: Ino, name: &[u8]) -> Attr;
            unlink(dir: Ino, name: &[u8]) -> ();
            rmdir(dir: Ino, name: &[u8]) -> ();
            rename(dir: Ino, name: &[u8], to_dir: Ino, to_name: &[u8], mode: RenameMode) -> ();
            hold(ino: Ino) -> ();
            release(ino: Ino) -> ();
            read(ino: Ino, offset: u64, buffer: &mut [u8]) -> usize;
            write(ino: Ino, offset: u64, data: &[u8]) -> ();
            allocate(ino: Ino, mode: SpaceMode, offset: u64, length: u64) -> ();
            seek(ino: Ino, offset: u64, what: Seek) -> u64;
            fsync(ino: Ino, data_only: bool) -> ();
            readdir(dir: Ino, cookie: u64, each: &mut dyn FnMut(DirEntry<'_>) -> bool) -> ();
            xattr(ino: Ino, name: &[u8]) -> Vec<u8>;
            set_xattr(ino: Ino, name: &[u8], value: &[u8], mode: XattrMode) -> ();
            list_xattr(ino: Ino) -> Vec<Vec<u8>>;
            remove_xattr(ino: Ino, name: &[u8]) -> ();
        }

        fn sync(&self) -> Result<()> {
            self.syncs.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }

        fn maintain(&self) -> Result<bool> {
            let before = self.work.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
            Ok(before.is_ok_and(|n| n > 1))
        }
    }

    fn counting(work: u64) -> Arc<Counting> {
        let inner = MemFs::new(Box::new(Timestamp::default));
        Arc::new(Counting { inner, syncs: AtomicU64::new(0), work: AtomicU64::new(work) })
    }

    #[test]
    fn a_change_is_followed_by_one_checkpoint() {
        let fs = counting(0);
        let volume = Arc::new(Volume::new(fs.clone()));
        let idle = Idle::start_at(volume.clone(), QUICK).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(fs.syncs.load(Ordering::SeqCst), 0, "nothing was changed yet");
        volume.change("test", 1, |_| Ok(())).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        drop(idle);
        assert_eq!(fs.syncs.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn work_is_done_to_its_end_when_nobody_asks() {
        let fs = counting(1000);
        let idle = Idle::start_at(Arc::new(Volume::new(fs.clone())), QUICK).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        drop(idle);
        assert_eq!(fs.work.load(Ordering::SeqCst), 0);
    }

    /// A change that waits for a checkpoint gets it, and nothing else is written.
    #[test]
    fn no_work_is_done_on_a_mount_that_became_read_only() {
        let table = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&table, "1 1 0:1 / /mnt ro - fuse.pumice a ro\n").unwrap();
        let fs = counting(1000);
        let volume = Arc::new(Volume::new(fs.clone()));
        volume.mounted(Mount::of(table.path(), std::path::Path::new("/mnt")).unwrap());
        volume.change("test", 1, |_| Ok(())).unwrap();
        let idle = Idle::start_at(volume, QUICK).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        drop(idle);
        assert_eq!((fs.work.load(Ordering::SeqCst), fs.syncs.load(Ordering::SeqCst)), (1000, 1));
    }

    #[test]
    fn work_waits_while_requests_come() {
        let fs = counting(1 << 40);
        let volume = Arc::new(Volume::new(fs.clone()));
        let idle =
            Idle::start_at(volume.clone(), Pace { look: Duration::from_millis(250), ..QUICK }).unwrap();
        for _ in 0..500 {
            volume.serve("test", 1, |_| Ok(())).unwrap();
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(fs.work.load(Ordering::SeqCst), 1 << 40);
        drop(idle);
    }
}
