//! Questions to a volume after every session, besides its contents.

use std::collections::BTreeMap;
use std::fmt;

use pumice_media::{BlockId, Nand, NandStats, PageId, SimChip};
use pumice_nandfs::{Info, MountOptions, NandFs};
use pumice_vfs::conformance::{TestClock, list};
use pumice_vfs::{FileKind, FileSystem, Ino};

use crate::cut::runner;

/// Reads of a mount after an orderly end, at the most: 27 on TLC.
const CLEAN_READS: u64 = 40;
/// Further reads where an anchor's block is bad or its program has failed or was cut: the first ring may prove nothing, and
/// the second is looked at. Two marks of bad blocks, two first pages, a search by halves (10 on TLC), the anchor.
const SECOND_RING_READS: u64 = 15;
/// Further reads for each ring with a page that a cut left unreadable, until the ring erases its block: that could be the
/// first of the newer block. It is searched by halves (10 on TLC), and the page is read three times.
const TORN_RING_READS: u64 = 13;
/// The blocks of both rings of anchors, and those of one.
const ANCHOR_BLOCKS: u32 = 4;
const RING_BLOCKS: u32 = 2;

/// Sessions of a year.
const YEAR: u64 = 52;

/// The limits, and the most that was seen.
pub struct Asks {
    name: &'static str,
    /// Free bytes of a fresh volume, by how many blocks are bad.
    fresh: BTreeMap<usize, u64>,
    block_bytes: u64,
    sessions: u64,
    /// The most memory in the first year, and ever.
    first_memory: usize,
    memory: usize,
    clean_reads: u64,
    cut_ms: u64,
    lost: u64,
}

impl Asks {
    pub fn of(name: &'static str, chip: &SimChip) -> Asks {
        let block_bytes = chip.geometry().block_bytes();
        Asks {
            name,
            fresh: BTreeMap::new(),
            block_bytes,
            sessions: 0,
            first_memory: 0,
            memory: 0,
            clean_reads: 0,
            cut_ms: 0,
            lost: 0,
        }
    }

    /// A mount of this chip took this much.
    pub fn mounted(&mut self, took: NandStats, was_cut: bool, chip: &SimChip, info: &Info) {
        self.memory = self.memory.max(info.fixed_memory_bytes);
        if self.sessions < YEAR {
            self.first_memory = self.memory;
        }
        let most = self.first_memory + self.first_memory / 8;
        assert!(
            self.memory <= most,
            "{} bytes of memory, {} in the first year",
            self.memory,
            self.first_memory
        );
        assert_eq!((took.programs, took.erases), (0, 0), "a mount wrote to the chip");
        if was_cut {
            self.cut_ms = self.cut_ms.max(took.device_ns / 1_000_000);
        } else if info.clean {
            let (reads, most) = (took.page_reads + took.spare_reads, CLEAN_READS + reads_of_hurt_rings(chip));
            let is_allowed = reads <= most || lacks_a_copy(chip);
            assert!(is_allowed, "a mount after an unmount took {took:?}, {most} reads are allowed");
            self.clean_reads = self.clean_reads.max(reads.min(most));
        }
    }

    /// Were it emptied, a volume would have the space of a fresh one.
    pub fn between(&mut self, chip: &SimChip, clock: &TestClock) {
        self.sessions += 1;
        // Blocks in which programs failed are marked bad on the way.
        let (chip, free) = emptied(chip.clone(), clock);
        let fresh = self.fresh(&chip, clock);
        let lost = fresh.saturating_sub(free);
        self.lost = self.lost.max(lost);
        let bound = (fresh / 100).max(self.block_bytes);
        assert!(lost <= bound, "emptied, it would have {free} bytes free, a fresh one has {fresh}");
    }

    /// Free bytes of a fresh volume on a chip with the same bad blocks.
    fn fresh(&mut self, chip: &SimChip, clock: &TestClock) -> u64 {
        let mut chip = chip.clone();
        let bad: Vec<BlockId> =
            (0..chip.geometry().blocks).map(BlockId).filter(|block| chip.is_bad(*block).unwrap()).collect();
        let name = self.name;
        *self.fresh.entry(bad.len()).or_insert_with(|| {
            let fresh = runner::chip_with_bad(name, clock, bad);
            mount(fresh, clock).space().unwrap().free_bytes
        })
    }
}

impl fmt::Display for Asks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Asks { memory, clean_reads, cut_ms, lost, block_bytes, .. } = self;
        write!(f, "{memory} bytes, {clean_reads} reads of a clean mount, {cut_ms} ms of one after a cut, ")?;
        write!(f, "emptied {lost} bytes less than fresh (a block has {block_bytes})")
    }
}

/// True if a copy of the newest record or anchor is missing: a mount looks for it in both blocks, and a sync writes it again.
fn lacks_a_copy(chip: &SimChip) -> bool {
    let fs = mount(chip.clone(), &TestClock::new());
    fs.sync().unwrap_or_else(|error| panic!("sync: {error}"));
    fs.stats().unwrap().programs > chip.stats().programs
}

/// Further reads of a mount, where a program has failed on the chip, or a block of anchors is bad or has a page that cannot
/// be read.
fn reads_of_hurt_rings(chip: &SimChip) -> u64 {
    let mut chip = chip.clone();
    let is_bad = (0..ANCHOR_BLOCKS).any(|block| chip.is_bad(BlockId(block)).unwrap());
    let rings = (0..ANCHOR_BLOCKS).step_by(RING_BLOCKS as usize);
    let torn = rings.filter(|first| is_torn(&mut chip, *first)).count() as u64;
    if is_bad || torn > 0 || chip.fault_counts().program_failures > 0 {
        SECOND_RING_READS + torn * TORN_RING_READS
    } else {
        0
    }
}

/// True if the ring of this first block has a page that cannot be read.
fn is_torn(chip: &mut SimChip, first: u32) -> bool {
    let geometry = chip.geometry();
    let mut data = vec![0; geometry.page_bytes as usize];
    let mut spare = vec![0; geometry.free_spare_bytes as usize];
    let pages = first * geometry.pages_per_block..(first + RING_BLOCKS) * geometry.pages_per_block;
    pages.map(PageId).any(|page| chip.read(page, &mut data, &mut spare).is_err())
}

fn mount(chip: SimChip, clock: &TestClock) -> NandFs<SimChip> {
    let options = MountOptions::new(1 << 20, clock.clock());
    NandFs::mount(chip, options).unwrap_or_else(|error| panic!("mount: {error}"))
}

/// The chip once everything is taken away, and its free bytes.
fn emptied(chip: SimChip, clock: &TestClock) -> (SimChip, u64) {
    let fs = mount(chip, clock);
    empty(&fs, Ino::ROOT);
    let chip = fs.unmount().unwrap_or_else(|error| panic!("unmount: {error}"));
    let fs = mount(chip, clock);
    let free = fs.space().unwrap().free_bytes;
    (fs.unmount().unwrap_or_else(|error| panic!("unmount: {error}")), free)
}

fn empty(fs: &dyn FileSystem, dir: Ino) {
    for (name, ino, kind) in list(fs, dir).unwrap() {
        let done = if kind == FileKind::Dir {
            empty(fs, ino);
            fs.rmdir(dir, &name)
        } else {
            fs.unlink(dir, &name)
        };
        done.unwrap_or_else(|error| panic!("removing {}: {error}", name.escape_ascii()));
    }
}
