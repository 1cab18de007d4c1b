//! The roots through power cuts and pages that cannot be read: a mount finds the record that was promised last or one
//! that was being written, never an older one.

use std::collections::BTreeSet;

use pumice_flashlog::{Anchor, DOUBTED, Keeper, Medium, Roots, Shape, TagPlace, Taken};
use pumice_media::{
    AnyChip, BlockId, ChipSpec, CutMode, Nand, NandError, PageId, Pairing, PowerCut, SimChip,
};

const MAGIC: [u8; 8] = *b"a volume";
const BLOCKS: u32 = 24;
const PAGES: u32 = BLOCKS * 4;

/// An owner that keeps nothing but a number, and uses blocks in turn.
struct Counter {
    medium: Medium<'static>,
    /// The blocks that the newest record is in.
    held: Vec<u32>,
    next_block: u32,
    number: u32,
    /// Gives one block at a time.
    sparing: bool,
    /// Blocks that are erased before use; `None` for all of them.
    doubted: Option<usize>,
}

fn shape(chip: &SimChip, place: TagPlace) -> Shape {
    Shape::new(&chip.geometry(), 1, place, 0)
}

impl Keeper<'static> for Counter {
    type Error = NandError;

    fn medium(&mut self) -> &mut Medium<'static> {
        &mut self.medium
    }

    fn take_blocks(&mut self) -> Result<Taken, NandError> {
        let first = self.take_block()?;
        if self.sparing && !self.held.is_empty() {
            return Ok(Taken::One(first));
        }
        Ok(Taken::Both([first, self.take_block()?]))
    }

    fn failing(&mut self, _block: u32) {}

    fn record(&mut self, left: &[u32]) -> Result<Vec<u8>, NandError> {
        assert!(left.len() <= DOUBTED);
        Ok([self.number, self.next_block].map(u32::to_le_bytes).concat())
    }

    fn chip_error(error: NandError) -> NandError {
        error
    }

    fn worn_out() -> NandError {
        NandError::Device(28)
    }
}

impl Counter {
    fn take_block(&mut self) -> Result<u32, NandError> {
        loop {
            self.next_block = if self.next_block + 1 < BLOCKS { self.next_block + 1 } else { 4 };
            let block = self.next_block;
            if self.held.contains(&block) || self.medium.is_bad(block)? {
                continue;
            }
            match self.doubted.as_mut() {
                Some(0) => return Ok(block),
                Some(doubted) => *doubted -= 1,
                None => {}
            }
            match self.medium.erase(block) {
                Ok(()) => return Ok(block),
                Err(NandError::EraseFailed(_)) => self.medium.mark_bad(block)?,
                Err(error) => return Err(error),
            }
        }
    }
}

/// A fresh chip with no record yet, on which the programs of some pages fail.
fn fresh(place: TagPlace, failing: &[u32]) -> (Counter, Roots) {
    fresh_on(Pairing::Unpaired, place, failing)
}

fn fresh_on(pairing: Pairing, place: TagPlace, failing: &[u32]) -> (Counter, Roots) {
    let spec = ChipSpec::parse_geometry(&format!("512+40:4:{BLOCKS}")).unwrap();
    let mut chip = SimChip::new(&spec.with_pairing(pairing).unwrap());
    chip.faults_mut().program_fails = failing.iter().copied().map(PageId).collect();
    blank(chip, place)
}

fn blank(chip: SimChip, place: TagPlace) -> (Counter, Roots) {
    let anchor = Anchor {
        magic: MAGIC,
        version: 2,
        features: [0; 3],
        uuid: [7; 16],
        geometry: chip.geometry(),
        checkpoints: [0; 2],
        own: b"mine".to_vec(),
    };
    let shape = shape(&chip, place);
    let counter = Counter {
        medium: Medium::new(AnyChip::own(chip), shape),
        held: Vec::new(),
        next_block: 3,
        number: 0,
        sparing: false,
        doubted: None,
    };
    (counter, Roots::blank(shape, anchor).unwrap())
}

