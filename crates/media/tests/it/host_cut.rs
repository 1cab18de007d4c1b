//! A container after a power cut of its host.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use pumice_knobs::MEDIA_HOSTS;

use pumice_media::{BlockId, ChipFile, ChipSpec, Nand, NandError, PageId, PageState, ReadOutcome, SimHost};

const BLOCKS: u32 = 24;
const PAGES: u32 = 6;

fn spec() -> ChipSpec {
    // A block's record takes 64 bytes, so that some lie on the edge of a sector, and few pages do not.
    ChipSpec::parse_geometry(&format!("2048+64:{PAGES}:{BLOCKS}")).unwrap()
}

fn fresh() -> SimHost {
    SimHost::container(&spec()).unwrap()
}

/// The bytes of a page: a number that is never used again, and noise that belongs to it.
fn contents(chip: &ChipFile, number: u64) -> (Vec<u8>, Vec<u8>) {
    let shape = chip.geometry();
    let mut rng = fastrand::Rng::with_seed(number);
    let mut bytes = |count: u32| {
        let mut bytes = vec![0; count as usize];
        rng.fill(&mut bytes);
        bytes
    };
    let (mut data, spare) = (bytes(shape.page_bytes), bytes(shape.free_spare_bytes));
    data[..8].copy_from_slice(&number.to_le_bytes());
    (data, spare)
}

/// The number of a page, if it is programmed: then it reads right.
fn number(chip: &mut ChipFile, page: PageId) -> Option<u64> {
    let (mut data, mut spare) = contents(chip, 0);
    let mut alone = spare.clone();
    assert_eq!(chip.read(page, &mut data, &mut spare), Ok(ReadOutcome::Clean), "page {}", page.0);
    if chip.page_state(page).unwrap() == PageState::Erased {
        return None;
    }
    assert_eq!(chip.read_spare(page, &mut alone), Ok(ReadOutcome::Clean));
    assert_eq!(alone, spare);
    let number = u64::from_le_bytes(*data.first_chunk().unwrap());
    assert!((data, spare) == contents(chip, number), "page {} is torn, and reads as right", page.0);
    Some(number)
}

/// A chip in use: blocks are filled; when few are left, the contents of a block are copied or overwritten, and it is
/// erased.
struct Use {
    chip: ChipFile,
    /// The program on each page since its erase.
    pages: BTreeMap<u32, u64>,
    /// The programs that a flush promised and nothing replaced since.
    promised: BTreeSet<u64>,
    rng: fastrand::Rng,
    next: u64,
}

impl Use {
    fn new(host: &SimHost, seed: u64) -> Use {
        let (pages, promised) = (BTreeMap::new(), BTreeSet::new());
        Use { chip: host.open().unwrap(), pages, promised, rng: fastrand::Rng::with_seed(seed), next: 0 }
    }

    /// Goes on after a cut: from here on all that is left is promised.
    fn go_on(&mut self, host: &SimHost) {
        self.chip = host.open().unwrap();
        let found = |page| Some((page, number(&mut self.chip, PageId(page))?));
        self.pages = (0..BLOCKS * PAGES).filter_map(found).collect();
        self.promised = self.pages.values().copied().collect();
    }

    fn program(&mut self, page: u32, number: u64) {
        let (data, spare) = contents(&self.chip, number);
        self.chip.program(PageId(page), &data, &spare).unwrap();
        self.pages.insert(page, number);
    }

    fn erase(&mut self, block: u32) {
        self.chip.erase(BlockId(block)).unwrap();
        self.pages.retain(|page, _| !pages_of(block).contains(page));
    }

    /// Erases a block whatever it holds.
    fn drop_block(&mut self, block: u32) {
        for (_, number) in self.pages.range(pages_of(block)) {
            self.promised.remove(number);
        }
        self.erase(block);
    }

    fn step(&mut self) {
        let is_blank = |block: &u32| self.pages.range(pages_of(*block)).next().is_none();
        let (blank, full): (Vec<u32>, Vec<u32>) = (0..BLOCKS).partition(is_blank);
        let Some(to) = self.rng.choice(&blank).copied() else {
            // Cuts that undo erases leave no block for copies.
            let block = self.rng.choice(&full).copied().unwrap();
            return self.drop_block(block);
        };
        if blank.len() > 3 {
            for page in pages_of(to) {
                self.next += 1;
                self.program(page, self.next);
            }
        } else {
            let from = self.rng.choice(&full).copied().unwrap();
            let live: Vec<u64> = self.pages.range(pages_of(from)).map(|(_, number)| *number).collect();
            for (page, number) in pages_of(to).zip(live) {
                if self.rng.bool() {
                    self.program(page, number);
                } else {
                    self.promised.remove(&number);
                }
            }
            self.erase(from);
        }
        if self.rng.u8(..6) == 0 {
            self.chip.flush().unwrap();
            self.promised = self.pages.values().copied().collect();
        }
    }
}

fn pages_of(block: u32) -> Range<u32> {
    block * PAGES..(block + 1) * PAGES
}

