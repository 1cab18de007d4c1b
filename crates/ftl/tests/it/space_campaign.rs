//! Space, by seed, over all chips: a disk as large as its chip allows is written over at random, trimmed and flushed. It
//! has promised its blocks, so nothing may ever fail.
//!
//! And the same with the power cut again and again, in the middle of whatever is going on: no number of cuts takes room
//! away.
//!
//! `PUMICE_SPACE=N` plays `N` seeds on each chip.

use crate::common::{CASES, Case, Model, chip_of, policies, start};
use pumice_ftl::{CreateOptions, Export, Ftl, FtlError, OpenOptions, create};
use pumice_knobs::FTL_SPACE;
use pumice_media::{BlockDevice, BlockError, ChipSpec, CutMode, Lba, Rate, SimChip, chips};

/// Blocks of a chip.
const BLOCKS: u64 = 40;
/// Bytes of a logical block.
const BLOCK: usize = 4096;

/// A fresh disk of the largest size.
fn largest(spec: &ChipSpec) -> Ftl<SimChip> {
    let make = |bytes| {
        let mut chip = SimChip::new(spec);
        let options =
            CreateOptions { export: Export::Bytes(bytes), erased: true, ..CreateOptions::default() };
        create(&mut chip, &options, &mut |_, _| {}).map(|_| chip)
    };
    let most = match make(spec.geometry().capacity_bytes()) {
        Err(FtlError::Export { most, .. }) => most,
        other => panic!("{}: {:?}", spec.name(), other.map(drop)),
    };
    Ftl::open(make(most * BLOCK as u64).unwrap(), OpenOptions::default()).unwrap()
}

fn play(spec: &ChipSpec, seed: u64) {
    let mut disk = largest(spec);
    let mut rng = fastrand::Rng::with_seed(seed);
    let blocks = disk.blocks();
    let about = |what: &str, turn: u64, error: &dyn std::fmt::Display| -> ! {
        panic!("{} PUMICE_SEED={seed}, turn {turn}: {what}: {error}", spec.name())
    };
    for turn in 0..blocks * 3 {
        let lba = Lba(if turn < blocks { turn } else { rng.u64(..blocks) });
        match rng.u32(..200) {
            0 => disk.flush().unwrap_or_else(|error| about("flush", turn, &error)),
            1 if turn > blocks => {
                let count = rng.u64(1..64).min(blocks - lba.0);
                disk.discard(lba, count).unwrap_or_else(|error| about("discard", turn, &error));
            }
            _ => {
                let bytes = [u8::try_from(turn % 251).unwrap(); BLOCK];
                disk.write(lba, &bytes).unwrap_or_else(|error| about("write", turn, &error));
            }
        }
    }
    disk.close().unwrap_or_else(|error| about("close", blocks * 3, &error));
}

/// Fills a disk of so many thousandths of its chip, and writes over it, trims and flushes until the power goes; then
/// starts and goes on, with few operations of the chip between two cuts.
struct Cuts {
    name: &'static str,
    seed: u64,
    rng: fastrand::Rng,
    model: Model,
    chip: SimChip,
    done: u32,
}

impl Cuts {
    fn new(name: &'static str, seed: u64) -> Cuts {
        let mut rng = fastrand::Rng::with_seed(seed);
        let permille = [700, 850, 1000, 1000][rng.usize(..4)];
        let placement = ["m1", "sepbit", "m6"][rng.usize(..3)];
        let wear = ["none", "even", "dual-pool"][rng.usize(..3)];
        let chip = Case::chip_of(name, permille, &policies("cost-benefit", placement, wear));
        let mut disk = start(chip);
        let mut model = Model::new(disk.blocks(), disk.block_bytes());
        for lba in 0..disk.blocks() {
            disk.write(Lba(lba), &model.write(lba)).unwrap();
        }
        let chip = disk.close().unwrap();
        model.flush();
        Cuts { name, seed, rng, model, chip, done: 0 }
    }

    /// One step; false once the power is gone.
    fn step(&mut self, disk: &mut Ftl<SimChip>) -> bool {
        let lba = self.rng.u64(..self.model.blocks());
        let (what, done) = match self.rng.u32(..24) {
            0..3 => ("flush", disk.flush()),
            3 => {
                self.model.trim(lba);
                ("discard", disk.discard(Lba(lba), 1))
            }
            _ => ("write", disk.write(Lba(lba), &self.model.write(lba))),
        };
        match done {
            Ok(()) if what == "flush" => self.model.flush(),
            Ok(()) => {}
            Err(BlockError::PowerLost) => return false,
            Err(error) => self.fail(&format!("{what}: {error}")),
        }
        true
    }

    fn fail(&self, what: &str) -> ! {
        panic!("{} PUMICE_SEED={}, cut {}: {what}", self.name, self.seed, self.done)
    }

