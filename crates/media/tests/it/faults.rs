//! Every fault strikes, is counted and can be lifted.

use pumice_media::{
    BitFlip, BlockId, ChipSpec, Codeword, CutMode, Endurance, MemStore, Nand, NandError, PageId, PageState,
    Pairing, Rate, ReadDisturb, ReadOutcome, Retention, SimChip,
};

const SEED: u64 = 7;

fn chip() -> SimChip<MemStore> {
    SimChip::new(&ChipSpec::named("slc-4k-8g").unwrap().with_size(16 << 20).unwrap())
}

fn page(chip: &SimChip<MemStore>, byte: u8) -> (Vec<u8>, Vec<u8>) {
    let g = chip.geometry();
    (vec![byte; g.page_bytes as usize], vec![byte; g.free_spare_bytes as usize])
}

fn program(chip: &mut SimChip<MemStore>, at: u32) -> Result<(), NandError> {
    let (data, spare) = page(chip, 0xA5);
    chip.program(PageId(at), &data, &spare)
}

/// Reads a page; the bytes come with every outcome.
fn read(chip: &mut SimChip<MemStore>, at: u32) -> (Result<ReadOutcome, NandError>, Vec<u8>, Vec<u8>) {
    let (mut data, mut spare) = page(chip, 0);
    let outcome = chip.read(PageId(at), &mut data, &mut spare);
    (outcome, data, spare)
}

#[test]
fn factory_bad_blocks_are_marked_and_useless() {
    let mut chip = chip();
    chip.faults_mut().factory_bad.insert(BlockId(1));
    assert_eq!(chip.is_bad(BlockId(1)), Ok(true));
    assert_eq!(program(&mut chip, 64), Err(NandError::ProgramFailed(PageId(64))));
    assert_eq!(chip.erase(BlockId(1)), Err(NandError::EraseFailed(BlockId(1))));
    assert_eq!(read(&mut chip, 64).0, Err(NandError::Uncorrectable(PageId(64))));
    chip.faults_mut().factory_bad.clear();
    assert_eq!(chip.is_bad(BlockId(1)), Ok(false));
    assert_eq!(program(&mut chip, 64), Ok(()));
}

#[test]
fn a_rate_of_factory_bad_blocks_picks_the_same_ones_each_time() {
    let mut chip = SimChip::new(&ChipSpec::named("slc-2k-2g").unwrap());
    chip.faults_mut().factory_bad_rate = Some(Rate { per_billion: 20_000_000, seed: SEED });
    let mut bad = || (0..2048).filter(|b| chip.is_bad(BlockId(*b)).unwrap()).collect::<Vec<_>>();
    let first = bad();
    assert!((20..=65).contains(&first.len()), "{} of 2048 bad, want about 41", first.len());
    assert_eq!(first, bad());
}

#[test]
fn a_failed_program_ruins_its_page_only() {
    let mut chip = chip();
    program(&mut chip, 0).unwrap();
    chip.faults_mut().program_fails.insert(PageId(1));
    assert_eq!(program(&mut chip, 1), Err(NandError::ProgramFailed(PageId(1))));
    assert!(matches!(program(&mut chip, 1), Err(NandError::Violation(..))));
    assert_eq!(read(&mut chip, 1).0, Err(NandError::Uncorrectable(PageId(1))));
    assert_eq!(read(&mut chip, 0), (Ok(ReadOutcome::Clean), page(&chip, 0xA5).0, page(&chip, 0xA5).1));
    assert_eq!(program(&mut chip, 2), Ok(()));
    assert_eq!(chip.fault_counts().program_failures, 1);
}

#[test]
fn programs_and_erases_fail_at_their_rates() {
    let mut chip = chip();
    let tenth = Some(Rate { per_billion: 100_000_000, seed: SEED });
    chip.faults_mut().program_fail_rate = tenth;
    chip.faults_mut().erase_fail_rate = tenth;
    let failed_programs = (0..1000).filter(|at| program(&mut chip, *at).is_err()).count();
    let failed_erases = (0..1000).filter(|at| chip.erase(BlockId(at % 64)).is_err()).count();
    assert!((60..140).contains(&failed_programs), "{failed_programs}");
    assert!((60..140).contains(&failed_erases), "{failed_erases}");
    let counts = chip.fault_counts();
    assert_eq!(
        (counts.program_failures, counts.erase_failures),
        (failed_programs as u64, failed_erases as u64)
    );
}

