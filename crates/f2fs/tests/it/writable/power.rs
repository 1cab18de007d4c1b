//! A disk in memory that loses power, and its possible contents after a cut.
//!
//! A completed flush makes all writes before it durable, a completed write-through itself alone. Each sector of 512
//! bytes written since may hold any version that it had. A block that is written through is there as a whole or not at
//! all: a direct node has no checksum, so the format asks as much of a device, and so does [`BlockDevice`]. Discarded
//! blocks are zeros, garbage or what they were, discard by discard.

use std::{
    collections::{BTreeMap, BTreeSet, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
    sync::{Arc, LazyLock, Mutex, MutexGuard},
};

use pumice_f2fs::{
    crc::checksum,
    layout::{NodeFooter, SuperBlock},
};
use pumice_media::{BlockDevice, BlockError, BlockShape, Lba, ReadAt};

pub(crate) const BLOCK: usize = 4096;
static ZEROS: [u8; BLOCK] = [0; BLOCK];
const SECTOR: usize = 512;

type Page = Arc<Vec<u8>>;

/// The bytes of a discarded block of some devices.
static GARBAGE: LazyLock<Page> = LazyLock::new(|| {
    let mut random = fastrand::Rng::with_seed(1);
    Arc::new((0..BLOCK).map(|_| random.u8(..)).collect())
});

/// The contents of a disk; copies share their blocks.
#[derive(Clone)]
pub(crate) struct Image {
    /// `None` is zeros.
    pages: Vec<Option<Page>>,
    hash: u64,
}

/// The checksum alone would take two blocks that changed places for the same; and the standard hash of all bytes is slow.
fn hash_of(block: usize, page: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (block, checksum(page)).hash(&mut hasher);
    hasher.finish()
}

impl Image {
    pub(crate) fn zeros(blocks: u64) -> Image {
        Image { pages: vec![None; usize::try_from(blocks).unwrap()], hash: 0 }
    }

    /// The disk that holds these bytes.
    pub(crate) fn of(bytes: &[u8]) -> Image {
        let mut image = Image::zeros((bytes.len() / BLOCK) as u64);
        let pages = bytes.chunks(BLOCK).enumerate().filter(|(_, page)| **page != ZEROS);
        pages.for_each(|(block, page)| image.put(block, &Arc::new(page.to_vec())));
        image
    }

    /// Two images with the same are the same.
    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    fn page(&self, block: usize) -> &[u8] {
        self.pages[block].as_ref().map_or(&ZEROS, |page| page)
    }

    fn put(&mut self, block: usize, page: &Page) {
        let new = (page[..] != ZEROS).then(|| page.clone());
        let of = |page: &Option<Page>| page.as_ref().map_or(0, |page| hash_of(block, page));
        self.hash ^= of(&self.pages[block]) ^ of(&new);
        self.pages[block] = new;
    }

    /// Puts what the blocks of a discard are from now on; false if they stay. It depends on the blocks alone, so that a replay
    /// does as the disk did.
    fn discard(&mut self, first: usize, count: usize) -> bool {
        let page = match (first + count) / 16 % 3 {
            0 => return false,
            1 => Arc::new(vec![0; BLOCK]),
            _ => GARBAGE.clone(),
        };
        (first..first + count).for_each(|block| self.put(block, &page));
        true
    }

    /// Puts some sectors of a block.
    fn put_sectors(&mut self, block: usize, page: &Page, keep: &mut dyn FnMut() -> bool) {
        let kept: Vec<bool> = (0..BLOCK / SECTOR).map(|_| keep()).collect();
        if kept.iter().all(|keep| *keep) {
            return self.put(block, page);
        }
        if kept.iter().any(|keep| *keep) {
            let mut bytes = self.page(block).to_vec();
            for (at, _) in kept.iter().enumerate().filter(|(_, keep)| **keep) {
                let span = at * SECTOR..(at + 1) * SECTOR;
                bytes[span.clone()].copy_from_slice(&page[span]);
            }
            self.put(block, &Arc::new(bytes));
        }
    }

    /// Hands out the blocks that are not zeros: the first byte of a block, and the block.
    pub(crate) fn each_page(&self, mut each: impl FnMut(u64, &[u8])) {
        for (at, page) in (0..).step_by(BLOCK).zip(&self.pages) {
            if let Some(page) = page {
                each(at, page);
            }
        }
    }

    pub(crate) fn bytes_now(&self) -> Vec<u8> {
        (0..self.pages.len()).map(|block| self.page(block)).collect::<Vec<_>>().concat()
    }
}

impl ReadAt for Image {
    fn bytes(&self) -> u64 {
        (self.pages.len() * BLOCK) as u64
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> Result<(), BlockError> {
        let start = usize::try_from(at).unwrap();
        if start + buffer.len() > self.pages.len() * BLOCK {
            return Err(BlockError::OutOfRange {
                first: Lba(at),
                count: buffer.len() as u64,
                blocks: self.bytes(),
            });
        }
        let mut done = 0;
        while done < buffer.len() {
            let (block, inside) = ((start + done) / BLOCK, (start + done) % BLOCK);
            let count = (BLOCK - inside).min(buffer.len() - done);
            buffer[done..done + count].copy_from_slice(&self.page(block)[inside..inside + count]);
            done += count;
        }
        Ok(())
    }
}

/// A call on a device.
#[derive(Clone)]
pub(crate) enum Event {
    Write { first: usize, pages: Vec<Page>, through: bool },
    Flush,
    Discard { first: usize, count: usize },
}

/// The counts of a disk that lasts, and its refusals.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) events: Vec<Event>,
    pub(crate) reads: u64,
    /// The read that fails; counted from 0.
    pub(crate) bad_read: Option<u64>,
    /// Writes and flushes that succeed before all others fail.
    good_writes: Option<u64>,
    /// The write or flush that fails, once; counted from 0.
    pub(crate) bad_write: Option<u64>,
    /// True if what fails does so for lack of room on the host.
    pub(crate) is_host_full: bool,
}

impl Log {
    /// Has all writes and flushes fail after so many.
    pub(crate) fn fail_writes_from(&mut self, count: Option<u64>) {
        self.good_writes = count;
    }
}

/// A disk; its copies are the same one.
#[derive(Clone)]
pub(crate) struct Live {
    image: Arc<Mutex<Image>>,
    log: Arc<Mutex<Log>>,
}

impl Live {
    pub(crate) fn new(image: Image) -> Live {
        Live { image: Arc::new(Mutex::new(image)), log: Arc::default() }
    }

    pub(crate) fn image(&self) -> Image {
        self.image.lock().unwrap().clone()
    }

    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap()
    }

    /// Writes and flushes so far.
    pub(crate) fn count(&self) -> usize {
        self.log().events.len()
    }

    /// Blocks written, and flushes, from event `from` on.
    pub(crate) fn figures(&self, from: usize) -> (usize, usize) {
        let log = self.log();
        let blocks = log.events[from..].iter().map(|event| match event {
            Event::Write { pages, .. } => pages.len(),
            Event::Flush | Event::Discard { .. } => 0,
        });
        (blocks.sum(), log.events[from..].iter().filter(|event| matches!(event, Event::Flush)).count())
    }

    fn take(&self, event: Event) -> Result<(), BlockError> {
        let mut log = self.log();
        let errno = if log.is_host_full { 28 } else { 5 };
        let now = log.events.len() as u64;
        if log.good_writes.is_some_and(|good| now >= good)
            || log.bad_write.take_if(|bad| *bad == now).is_some()
        {
            return Err(BlockError::Device(errno));
        }
        log.events.push(event);
        Ok(())
    }

    fn store(&self, first: Lba, buffer: &[u8], through: bool) -> Result<(), BlockError> {
        let shape = BlockShape { block_bytes: self.block_bytes(), blocks: self.blocks() };
        shape.locate(first, buffer.len())?;
        let first = usize::try_from(first.0).unwrap();
        let pages: Vec<Page> = buffer.chunks(BLOCK).map(|page| Arc::new(page.to_vec())).collect();
        self.take(Event::Write { first, pages: pages.clone(), through })?;
        let mut image = self.image.lock().unwrap();
        pages.iter().zip(first..).for_each(|(page, block)| image.put(block, page));
        Ok(())
    }
}

