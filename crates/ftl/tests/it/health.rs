//! A disk over the years: bits that decay on the shelf, and blocks that are read too often. `PUMICE_YEARS=10` runs the whole
//! campaigns, on a larger chip.

use crate::common::shared::Shared;
use crate::common::{Case, Model, Step, change, content, policies, start};
use pumice_ftl::{CreateOptions, Export, Ftl, OpenOptions, create};
use pumice_knobs::FTL_YEARS;
use pumice_media::{BitFlip, BlockDevice, BlockId, ChipSpec, Lba, Nand, ReadDisturb, Retention, SimChip};

const WEEK_S: u32 = 7 * 24 * 3600;
const MONTH_S: u32 = 2_629_800;
const BLOCK: u32 = 4096;
/// Seeds of a whole campaign.
const SEEDS: u64 = 32;

fn is_long() -> bool {
    FTL_YEARS.whole().is_some()
}

/// A disk, its chip, and the clock of both.
struct Bench {
    chip: Shared,
    disk: Option<Ftl<Shared>>,
    seconds: i64,
}

impl Bench {
    fn new(spec: &ChipSpec) -> Bench {
        let mut chip = SimChip::new(spec);
        let export = Export::Permille(900);
        let options = CreateOptions { export, erased: true, ..CreateOptions::default() };
        create(&mut chip, &options, &mut |_, _| {}).unwrap();
        let mut bench = Bench { chip: Shared::new(chip), disk: None, seconds: 1_000_000 };
        bench.open();
        bench
    }

    fn open(&mut self) {
        self.disk = Some(Ftl::open(self.chip.clone(), OpenOptions::default()).unwrap());
    }

    fn disk(&mut self) -> &mut Ftl<Shared> {
        self.disk.as_mut().unwrap()
    }

    /// Ends it, by closing it or not, and starts again.
    fn restart(&mut self, is_closed: bool) {
        let disk = self.disk.take().unwrap();
        if is_closed {
            disk.close().unwrap();
        }
        self.open();
    }

    fn fill(&mut self, blocks: u64) {
        for lba in 0..blocks {
            self.disk().write(Lba(lba), &content(lba, lba + 1, BLOCK as usize)).unwrap();
        }
        self.disk().flush().unwrap();
    }

    /// Time goes by, for chip and disk.
    fn pass(&mut self, seconds: u32) {
        self.chip.0.lock().unwrap().pass(seconds);
        self.seconds += i64::from(seconds);
    }

    /// Nobody asks for anything for a while.
    fn idle(&mut self) {
        let now = self.seconds;
        while self.disk().maintain(now).unwrap() {}
    }

    /// The first block that is not as it was filled, looked at in a copy of the chip.
    fn first_lost(&self, blocks: u64) -> Option<String> {
        let options = OpenOptions { read_only: true, ..OpenOptions::default() };
        let mut disk = match Ftl::open(self.chip.copy(), options) {
            Ok(disk) => disk,
            Err(error) => return Some(format!("no start: {error}")),
        };
        let mut bytes = vec![0; BLOCK as usize];
        (0..blocks).find_map(|lba| match disk.read(Lba(lba), &mut bytes) {
            Ok(()) if bytes == content(lba, lba + 1, BLOCK as usize) => None,
            Ok(()) => Some(format!("block {lba} is another")),
            Err(error) => Some(format!("block {lba}: {error}")),
        })
    }
}

/// A full chip on the shelf: one random bit of each page is lost in a month, and ECC puts eight in 512 bytes right.
fn shelf(seed: u64) -> (Bench, u64) {
    let spec = ChipSpec::named("slc-4k-8g").unwrap();
    let spec = spec.with_size(if is_long() { 128 << 20 } else { 40 << 20 }).unwrap();
    let mut bench = Bench::new(&spec);
    let law = Retention { millibits_per_month: 1000, seed };
    bench.chip.0.lock().unwrap().faults_mut().retention = Some(law);
    let blocks = bench.disk().blocks();
    bench.fill(blocks);
    (bench, blocks)
}

#[test]
fn a_full_disk_keeps_what_it_holds_for_ten_years() {
    let months: u64 = if is_long() { 120 } else { 30 };
    let first = FTL_YEARS.first_seed(0);
    let seeds: Vec<u64> =
        FTL_YEARS.whole().map_or(vec![first], |part| part.pick(first..first + SEEDS).collect());
    for seed in seeds.iter().copied() {
        let (mut bench, blocks) = shelf(seed);
        let weeks = months * u64::from(MONTH_S) / u64::from(WEEK_S);
        for week in 1..=weeks {
            bench.pass(WEEK_S);
            bench.idle();
            // Some weeks end with the power.
            if week % 8 == 0 {
                bench.restart(week % 16 == 0);
            }
            if week % 26 == 0 {
                assert_eq!(bench.first_lost(blocks), None, "seed {seed}, week {week}");
            }
        }
        bench.pass(WEEK_S);
        assert_eq!(bench.first_lost(blocks), None, "seed {seed}");
        let info = bench.disk().info();
        println!("seed {seed}: {} segments emptied, erases {:?}", info.mended_segments, info.wear);
        // A start that does not know of the pass that had just begun waits for the next week.
        let wanted = weeks - 1 - weeks.div_ceil(16);
        assert!(u64::from(info.patrol_passes) >= wanted, "{} passes in {weeks} weeks", info.patrol_passes);
        assert!(info.mended_segments > 0 && info.corrected_bits > 0);
    }
    FTL_YEARS.ran_part(seeds.len() as u64);
}