#[test]
fn a_failed_erase_leaves_a_block_that_keeps_nothing() {
    let mut chip = chip();
    chip.faults_mut().erase_fails.insert(BlockId(2));
    assert_eq!(chip.erase(BlockId(2)), Err(NandError::EraseFailed(BlockId(2))));
    assert_eq!(chip.erase_count(BlockId(2)), 1);
    chip.faults_mut().erase_fails.clear();
    assert_eq!(chip.erase(BlockId(2)), Ok(()));
}

#[test]
fn blocks_wear_out() {
    let mut chip = chip();
    chip.faults_mut().endurance = Some(Endurance { erases: 3, programs_fail: true });
    for _ in 0..3 {
        assert_eq!(program(&mut chip, 0), Ok(()));
        assert_eq!(chip.erase(BlockId(0)), Ok(()));
    }
    assert_eq!(program(&mut chip, 0), Err(NandError::ProgramFailed(PageId(0))));
    assert_eq!(chip.erase(BlockId(0)), Err(NandError::EraseFailed(BlockId(0))));
    assert_eq!(chip.erase(BlockId(1)), Ok(()));
}

#[test]
fn ecc_corrects_up_to_its_strength_and_asks_for_a_refresh_before() {
    // Eight bits in 512 bytes: five and more ask for a refresh, nine are too many.
    for (wrong, want) in [
        (1, Ok(ReadOutcome::Corrected { bits: 1, refresh: false })),
        (4, Ok(ReadOutcome::Corrected { bits: 4, refresh: false })),
        (5, Ok(ReadOutcome::Corrected { bits: 5, refresh: true })),
        (8, Ok(ReadOutcome::Corrected { bits: 8, refresh: true })),
        (9, Err(NandError::Uncorrectable(PageId(3)))),
    ] {
        let mut chip = chip();
        program(&mut chip, 3).unwrap();
        for bit in 0..wrong {
            chip.faults_mut().flips.insert(BitFlip { page: PageId(3), bit: 512 * 8 + bit * 11 });
        }
        let (outcome, data, spare) = read(&mut chip, 3);
        assert_eq!(outcome, want);
        let changed = data.iter().map(|b| (b ^ 0xA5).count_ones()).sum::<u32>();
        assert_eq!(changed, if wrong > 8 { wrong } else { 0 });
        assert_eq!(spare, page(&chip, 0xA5).1);
        assert_eq!(chip.read_spare(PageId(3), &mut spare.clone()), Ok(ReadOutcome::Clean));
        chip.erase(BlockId(0)).unwrap();
        program(&mut chip, 3).unwrap();
        assert_eq!(read(&mut chip, 3).0, Ok(ReadOutcome::Clean), "an erase cures");
    }
}

#[test]
fn codewords_are_counted_apart_and_the_spare_bytes_are_one() {
    let mut chip = chip();
    program(&mut chip, 0).unwrap();
    for word in 0..8 {
        for bit in 0..8 {
            chip.faults_mut().flips.insert(BitFlip { page: PageId(0), bit: word * 4096 + bit });
        }
    }
    assert_eq!(read(&mut chip, 0).0, Ok(ReadOutcome::Corrected { bits: 8, refresh: true }));
    for bit in 0..9 {
        chip.faults_mut().flips.insert(BitFlip { page: PageId(0), bit: 4096 * 8 + bit });
    }
    let (outcome, data, spare) = read(&mut chip, 0);
    assert_eq!(outcome, Err(NandError::Uncorrectable(PageId(0))));
    assert_eq!(data, page(&chip, 0xA5).0);
    assert_eq!(spare.iter().map(|b| (b ^ 0xA5).count_ones()).sum::<u32>(), 9);
    assert_eq!(chip.read_spare(PageId(0), &mut spare.clone()), Err(NandError::Uncorrectable(PageId(0))));
}

#[test]
fn weak_codes_ask_for_a_refresh_at_their_only_bit() {
    let mut chip = SimChip::new(&ChipSpec::named("k9s1208").unwrap());
    program(&mut chip, 0).unwrap();
    chip.faults_mut().flips.insert(BitFlip { page: PageId(0), bit: 0 });
    assert_eq!(read(&mut chip, 0).0, Ok(ReadOutcome::Corrected { bits: 1, refresh: true }));
}