impl BlockDevice for Live {
    fn block_bytes(&self) -> u32 {
        4096
    }

    fn blocks(&self) -> u64 {
        self.image.lock().unwrap().pages.len() as u64
    }

    fn read(&mut self, first: Lba, buffer: &mut [u8]) -> Result<(), BlockError> {
        let mut log = self.log();
        log.reads += 1;
        if log.bad_read == Some(log.reads - 1) {
            return Err(BlockError::Device(5));
        }
        drop(log);
        self.image.lock().unwrap().read_at(first.0 * BLOCK as u64, buffer)
    }

    fn write(&mut self, first: Lba, buffer: &[u8]) -> Result<(), BlockError> {
        self.store(first, buffer, false)
    }

    fn write_through(&mut self, first: Lba, buffer: &[u8]) -> Result<(), BlockError> {
        self.store(first, buffer, true)
    }

    fn flush(&mut self) -> Result<(), BlockError> {
        self.take(Event::Flush)
    }

    fn discard(&mut self, first: Lba, count: u64) -> Result<(), BlockError> {
        let (first, count) = (usize::try_from(first.0).unwrap(), usize::try_from(count).unwrap());
        self.take(Event::Discard { first, count })?;
        self.image.lock().unwrap().discard(first, count);
        Ok(())
    }
}

