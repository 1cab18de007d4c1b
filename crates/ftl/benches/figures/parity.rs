//! The cost of parity pages.

use pumice_ftl::{CreateOptions, Export, Ftl, create};
use pumice_media::{BlockDevice, ChipSpec, Lba, Nand, SimChip};

use crate::{chip_of, fill, locality, open, written};

/// Blocks of a disk.
const BLOCK: u32 = 2048;
/// Overwrites of the whole disk before the measurement, and in it.
const TURNOVERS: u64 = 3;

pub(crate) fn parity(quick: bool) {
    println!();
    println!(
        "slc-2k-2g, 2 KiB blocks, 77 % of the chip, parity pages | sequential write, share of raw, % | WAF, parity \
         counted, uniform | 90/10 | start after a power cut, device ms | first write after it"
    );
    println!("---|---|---|---|---|---");
    let size = if quick { 16 << 20 } else { 64 << 20 };
    for pages in [0, 1, 2] {
        let share = sequential(size, pages) * 100.0;
        let uniform = amplified(size, pages, |rng, blocks| rng.u32(..blocks));
        let local = amplified(size, pages, locality);
        let (start, first) = after_a_cut(size, pages);
        println!("{pages} | {share:.2} | {uniform:.3} | {local:.3} | {start:.3} | {first:.3}");
    }
}

fn disk(size: u64, parity_pages: u8) -> Ftl<SimChip> {
    let mut chip = SimChip::new(&ChipSpec::named("slc-2k-2g").unwrap().with_size(size).unwrap());
    let options = CreateOptions {
        block_bytes: BLOCK,
        export: Export::Bytes(size / 100 * 77),
        parity_pages,
        erased: true,
        ..CreateOptions::default()
    };
    create(&mut chip, &options, &mut |_, _| {}).unwrap();
    open(chip)
}

/// The time of filling a fresh disk in order, over the time of programs and erases of these bytes alone.
fn sequential(size: u64, pages: u8) -> f64 {
    let mut disk = disk(size, pages);
    let before = disk.chip().stats();
    fill(&mut disk);
    let took = (disk.chip().stats() - before).device_ns;
    let (geometry, timing) = (disk.chip().geometry(), disk.chip().timing());
    let bytes = disk.blocks() * u64::from(BLOCK);
    let programs = bytes / u64::from(geometry.page_bytes);
    let erases = programs / u64::from(geometry.pages_per_block);
    (programs * timing.program_ns + erases * timing.erase_ns) as f64 / took as f64
}

/// Programs for each block that is written, on a full disk.
fn amplified(size: u64, pages: u8, draw: impl Fn(&mut fastrand::Rng, u32) -> u32) -> f64 {
    let mut disk = disk(size, pages);
    fill(&mut disk);
    let mut rng = fastrand::Rng::with_seed(1);
    let blocks = u32::try_from(disk.blocks()).unwrap();
    let writes = u64::from(blocks) * TURNOVERS;
    let mut write = |disk: &mut Ftl<SimChip>| {
        for _ in 0..writes {
            disk.write(Lba(draw(&mut rng, blocks).into()), &[7; BLOCK as usize]).unwrap();
        }
    };
    write(&mut disk);
    let before = disk.chip().stats().programs;
    write(&mut disk);
    (disk.chip().stats().programs - before) as f64 / writes as f64
}

/// Device time of a start after a cut and of the first write that is flushed then, in milliseconds.
fn after_a_cut(size: u64, pages: u8) -> (f64, f64) {
    let mut disk = disk(size, pages);
    fill(&mut disk);
    written(&mut disk, 2000);
    let cut = chip_of(&disk).clone();
    let before = cut.stats();
    let mut disk = open(cut);
    let start = (disk.chip().stats() - before).device_ns;
    disk.write(Lba(0), &[1; BLOCK as usize]).unwrap();
    disk.flush().unwrap();
    let all = (disk.chip().stats() - before).device_ns;
    (start as f64 / 1e6, (all - start) as f64 / 1e6)
}