#[test]
fn unreadable_pages_read_again_after_an_erase() {
    let mut chip = chip();
    program(&mut chip, 0).unwrap();
    chip.faults_mut().unreadable.insert(PageId(0));
    let (outcome, data, spare) = read(&mut chip, 0);
    assert_eq!(outcome, Err(NandError::Uncorrectable(PageId(0))));
    assert!((data, spare) != page(&chip, 0xA5), "the buffers show what is lost");
    assert_eq!(chip.fault_counts().uncorrectable_reads, 1);
    chip.erase(BlockId(0)).unwrap();
    program(&mut chip, 0).unwrap();
    assert_eq!(read(&mut chip, 0).0, Ok(ReadOutcome::Clean));
}

#[test]
fn noise_differs_from_read_to_read() {
    let rate = Some(Rate { per_billion: 50_000, seed: SEED });
    let bits = |chip: &mut SimChip<MemStore>| {
        let before = chip.fault_counts().flipped_bits;
        read(chip, 0).0.unwrap();
        chip.fault_counts().flipped_bits - before
    };
    let mut noisy = chip();
    program(&mut noisy, 0).unwrap();
    noisy.faults_mut().read_flip_rate = rate;
    let counts: Vec<u64> = (0..200).map(|_| bits(&mut noisy)).collect();
    let sum: u64 = counts.iter().sum();
    // 33712 bits at 5e-5 are 1.69 a read.
    assert!((270..400).contains(&sum), "{sum} wrong bits in 200 reads, want about 337");
    assert!(counts.iter().any(|c| *c != counts[0]));
}

/// Seconds of a month.
const MONTH_S: u32 = 2_629_800;

/// Pages of 33,712 bits that lose one a month: the losses of each after some months, with ECC out of the way.
fn lost(chip: &mut SimChip<MemStore>, pages: u32) -> Vec<u64> {
    let counted = |at| {
        let before = chip.fault_counts().flipped_bits;
        let _ = read(chip, at);
        chip.fault_counts().flipped_bits - before
    };
    (0..pages).map(counted).collect()
}

#[test]
fn pages_age_from_their_program_on() {
    let mut chip = chip();
    chip.faults_mut().retention = Some(Retention { millibits_per_month: 1000, seed: SEED });
    (0..256).for_each(|at| program(&mut chip, at).unwrap());
    assert_eq!(lost(&mut chip, 256).iter().sum::<u64>(), 0, "fresh");
    let mut before = vec![0; 256];
    for month in 1..=24_u64 {
        chip.pass(MONTH_S);
        let now = lost(&mut chip, 256);
        assert!(now.iter().zip(&before).all(|(now, before)| now >= before), "lost charge comes back");
        let (sum, want) = (now.iter().sum::<u64>(), 256 * month);
        assert!(
            sum.abs_diff(want) * sum.abs_diff(want) < 25 * want,
            "{sum} bits after {month} months, want {want}"
        );
        before = now;
    }
    // Poisson's law has its variance where its mean is.
    let variance = before.iter().map(|n| n.abs_diff(24).pow(2)).sum::<u64>() / 256;
    assert!((16..34).contains(&variance), "variance {variance}");
    assert_eq!(lost(&mut chip, 256), before, "time stands still, and so do the bits");
    // Pages programmed later are younger, whatever their block's life.
    program(&mut chip, 256).unwrap();
    assert_eq!(read(&mut chip, 256).0, Ok(ReadOutcome::Clean));
    chip.erase(BlockId(0)).unwrap();
    program(&mut chip, 0).unwrap();
    assert_eq!(read(&mut chip, 0).0, Ok(ReadOutcome::Clean), "programmed anew");
    chip.faults_mut().retention = None;
    assert_eq!(lost(&mut chip, 256).iter().sum::<u64>(), 0, "lifted");
}