impl ReadAt for Live {
    fn bytes(&self) -> u64 {
        self.blocks() * BLOCK as u64
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> Result<(), BlockError> {
        self.image.lock().unwrap().read_at(at, buffer)
    }
}

/// The part of a volume that a block is in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Part {
    Super,
    Checkpoint,
    Sit,
    Nat,
    Ssa,
    Nodes,
    Data,
}

pub(crate) fn part(sb: &SuperBlock, block: usize, page: &[u8]) -> Part {
    let block = u32::try_from(block).unwrap();
    let raw = sb.raw();
    let starts = [
        (raw.main_blkaddr.get(), Part::Data),
        (raw.ssa_blkaddr.get(), Part::Ssa),
        (raw.nat_blkaddr.get(), Part::Nat),
        (raw.sit_blkaddr.get(), Part::Sit),
        (raw.cp_blkaddr.get(), Part::Checkpoint),
    ];
    let found = starts.into_iter().find(|(start, _)| block >= *start).map_or(Part::Super, |(_, part)| part);
    let limit = sb.nid_limit();
    let is_node = NodeFooter::of(page)
        .is_some_and(|footer| (3..limit).contains(&footer.nid.0) && (3..limit).contains(&footer.ino.0));
    if found == Part::Data && is_node { Part::Nodes } else { found }
}

/// A block that was written and may be lost.
struct Pending {
    /// The write that it was a part of.
    write: usize,
    block: usize,
    page: Page,
    part: Part,
}

/// A disk on the way through its events.
pub(crate) struct Replay<'a> {
    sb: &'a SuperBlock,
    durable: Image,
    pending: Vec<Pending>,
    writes: usize,
}

