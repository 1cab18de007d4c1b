//! The medium's memory, counters and reports.

use pumice_flashlog::{Medium, Peek, Shape, Tag, TagPlace};
use pumice_media::{AnyChip, BitFlip, ChipSpec, Nand, PageId, SimChip};

fn chip() -> SimChip {
    SimChip::new(&ChipSpec::parse_geometry("512+40:8:6").unwrap())
}

/// The medium with pages 0 to 7 programmed.
fn written(chip: SimChip) -> Medium<'static> {
    let shape = Shape::new(&chip.geometry(), 1, TagPlace::Spare, 0);
    let mut medium = Medium::new(AnyChip::own(chip), shape);
    for page in 0..8 {
        let tag = Tag { kind: 3, flags: 0, seq: u64::from(page) + 1, body: Vec::new() };
        medium.program(page, &tag, &vec![7; shape.payload()]).unwrap();
    }
    medium
}

/// Reads of the chip that a page takes.
fn reads(medium: &mut Medium<'_>, page: u32) -> u64 {
    let before = medium.stats().page_reads;
    medium.read(page).unwrap();
    medium.stats().page_reads - before
}

#[test]
fn a_page_that_is_kept_again_takes_no_others_place() {
    let mut medium = written(chip());
    medium.set_kept(4);
    for page in [0, 1, 2, 3, 3, 3] {
        let found = medium.read(page).unwrap();
        medium.keep(page, &found);
    }
    assert_eq!([0, 1, 2, 3].map(|page| reads(&mut medium, page)), [0; 4]);
    let found = medium.read(4).unwrap();
    medium.keep(4, &found);
    // The one that was not used for longest makes room.
    assert_eq!([1, 2, 3, 4, 0].map(|page| reads(&mut medium, page)), [0, 0, 0, 0, 1]);
}

#[test]
fn of_tired_blocks_some_are_forgotten_and_none_is_told_twice() {
    let mut medium = written(chip());
    (0..1000).chain(0..1000).for_each(|block| medium.call_tired(block));
    let mut told: Vec<u32> = std::iter::from_fn(|| medium.take_tired()).collect();
    told.sort_unstable();
    assert_eq!(told, (0..64).collect::<Vec<_>>());
}

#[test]
fn bits_that_were_put_right_are_counted() {
    let mut chip = chip();
    chip.faults_mut().flips.extend([(1, 9), (2, 77)].map(|(page, bit)| BitFlip { page: PageId(page), bit }));
    let mut medium = written(chip);
    assert_eq!(medium.corrected_bits(), 0);
    for (page, wanted) in [(0, 0), (1, 1), (2, 2), (1, 3)] {
        medium.read(page).unwrap();
        assert_eq!(medium.corrected_bits(), wanted);
    }
}

/// A program that was cut late may be complete and not be read at first. What one mount passes over, and the next one
/// finds, was never agreed.
#[test]
fn what_cannot_be_read_at_first_is_looked_at_again() {
    let mut chip = chip();
    chip.faults_mut().stuttering.extend([1, 2, 3].map(|page| (PageId(page), page)));
    let mut medium = written(chip);
    medium.set_kept(4);
    let looks = [0, 1, 2].map(|page| medium.peek(page).unwrap());
    assert_eq!(looks, [1, 2, 3].map(|seq| Peek::Programmed(Some((3, seq)))));
    assert_eq!(medium.peek(3).unwrap(), Peek::Programmed(None));
    assert!(medium.take_tired().is_some());
}

/// A look at a tag costs the spare area where it lies there, otherwise the page.
#[test]
fn looks_and_reads_take_the_chips_time() {
    let spec = ChipSpec::named("rcffs-128m").unwrap();
    let timing = spec.timing();
    assert_ne!(timing.read_page_ns, timing.read_spare_ns);
    for (place, look) in [(TagPlace::Spare, timing.read_spare_ns), (TagPlace::Page, timing.read_page_ns)] {
        let chip = SimChip::new(&spec);
        let medium = Medium::new(AnyChip::own(chip), Shape::new(&spec.geometry(), 2, place, 0));
        assert_eq!((medium.peek_ns(), medium.page_read_ns()), (look, 2 * timing.read_page_ns));
    }
}