#[test]
fn reads_vary() {
    let mut chip = chip();
    program(&mut chip, 0).unwrap();
    chip.faults_mut().stuttering.insert(PageId(0), 2);
    let lost = Err(NandError::Uncorrectable(PageId(0)));
    let outcomes: Vec<_> = (0..4).map(|_| read(&mut chip, 0).0).collect();
    assert_eq!(outcomes, [lost, lost, Ok(ReadOutcome::Clean), Ok(ReadOutcome::Clean)]);
    assert_eq!(chip.fault_counts().passing_failures, 2);
    chip.faults_mut().read_fail_rate = Some(Rate { per_billion: 100_000_000, seed: SEED });
    let failed = (0..1000).filter(|_| read(&mut chip, 0).0.is_err()).count();
    assert!((60..140).contains(&failed), "{failed} of 1000 reads failed, want about 100");
    chip.faults_mut().read_fail_rate = None;
    assert_eq!(read(&mut chip, 0).0, Ok(ReadOutcome::Clean));
}

#[test]
fn fading_pages_read_right_at_first() {
    let mut chip = chip();
    program(&mut chip, 0).unwrap();
    chip.faults_mut().fading.insert(PageId(0), 3);
    let spare_read = chip.read_spare(PageId(0), &mut [0; 118]);
    assert_eq!(spare_read, Ok(ReadOutcome::Clean), "a look at the spare area counts");
    let outcomes: Vec<_> = (0..5).map(|_| read(&mut chip, 0).0.is_ok()).collect();
    assert_eq!(outcomes, [true, true, false, false, false]);
    chip.erase(BlockId(0)).unwrap();
    assert!(chip.faults().fading.is_empty());
    program(&mut chip, 0).unwrap();
    assert!((0..9).all(|_| read(&mut chip, 0).0.is_ok()));
}

#[test]
fn codes_may_leave_the_spare_area_out() {
    let spec = ChipSpec::named("slc-4k-8g").unwrap().with_size(16 << 20).unwrap().with_bare_spare();
    let mut chip = SimChip::new(&spec);
    program(&mut chip, 0).unwrap();
    chip.faults_mut().flips.insert(BitFlip { page: PageId(0), bit: 4096 * 8 });
    chip.faults_mut().flips.insert(BitFlip { page: PageId(0), bit: 5 });
    let (outcome, data, spare) = read(&mut chip, 0);
    assert_eq!(outcome, Ok(ReadOutcome::Corrected { bits: 1, refresh: false }), "the data's bit");
    assert_eq!((data, spare[0]), (page(&chip, 0xA5).0, 0xA4));
    let mut spare = [0; 118];
    assert_eq!(chip.read_spare(PageId(0), &mut spare), Ok(ReadOutcome::Clean), "nobody notices");
    assert_eq!(spare[..2], [0xA4, 0xA5]);
}

/// Pages and blocks seem sound after a cut and are not: pages that fade, pages that cannot be read at first, and pages
/// and blocks that look erased and let new data fade.
#[test]
fn unstable_cuts_leave_what_seems_sound() {
    let (mut fading, mut stuttering, mut frail) = (0, 0, 0);
    for seed in 0..64 {
        let mut chip = chip();
        program(&mut chip, 0).unwrap();
        chip.cut_after(0, CutMode::Unstable { seed });
        assert_eq!(program(&mut chip, 1), Err(NandError::PowerLost));
        chip.power_on();
        let whole = page(&chip, 0xA5).0;
        match chip.page_state(PageId(1)).unwrap() {
            PageState::Frail => {
                frail += 1;
                assert_eq!(
                    read(&mut chip, 1),
                    (Ok(ReadOutcome::Clean), page(&chip, 0xFF).0, page(&chip, 0xFF).1)
                );
                assert_eq!(program(&mut chip, 1), Ok(()));
                assert_eq!(read(&mut chip, 1).1, whole, "reads right at first");
                assert!((0..64).any(|_| read(&mut chip, 1).0.is_err()), "seed {seed} does not fade");
            }
            PageState::Programmed if chip.faults().fading.contains_key(&PageId(1)) => {
                fading += 1;
                assert_eq!(read(&mut chip, 1).1, whole, "reads right at first");
                assert!((0..64).any(|_| read(&mut chip, 1).0.is_err()), "seed {seed} does not fade");
                assert!(read(&mut chip, 1).0.is_err(), "for good");
            }
            state => {
                stuttering += 1;
                assert_eq!(state, PageState::Programmed);
                assert!(read(&mut chip, 1).0.is_err(), "cannot be read at first");
                (0..3).for_each(|_| drop(read(&mut chip, 1)));
                assert_eq!(read(&mut chip, 1).1, whole);
            }
        }
        assert_eq!(read(&mut chip, 0).1, whole, "the page before");
    }
    assert!(fading > 8 && stuttering > 8 && frail > 8, "{fading}, {stuttering}, {frail}");

    let mut chip = chip();
    (0..64).for_each(|at| program(&mut chip, at).unwrap());
    chip.cut_after(0, CutMode::Unstable { seed: SEED });
    assert_eq!(chip.erase(BlockId(0)), Err(NandError::PowerLost));
    chip.power_on();
    assert!((0..64).all(|at| read(&mut chip, at).1 == page(&chip, 0xFF).0), "looks erased");
    (0..64).for_each(|at| program(&mut chip, at).unwrap());
    assert!((0..64).all(|at| read(&mut chip, at).0.is_ok()), "reads right at first");
    (0..64).for_each(|_| (0..64).for_each(|at| drop(read(&mut chip, at))));
    assert!((0..64).all(|at| read(&mut chip, at).0.is_err()), "does not hold");
    assert_eq!(chip.fault_counts().spoiled_programs, 64);
    chip.erase(BlockId(0)).unwrap();
    program(&mut chip, 0).unwrap();
    assert!((0..200).all(|_| read(&mut chip, 0).0.is_ok()), "an erase cures");
}