fn mount(mut chip: SimChip, place: TagPlace) -> Option<(Counter, Roots)> {
    let mut roots = Roots::find(&mut chip, &MAGIC).unwrap()?;
    assert_eq!(roots.anchor().own, b"mine");
    let shape = shape(&chip, place);
    let mut medium = Medium::new(AnyChip::own(chip), shape);
    let record = roots.find_record(&mut medium, shape).unwrap()?;
    let word = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().unwrap());
    let (number, next_block, held) = (word(0), word(4), roots.blocks().collect());
    // More numbers than a record takes.
    let seq = u64::from(number + 1) * 8;
    medium.number_from(seq + 1, 0);
    Some((Counter { medium, held, next_block, number, sparing: false, doubted: None }, roots))
}

/// Writes one more record.
fn step(counter: &mut Counter, roots: &mut Roots) -> Result<(), NandError> {
    counter.number += 1;
    counter.medium.number_from(u64::from(counter.number) * 8 + 1, 0);
    if roots.find_ends(&mut counter.medium)? && counter.doubted.is_some() {
        counter.doubted = Some(DOUBTED);
    }
    roots.write(counter)?;
    counter.held = roots.blocks().collect();
    Ok(())
}

/// A chip on which so many records were written.
fn written(place: TagPlace, number: u32, sparing: bool) -> SimChip {
    written_on(Pairing::Unpaired, place, number, sparing)
}

fn written_on(pairing: Pairing, place: TagPlace, number: u32, sparing: bool) -> SimChip {
    let (mut counter, mut roots) = fresh_on(pairing, place, &[]);
    counter.sparing = sparing;
    for _ in 0..number {
        step(&mut counter, &mut roots).unwrap();
    }
    counter.medium.into_chip().take::<SimChip>().unwrap()
}

fn without(chip: &SimChip, page: u32) -> SimChip {
    let mut chip = chip.clone();
    chip.faults_mut().unreadable = BTreeSet::from([PageId(page)]);
    chip
}

/// Room is known ahead, and blocks can be left before it is gone; the newest record stays the newest.
#[test]
fn room_is_known_and_blocks_are_left_when_asked() {
    let (mut counter, mut roots) = fresh(TagPlace::Spare, &[]);
    let mut used = 0;
    for number in 1..40_u32 {
        let before = counter.held.clone();
        let is_full = roots.is_full();
        if number.is_multiple_of(7) {
            roots.turn_over();
            assert!(roots.is_full());
        }
        let stays = !is_full && !number.is_multiple_of(7);
        step(&mut counter, &mut roots).unwrap();
        assert_eq!(counter.held == before, stays, "{number}");
        // Of four pages; more than half of them are never asked for.
        used = if stays { used + 1 } else { 1 };
        for (least, wanted) in [(0, 0), (1, 1), (2, 2), (9, 2)] {
            assert_eq!(roots.is_nearly_full(least), 4 - used < wanted, "{number}: {least}");
        }
        let (mounted, _) =
            mount(counter.medium.chip().get::<SimChip>().unwrap().clone(), TagPlace::Spare).unwrap();
        assert_eq!((mounted.number, mounted.held), (number, counter.held.clone()));
    }
}

/// A mount of undamaged roots finds both copies, and the next record goes behind them.
#[test]
fn whole_roots_are_found_whole_and_stay_where_they_are() {
    for number in 1..12 {
        let (mut counter, mut roots) =
            mount(written(TagPlace::Spare, number, false), TagPlace::Spare).unwrap();
        assert!(roots.is_whole(), "{number}");
        assert!(roots.are_sound(&mut counter.medium).unwrap(), "{number}");
        let held = counter.held.clone();
        roots.find_ends(&mut counter.medium).unwrap();
        let is_full = roots.is_full();
        step(&mut counter, &mut roots).unwrap();
        assert_eq!(counter.held == held, !is_full, "{number}");
    }
}

