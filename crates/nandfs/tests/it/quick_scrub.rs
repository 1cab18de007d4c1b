//! A quick scrub finds blocks that do not fit their parity by spare areas alone, and has them moved.

use crate::common::{mount, protected};
use pumice_media::{BlockId, Nand, SimChip};
use pumice_nandfs::{FsyncProtection, MountOptions, NandFs, Scrubbed};
use pumice_vfs::conformance::{TestClock, read_file, write_file};
use pumice_vfs::{Errno, FileSystem};

/// Tags in spare areas with room behind them, in ones that get it by parity, in the last of two small pages, and in the page itself.
const CHIPS: [&str; 4] = ["4096+218:16:96", "2048+64:16:96", "1024+48:32:96", "2048+16:16:96"];

/// A volume with a file, unmounted.
fn filled(geometry: &str, parity: u8, clock: &TestClock) -> SimChip {
    let chip = protected(geometry, clock.now(), parity, FsyncProtection::AtClose);
    let fs = mount(chip, clock.clock());
    write_file(&fs, "/file", &content()).unwrap();
    fs.unmount().unwrap()
}

fn content() -> Vec<u8> {
    (0..600_000u32).map(|n| (n.wrapping_mul(n) >> 7).to_le_bytes()[0]).collect()
}

fn looked_at(chip: &SimChip, clock: &TestClock) -> Scrubbed {
    let options = MountOptions::new(1 << 20, clock.clock()).with(|it| it.read_only = true);
    NandFs::mount(chip.clone(), options).unwrap().quick_scrub(&mut |_, _| {}).unwrap()
}

/// Blocks with a programmed last page, anchors left out.
fn ended(chip: &mut SimChip) -> Vec<BlockId> {
    let geometry = chip.geometry();
    let last = |block| geometry.page(block, geometry.pages_per_block - 1);
    let blocks = (4..geometry.blocks).map(BlockId);
    blocks.filter(|block| chip.page_state(last(*block)).unwrap().is_written()).collect()
}

/// Programs a block anew with the parity of another.
fn swap_parity(chip: &mut SimChip, block: BlockId, other: BlockId, parity: u32) {
    let geometry = chip.geometry();
    let mut pages = Vec::new();
    for index in 0..geometry.pages_per_block {
        let from = if index < geometry.pages_per_block - parity { block } else { other };
        let mut data = vec![0; geometry.page_bytes as usize];
        let mut spare = vec![0; geometry.free_spare_bytes as usize];
        chip.read(geometry.page(from, index), &mut data, &mut spare).unwrap();
        pages.push((data, spare));
    }
    chip.erase(block).unwrap();
    for (index, (data, spare)) in (0..).zip(pages) {
        chip.program(geometry.page(block, index), &data, &spare).unwrap();
    }
}

#[test]
fn parity_that_does_not_fit_is_found_and_its_block_moved() {
    for (geometry, parity) in CHIPS.into_iter().flat_map(|geometry| [(geometry, 1), (geometry, 2)]) {
        let clock = TestClock::new();
        let mut chip = filled(geometry, parity, &clock);
        let gang = mount(chip.clone(), clock.clock()).info().unwrap().gang_pages;
        assert_eq!(looked_at(&chip, &clock).weak_blocks, 0, "{geometry}+{parity}");
        let blocks = ended(&mut chip);
        swap_parity(&mut chip, blocks[2], blocks[4], u32::from(parity) * gang);
        assert_eq!(looked_at(&chip, &clock).weak_blocks, 1, "{geometry}+{parity}");
        let fs = mount(chip, clock.clock());
        let found = fs.quick_scrub(&mut |_, _| {}).unwrap();
        assert_eq!((found.weak_blocks, found.pages), (1, 0), "{geometry}+{parity}");
        let chip = fs.unmount().unwrap();
        assert_eq!(looked_at(&chip, &clock).weak_blocks, 0, "{geometry}+{parity}");
        let fs = mount(chip, clock.clock());
        assert!(read_file(&fs, "/file").unwrap() == content());
    }
}

#[test]
fn blocks_that_a_crash_left_without_parity_are_found() {
    let clock = TestClock::new();
    let fs = mount(protected(CHIPS[0], clock.now(), 1, FsyncProtection::AtClose), clock.clock());
    write_file(&fs, "/file", &content()).unwrap();
    fs.sync().unwrap();
    let chip = fs.abandon().unwrap();
    assert!(looked_at(&chip, &clock).weak_blocks > 0);
}

#[test]
fn no_page_is_read() {
    let clock = TestClock::new();
    let fs = mount(filled(CHIPS[0], 1, &clock), clock.clock());
    let before = fs.stats().unwrap();
    let found = fs.quick_scrub(&mut |_, _| {}).unwrap();
    let did = fs.stats().unwrap() - before;
    assert_eq!((found.spare_areas, found.weak_blocks), (did.spare_reads, 0));
    assert!(did.spare_reads > 150 && did.page_reads <= 1, "but for the block table: {did:?}");
    assert_eq!((did.programs, did.erases), (0, 0));
}

#[test]
fn what_has_no_signatures_is_refused_by_name() {
    let clock = TestClock::new();
    for (geometry, parity, says) in [("4096+218:16:96", 0, "no parity"), ("512+16:32:160", 1, "no room")] {
        let fs = mount(filled(geometry, parity, &clock), clock.clock());
        let refusal = fs.quick_scrub(&mut |_, _| {}).unwrap_err();
        assert!(refusal.errno() == Errno::NotSupported && refusal.to_string().contains(says), "{refusal}");
    }
}