/// The host's power fails in a few ways after each step. All promised pages are found, no wrong page reads right, and
/// the chip is used on, which breaks none of its rules. Now and then the next steps and cuts begin from the state after
/// a cut.
#[test]
fn what_was_flushed_is_found_and_copies_come_before_the_erase() {
    let (mut cuts, mut less, mut syncs, mut erases) = (0, 0, 0, 0);
    let seeds = MEDIA_HOSTS.seeds(0..4);
    for seed in seeds.clone() {
        MEDIA_HOSTS.begin(seed);
        let mut host = fresh();
        let mut used = Use::new(&host, seed);
        for step in 0..60 {
            let (before, synced) = (used.promised.clone(), host.syncs());
            used.step();
            for way in 0..4 {
                let about = format!("PUMICE_SEED={seed}, step {step}, way {way}");
                let draw = way << 32 | seed << 16 | step;
                // In the last sync of the step, if there was one, or after the step.
                let is_in_sync = way % 2 == 1 && host.syncs() > synced;
                let after = if is_in_sync { host.after_cut_in_sync(draw) } else { host.after_cut(draw) };
                let mut chip = after.open().unwrap();
                let pages = 0..BLOCKS * PAGES;
                let found: BTreeSet<u64> =
                    pages.clone().filter_map(|page| number(&mut chip, PageId(page))).collect();
                let mut promised =
                    used.promised.iter().filter(|number| !is_in_sync || before.contains(number));
                assert!(promised.all(|number| found.contains(number)), "{about}: lost");
                less += usize::from(found.len() < used.pages.len());
                for block in (0..BLOCKS).map(BlockId) {
                    chip.erase(block).unwrap();
                }
                let mut again = Use::new(&after, seed);
                (0..8).for_each(|_| again.step());
                cuts += 1;
            }
            if step % 8 == 7 {
                (syncs, erases) = (syncs + host.syncs(), erases + used.chip.stats().erases);
                host = host.after_cut(step);
                used.go_on(&host);
            }
        }
    }
    println!("{cuts} cuts, {less} took pages; {syncs} syncs, {erases} erases");
    assert!(less > 0, "every page was there");
    MEDIA_HOSTS.ran(seeds, cuts);
}

/// A sync that fails may have lost anything: from there on nothing is written, and all that asks for it is told.
#[test]
fn after_a_failed_sync_nothing_is_written() {
    let host = fresh();
    let mut used = Use::new(&host, 1);
    (0..40).for_each(|_| used.step());
    let blank: Vec<u32> = (0..BLOCKS * PAGES).filter(|page| !used.pages.contains_key(page)).collect();
    used.program(blank[0], 7777);
    host.fail_syncs();
    let failed = Err(NandError::Device(5));
    // The barrier before an erase is a sync, too.
    assert_eq!(used.chip.erase(BlockId(0)), failed);
    let before = host.bytes();
    assert_eq!(used.chip.flush(), failed);
    let (data, spare) = contents(&used.chip, 1);
    assert_eq!(used.chip.program(PageId(*blank.last().unwrap()), &data, &spare), failed);
    assert_eq!(used.chip.mark_bad(BlockId(3)), failed);
    drop(used);
    assert!(host.bytes() == before, "something was written");
}

/// An erase is done or not done, and nothing is written over before it is.
#[test]
fn an_erase_is_done_or_not_done() {
    let (data, spare) = contents(&fresh().open().unwrap(), 1);
    let mut met = BTreeSet::new();
    for seed in 0..64 {
        let host = fresh();
        let mut chip = host.open().unwrap();
        for page in 0..PAGES {
            chip.program(PageId(page), &data, &spare).unwrap();
        }
        chip.flush().unwrap();
        chip.erase(BlockId(0)).unwrap();
        let mut afters = vec![host.after_cut(seed)];
        chip.program(PageId(0), &data, &spare).unwrap();
        afters.push(host.after_cut_in_sync(seed));
        chip.flush().unwrap();
        afters.push(host.after_cut_in_sync(seed));
        for mut chip in afters.into_iter().map(|after| after.open().unwrap()) {
            let whole: Vec<bool> = (0..PAGES).map(|page| number(&mut chip, PageId(page)).is_some()).collect();
            let is_old = whole[1];
            assert!(whole[1..].iter().all(|is_whole| *is_whole == is_old), "{whole:?}");
            assert_eq!(chip.erase_count(BlockId(0)), u32::from(!is_old));
            met.insert((is_old, whole[0]));
        }
    }
    assert_eq!(met, BTreeSet::from([(false, false), (false, true), (true, true)]));
}

/// Pages wait to be written together: they take room from the start and, while the disk has none, are read and kept.
#[test]
fn pages_that_wait_for_a_full_disk_are_not_lost() {
    let host = fresh();
    let mut chip = host.open().unwrap();
    chip.erase(BlockId(0)).unwrap();
    chip.flush().unwrap();
    host.leave_room(10_000);
    let first = contents(&chip, 1);
    chip.program(PageId(0), &first.0, &first.1).unwrap();
    assert!(chip.room().unwrap().unwrap() < 10_000 - 2048);
    host.leave_room(0);
    assert_eq!(chip.flush(), Err(NandError::Device(libc::ENOSPC)));
    assert_eq!(number(&mut chip, PageId(0)), Some(1));
    host.leave_room(1_000_000);
    chip.flush().unwrap();
    drop(chip);
    assert_eq!(number(&mut host.open().unwrap(), PageId(0)), Some(1));
}