/// Numbers go on behind the last record and the last anchor, whichever came later.
#[test]
fn the_newest_number_of_the_roots_is_found() {
    let (mut counter, mut roots) = fresh(TagPlace::Spare, &[]);
    for number in 1..12 {
        step(&mut counter, &mut roots).unwrap();
        let mut chip = counter.medium.chip().get::<SimChip>().unwrap().clone();
        let mut found = Roots::find(&mut chip, &MAGIC).unwrap().unwrap();
        let of_anchor = found.newest_seq();
        let shape = shape(&chip, TagPlace::Spare);
        found.find_record(&mut Medium::new(AnyChip::own(chip), shape), shape).unwrap().unwrap();
        assert_eq!(found.newest_seq(), counter.medium.seq() - 1, "{number}");
        // Every fourth record needs an anchor, which is written behind it.
        assert_eq!(of_anchor == counter.medium.seq() - 1, number % 4 == 1, "{number}");
    }
}

/// Either copy that cannot be read is told by a mount, and to a later question.
#[test]
fn a_missing_copy_is_told() {
    let chip = written(TagPlace::Spare, 2, false);
    let (counter, _) = mount(chip.clone(), TagPlace::Spare).unwrap();
    for block in counter.held {
        // The second record of four.
        let (mut counter, roots) = mount(without(&chip, block * 4 + 1), TagPlace::Spare).unwrap();
        assert_eq!(counter.number, 2);
        assert!(!roots.is_whole(), "block {block}");
        assert!(!roots.are_sound(&mut counter.medium).unwrap(), "block {block}");
    }
}

/// The power goes with every root write of a record. What is left of it in one copy is written once more when an owner asks for
/// it, and any one page may be gone then.
#[test]
fn a_copy_that_is_left_alone_is_written_once_more() {
    let mut alone = 0;
    for (place, number) in
        [TagPlace::Spare, TagPlace::Page].into_iter().flat_map(|p| (1..9).map(move |n| (p, n)))
    {
        for after in 0.. {
            let mut chip = written(place, number, false);
            chip.cut_after(after, CutMode::Complete);
            let (mut counter, mut roots) = mount(chip, place).unwrap();
            let done = step(&mut counter, &mut roots);
            let mut chip = counter.medium.into_chip().take::<SimChip>().unwrap();
            if done.is_ok() {
                break;
            }
            chip.power_on();
            let found = |chip: &SimChip, page| mount(without(chip, page), place).unwrap().0.number;
            let (mut counter, mut roots) = mount(chip.clone(), place).unwrap();
            let newest = counter.number;
            alone += (0..PAGES).filter(|page| found(&chip, *page) < newest).count();
            counter.medium.number_from(0, 8);
            roots.find_ends(&mut counter.medium).unwrap();
            roots.secure(&mut counter).unwrap();
            let chip = counter.medium.into_chip().take::<SimChip>().unwrap();
            let older = (0..PAGES).find(|page| found(&chip, *page) < newest);
            assert_eq!(older, None, "{place:?} {number} {after}");
        }
    }
    assert!(alone > 10, "{alone} copies were alone");
}

