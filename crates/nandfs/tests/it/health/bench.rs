//! A chip and a mount of it, and the clock of both.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use pumice_knobs::NANDFS_YEARS;
use pumice_media::{ChipSpec, SimChip};
use pumice_nandfs::{FormatOptions, MountOptions, NandFs, format};
use pumice_vfs::{FileKind, FileSystem, Ino, NewNode, Timestamp};

use crate::cut::shared::Shared;

pub(crate) const WEEK_S: u32 = 7 * 24 * 3600;
pub(crate) const MONTH_S: u32 = 2_629_800;
pub(crate) const BLOCK: u64 = 4096;
/// Seeds of a whole campaign.
const SEEDS: u64 = 32;

/// The whole campaign is asked for.
pub(crate) fn is_long() -> bool {
    NANDFS_YEARS.whole().is_some()
}

/// The seeds of a campaign: one, or those of the part that is asked for.
pub(crate) fn seeds() -> Vec<u64> {
    let first = NANDFS_YEARS.first_seed(0);
    NANDFS_YEARS.whole().map_or(vec![first], |part| part.pick(first..first + SEEDS).collect())
}

/// Reports the run, for so many seeds.
pub(crate) fn ran(seeds: &[u64]) {
    NANDFS_YEARS.ran_part(seeds.len() as u64);
}

pub(crate) struct Bench {
    pub(crate) chip: Shared,
    pub(crate) fs: Option<NandFs<Shared>>,
    pub(crate) cache_bytes: usize,
    seconds: Arc<AtomicI64>,
}

impl Bench {
    pub(crate) fn new(spec: &ChipSpec, cache_bytes: usize) -> Bench {
        let mut chip = SimChip::new(spec);
        let options = FormatOptions::default().with(|it| {
            it.uuid = *b"0123456789abcdef";
            it.created = Timestamp { seconds: 1_000_000, nanos: 0 };
            it.erased = true;
        });
        format(&mut chip, &options, &mut |_, _| {}).unwrap();
        let mut bench = Bench {
            chip: Shared::new(chip),
            fs: None,
            cache_bytes,
            seconds: Arc::new(AtomicI64::new(1_000_000)),
        };
        bench.mount();
        bench
    }

    pub(crate) fn fs(&self) -> &NandFs<Shared> {
        self.fs.as_ref().unwrap()
    }

    pub(crate) fn options(&self, read_only: bool) -> MountOptions {
        let seconds = self.seconds.clone();
        let clock = Box::new(move || Timestamp { seconds: seconds.load(Ordering::SeqCst), nanos: 0 });
        MountOptions::new(self.cache_bytes, clock).with(|it| it.read_only = read_only)
    }

    pub(crate) fn mount(&mut self) {
        self.fs = Some(NandFs::mount(self.chip.clone(), self.options(false)).unwrap());
    }

    pub(crate) fn remount(&mut self) {
        self.fs.take().unwrap().unmount().unwrap();
        self.mount();
    }

    /// Time goes by, for chip and mount.
    pub(crate) fn pass(&self, seconds: u32) {
        self.chip.0.lock().unwrap().pass(seconds);
        self.seconds.fetch_add(seconds.into(), Ordering::SeqCst);
    }

    /// Nobody asks for anything for a while.
    pub(crate) fn idle(&self) {
        while self.fs().maintain().unwrap() {}
    }

    pub(crate) fn create(&self, name: &str) -> Ino {
        let node = NewNode { kind: FileKind::File, perm: 0o644, uid: 0, gid: 0, rdev: 0, target: b"" };
        self.fs().create(Ino::ROOT, name.as_bytes(), &node).unwrap().ino
    }

    /// A file of so many blocks, each with bytes of its own.
    pub(crate) fn fill(&self, name: &str, blocks: u64) -> Ino {
        let ino = self.create(name);
        for block in 0..blocks {
            self.fs().write(ino, block * BLOCK, &content(block)).unwrap();
        }
        self.fs().sync().unwrap();
        ino
    }

    /// Blocks that one file can be given now, less some for its inode.
    pub(crate) fn free_blocks(&self) -> u64 {
        self.fs().space().unwrap().free_bytes / BLOCK
    }

    /// The first block of a file that is not as it was filled, looked at in a copy of the chip.
    pub(crate) fn first_lost(&self, ino: Ino, blocks: u64) -> Option<String> {
        let fs = match NandFs::mount(Shared::new(self.chip.copy()), self.options(true)) {
            Ok(fs) => fs,
            Err(error) => return Some(format!("no mount: {error}")),
        };
        let mut bytes = vec![0; BLOCK as usize];
        (0..blocks).find_map(|block| match fs.read(ino, block * BLOCK, &mut bytes) {
            Ok(_) if bytes == content(block) => None,
            Ok(_) => Some(format!("block {block} is another")),
            Err(error) => Some(format!("block {block}: {error}")),
        })
    }
}

/// Bytes that do not compress, the same for a number.
pub(crate) fn content(number: u64) -> Vec<u8> {
    let mut bytes = vec![0; BLOCK as usize];
    fastrand::Rng::with_seed(number).fill(&mut bytes);
    bytes
}
