//! An erase block that dies on a volume that lost its power, and two pages side by side. Promises of fsync there are
//! told, by I/O errors, by name, or by block and count; they are never just older.

use pumice_knobs::NANDFS_DEAD_BLOCKS;
use pumice_media::{Nand, PageId, SimChip};
use pumice_nandfs::{MountOptions, NandFs, check};
use pumice_vfs::conformance::TestClock;

use crate::campaign::programmed;
use crate::cut::image::Image;
use crate::cut::player::{Notes, Player};
use crate::cut::random::Random;
use crate::cut::runner::chip;
use crate::cut::shared::Shared;
use crate::cut::step::Step;

/// Chips of every layout, pairs and parity among them.
const CHIPS: [&str; 8] =
    ["2048+64:32:96", "spare", "gang", "page", "slots", "2048+64:16:96@lz4", "spare/dist3", "spares+1"];
/// Files get about this long, in bytes.
const FILE_BYTES: u64 = 20_000;

/// A volume after many fsyncs; its power went between two calls or in one.
fn crashed(seed: u64) -> (&'static str, SimChip, Notes) {
    let mut random = Random(seed);
    let name = CHIPS[(seed % CHIPS.len() as u64) as usize];
    let clock = TestClock::new();
    let shared = Shared::new(chip(name, &clock));
    let mut player = Player::new(shared.clone(), clock);
    let calls = 20 + random.below(150);
    let step = |random: &mut Random| match random.below(3) {
        0 => Step::Fsync(format!("/f{}", random.below(6))),
        _ => random.step(FILE_BYTES),
    };
    for _ in 0..calls {
        player.play(&step(&mut random)).unwrap();
    }
    if random.below(2) == 0 {
        let (after, mode) = (random.below(20), random.cut_mode());
        shared.0.lock().unwrap().cut_after(after, mode);
        while player.play(&step(&mut random)).is_ok() {}
    }
    let notes = player.notes.clone();
    drop(player);
    let mut chip = shared.copy();
    chip.power_on();
    chip.faults_mut().power_cut = None;
    (name, chip, notes)
}

/// Whether the dead data is told, or nothing is missing.
pub fn judge(chip: SimChip, notes: &Notes) -> Result<(), String> {
    let Ok(report) = check(chip.clone(), &mut |_, _| {}) else { return Ok(()) };
    if !report.findings.is_empty() || report.newest_page.is_some() {
        return Ok(());
    }
    let options =
        MountOptions::new(1 << 20, Box::new(pumice_vfs::Timestamp::default)).with(|it| it.read_only = true);
    let fs = NandFs::mount(chip, options).map_err(|error| format!("sound, and does not mount: {error}"))?;
    let found = Image::take(&fs, &Image::default()).map_err(|error| format!("sound, and {error}"))?;
    notes.history.lock().unwrap().judge(&found, notes.promise())
}

#[test]
fn each_is_told() {
    let seeds = NANDFS_DEAD_BLOCKS.seeds(0..24);
    let mut cases = 0;
    for seed in seeds.clone() {
        NANDFS_DEAD_BLOCKS.begin(seed);
        let (name, mut chip, notes) = crashed(seed);
        judge(chip.clone(), &notes).unwrap_or_else(|what| panic!("{name}, nothing dead: {what}"));
        let per_block = chip.geometry().pages_per_block;
        let written = programmed(&mut chip);
        let blocks = written.chunk_by(|a, b| a.0 / per_block == b.0 / per_block).map(<[PageId]>::to_vec);
        let pairs = written.windows(2).map(<[PageId]>::to_vec);
        for dead in blocks.chain(pairs).filter(|pages| pages[0].0 / per_block >= 4) {
            let mut chip = chip.clone();
            chip.faults_mut().unreadable.extend(dead.iter().copied());
            judge(chip, &notes).unwrap_or_else(|what| panic!("{name}, dead {dead:?}: {what}"));
            cases += 1;
        }
    }
    NANDFS_DEAD_BLOCKS.ran(seeds, cases);
}