/// A record that a cut left alone was written once more, and another start begins with that again: it goes on from the
/// newer one, and the power may go at any time. Of what the cut left, nothing need be there.
#[test]
fn a_record_that_was_alone_twice_is_not_erased() {
    let numbered = (1..9).flat_map(|number| [TagPlace::Spare, TagPlace::Page].map(|place| (place, number)));
    // Without numbers it goes behind the first, where there is room.
    let numbers = numbered.chain([(TagPlace::Proof, 1), (TagPlace::Proof, 5)]);
    let mut met = Vec::new();
    for (place, number) in numbers {
        let mut chip = written(place, number, false);
        let [first, second] = mount(chip.clone(), place).unwrap().1.anchor().checkpoints;
        chip.cut_after(0, CutMode::Complete);
        let (mut counter, mut roots) = mount(chip, place).unwrap();
        assert!(step(&mut counter, &mut roots).is_err());
        let mut chip = counter.medium.into_chip().take::<SimChip>().unwrap();
        chip.power_on();
        let (mut counter, roots) = mount(chip.clone(), place).unwrap();
        let is_alone = counter.number > number && roots.blocks().eq([first, second]);
        let left = (0..PAGES).find(|page| mount(without(&chip, *page), place).unwrap().0.number == number);
        let Some(left) = left.filter(|_| is_alone) else { continue };
        let secured = |mut chip: SimChip, number: u32, after: u64| {
            chip.cut_after(after, CutMode::Nothing);
            let (mut counter, mut roots) = mount(chip, place).unwrap();
            counter.number = number;
            counter.medium.set_seq(u64::from(number) * 8 + 1);
            let ended = roots.find_ends(&mut counter.medium).and_then(|_| roots.secure(&mut counter));
            let mut chip = counter.medium.into_chip().take::<SimChip>().unwrap();
            chip.power_on();
            (chip, ended.is_ok())
        };
        let newest = number + 2;
        let (chip, _) = secured(chip, newest, u64::MAX);
        counter = mount(chip.clone(), place).unwrap().0;
        assert_eq!(counter.number, newest, "{place:?} {number}");
        for after in 0.. {
            let (chip, is_whole) = secured(chip.clone(), newest + 1, after);
            let found = mount(without(&chip, left), place).map(|(counter, _)| counter.number);
            assert!(found >= Some(newest), "{place:?} {number}, {after}: {found:?}");
            if is_whole {
                break;
            }
        }
        met.push(place);
    }
    for (place, least) in [(TagPlace::Spare, 5), (TagPlace::Page, 5), (TagPlace::Proof, 2)] {
        let count = met.iter().filter(|of| **of == place).count();
        assert!(count >= least, "{place:?}: {count} records were alone");
    }
}

/// Blocks that hold the records of no volume are not looked at: those of the anchors, one block twice, blocks beyond
/// the chip.
#[test]
fn anchors_that_name_no_two_blocks_lead_to_no_record() {
    let chip = written(TagPlace::Spare, 2, false);
    let (counter, roots) = mount(chip, TagPlace::Spare).unwrap();
    let (mut medium, shape) = (counter.medium, shape(&written(TagPlace::Spare, 1, false), TagPlace::Spare));
    let [first, second] = roots.anchor().checkpoints;
    let mut is_found = |checkpoints| {
        let anchor = Anchor { checkpoints, ..roots.anchor().clone() };
        let mut roots = Roots::without_anchors(shape, anchor).unwrap();
        let found = roots.find_record(&mut medium, shape).unwrap();
        assert_eq!(roots.blocks().next().is_some(), found.is_some(), "{checkpoints:?}");
        found.is_some()
    };
    assert!(is_found([first, second]) && is_found([second, first]) && is_found([first, 0]));
    for checkpoints in
        [[first; 2], [0, first], [3, first], [BLOCKS, first], [first, 3], [first, BLOCKS], [0; 2]]
    {
        assert!(!is_found(checkpoints), "{checkpoints:?}");
    }
}

/// The most reads of a mount whose ring had one block half erased when the power went.
fn reads_beside_noise(pairing: Pairing, place: TagPlace, number: u32) -> u64 {
    let spec = ChipSpec::parse_geometry(&format!("512+40:64:{BLOCKS}")).unwrap();
    let (mut counter, mut roots) = blank(SimChip::new(&spec.with_pairing(pairing).unwrap()), place);
    (0..number).for_each(|_| step(&mut counter, &mut roots).unwrap());
    let whole = counter.medium.into_chip().take::<SimChip>().unwrap();
    let reads = |ring: u32, seed: u64| {
        let mut chip = whole.clone();
        chip.cut_after(0, CutMode::Half { seed });
        assert!(chip.erase(BlockId(2 * ring + 1)).is_err());
        chip.power_on();
        let before = chip.stats();
        let (counter, _) = mount(chip, place).unwrap();
        assert_eq!(counter.number, number, "ring {ring}, {seed}");
        let took = counter.medium.stats() - before;
        took.page_reads + took.spare_reads
    };
    (0..100).flat_map(|seed| [reads(0, seed), reads(1, seed)]).max().unwrap()
}