    /// A session that a cut ends.
    fn session(&mut self) {
        let seed = self.rng.u64(..);
        let modes = [
            CutMode::Nothing,
            CutMode::Complete,
            CutMode::Torn { seed },
            CutMode::Garbage { seed },
            CutMode::Half { seed },
        ];
        let most = if self.rng.u32(..6) == 0 { 400 } else { 30 };
        let (after, mode) = (self.rng.u64(..most), modes[self.rng.usize(..modes.len())]);
        let mut chip = self.chip.clone();
        chip.cut_after(after, mode);
        let cut = match Ftl::open(chip.clone(), OpenOptions::default()) {
            Ok(mut disk) => {
                while self.step(&mut disk) {}
                chip_of(&disk).clone()
            }
            // Of a start that is cut, the state is that of the chip before: it is cut again in the next session.
            Err(FtlError::Chip(_)) => return,
            Err(error) => self.fail(&format!("start: {error}")),
        };
        self.done += 1;
        self.chip = cut;
        self.chip.power_on();
        self.chip.faults_mut().power_cut = None;
        let read_only = OpenOptions { read_only: true, ..OpenOptions::default() };
        let mut disk = Ftl::open(self.chip.clone(), read_only)
            .unwrap_or_else(|error| self.fail(&format!("start: {error}")));
        let mut adopted = self.model.clone();
        adopted.adopt(&mut disk).unwrap_or_else(|what| self.fail(&what));
        self.model = adopted;
    }
}

/// Cuts in a row on each layout.
const CUTS: u32 = 120;

/// Plays a seed, and writes on a disk of which the power goes no more.
fn survive(name: &'static str, seed: u64) {
    let mut cuts = Cuts::new(name, seed);
    while cuts.done < CUTS {
        cuts.session();
    }
    let mut disk = start(cuts.chip.clone());
    for _ in 0..cuts.model.blocks() {
        assert!(cuts.step(&mut disk));
    }
    disk.close().unwrap_or_else(|error| cuts.fail(&error.to_string()));
}

#[test]
fn no_number_of_cuts_takes_room_away() {
    let paired = ["tags/dist3", "summary/by4", "slots/dist3", "packed/dist3", "leaves/dist3"];
    let (seeds, mut played) = (FTL_SPACE.seeds(0..2), 0);
    for name in CASES.iter().map(|case| case.name).chain(paired) {
        for seed in seeds.clone() {
            played += 1;
            survive(name, seed);
        }
    }
    FTL_SPACE.ran(seeds, played);
}

/// Where many cleaned segments wait for one commit.
#[test]
fn nor_where_many_segments_wait() {
    let chip = ChipSpec::named("k9s1208").unwrap();
    let spec = chip.clone().with_size(3072 * chip.geometry().block_bytes()).unwrap();
    let seeds = FTL_SPACE.seeds(0..1);
    for seed in seeds.clone() {
        survive("many", seed);
        play(&spec, seed);
    }
    FTL_SPACE.ran(seeds.clone(), 2 * (seeds.end - seeds.start));
}

/// A disk as large as such a chip allows goes on while segments fail: fewer wait for one commit.
#[test]
fn nor_of_failing_segments_where_many_wait() {
    let mut chip = Case::chip_of("many", 1000, &policies("greedy", "m1", "none"));
    chip.faults_mut().erase_fail_rate = Some(Rate { per_billion: 1_000_000, seed: 4 });
    let mut disk = start(chip);
    let (blocks, mut rng) = (disk.blocks(), fastrand::Rng::with_seed(4));
    let bytes = vec![1; disk.block_bytes() as usize];
    (0..blocks).for_each(|lba| disk.write(Lba(lba), &bytes).unwrap());
    // The last segments before the end are kept for those that fail at a time.
    while disk.info().bad_segments < 6 {
        disk.write(Lba(rng.u64(..blocks)), &bytes).unwrap();
    }
    let mut chip = disk.close().unwrap();
    chip.faults_mut().erase_fail_rate = None;
    let mut disk = start(chip);
    (0..2 * blocks).for_each(|_| disk.write(Lba(rng.u64(..blocks)), &bytes).unwrap());
}

/// A seed that failed once: blocks were counted off that a segment had held before it was erased.
#[test]
fn a_seed_that_failed_once() {
    survive("leaves-parity", 3);
}

#[test]
fn a_full_disk_can_be_written_for_ever() {
    let (seeds, mut played) = (FTL_SPACE.seeds(0..1), 0);
    for chip in chips() {
        let spec = chip.clone().with_size(BLOCKS * chip.geometry().block_bytes()).unwrap();
        // The largest chips take minutes.
        if FTL_SPACE.count().is_none() && spec.geometry().capacity_bytes() > 20 << 20 {
            continue;
        }
        seeds.clone().for_each(|seed| play(&spec, seed));
        played += seeds.end - seeds.start;
    }
    FTL_SPACE.ran(seeds, played);
}
