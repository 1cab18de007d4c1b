//! The rules of NAND, as the simulated chip keeps them.

use pumice_media::{BlockId, ChipSpec, MemStore, Nand, NandError, PageId, ReadOutcome, SimChip};

fn chip() -> SimChip<MemStore> {
    SimChip::new(&ChipSpec::parse_geometry("2048+64:64:16").unwrap())
}

/// Buffers of the chip, filled with `byte`.
fn page(chip: &SimChip<MemStore>, byte: u8) -> (Vec<u8>, Vec<u8>) {
    let g = chip.geometry();
    (vec![byte; g.page_bytes as usize], vec![byte; g.free_spare_bytes as usize])
}

#[test]
fn what_is_programmed_is_read_back() {
    let mut chip = chip();
    let (data, spare) = page(&chip, 0x5A);
    chip.program(PageId(70), &data, &spare).unwrap();
    let (mut got, mut got_spare) = page(&chip, 0);
    assert_eq!(chip.read(PageId(70), &mut got, &mut got_spare), Ok(ReadOutcome::Clean));
    assert_eq!((got, got_spare), (data, spare.clone()));
    let (_, mut alone) = page(&chip, 0);
    assert_eq!(chip.read_spare(PageId(70), &mut alone), Ok(ReadOutcome::Clean));
    assert_eq!(alone, spare);
}

#[test]
fn erased_pages_read_as_ones_also_where_pages_were_skipped() {
    let mut chip = chip();
    let (data, spare) = page(&chip, 0);
    chip.program(PageId(5), &data, &spare).unwrap();
    for at in [0, 4, 6, 63, 64] {
        let (mut got, mut got_spare) = page(&chip, 0);
        assert_eq!(chip.read(PageId(at), &mut got, &mut got_spare), Ok(ReadOutcome::Clean));
        assert!(got.iter().chain(&got_spare).all(|b| *b == 0xFF), "page {at}");
    }
}

#[test]
fn a_broken_rule_does_nothing_and_is_counted() {
    let mut chip = chip();
    let (data, spare) = page(&chip, 0x11);
    chip.program(PageId(3), &data, &spare).unwrap();
    let before = chip.stats();
    let (other, _) = page(&chip, 0);
    let is_violation =
        |r: Result<(), NandError>| assert!(matches!(r, Err(NandError::Violation(..))), "{r:?}");
    is_violation(chip.program(PageId(3), &other, &spare));
    is_violation(chip.program(PageId(2), &other, &spare));
    is_violation(chip.program(PageId(64 * 16), &other, &spare));
    is_violation(chip.program(PageId(4), &other[1..], &spare));
    is_violation(chip.program(PageId(4), &other, &spare[1..]));
    is_violation(chip.erase(BlockId(16)));
    is_violation(chip.is_bad(BlockId(u32::MAX)).map(drop));
    is_violation(chip.mark_bad(BlockId(16)));
    is_violation(chip.read(PageId(u32::MAX), &mut other.clone(), &mut spare.clone()).map(drop));
    is_violation(chip.read_spare(PageId(0), &mut []).map(drop));
    let work = chip.stats() - before;
    assert_eq!((work.violations, work.programs, work.erases, work.device_ns), (10, 0, 0, 0));
    assert_eq!(chip.operations(), 1);
    let (mut got, mut got_spare) = page(&chip, 0);
    chip.read(PageId(3), &mut got, &mut got_spare).unwrap();
    assert_eq!(got, data);
}

#[test]
fn an_erase_makes_the_block_new_and_wears_it() {
    let mut chip = chip();
    let (data, spare) = page(&chip, 0x11);
    chip.program(PageId(64), &data, &spare).unwrap();
    chip.erase(BlockId(1)).unwrap();
    assert_eq!((chip.erase_count(BlockId(1)), chip.erase_count(BlockId(0))), (1, 0));
    chip.program(PageId(64), &data, &spare).unwrap();
    assert_eq!(chip.stats().violations, 0);
}

#[test]
fn bad_blocks_stay_bad_and_stay_readable() {
    let mut chip = chip();
    let (data, spare) = page(&chip, 0x11);
    chip.program(PageId(64), &data, &spare).unwrap();
    assert_eq!(chip.is_bad(BlockId(1)), Ok(false));
    chip.mark_bad(BlockId(1)).unwrap();
    assert_eq!(chip.is_bad(BlockId(1)), Ok(true));
    assert_eq!(chip.erase(BlockId(1)), Err(NandError::EraseFailed(BlockId(1))));
    assert_eq!(chip.program(PageId(65), &data, &spare), Err(NandError::ProgramFailed(PageId(65))));
    let (mut got, mut got_spare) = page(&chip, 0);
    assert_eq!(chip.read(PageId(64), &mut got, &mut got_spare), Ok(ReadOutcome::Clean));
    assert_eq!(got, data);
}

#[test]
fn the_clock_runs_by_the_chips_table() {
    let spec = ChipSpec::named("scaleffs-256m").unwrap();
    let mut chip = SimChip::new(&spec);
    let (mut data, mut spare) = page(&chip, 0x11);
    chip.erase(BlockId(0)).unwrap();
    chip.program(PageId(0), &data, &spare).unwrap();
    chip.read(PageId(0), &mut data, &mut spare).unwrap();
    chip.read_spare(PageId(0), &mut spare).unwrap();
    assert_eq!(chip.stats().device_ns, 2_005_000 + 237_700 + 55_700 + 27_000);
    assert_eq!((chip.stats().page_reads, chip.stats().spare_reads), (1, 1));
}

#[test]
fn clones_share_what_neither_writes() {
    let mut one = chip();
    let (data, spare) = page(&one, 0x11);
    one.program(PageId(0), &data, &spare).unwrap();
    let mut two = one.clone();
    let (other, _) = page(&one, 0x22);
    two.program(PageId(1), &other, &spare).unwrap();
    one.erase(BlockId(0)).unwrap();
    let (mut got, mut got_spare) = page(&one, 0);
    two.read(PageId(0), &mut got, &mut got_spare).unwrap();
    assert_eq!(got, data);
    two.read(PageId(1), &mut got, &mut got_spare).unwrap();
    assert_eq!(got, other);
    one.read(PageId(0), &mut got, &mut got_spare).unwrap();
    assert!(got.iter().all(|b| *b == 0xFF));
}

#[test]
fn a_chip_of_one_tebibyte_costs_nothing_until_written() {
    let spec = ChipSpec::named("slc-2k-2g").unwrap().with_size(1 << 40).unwrap();
    let mut chip = SimChip::new(&spec);
    let last = PageId(u32::try_from(spec.geometry().pages() - 1).unwrap());
    let (data, spare) = page(&chip, 0x33);
    chip.program(last, &data, &spare).unwrap();
    let mut copy = chip.clone();
    let (mut got, mut got_spare) = page(&chip, 0);
    copy.read(last, &mut got, &mut got_spare).unwrap();
    assert_eq!(got, data);
    assert!(chip.store().resident_bytes() <= spec.geometry().block_bytes() * 2);
}

#[test]
fn chips_can_be_sent_and_boxed() {
    fn sendable(_: impl Nand + Clone + Send) {}
    sendable(chip());
    let mut boxed: Box<dyn Nand + Send> = Box::new(chip());
    boxed.erase(BlockId(0)).unwrap();
}