/// A block of a ring whose erase was cut is noise, until the ring goes on there: no mount reads all of it.
#[test]
fn a_half_erased_block_costs_a_mount_few_reads() {
    for (pairing, most) in [(Pairing::Unpaired, 60), (Pairing::Dist3, 100)] {
        for (place, number) in [(TagPlace::Spare, 3), (TagPlace::Proof, 3), (TagPlace::Spare, 200)] {
            let reads = reads_beside_noise(pairing, place, number);
            assert!(reads <= most, "{pairing:?} {place:?} {number}: {reads} reads");
        }
    }
}

/// A ring with a bad block erases the one it has, with the newest anchor in it. What a cut of that leaves behind the
/// anchor, noise that looks erased in part, is not written over.
#[test]
fn a_ring_of_one_block_goes_on_behind_cut_erases() {
    for seed in 0..1000 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut chip = written(TagPlace::Spare, 3, false);
        chip.mark_bad(BlockId(rng.u32(..4))).unwrap();
        for round in 0..6 {
            let mode = if rng.bool() { CutMode::Half { seed } } else { CutMode::Torn { seed } };
            chip.cut_after(rng.u64(..30), mode);
            let (mut counter, mut roots) = mount(chip, TagPlace::Spare).unwrap();
            let done = (0..20).try_for_each(|_| step(&mut counter, &mut roots));
            chip = counter.medium.into_chip().take::<SimChip>().unwrap();
            assert_eq!(done.is_ok(), chip.is_powered(), "seed {seed}, round {round}: {done:?}");
            chip.power_on();
        }
        assert_eq!(chip.stats().violations, 0, "seed {seed}");
    }
}

/// Only some of the anchors' blocks are good, and cuts follow upon cuts: the only anchor is never erased, no older one
/// counts. Of a ring without another any page may be gone once something was written. A single block ends writes when full.
#[test]
fn rings_with_bad_blocks_go_on_behind_cuts() {
    let mut ended = 0;
    for seed in 0..3000 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let pairing = rng.choice([Pairing::Unpaired, Pairing::Dist3]).unwrap();
        let spec = ChipSpec::parse_geometry(&format!("512+40:8:{BLOCKS}")).unwrap();
        let mut chip = SimChip::new(&spec.with_pairing(pairing).unwrap());
        let good: Vec<u32> = rng
            .choice([vec![0, 2], vec![1, 2], vec![0, 3], vec![0, 1], vec![2, 3], vec![1], vec![2]])
            .unwrap();
        (0..4).filter(|block| !good.contains(block)).for_each(|block| chip.mark_bad(BlockId(block)).unwrap());
        let (mut counter, mut roots) = blank(chip, TagPlace::Spare);
        step(&mut counter, &mut roots).unwrap();
        let mut promised = counter.number;
        for round in 0..6 {
            let about = format!("seed {seed}, {good:?}, {pairing:?}, round {round}");
            // The last of a copy that a cut touched fades, and of two rings one has only that.
            let is_alone = good.iter().all(|block| block / 2 == good[0] / 2);
            let mut chip = counter.medium.into_chip().take::<SimChip>().unwrap();
            chip.power_on();
            chip.cut_after(rng.u64(..24), rng.choice(modes(seed)).unwrap());
            let found = mount(chip, TagPlace::Spare);
            (counter, roots) = found.unwrap_or_else(|| panic!("{about}: no anchor"));
            assert!(counter.number >= promised, "{about}: {}", counter.number);
            let mut done = roots.find_ends(&mut counter.medium).and_then(|_| roots.secure(&mut counter));
            while done.is_ok() {
                done = step(&mut counter, &mut roots);
                if done.is_ok() {
                    promised = counter.number;
                }
                let chip = counter.medium.chip().get::<SimChip>().unwrap();
                for page in (0..32).filter(|_| done.is_ok() && is_alone) {
                    let found = mount(without(chip, page), TagPlace::Spare);
                    assert_eq!(found.map(|(it, _)| it.number), Some(promised), "{about}: page {page}");
                }
            }
            if done == Err(Counter::worn_out()) {
                assert_eq!(good.len(), 1, "{about}");
                ended += 1;
            }
        }
    }
    assert!(ended > 100, "{ended} ended");
}

