//! Pages that cannot be read come back by the parity of their erase block, and no others do.

use pumice_flashlog::{Fault, Medium, Shape, Tag, TagPlace};
use pumice_knobs::FLASHLOG_PARITY;
use pumice_media::{AnyChip, BitFlip, ChipSpec, Codeword, Nand, PageId, SimChip};

const BLOCK: u32 = 2;
const PAGES: u32 = 12;

fn medium(place: TagPlace, parts: u32, parity: u32) -> Medium<'static> {
    medium_with(place, parts, parity, 1)
}

/// The same with tags that have a body of so many bytes.
fn medium_with(place: TagPlace, parts: u32, parity: u32, body: u32) -> Medium<'static> {
    let chip = SimChip::new(&ChipSpec::parse_geometry(&format!("1024+32:{}:6", PAGES * parts)).unwrap());
    let shape = Shape::new(&chip.geometry(), parts, place, body).with_parity(parity).unwrap();
    Medium::new(AnyChip::own(chip), shape)
}

fn tag(index: u32) -> Tag {
    Tag { kind: 3, flags: 0, seq: u64::from(index) + 1, body: vec![7] }
}

fn payload(medium: &Medium<'_>, index: u32) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(index.into());
    (0..medium.shape().payload()).map(|_| rng.u8(..)).collect()
}

/// Programs the places of a block, and its parity if that is asked for.
fn fill(medium: &mut Medium<'_>, places: &[u32], ends: bool) {
    for index in places {
        let payload = payload(medium, *index);
        medium.program_counted(medium.shape().page(BLOCK, *index), &tag(*index), &payload).unwrap();
    }
    if ends {
        medium.program_parity(BLOCK).unwrap();
        assert_eq!(medium.parity_memory(), 0);
    }
}