#[test]
fn reading_disturbs_a_block_until_it_is_erased() {
    let mut chip = chip();
    program(&mut chip, 0).unwrap();
    program(&mut chip, 1).unwrap();
    chip.faults_mut().read_disturb =
        Some(ReadDisturb { harmless_reads: 100, reads_per_flip: 10, seed: SEED });
    for _ in 0..100 {
        assert_eq!(read(&mut chip, 1).0, Ok(ReadOutcome::Clean));
    }
    for _ in 0..1000 {
        let _ = read(&mut chip, 1);
    }
    assert_ne!(read(&mut chip, 0).0, Ok(ReadOutcome::Clean), "neighbours suffer too");
    chip.erase(BlockId(0)).unwrap();
    program(&mut chip, 0).unwrap();
    assert_eq!(read(&mut chip, 0).0, Ok(ReadOutcome::Clean));
}

#[test]
fn a_cut_strikes_at_the_named_operation_and_power_stays_off() {
    let mut chip = chip();
    program(&mut chip, 0).unwrap();
    chip.cut_after(2, CutMode::Complete);
    program(&mut chip, 1).unwrap();
    chip.erase(BlockId(5)).unwrap();
    assert!(chip.is_powered());
    assert_eq!(program(&mut chip, 2), Err(NandError::PowerLost));
    assert!(!chip.is_powered());
    assert_eq!(chip.operations(), 4);
    assert_eq!(read(&mut chip, 0).0, Err(NandError::PowerLost));
    assert_eq!(chip.read_spare(PageId(0), &mut [0; 118]), Err(NandError::PowerLost));
    assert_eq!(chip.erase(BlockId(0)), Err(NandError::PowerLost));
    assert_eq!(chip.is_bad(BlockId(0)), Err(NandError::PowerLost));
    assert_eq!(chip.mark_bad(BlockId(0)), Err(NandError::PowerLost));
    assert_eq!(chip.flush(), Err(NandError::PowerLost));
    chip.power_on();
    assert_eq!(read(&mut chip, 2), (Ok(ReadOutcome::Clean), page(&chip, 0xA5).0, page(&chip, 0xA5).1));
    assert_eq!((chip.fault_counts().power_cuts, chip.operations()), (1, 4));
}

#[test]
fn a_cut_before_the_operation_leaves_nothing() {
    let mut chip = chip();
    program(&mut chip, 0).unwrap();
    chip.cut_after(0, CutMode::Nothing);
    assert_eq!(chip.erase(BlockId(0)), Err(NandError::PowerLost));
    chip.power_on();
    assert_eq!(read(&mut chip, 0).1, page(&chip, 0xA5).0);
    chip.cut_after(0, CutMode::Nothing);
    assert_eq!(program(&mut chip, 1), Err(NandError::PowerLost));
    chip.power_on();
    assert_eq!(program(&mut chip, 1), Ok(()));
    assert_eq!(read(&mut chip, 1).1, page(&chip, 0xA5).0);
}