/// Every page in turn cannot be read: none is indispensable.
#[test]
fn any_one_page_may_be_gone() {
    let places = [TagPlace::Spare, TagPlace::Page, TagPlace::Proof];
    for (place, sparing) in places.into_iter().flat_map(|place| [(place, false), (place, true)]) {
        for number in 1..30 {
            let chip = written(place, number, sparing);
            for page in 0..PAGES {
                let found = mount(without(&chip, page), place);
                let (counter, mut roots) = found.unwrap_or_else(|| panic!("{place:?} {number}: page {page}"));
                assert_eq!(counter.number, number, "{place:?}: page {page}");
                let mut counter = Counter { sparing, ..counter };
                step(&mut counter, &mut roots).unwrap();
                let (counter, _) =
                    mount(counter.medium.into_chip().take::<SimChip>().unwrap(), place).unwrap();
                assert_eq!(counter.number, number + 1, "{place:?}: page {page}, one later");
            }
        }
    }
}

/// A page that nobody can read is no page less: cut after every operation behind it, nothing older is found.
#[test]
fn cuts_behind_a_page_that_is_gone_hide_nothing() {
    for number in 1..30 {
        let chip = written(TagPlace::Spare, number, false);
        for page in 0..16 {
            for (after_operations, mode) in
                (0..8).flat_map(|after| [(after, CutMode::Nothing), (after, CutMode::Half { seed: after })])
            {
                let mut chip = without(&chip, page);
                chip.cut_after(after_operations, mode);
                let (mut counter, mut roots) = mount(chip, TagPlace::Spare).unwrap();
                let done = step(&mut counter, &mut roots);
                let mut chip = counter.medium.into_chip().take::<SimChip>().unwrap();
                chip.power_on();
                let found = mount(chip, TagPlace::Spare).map_or(0, |(counter, _)| counter.number);
                let wanted = if done.is_ok() { number + 1..=number + 1 } else { number..=number + 1 };
                assert!(
                    wanted.contains(&found),
                    "{number}, page {page}, {after_operations} {mode:?}: {found}"
                );
            }
        }
    }
}

/// Each page in turn cannot be programmed: the newest record is found all the same, round after round.
#[test]
fn pages_that_fail_hide_nothing() {
    for (page, sparing) in (0..PAGES).flat_map(|page| [(page, false), (page, true)]) {
        let (mut counter, mut roots) = fresh(TagPlace::Spare, &[page]);
        for number in 1..40 {
            counter.sparing = sparing;
            step(&mut counter, &mut roots).unwrap();
            (counter, roots) =
                mount(counter.medium.into_chip().take::<SimChip>().unwrap(), TagPlace::Spare).unwrap();
            assert_eq!(counter.number, number, "page {page}");
        }
    }
}

/// The same with one ring alone, both blocks of which may begin with the same anchor then.
#[test]
fn pages_that_fail_hide_nothing_from_a_ring_without_another() {
    for page in [1, 2, 3, 5, 6, 7] {
        let (mut counter, mut roots) = fresh(TagPlace::Spare, &[page]);
        (2..4).for_each(|block| counter.medium.mark_bad(block).unwrap());
        for number in 1..60 {
            // The record goes to other blocks, and takes an anchor.
            roots.find_ends(&mut counter.medium).unwrap();
            roots.turn_over();
            step(&mut counter, &mut roots).unwrap();
            if number % 3 > 0 {
                continue;
            }
            (counter, roots) =
                mount(counter.medium.into_chip().take::<SimChip>().unwrap(), TagPlace::Spare).unwrap();
            assert_eq!(counter.number, number, "page {page}");
        }
    }
}

