//! The workloads of the F2FS paper's figures 3 and 4: the requests of each to a file system, beside the paper's table
//! 3.

use std::{cell::Cell, fs};

use pumice_lab::files::Script;
use pumice_vfs::{Attr, DirEntry, FileSystem, Ino, NewNode, Result, SpaceInfo, Timestamp, model::MemFs};

/// A file system in memory that counts.
struct Counted {
    memory: MemFs,
    asked: Cell<Asked>,
}

#[derive(Clone, Copy, Default, Debug)]
struct Asked {
    made: u64,
    removed: u64,
    read: u64,
    written: u64,
    writes: u64,
    fsyncs: u64,
}

impl Counted {
    fn count(&self, change: impl FnOnce(&mut Asked)) {
        let mut asked = self.asked.get();
        change(&mut asked);
        self.asked.set(asked);
    }
}

impl FileSystem for Counted {
    fn space(&self) -> Result<SpaceInfo> {
        self.memory.space()
    }

    fn attr(&self, ino: Ino) -> Result<Attr> {
        self.memory.attr(ino)
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Attr> {
        self.memory.lookup(dir, name)
    }

    fn parent(&self, dir: Ino) -> Result<Ino> {
        self.memory.parent(dir)
    }

    fn create(&self, dir: Ino, name: &[u8], node: &NewNode<'_>) -> Result<Attr> {
        self.count(|asked| asked.made += 1);
        self.memory.create(dir, name, node)
    }

    fn unlink(&self, dir: Ino, name: &[u8]) -> Result<()> {
        self.count(|asked| asked.removed += 1);
        self.memory.unlink(dir, name)
    }

    fn read(&self, ino: Ino, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let read = self.memory.read(ino, offset, buffer)?;
        self.count(|asked| asked.read += read as u64);
        Ok(read)
    }

    fn write(&self, ino: Ino, offset: u64, data: &[u8]) -> Result<()> {
        self.count(|asked| {
            asked.written += data.len() as u64;
            asked.writes += 1;
        });
        self.memory.write(ino, offset, data)
    }

    fn fsync(&self, ino: Ino, data_only: bool) -> Result<()> {
        self.count(|asked| asked.fsyncs += 1);
        self.memory.fsync(ino, data_only)
    }

    fn readdir(&self, dir: Ino, cookie: u64, each: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        self.memory.readdir(dir, cookie, each)
    }
}

/// The requests of a workload once all is prepared.
fn asked(script: Script, recorded: Option<&str>) -> Asked {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("calls");
    fs::write(&path, recorded.unwrap_or_default()).unwrap();
    let clock = Box::new(Timestamp::default);
    let counted = Counted { memory: MemFs::with_size(clock, 4096, 1 << 30), asked: Cell::default() };
    let work = script.prepare(&counted, recorded.map(|_| path.as_path()), 1).unwrap();
    counted.asked.set(Asked::default());
    work().unwrap();
    counted.asked.get()
}

#[test]
fn iozone_goes_through_its_file_once() {
    const FILE: u64 = 96 << 20;
    for (script, read, written) in [
        (Script::SequentialWrite, 0, FILE),
        (Script::SequentialRead, FILE, 0),
        (Script::RandomWrite, 0, FILE),
        (Script::RandomRead, FILE, 0),
    ] {
        let asked = asked(script, None);
        assert_eq!((asked.read, asked.written, asked.fsyncs), (read, written, 0), "{script}");
    }
}

#[test]
fn each_transaction_of_sqlite_waits_for_its_pages() {
    for script in [Script::Insert, Script::Update, Script::Delete] {
        let asked = asked(script, None);
        assert!((1000..=1002).contains(&asked.fsyncs) && asked.read == 0, "{script}: {asked:?}");
        let pages = asked.written / 4096;
        assert!((1000..1500).contains(&pages), "{script}: {pages} pages in 1,000 transactions");
    }
}

#[test]
fn servers_read_and_write_as_the_paper_says() {
    let share = |asked: Asked| 100 * asked.read / (asked.read + asked.written);
    let videos = asked(Script::VideoServer, None);
    assert!(
        (15..=25).contains(&share(videos)) && videos.fsyncs == 0 && videos.made == videos.removed,
        "{videos:?}"
    );
    let files = asked(Script::FileServer, None);
    assert!(files.fsyncs == 0 && files.made.abs_diff(files.removed) < files.made / 2, "{files:?}");
    let mails = asked(Script::MailServer, None);
    assert!((45..=60).contains(&share(mails)) && mails.fsyncs == 2 * mails.made, "{mails:?}");
    assert_eq!(mails.made, mails.removed);
    let oltp = asked(Script::Transactions, None);
    assert!(share(oltp) <= 1 && oltp.fsyncs > 4000 && oltp.made == 0, "{oltp:?}");
}

#[test]
fn recorded_calls_are_made_as_they_were() {
    let calls = "1 0 open /data/a O_RDWR|O_CREAT 5\n1 1 pread 5 100 50\n1 2 pwrite 5 4096 10\n1 3 write 9 3\n\
                 1 4 fsync 5 0\n1 5 close 5 0\n1 6 read 7 -1\n1 7 unlink \"/data/a\" 0\n1 8 fstat64 9 0\n";
    let asked = asked(Script::Recorded, Some(calls));
    // A file open before the recording is made when it is needed; a file that is read was there.
    assert_eq!((asked.made, asked.removed, asked.fsyncs), (1, 1, 1));
    assert_eq!((asked.read, asked.written, asked.writes), (50, 13, 2));
}