impl<'a> Replay<'a> {
    pub(crate) fn new(sb: &'a SuperBlock, durable: Image) -> Replay<'a> {
        Replay { sb, durable, pending: Vec::new(), writes: 0 }
    }

    /// Goes on by one event.
    pub(crate) fn step(&mut self, event: &Event) {
        match event {
            Event::Flush => {
                for Pending { block, page, .. } in self.pending.drain(..) {
                    self.durable.put(block, &page);
                }
            }
            Event::Discard { first, count } => {
                if self.durable.discard(*first, *count) {
                    self.pending.retain(|pending| !(*first..*first + *count).contains(&pending.block));
                }
            }
            Event::Write { first, pages, through: true } => {
                for (page, block) in pages.iter().zip(*first..) {
                    self.durable.put(block, page);
                    self.pending.retain(|pending| pending.block != block);
                }
            }
            Event::Write { first, pages, through: false } => {
                self.writes += 1;
                let write = self.writes;
                self.pending.extend(pages.iter().zip(*first..).map(|(page, block)| Pending {
                    write,
                    block,
                    page: page.clone(),
                    part: part(self.sb, block, page),
                }));
            }
        }
    }

    fn state(&self, keep: &mut dyn FnMut(&Pending, usize) -> bool) -> Image {
        let mut image = self.durable.clone();
        for pending in &self.pending {
            let mut sector = 0;
            image.put_sectors(pending.block, &pending.page, &mut || {
                sector += 1;
                keep(pending, sector - 1)
            });
        }
        image
    }

    /// The named families, whole: nothing and all of the unsynced writes; each write alone lost, and alone kept; any
    /// parts of the volume lost; the last write torn at each sector.
    pub(crate) fn families(&self, each: &mut dyn FnMut(&'static str, &mut dyn FnMut() -> Image)) {
        each("nothing kept", &mut || self.durable.clone());
        if self.pending.is_empty() {
            return;
        }
        each("all kept", &mut || self.state(&mut |_, _| true));
        let mut writes: Vec<usize> = self.pending.iter().map(|pending| pending.write).collect();
        writes.dedup();
        for write in &writes {
            each("one lost", &mut || self.state(&mut |pending, _| pending.write != *write));
            each("one kept", &mut || self.state(&mut |pending, _| pending.write == *write));
        }
        let mut parts: Vec<Part> = self.pending.iter().map(|pending| pending.part).collect();
        parts.sort_unstable();
        parts.dedup();
        for lost in 1..(1_usize << parts.len()) - 1 {
            let is_lost = |part: Part| lost & (1 << parts.binary_search(&part).unwrap()) != 0;
            each("parts lost", &mut || self.state(&mut |pending, _| !is_lost(pending.part)));
        }
        let last = self.writes;
        let first = self.pending.iter().position(|pending| pending.write == last);
        let Some(first) = first else { return };
        let sectors = (self.pending.len() - first) * BLOCK / SECTOR;
        for kept in 1..sectors {
            let mut seen = 0;
            each("torn", &mut || {
                seen = 0;
                self.state(&mut |pending, _| {
                    seen += usize::from(pending.write == last);
                    pending.write != last || seen <= kept
                })
            });
        }
    }

    /// One of a family, each of which is as likely as the others, or any sectors of any writes.
    pub(crate) fn one_of_family(&self, random: &mut fastrand::Rng) -> (&'static str, Image) {
        let mut names = Vec::new();
        self.families(&mut |name, _| names.push(name));
        let kinds: BTreeSet<&str> = names.iter().copied().collect();
        let Some(kind) = kinds.iter().nth(random.usize(0..=kinds.len())) else {
            return ("drawn", self.draw(random));
        };
        let members: Vec<usize> = (0..names.len()).filter(|at| names[*at] == *kind).collect();
        let chosen = members[random.usize(0..members.len())];
        let (mut at, mut found) = (0, None);
        self.families(&mut |name, make| {
            if at == chosen {
                found = Some((name, make()));
            }
            at += 1;
        });
        found.unwrap()
    }

    /// Any sectors of any writes.
    pub(crate) fn draw(&self, random: &mut fastrand::Rng) -> Image {
        let whole = random.bool();
        let share = random.u8(1..=15);
        let mut writes: BTreeMap<(usize, usize), bool> = BTreeMap::new();
        self.state(&mut |pending, _| {
            if whole {
                let key = (pending.write, pending.block);
                return *writes.entry(key).or_insert_with(|| random.u8(0..16) < share);
            }
            random.u8(0..16) < share
        })
    }
}