/// Erases of anchors' blocks fail one after the other, between mounts and without: as long as two blocks are good, anchors
/// are written; then until the last one is full. The newest is found.
#[test]
fn the_last_good_block_is_filled_and_not_erased() {
    let mut filled = 0;
    for seed in 0..500 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut failing: Vec<u32> = (0..4).collect();
        rng.shuffle(&mut failing);
        failing.pop();
        let (mut counter, mut roots) = fresh(TagPlace::Spare, &[]);
        for number in 1..40 {
            // The record goes to other blocks, and takes an anchor.
            roots.find_ends(&mut counter.medium).unwrap();
            roots.turn_over();
            let done = step(&mut counter, &mut roots);
            let mut chip = counter.medium.chip().get::<SimChip>().unwrap().clone();
            let bad = (0..4).filter(|block| chip.is_bad(BlockId(*block)).unwrap()).count();
            assert_eq!(roots.are_at_last_block(), bad == 3, "seed {seed}, {number}");
            let (found, again) = mount(chip, TagPlace::Spare).unwrap();
            assert_eq!(again.are_at_last_block(), bad == 3, "seed {seed}, {number}");
            if done.is_err() {
                assert_eq!((done, bad), (Err(Counter::worn_out()), 3), "seed {seed}, {number}");
                assert!(found.number >= number - 1, "seed {seed}, {number}: {}", found.number);
                filled += 1;
                break;
            }
            assert_eq!(found.number, number, "seed {seed}");
            if rng.u32(..4) > 0 {
                continue;
            }
            let mut chip = counter.medium.into_chip().take::<SimChip>().unwrap();
            if rng.bool() {
                chip.faults_mut().erase_fails.extend(failing.pop().map(BlockId));
            }
            (counter, roots) = mount(chip, TagPlace::Spare).unwrap();
        }
    }
    assert!(filled > 100, "{filled} chips came to their end");
}

/// Cut after every operation in every mode: the record promised last is found, or the one that was being written; and
/// once something was written again, the loss of any page changes nothing.
#[test]
fn cuts_hide_nothing_and_nothing_comes_back() {
    let places = [TagPlace::Spare, TagPlace::Proof];
    for (place, sparing) in places.into_iter().flat_map(|place| [(place, false), (place, true)]) {
        // Records move every fourth time: every third number meets each of their places.
        cut_all(Pairing::Unpaired, place, sparing, if sparing { 3 } else { 1 });
    }
}

/// The same where a cut takes earlier pages in the same cells along.
#[test]
fn pages_that_share_cells_hide_nothing() {
    for pairing in [Pairing::Dist3, Pairing::WordLine { pages: 2 }, Pairing::WordLine { pages: 4 }] {
        for (place, sparing) in [(TagPlace::Spare, false), (TagPlace::Spare, true), (TagPlace::Proof, false)]
        {
            cut_all(pairing, place, sparing, 3);
        }
    }
}

/// Every mode of a power cut.
fn modes(seed: u64) -> [CutMode; 6] {
    [
        CutMode::Nothing,
        CutMode::Complete,
        CutMode::Torn { seed },
        CutMode::Garbage { seed },
        CutMode::Half { seed },
        CutMode::Unstable { seed },
    ]
}

/// Cuts the writing of every so many-th record at all of its operations in every mode.
fn cut_all(pairing: Pairing, place: TagPlace, sparing: bool, every: usize) {
    for (seed, number) in (0..).zip(1..24).step_by(every) {
        for mode in modes(seed) {
            for after_operations in 0..if sparing { 24 } else { 14 } {
                let chip = written_on(pairing, place, number, sparing);
                one_cut(chip, (place, sparing), number, PowerCut { after_operations, mode });
            }
        }
    }
}

