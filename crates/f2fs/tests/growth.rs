//! The cost of a creation does not grow with the files that are there: blocks are counted that it reads, of 10,000 files
//! and of 60,000, in one directory and in six.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]

use std::{
    num::NonZeroUsize,
    ops::Range,
    sync::{Arc, Mutex},
};

use pumice_f2fs::{
    WritableF2fs, WritableOptions,
    mkfs::{Attributes, FormatOptions, NoContent, Plan, Size, Tree},
};
use pumice_media::{BlockDevice, BlockError, Lba, MemDisk};
use pumice_vfs::{FileKind, FileSystem, Ino, NewNode, Timestamp};

/// A disk that counts blocks that are read.
#[derive(Clone)]
struct Counted(Arc<Mutex<(MemDisk, u64)>>);

impl Counted {
    fn reads(&self) -> u64 {
        self.0.lock().unwrap().1
    }
}

impl BlockDevice for Counted {
    fn block_bytes(&self) -> u32 {
        self.0.lock().unwrap().0.block_bytes()
    }

    fn blocks(&self) -> u64 {
        self.0.lock().unwrap().0.blocks()
    }

    fn read(&mut self, first: Lba, buffer: &mut [u8]) -> Result<(), BlockError> {
        let (disk, reads) = &mut *self.0.lock().unwrap();
        *reads += buffer.len() as u64 / u64::from(disk.block_bytes());
        disk.read(first, buffer)
    }

    fn write(&mut self, first: Lba, buffer: &[u8]) -> Result<(), BlockError> {
        self.0.lock().unwrap().0.write(first, buffer)
    }

    fn flush(&mut self) -> Result<(), BlockError> {
        self.0.lock().unwrap().0.flush()
    }

    fn discard(&mut self, first: Lba, count: u64) -> Result<(), BlockError> {
        self.0.lock().unwrap().0.discard(first, count)
    }
}

fn node(kind: FileKind) -> NewNode<'static> {
    NewNode { kind, perm: 0o755, uid: 0, gid: 0, rdev: 0, target: b"" }
}

/// A new volume with so many directories, and a cache that holds little.
fn mounted(dirs: u32) -> (WritableF2fs, Counted, Vec<Ino>) {
    let tree = Tree::new(Attributes::directory(0o755, 0, 0, Timestamp::default()));
    let (options, size) = (FormatOptions::default(), Size::Bytes(1 << 30));
    let plan = Plan::new(options, tree, &NoContent, size, NonZeroUsize::MIN).unwrap();
    let (blocks, width) = plan.blocks();
    let disk = Counted(Arc::new(Mutex::new((MemDisk::new(width, blocks), 0))));
    plan.write(Box::new(disk.clone()), true, &NoContent, &mut |_| ()).unwrap();
    let options = WritableOptions { cache_bytes: 0, ..WritableOptions::new(Box::new(Timestamp::default)) };
    let fs = WritableF2fs::mount(Box::new(disk.clone()), options).unwrap();
    let dir = |at| fs.create(Ino::ROOT, format!("d{at}").as_bytes(), &node(FileKind::Dir)).unwrap().ino;
    let dirs = (0..dirs).map(dir).collect();
    (fs, disk, dirs)
}

/// Makes files in turn in some directories, as the kernel does: it looks for a name before.
fn create(fs: &WritableF2fs, dirs: &[Ino], numbers: Range<u32>) {
    for (number, dir) in numbers.zip(dirs.iter().cycle()) {
        let name = format!("file-{number}");
        fs.lookup(*dir, name.as_bytes()).unwrap_err();
        fs.create(*dir, name.as_bytes(), &node(FileKind::File)).unwrap();
    }
}

/// Blocks read for a creation behind so many, where none waits that was changed before.
fn reads(fs: &WritableF2fs, disk: &Counted, dirs: &[Ino], first: u32) -> f64 {
    const EACH: u32 = 50;
    let mut reads = 0;
    for start in (first..first + 2000).step_by(EACH as usize) {
        fs.sync().unwrap();
        let before = disk.reads();
        create(fs, dirs, start..start + EACH);
        reads += disk.reads() - before;
    }
    reads as f64 / 2000.0
}

#[test]
fn a_creation_costs_no_more_behind_many_others() {
    for dirs in [1, 6] {
        let (fs, disk, dirs) = mounted(dirs);
        create(&fs, &dirs, 0..8000);
        let few = reads(&fs, &disk, &dirs, 8000);
        create(&fs, &dirs, 10_000..58_000);
        let many = reads(&fs, &disk, &dirs, 58_000);
        // The block that gets the name is read, if no name before came into it; no other of the many levels.
        let cost = format!("{} directories: {few:.2} blocks for a creation, then {many:.2}", dirs.len());
        assert!(few <= 1.5 && many <= 1.5, "{cost}");
    }
}