#[test]
fn torn_programs_leave_every_kind_of_page_and_touch_no_other() {
    let (mut spoiled, mut clean, mut lost) = (0, 0, 0);
    for seed in 0..64 {
        let mut chip = chip();
        program(&mut chip, 0).unwrap();
        chip.cut_after(0, CutMode::Torn { seed });
        assert_eq!(program(&mut chip, 1), Err(NandError::PowerLost));
        chip.power_on();
        let (outcome, data, _) = read(&mut chip, 1);
        assert!(data.iter().all(|b| b & 0xA5 == 0xA5), "a bit that should stay 1 has fallen, seed {seed}");
        match (chip.page_state(PageId(1)).unwrap(), outcome) {
            (PageState::Spoiled, Ok(ReadOutcome::Clean)) => {
                spoiled += 1;
                assert!(data.iter().all(|b| *b == 0xFF));
                assert_eq!(program(&mut chip, 1), Ok(()));
                assert_eq!(read(&mut chip, 1).0, Err(NandError::Uncorrectable(PageId(1))));
                assert_eq!(chip.fault_counts().spoiled_programs, 1);
            }
            (PageState::Programmed, Ok(ReadOutcome::Clean)) => clean += 1,
            (PageState::Garbage, Err(NandError::Uncorrectable(_))) => lost += 1,
            other => panic!("seed {seed}: {other:?}"),
        }
        assert_eq!(read(&mut chip, 0).1, page(&chip, 0xA5).0);
        assert_eq!(program(&mut chip, 2), Ok(()));
        assert_eq!(read(&mut chip, 2).0, Ok(ReadOutcome::Clean));
    }
    assert!(spoiled > 5 && clean > 5 && lost > 5, "{spoiled} {clean} {lost}");
}

#[test]
fn garbage_may_read_clean() {
    let outcomes: Vec<bool> = (0..32)
        .map(|seed| {
            let mut chip = chip();
            chip.cut_after(0, CutMode::Garbage { seed });
            assert_eq!(program(&mut chip, 0), Err(NandError::PowerLost));
            chip.power_on();
            let (outcome, data, _) = read(&mut chip, 0);
            assert_ne!(data, page(&chip, 0xA5).0);
            outcome.is_ok()
        })
        .collect();
    assert!(outcomes.contains(&true) && outcomes.contains(&false));
}

#[test]
fn a_half_erased_block_keeps_nothing_until_it_is_erased_again() {
    let mut all_looked_erased = 0;
    for seed in 0..32 {
        let mut chip = chip();
        for at in 0..64 {
            program(&mut chip, at).unwrap();
        }
        chip.cut_after(0, CutMode::Half { seed });
        assert_eq!(chip.erase(BlockId(0)), Err(NandError::PowerLost));
        chip.power_on();
        if (0..64).all(|at| read(&mut chip, at).1.iter().all(|b| *b == 0xFF)) {
            all_looked_erased += 1;
            assert_eq!(program(&mut chip, 0), Ok(()), "the chip cannot tell");
            assert_eq!(read(&mut chip, 0).0, Err(NandError::Uncorrectable(PageId(0))));
        }
        chip.erase(BlockId(0)).unwrap();
        program(&mut chip, 0).unwrap();
        assert_eq!(read(&mut chip, 0).0, Ok(ReadOutcome::Clean));
        assert_eq!(chip.erase_count(BlockId(0)), 2);
    }
    assert!(all_looked_erased > 3);
}

#[test]
fn the_same_seeds_give_the_same_chip() {
    let run = || {
        let mut chip = chip();
        chip.faults_mut().program_fail_rate = Some(Rate { per_billion: 50_000_000, seed: SEED });
        chip.faults_mut().read_flip_rate = Some(Rate { per_billion: 300_000, seed: SEED });
        chip.cut_after(150, CutMode::Torn { seed: SEED });
        let programs: Vec<_> = (0..200).map(|at| program(&mut chip, at)).collect();
        chip.power_on();
        let reads: Vec<_> = (0..200).map(|at| read(&mut chip, at)).collect();
        (programs, reads, chip.fault_counts(), chip.stats())
    };
    assert_eq!(run(), run());
}