fn one_cut(mut chip: SimChip, (place, sparing): (TagPlace, bool), number: u32, cut: PowerCut) {
    let about = format!("{:?} {place:?} {sparing} {number} {cut:?}", chip.pairing());
    chip.cut_after(cut.after_operations, cut.mode);
    let (mut counter, mut roots) = mount(chip, place).unwrap();
    counter.sparing = sparing;
    let done = step(&mut counter, &mut roots);
    let mut chip = counter.medium.into_chip().take::<SimChip>().unwrap();
    chip.power_on();
    chip.faults_mut().power_cut = None;
    let (mut counter, mut roots) = mount(chip, place).unwrap_or_else(|| panic!("{about}: no record"));
    counter.sparing = sparing;
    let found = counter.number;
    let wanted = if done.is_ok() { number + 1..=number + 1 } else { number..=number + 1 };
    assert!(wanted.contains(&found), "{about}: {found}");
    step(&mut counter, &mut roots).unwrap();
    let chip = counter.medium.into_chip().take::<SimChip>().unwrap();
    for page in 0..PAGES {
        let (counter, _) =
            mount(without(&chip, page), place).unwrap_or_else(|| panic!("{about}: page {page}"));
        assert_eq!(counter.number, found + 1, "{about}: page {page}");
    }
}

/// Two cuts in a row bring nothing older back, and the blocks that they may have touched are told, so that an owner
/// need erase no others again.
#[test]
fn blocks_that_cuts_may_have_touched_are_told() {
    let cuts = |seed| {
        let after = |mode| (0..14).map(move |after_operations| PowerCut { after_operations, mode });
        modes(seed).into_iter().flat_map(after)
    };
    let pairings = [Pairing::Unpaired, Pairing::Dist3, Pairing::WordLine { pages: 2 }];
    for (pairing, number) in pairings.into_iter().flat_map(|pairing| (1..5).map(move |n| (pairing, n))) {
        let chip = written_on(pairing, TagPlace::Spare, number, false);
        for first in cuts(1) {
            let chip = trusting_step(chip.clone(), Some(first)).0;
            for second in cuts(2) {
                let (chip, _) = trusting_step(chip.clone(), Some(second));
                let (chip, done) = trusting_step(chip, None);
                let about = format!("{pairing:?} {number}: {first:?}, {second:?}");
                assert_eq!(done, Ok(()), "{about}");
                assert!(mount(chip, TagPlace::Spare).unwrap().0.number > number, "{about}");
            }
        }
    }
}

/// One more record, by an owner that erases no block again but those that the roots tell.
fn trusting_step(mut chip: SimChip, cut: Option<PowerCut>) -> (SimChip, Result<(), NandError>) {
    if let Some(PowerCut { after_operations, mode }) = cut {
        chip.cut_after(after_operations, mode);
    }
    let (mut counter, mut roots) = mount(chip, TagPlace::Spare).unwrap();
    counter.doubted = Some(0);
    let done = step(&mut counter, &mut roots);
    let mut chip = counter.medium.into_chip().take::<SimChip>().unwrap();
    chip.power_on();
    chip.faults_mut().power_cut = None;
    (chip, done)
}

#[test]
fn anchors_tell_which_pages_share_cells() {
    let pairings =
        [Pairing::Unpaired, Pairing::Dist3, Pairing::WordLine { pages: 2 }, Pairing::WordLine { pages: 4 }];
    for made in pairings {
        let mut chip = written_on(made, TagPlace::Spare, 9, false);
        let roots = Roots::find(&mut chip, &MAGIC).unwrap().unwrap();
        for is in pairings {
            assert_eq!(roots.anchor().check_pairing(is).is_ok(), made == is, "{made:?} {is:?}");
        }
    }
}