/// The outcome of the test above without a patrol.
#[test]
fn without_a_patrol_blocks_are_lost() {
    let (mut bench, blocks) = shelf(0);
    bench.disk().set_patrol_period(0);
    bench.pass(30 * MONTH_S);
    bench.idle();
    assert!(bench.first_lost(blocks).is_some());
}

/// A few blocks, read again and again: each read disturbs the pages of its segment.
fn read_often(reads: u64, is_idle: bool) -> (Bench, Option<String>) {
    let mut bench = Bench::new(&ChipSpec::named("slc-2k-2g").unwrap().with_size(16 << 20).unwrap());
    let blocks = 128;
    bench.fill(blocks);
    let disturb = ReadDisturb { harmless_reads: 50_000, reads_per_flip: 1000, seed: 5 };
    bench.chip.0.lock().unwrap().faults_mut().read_disturb = Some(disturb);
    let mut bytes = vec![0; BLOCK as usize];
    for read in 0..reads {
        if let Err(error) = bench.disk().read(Lba(read % blocks), &mut bytes) {
            return (bench, Some(format!("read {read}: {error}")));
        }
        if is_idle && read % 2048 == 0 {
            bench.idle();
        }
        if is_idle && read % 100_000 == 0 {
            bench.restart(read % 200_000 == 0);
        }
    }
    let lost = bench.first_lost(blocks);
    (bench, lost)
}

#[test]
fn what_is_read_all_the_time_is_moved_in_time() {
    // It has no seed: the first part has it.
    if !FTL_YEARS.sample(1).takes(0) {
        return;
    }
    let reads = if is_long() { 3_000_000 } else { 250_000 };
    let (mut bench, lost) = read_often(reads, true);
    assert_eq!(lost, None);
    let moved = bench.disk().info().mended_segments;
    println!("{reads} reads: {moved} segments emptied");
    assert!(moved > 0);
    assert_eq!(bench.chip.0.lock().unwrap().fault_counts().uncorrectable_reads, 0);
    // Not much oftener than need be: two pages a block, each segment after about 15,000 reads.
    assert!(u64::from(moved) < reads * 3 / 10_000, "{moved} segments emptied");
    FTL_YEARS.ran_part(1);
}

/// The outcome of the test above if nothing was moved.
#[test]
fn without_idle_time_it_is_lost() {
    assert!(read_often(2_000_000, false).1.is_some());
}

/// A scrub empties segments, some with a page of garbage that cannot be read, and writes to their places again: what lies
/// there then is not lost.
#[test]
fn a_place_that_a_scrub_writes_to_again_is_not_lost() {
    let case = Case::named("tags");
    let mut unreadable = 0;
    for seed in 0..8 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut disk = start(case.chip(600, &policies("cost-benefit", "m1", "even")));
        let blocks = disk.blocks();
        let mut model = Model::new(blocks, case.block_bytes);
        change(&mut disk, &mut model, Step::Write { first: 0, count: blocks }).unwrap();
        for _ in 0..blocks {
            change(&mut disk, &mut model, Step::Write { first: rng.u64(..blocks), count: 1 }).unwrap();
        }
        let mut chip = disk.close().unwrap();
        model.flush();
        hurt_garbage(&mut chip, &model, case.spec().ecc().bits);
        let mut disk = start(chip);
        let found = disk.scrub(0, &mut |_, _| {}).unwrap();
        unreadable += found.unreadable.len();
        assert_eq!((&found.lost[..], found.read_only), (&[][..], false), "seed {seed}: {found:?}");
        model.compare(&mut disk).unwrap();
    }
    assert!(unreadable > 20, "{unreadable} pages of garbage were read");
}

/// Makes a page of each segment unreadable, if no block lies in it, and has another near the limit of ECC.
fn hurt_garbage(chip: &mut SimChip, model: &Model, bits: u32) {
    let geometry = chip.geometry();
    for block in (4..geometry.blocks).map(BlockId) {
        let page = geometry.page(block, 0);
        chip.faults_mut().flips.extend((0..bits).map(|bit| BitFlip { page, bit }));
        let hurt = geometry.page(block, 3);
        if !chip.page_state(hurt).unwrap().is_written() {
            continue;
        }
        chip.faults_mut().unreadable.insert(hurt);
        if model.compare(&mut start(chip.clone())).is_err() {
            chip.faults_mut().unreadable.remove(&hurt);
        }
    }
}