/// Makes superpages of the block unreadable, those for parity too.
fn lose(medium: Medium<'static>, places: &[u32]) -> Medium<'static> {
    let shape = *medium.shape();
    let mut chip = medium.into_chip().take::<SimChip>().unwrap();
    for index in places {
        // The last part: it is not the one of which a look at the tag is satisfied.
        let at = BLOCK * PAGES * shape.parts() + (index + 1) * shape.parts() - 1;
        chip.faults_mut().unreadable.insert(PageId(at));
    }
    Medium::new(AnyChip::own(chip), shape)
}

/// The seeds by which lost pages are chosen.
fn seeds() -> std::ops::Range<u64> {
    FLASHLOG_PARITY.seeds(0..40)
}

fn is_right(medium: &mut Medium<'_>, index: u32) -> bool {
    let want = payload(medium, index);
    match medium.read(medium.shape().page(BLOCK, index)) {
        Ok(found) => {
            assert!(found.payload == want && found.tag.kind == 3, "page {index} is wrong");
            true
        }
        Err(fault) => {
            assert!(matches!(fault, Fault::Unreadable(_)), "{fault:?}");
            false
        }
    }
}

#[test]
fn as_many_pages_as_have_parity_come_back_and_no_more() {
    let mut cases = 0;
    for (place, parts, parity) in [
        (TagPlace::Spare, 1, 1),
        (TagPlace::Spare, 2, 2),
        (TagPlace::Page, 1, 3),
        (TagPlace::Page, 2, 1),
        (TagPlace::Proof, 1, 2),
        (TagPlace::Spare, 1, 8),
    ] {
        let mut full = medium(place, parts, parity);
        let places: Vec<u32> = (0..full.shape().pages()).collect();
        fill(&mut full, &places, true);
        let chip = full.into_chip().take::<SimChip>().unwrap();
        let shape = *medium(place, parts, parity).shape();
        for seed in seeds() {
            let mut rng = fastrand::Rng::with_seed(seed);
            FLASHLOG_PARITY.begin(seed);
            let mut dead: Vec<u32> = (0..PAGES).collect();
            rng.shuffle(&mut dead);
            for (count, comes_back) in [(parity, true), (parity + 1, false)] {
                let dead = &dead[..count as usize];
                let mut hurt = lose(Medium::new(AnyChip::own(chip.clone()), shape), dead);
                for index in &places {
                    let want = comes_back || !dead.contains(index);
                    assert_eq!(is_right(&mut hurt, *index), want, "{place:?}+{parity}, {dead:?}: {index}");
                }
                let lost = dead.iter().filter(|index| places.contains(index)).count() as u64;
                assert!(hurt.rebuilt_pages() <= lost);
                assert_eq!(hurt.take_tired(), Some(BLOCK).filter(|_| comes_back && lost > 0));
                assert_eq!(hurt.has_parity(BLOCK).unwrap(), lost == u64::from(count));
                cases += 1;
            }
        }
    }
    FLASHLOG_PARITY.ran(seeds(), cases);
}

#[test]
fn a_rebuilt_page_costs_a_read_of_each_page_of_its_block() {
    let mut full = medium(TagPlace::Spare, 1, 1);
    fill(&mut full, &(0..PAGES - 1).collect::<Vec<_>>(), true);
    let mut hurt = lose(full, &[4]);
    let before = hurt.stats().page_reads;
    assert!(is_right(&mut hurt, 4));
    // It is read three times before it counts as lost.
    assert_eq!(hurt.stats().page_reads - before, u64::from(PAGES) - 1 + 3);
}

#[test]
fn a_block_that_is_left_early_or_passes_over_places_has_parity_too() {
    for places in [vec![0, 1, 2], vec![0, 3, 4, 9], vec![0]] {
        let mut left = medium(TagPlace::Spare, 1, 2);
        fill(&mut left, &places, true);
        let mut hurt = lose(left, &places[..places.len().min(2)]);
        assert!(places.iter().all(|index| is_right(&mut hurt, *index)), "{places:?}");
        assert!(matches!(hurt.read(hurt.shape().page(BLOCK, 8)), Err(Fault::Erased(_))));
    }
}

#[test]
fn a_block_that_is_being_filled_has_its_parity_in_memory() {
    // A page of a fault that strikes once it is programmed.
    let mut open = lose(medium(TagPlace::Spare, 1, 1), &[1]);
    fill(&mut open, &[0, 1, 2], false);
    assert!(open.parity_memory() > 1024);
    assert!(is_right(&mut open, 1));
    let shape = *open.shape();
    let mut forgotten = Medium::new(open.into_chip(), shape);
    assert!(!is_right(&mut forgotten, 1), "nothing on the chip has parity yet");
}

#[test]
fn wrong_bits_that_no_code_noticed_are_put_right() {
    // The code of this chip leaves the spare area out.
    let spec = ChipSpec::named("rcffs-128m").unwrap().with_size(6 * 64 * 2048).unwrap();
    let chip = SimChip::new(&spec);
    let shape = Shape::new(&chip.geometry(), 1, TagPlace::Spare, 1).with_parity(1).unwrap();
    let mut full = Medium::new(AnyChip::own(chip), shape);
    fill(&mut full, &(0..shape.pages()).collect::<Vec<_>>(), true);
    let page = shape.chip_page(shape.page(BLOCK, 6), 0);
    let mut chip = full.into_chip().take::<SimChip>().unwrap();
    chip.faults_mut().flips.extend([16390, 16400, 16450].map(|bit| BitFlip { page, bit }));
    assert!(is_right(&mut Medium::new(AnyChip::own(chip), shape), 6));
}

#[test]
fn pages_prove_themselves_with_their_number_of_parity_pages_alone() {
    let mut one = medium(TagPlace::Spare, 1, 1);
    fill(&mut one, &[0], true);
    let chip = one.into_chip().take::<SimChip>().unwrap();
    for parity in [0, 1, 2] {
        let shape = *medium(TagPlace::Spare, 1, parity).shape();
        let read = Medium::new(AnyChip::own(chip.clone()), shape).read_proved(shape.page(BLOCK, 0)).unwrap();
        assert_eq!(read.is_some(), parity == 1);
    }
}

/// Erase block with copies of the parity of [`BLOCK`].
const COPIES: u32 = 4;

/// Programs copies after so many places each, then the rest of the block; the power goes before its parity.
fn copied(medium: &mut Medium<'_>, copies: &[u32], pages: u32) {
    let mut number = 0;
    for index in 0..pages {
        fill(medium, &[index], false);
        if copies.contains(&(index + 1)) {
            assert_eq!(medium.uncopied(), [BLOCK]);
            medium.program_copy(BLOCK, (COPIES, number)).unwrap();
            assert!(medium.uncopied().is_empty());
            number += 1;
        }
    }
}

#[test]
fn copies_bring_back_what_they_cover() {
    let mut cases = 0;
    for (place, parts, parity, body) in [
        (TagPlace::Spare, 1, 1, 1),
        (TagPlace::Spare, 2, 2, 1),
        (TagPlace::Spare, 2, 2, 2),
        (TagPlace::Page, 1, 3, 2),
        (TagPlace::Page, 2, 1, 2),
        (TagPlace::Spare, 1, 4, 2),
    ] {
        let mut open = medium_with(place, parts, parity, body);
        let shape = *open.shape();
        let (pages, last) = (shape.pages(), shape.pages() - 2);
        let copies: Vec<u32> = (1..=last).rev().step_by(3).take(shape.copies() as usize).collect();
        copied(&mut open, &copies, pages);
        assert_eq!((copies[0], open.unended()), (last, vec![BLOCK]));
        let chip = open.into_chip().take::<SimChip>().unwrap();
        for seed in seeds() {
            let mut rng = fastrand::Rng::with_seed(seed);
            FLASHLOG_PARITY.begin(seed);
            let mut dead: Vec<u32> = (0..last).collect();
            rng.shuffle(&mut dead);
            dead.truncate(parity as usize);
            // A page that no copy covers is another's loss.
            dead.extend((seed % 2 == 0).then_some(pages - 1));
            let mut hurt = lose(Medium::new(AnyChip::own(chip.clone()), shape), &dead);
            let bring_back =
                |medium: &mut Medium<'_>| dead.iter().filter(|at| is_right(medium, **at)).count();
            assert_eq!(bring_back(&mut hurt), 0, "no copies are known");
            hurt.set_copies(vec![1, COPIES, 3], [BLOCK]);
            assert_eq!(bring_back(&mut hurt), parity as usize, "{place:?} {parity}: {dead:?}");
            assert!((0..last).all(|index| is_right(&mut hurt, index)));
            cases += 1;
        }
    }
    FLASHLOG_PARITY.ran(seeds(), cases);
}

/// The same of codewords, and of a copy that lacks one, too: that with its mark, one beside it, or another.
#[test]
fn copies_bring_back_codewords() {
    let mut cases = 0;
    for (place, parts, body) in
        [(TagPlace::Spare, 1, 2), (TagPlace::Spare, 1, 1), (TagPlace::Page, 1, 2), (TagPlace::Page, 2, 2)]
    {
        let mut open = medium_with(place, parts, 1, body);
        let shape = *open.shape();
        copied(&mut open, &[3, 5], 5);
        let chip = open.into_chip().take::<SimChip>().unwrap();
        let numbers = if place == TagPlace::Spare { 5 } else { 4 };
        // In the part with the tag.
        let at = |block: u32, index: u32| {
            let part = if place == TagPlace::Spare { 0 } else { parts - 1 };
            PageId((block * PAGES + index) * parts + part)
        };
        for lacks in 0..numbers {
            let mut chip = chip.clone();
            let dead = &mut chip.faults_mut().dead_codewords;
            for (index, number) in (0..5).zip(0..numbers) {
                dead.insert(Codeword { page: at(BLOCK, index), number });
            }
            dead.insert(Codeword { page: at(COPIES, 2), number: lacks });
            let mut hurt = Medium::new(AnyChip::own(chip), shape);
            hurt.set_copies(vec![COPIES], [BLOCK]);
            for index in 3..5 {
                let comes_back = index != lacks;
                assert_eq!(is_right(&mut hurt, index), comes_back, "{place:?}+{body}, {lacks}: page {index}");
            }
            cases += 1;
        }
    }
    assert!(cases > 16);
}

/// The highest byte of a sequence number shares a symbol with the mark of a copy.
#[test]
fn copies_bring_back_high_sequence_numbers() {
    for (place, parity, body) in [(TagPlace::Spare, 1, 2), (TagPlace::Page, 2, 2), (TagPlace::Spare, 2, 1)] {
        let mut open = medium_with(place, 1, parity, body);
        let shape = *open.shape();
        for index in 0..4 {
            let tag = Tag { seq: (1 << 46) + u64::from(index), ..tag(index) };
            let payload = payload(&open, index);
            open.program_counted(shape.page(BLOCK, index), &tag, &payload).unwrap();
        }
        open.program_copy(BLOCK, (COPIES, 0)).unwrap();
        let mut hurt = lose(open, &[2, 3][..parity as usize]);
        hurt.set_copies(vec![COPIES], [BLOCK]);
        for index in 0..4 {
            assert_eq!(hurt.read(shape.page(BLOCK, index)).unwrap().tag.seq, (1 << 46) + u64::from(index));
        }
    }
}

/// The code of this chip leaves the spare area out: a bit of a copy's head may be wrong, and with it that of the
/// superpages it brings back.
#[test]
fn copies_with_a_wrong_bit_bring_back_what_they_cover() {
    let spec = ChipSpec::parse_geometry(&format!("1024+40:{PAGES}:6")).unwrap().with_bare_spare();
    let chip = SimChip::new(&spec);
    let shape = Shape::new(&chip.geometry(), 1, TagPlace::Spare, 2).with_parity(1).unwrap();
    let mut open = Medium::new(AnyChip::own(chip), shape);
    copied(&mut open, &[4], 4);
    let chip = open.into_chip().take::<SimChip>().unwrap();
    // In the byte beside the mark, in the mark, the checksum and the body; the header before has no other proof.
    for byte in [6, 7, 9, 12] {
        let mut chip = chip.clone();
        chip.faults_mut()
            .flips
            .insert(BitFlip { page: PageId(COPIES * PAGES + 1), bit: (1024 + byte) * 8 + 2 });
        let mut hurt = lose(Medium::new(AnyChip::own(chip), shape), &[2]);
        hurt.set_copies(vec![COPIES], [BLOCK]);
        assert!(is_right(&mut hurt, 2), "byte {byte}");
    }
}

/// A look at their marks is all that copies of other blocks cost.
#[test]
fn only_a_blocks_own_copies_are_read() {
    let mut open = medium(TagPlace::Spare, 1, 1);
    let shape = *open.shape();
    copied(&mut open, &[4], 4);
    for (number, other) in (1..).zip([0, 1, 3]) {
        let payload = payload(&open, 0);
        open.program_counted(shape.page(other, 0), &tag(0), &payload).unwrap();
        open.program_copy(other, (COPIES, number)).unwrap();
    }
    let mut hurt = lose(open, &[2]);
    hurt.set_copies(vec![COPIES], [BLOCK]);
    let before = hurt.stats().page_reads;
    assert!(is_right(&mut hurt, 2));
    // Three of the lost page, one where the block's own parity is not yet, one of each other page and of the copy.
    assert_eq!(hurt.stats().page_reads - before, 3 + 1 + 3 + 1);
}

/// Copies of an earlier life of the block, and of others, bring nothing back.
#[test]
fn copies_of_something_else_bring_nothing_back() {
    for parity in 1..3 {
        let mut open = medium(TagPlace::Spare, 1, parity);
        let shape = *open.shape();
        copied(&mut open, &[1, 2, 3], 4);
        open.erase(BLOCK).unwrap();
        for index in 0..8 {
            let tag = Tag { seq: 100 + u64::from(index), ..tag(index) };
            let payload = vec![u8::try_from(index).unwrap(); shape.payload()];
            open.program_counted(shape.page(BLOCK, index), &tag, &payload).unwrap();
        }
        let chip = open.into_chip().take::<SimChip>().unwrap();
        for dead in 1..8 {
            let mut hurt = lose(Medium::new(AnyChip::own(chip.clone()), shape), &[dead]);
            hurt.set_copies(vec![COPIES], [BLOCK]);
            assert!(hurt.read(shape.page(BLOCK, dead)).is_err(), "page {dead}");
        }
    }
}

/// A signature is four bytes behind the head, where there is parity over it.
#[test]
fn signatures_have_room_or_there_are_none() {
    let has = |body, parity| medium_with(TagPlace::Spare, 1, parity, body).shape().has_signatures();
    // Of 18 free bytes a tag takes 12 and its body.
    assert!(has(2, 1) && !has(3, 1) && !has(0, 0));
}

#[test]
fn a_page_of_which_a_cut_left_only_the_signature_is_not_blank() {
    let mut medium = medium(TagPlace::Page, 1, 1);
    let page = medium.shape().page(BLOCK, 0);
    assert!(medium.shape().has_signatures() && medium.is_blank(page).unwrap());
    let shape = *medium.shape();
    let mut chip = medium.into_chip().take::<SimChip>().unwrap();
    let (data, mut spare) = (vec![0xff; shape.chip_page_bytes()], vec![0xff; shape.chip_spare_bytes()]);
    *spare.last_mut().unwrap() = 0;
    chip.program(shape.chip_page(page, 0), &data, &spare).unwrap();
    assert!(!Medium::new(AnyChip::own(chip), shape).is_blank(page).unwrap());
}

/// Each of more superpages than there is parity lacks one codeword, each another one: all come back, as long as no
/// codeword is lost too often.
#[test]
fn codewords_come_back_where_pages_would_not() {
    // Codewords of 256 bytes: four of the data and one of the spare area in each page of the chip.
    for (place, parts, parity) in
        [(TagPlace::Spare, 1, 1), (TagPlace::Spare, 2, 2), (TagPlace::Page, 1, 3), (TagPlace::Page, 2, 1)]
    {
        let mut full = medium(place, parts, parity);
        let places: Vec<u32> = (0..full.shape().pages()).collect();
        fill(&mut full, &places, true);
        let shape = *full.shape();
        let chip = full.into_chip().take::<SimChip>().unwrap();
        let numbers = if place == TagPlace::Spare { 5 } else { 4 };
        for seed in seeds() {
            FLASHLOG_PARITY.begin(seed);
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut all: Vec<u32> = (0..PAGES).collect();
            let mut chip = chip.clone();
            let mut hurt = std::collections::BTreeSet::new();
            for (part, number) in (0..parts).flat_map(|part| (0..numbers).map(move |number| (part, number))) {
                rng.shuffle(&mut all);
                for index in all.iter().take(parity as usize) {
                    let page = PageId((BLOCK * PAGES + index) * parts + part);
                    chip.faults_mut().dead_codewords.insert(Codeword { page, number });
                    hurt.insert(*index);
                }
            }
            assert!(hurt.len() > parity as usize, "seed {seed}: as many pages as have parity");
            let mut hurt = Medium::new(AnyChip::own(chip), shape);
            for index in &places {
                assert!(is_right(&mut hurt, *index), "seed {seed}, {place:?}+{parity}: {index}");
            }
        }
    }
}

/// One codeword more than there is parity, of the same number: what lacks it is lost, and all else comes back.
#[test]
fn a_codeword_that_too_many_lack_is_lost() {
    let mut full = medium(TagPlace::Spare, 1, 2);
    let places: Vec<u32> = (0..full.shape().pages()).collect();
    fill(&mut full, &places, true);
    let shape = *full.shape();
    let mut chip = full.into_chip().take::<SimChip>().unwrap();
    for (index, number) in [(0, 1), (3, 1), (7, 1), (5, 0), (9, 3), (11, 4)] {
        let page = PageId(BLOCK * PAGES + index);
        chip.faults_mut().dead_codewords.insert(Codeword { page, number });
    }
    let mut hurt = Medium::new(AnyChip::own(chip), shape);
    for index in places {
        assert_eq!(is_right(&mut hurt, index), ![0, 3, 7].contains(&index), "page {index}");
    }
}