/// A page that shares its cells with an earlier one takes it along; all others keep their bytes.
#[test]
fn a_cut_upper_page_destroys_the_lower_one() {
    for (pairing, at, endangered) in [
        (Pairing::Dist3, 2, vec![0]),
        (Pairing::Dist3, 6, vec![3]),
        (Pairing::Dist3, 5, vec![]),
        (Pairing::WordLine { pages: 4 }, 6, vec![4, 5]),
        (Pairing::WordLine { pages: 4 }, 4, vec![]),
    ] {
        let spec = ChipSpec::named("slc-4k-8g").unwrap().with_size(16 << 20).unwrap();
        let spec = spec.with_pairing(pairing).unwrap();
        let (mut spared, mut destroyed) = (0, 0);
        for seed in 0..32 {
            for mode in [CutMode::Torn { seed }, CutMode::Garbage { seed }, CutMode::Half { seed }] {
                let mut chip = SimChip::new(&spec);
                assert_eq!(chip.pairing(), pairing);
                (0..at).for_each(|other| program(&mut chip, other).unwrap());
                chip.cut_after(0, mode);
                assert_eq!(program(&mut chip, at), Err(NandError::PowerLost));
                chip.power_on();
                let lost: Vec<u32> = (0..at).filter(|other| read(&mut chip, *other).0.is_err()).collect();
                assert!(lost.is_empty() || lost == endangered, "{pairing:?}: page {at} took {lost:?}");
                assert_eq!(chip.fault_counts().paired_losses, lost.len() as u64);
                let others = (0..at).filter(|other| !lost.contains(other));
                others.for_each(|other| assert_eq!(read(&mut chip, other).1, page(&chip, 0xA5).0));
                (spared, destroyed) =
                    (spared + u32::from(lost.is_empty()), destroyed + u32::from(!lost.is_empty()));
            }
        }
        assert!(spared > 10 && (destroyed > 40 || endangered.is_empty()), "{spared}, {destroyed}");
        for mode in [CutMode::Nothing, CutMode::Complete] {
            let mut chip = SimChip::new(&spec);
            (0..at).for_each(|other| program(&mut chip, other).unwrap());
            chip.cut_after(0, mode);
            assert_eq!(program(&mut chip, at), Err(NandError::PowerLost));
            chip.power_on();
            (0..at).for_each(|other| assert_eq!(read(&mut chip, other).0, Ok(ReadOutcome::Clean)));
        }
    }
}

/// A page with a lost codeword is beyond correction, and its other codewords read right.
#[test]
fn a_page_loses_codewords() {
    // Eight codewords of 512 data bytes, and the spare area's.
    let mut chip = chip();
    program(&mut chip, 3).unwrap();
    program(&mut chip, 4).unwrap();
    let lost = |chip: &mut SimChip, at| {
        let (mut data, mut spare) = page(chip, 0);
        let lost = chip.read_by_codeword(PageId(at), &mut data, &mut spare).unwrap();
        let is_lost = |byte| lost.iter().any(|lost| lost.contains(&byte));
        assert!(data.iter().chain(&spare).enumerate().all(|(at, byte)| *byte == 0xA5 || is_lost(at)));
        lost
    };
    assert_eq!(lost(&mut chip, 3), []);
    let end = 4096 + page(&chip, 0).1.len();
    for number in [1, 8] {
        chip.faults_mut().dead_codewords.insert(Codeword { page: PageId(3), number });
    }
    for bit in 0..9 {
        chip.faults_mut().flips.insert(BitFlip { page: PageId(3), bit: 3 * 4096 + 100 * bit });
    }
    assert_eq!(lost(&mut chip, 3), [512..1024, 1536..2048, 4096..end]);
    assert_eq!(read(&mut chip, 3).0, Err(NandError::Uncorrectable(PageId(3))));
    assert_eq!(read(&mut chip, 4).0, Ok(ReadOutcome::Clean));
    let mut spare = page(&chip, 0).1;
    assert!(chip.read_spare(PageId(3), &mut spare).is_err());
    assert!(chip.read_spare(PageId(4), &mut spare).is_ok());
    chip.faults_mut().unreadable.insert(PageId(4));
    assert_eq!(lost(&mut chip, 4), std::slice::from_ref(&(0..end)));
    chip.erase(BlockId(0)).unwrap();
    assert!(chip.faults().dead_codewords.is_empty());
}
