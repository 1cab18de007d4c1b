//! Idle time: what is cleaned in it need not be cleaned in the next burst of writes, and a disk that stays idle is left
//! as it is. By the chip's own counters.

use pumice_ftl::Ftl;
use pumice_media::{BlockDevice, ChipSpec, Lba, NandStats, Pairing, SimChip};

use crate::common::{Case, Model, chip_of, policies, start};

/// A chip, and the thousandths of it that the disk takes.
struct Chip {
    case: Case,
    pairing: Pairing,
    permille: u32,
}

/// Chips with a burst of some segments, of every layout.
const CHIPS: [Chip; 6] = [
    chip("tags", "2048+64:32:160", 2048, 0),
    chip("short tags", "2048+32:32:160", 2048, 0),
    chip("slots", "8192+448:32:80", 2048, 0),
    chip("parity", "2048+64:33:160", 2048, 1),
    Chip { pairing: Pairing::Dist3, ..chip("pairs", "2048+64:64:120", 2048, 0) },
    Chip {
        pairing: Pairing::WordLine { pages: 4 },
        permille: 600,
        ..chip("slots, pairs", "8192+448:64:60", 4096, 0)
    },
];

const fn chip(name: &'static str, geometry: &'static str, block_bytes: u32, parity: u8) -> Chip {
    let case = Case { name, geometry, block_bytes, parity };
    Chip { case, pairing: Pairing::Unpaired, permille: 700 }
}

/// Bursts that are looked at, and those before, until free segments were all used once.
const BURSTS: u32 = 40;
const BEFORE: u32 = 60;
/// The share of the disk that a burst writes.
const BURST_SHARE: u64 = 20;

/// The time of a burst after idle time, at the most, and the programs in all, of those without any, in hundredths.
const TIME_MOST: u64 = 85;
const PROGRAMS_MOST: u64 = 112;

fn stats(disk: &Ftl<SimChip>) -> NandStats {
    chip_of(disk).lifetime_stats()
}

fn write(disk: &mut Ftl<SimChip>, model: &mut Model, lba: u64) {
    disk.write(Lba(lba), &model.write(lba)).unwrap();
}

/// Bursts of writes to a full disk, most of them to a tenth of it, with idle time behind each or without. Returns the
/// nanoseconds of the chip for one of them, and its programs in all.
fn bursts(chip: &Chip, is_idle: bool) -> (u64, u64) {
    let spec = ChipSpec::parse_geometry(chip.case.geometry).unwrap().with_pairing(chip.pairing).unwrap();
    let mut sim = SimChip::new(&spec);
    chip.case.create_on(&mut sim, chip.permille, &policies("declining-cost", "adaptive", "even"));
    let mut disk = start(sim);
    disk.set_patrol_period(0);
    let blocks = disk.blocks();
    let mut model = Model::new(blocks, disk.block_bytes());
    (0..blocks).for_each(|lba| write(&mut disk, &mut model, lba));
    let mut rng = fastrand::Rng::with_seed(9);
    let mut spent = 0;
    for number in 0..BEFORE + BURSTS {
        let before = stats(&disk);
        for _ in 0..blocks / BURST_SHARE {
            let is_hot = rng.u32(..10) > 0;
            let lba = rng.u64(..if is_hot { blocks / 10 } else { blocks });
            write(&mut disk, &mut model, lba);
        }
        disk.flush().unwrap();
        model.flush();
        if number >= BEFORE {
            spent += (stats(&disk) - before).device_ns;
        }
        if is_idle {
            while disk.maintain(0).unwrap() {}
            let before = stats(&disk);
            (1..100).for_each(|now| assert!(!disk.maintain(now).unwrap(), "{}: never done", chip.case.name));
            assert_eq!(stats(&disk) - before, NandStats::default(), "{}: idle, and works on", chip.case.name);
        }
    }
    model.compare(&mut disk).unwrap();
    (spent / u64::from(BURSTS), stats(&disk).programs)
}

#[test]
fn what_is_cleaned_in_idle_time_is_not_cleaned_in_a_burst() {
    for chip in CHIPS {
        let ((busy, busy_programs), (idle, programs)) = (bursts(&chip, false), bursts(&chip, true));
        let name = chip.case.name;
        let micros = |ns: u64| ns / 1000;
        println!(
            "{name}: a burst takes {} us, after idle time {} us; programs in all {busy_programs}, with idle time \
             {programs}",
            micros(busy),
            micros(idle)
        );
        assert!(idle * 100 <= busy * TIME_MOST, "{name}: a burst cleans as before");
        assert!(programs * 100 <= busy_programs * PROGRAMS_MOST, "{name}: idle time wears the chip");
    }
}

/// The disk was full and nothing of it was overwritten: no segment has anything to win.
#[test]
fn a_disk_with_nothing_to_win_is_left_as_it_is() {
    for chip in &CHIPS {
        let mut disk = start(chip.case.chip(800, &policies("declining-cost", "adaptive", "even")));
        disk.set_patrol_period(0);
        let mut model = Model::new(disk.blocks(), disk.block_bytes());
        (0..disk.blocks()).for_each(|lba| write(&mut disk, &mut model, lba));
        disk.flush().unwrap();
        let before = stats(&disk);
        assert!(!disk.maintain(0).unwrap(), "{}", chip.case.name);
        assert_eq!(stats(&disk) - before, NandStats::default(), "{}", chip.case.name);
    }
}
