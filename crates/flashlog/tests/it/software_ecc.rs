//! Software ECC corrects all errors within the code's strength and reports the others, on any page.

use pumice_ecc::Strength;
use pumice_flashlog::{PageCode, SoftwareCode, SoftwareEcc, SoftwareEccError};
use pumice_media::{
    BitFlip, BlockId, ChipSpec, Ecc, Nand, NandError, PageId, ReadOutcome, SimChip, SpareRange,
};

const CODES: [SoftwareCode; 3] =
    [SoftwareCode::Hamming, SoftwareCode::Bch(Strength::Four), SoftwareCode::Bch(Strength::Eight)];

/// A chip without ECC that shows all of its spare area but the bad-block mark.
fn bare(geometry: &str) -> SimChip {
    let spec = ChipSpec::parse_geometry(geometry).unwrap();
    let spare = spec.geometry().spare_bytes;
    let none = Ecc { step_bytes: spec.geometry().page_bytes, bits: 0, covers_spare: false };
    let around = [SpareRange { offset: 0, bytes: 5 }, SpareRange { offset: 6, bytes: spare - 6 }];
    let behind = [SpareRange { offset: 2, bytes: spare - 2 }];
    let free: &[SpareRange] = if spec.geometry().page_bytes <= 512 { &around } else { &behind };
    SimChip::new(&spec.with_ecc(none, free).unwrap())
}

/// The page's data and free bytes, different for each page.
fn content(chip: &SoftwareEcc<SimChip>, page: PageId) -> (Vec<u8>, Vec<u8>) {
    let geometry = chip.geometry();
    let mut state = page.0.wrapping_mul(2_654_435_761) | 1;
    let mut byte = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_le_bytes()[3]
    };
    let data = (0..geometry.page_bytes).map(|_| byte()).collect();
    (data, (0..geometry.free_spare_bytes).map(|_| byte()).collect())
}

fn read(chip: &mut SoftwareEcc<SimChip>, page: PageId) -> (Result<ReadOutcome, NandError>, Vec<u8>, Vec<u8>) {
    let geometry = chip.geometry();
    let mut data = vec![0; geometry.page_bytes as usize];
    let mut spare = vec![0; geometry.free_spare_bytes as usize];
    (chip.read(page, &mut data, &mut spare), data, spare)
}

fn flip(chip: &mut SoftwareEcc<SimChip>, page: PageId, bits: &[u32]) {
    let flips = &mut chip.chip_mut().faults_mut().flips;
    flips.clear();
    flips.extend(bits.iter().map(|bit| BitFlip { page, bit: *bit }));
}

#[test]
fn the_free_bytes_are_those_of_linux() {
    let free = |geometry: &str, code| {
        PageCode::new(code, &ChipSpec::parse_geometry(geometry).unwrap().geometry()).map(|code| code.free())
    };
    assert_eq!(free("512+16:32:8", SoftwareCode::Hamming), Ok(8..16));
    assert_eq!(CODES.map(|code| free("2048+64:64:8", code)), [Ok(2..40), Ok(2..36), Ok(2..12)]);
    assert_eq!(CODES.map(|code| free("4096+128:64:8", code)), [Ok(2..80), Ok(2..72), Ok(2..24)]);
    let error = free("2048+54:64:8", SoftwareCode::Bch(Strength::Eight)).unwrap_err();
    assert_eq!(error.to_string(), "the codes need 54 of the 54 bytes of the spare area, and a free one");
    assert!(free("512+16:32:8", SoftwareCode::Bch(Strength::Four)).is_err());
    assert!(free("1000+64:32:8", SoftwareCode::Hamming).is_err());
}

#[test]
fn a_chip_that_hides_its_spare_area_is_refused() {
    let chip = SimChip::new(&ChipSpec::parse_geometry("2048+64:64:8").unwrap());
    let error = SoftwareEcc::new(chip, SoftwareCode::Hamming).map(drop).unwrap_err();
    assert_eq!(error, SoftwareEccError::Hidden { free: 38, wanted: 62 });
}

#[test]
fn every_single_bit_of_page_and_codes_is_corrected() {
    for (geometry, code) in [("512+16:4:2", CODES[0]), ("2048+64:4:2", CODES[1]), ("2048+64:4:2", CODES[2])] {
        let mut chip = SoftwareEcc::new(bare(geometry), code).unwrap();
        let (data, spare) = content(&chip, PageId(1));
        chip.program(PageId(1), &data, &spare).unwrap();
        let (clean, bits) = (read(&mut chip, PageId(1)), chip.chip().geometry());
        assert_eq!(clean, (Ok(ReadOutcome::Clean), data.clone(), spare.clone()));
        for bit in 0..8 * (bits.page_bytes + bits.free_spare_bytes) {
            flip(&mut chip, PageId(1), &[bit]);
            let (outcome, found, found_spare) = read(&mut chip, PageId(1));
            assert_eq!(found, data, "{code:?}, bit {bit}");
            // Free bytes are not covered.
            let wrong = found_spare.iter().zip(&spare).filter(|(a, b)| a != b).count();
            let told = matches!(outcome, Ok(ReadOutcome::Corrected { bits: 1, .. }));
            let is_unused = outcome == Ok(ReadOutcome::Clean) && wrong == 0;
            assert!(told || wrong == 1 || is_unused, "{code:?}, bit {bit}: {outcome:?}");
            assert!(bit >= 8 * bits.page_bytes || told, "{code:?}, bit {bit}: {outcome:?}");
        }
    }
}

#[test]
fn as_many_bits_as_the_code_promises_and_no_more() {
    for code in CODES {
        let mut chip = SoftwareEcc::new(bare("2048+64:4:2"), code).unwrap();
        let (data, spare) = content(&chip, PageId(0));
        chip.program(PageId(0), &data, &spare).unwrap();
        let step = u32::try_from(8 * code.step_bytes()).unwrap();
        // In the first, in the last, and in every step at once.
        for steps in [vec![0], vec![8 * 2048 / step - 1], (0..8 * 2048 / step).collect()] {
            let bits = |count: u32| -> Vec<u32> {
                steps.iter().flat_map(|at| (0..count).map(move |n| at * step + n * 397 % step)).collect()
            };
            flip(&mut chip, PageId(0), &bits(code.bits()));
            let refresh = true;
            let outcome = Ok(ReadOutcome::Corrected { bits: code.bits(), refresh });
            assert_eq!(read(&mut chip, PageId(0)), (outcome, data.clone(), spare.clone()), "{code:?}");
            flip(&mut chip, PageId(0), &bits(code.bits() + 1));
            assert_eq!(read(&mut chip, PageId(0)).0, Err(NandError::Uncorrectable(PageId(0))), "{code:?}");
        }
    }
}

#[test]
fn a_step_beyond_correction_leaves_the_others_right() {
    let mut chip = SoftwareEcc::new(bare("2048+64:4:2"), SoftwareCode::Hamming).unwrap();
    let (data, spare) = content(&chip, PageId(0));
    chip.program(PageId(0), &data, &spare).unwrap();
    flip(&mut chip, PageId(0), &[5, 50, 8 * 256 + 7]);
    let (outcome, found, _) = read(&mut chip, PageId(0));
    assert_eq!(outcome, Err(NandError::Uncorrectable(PageId(0))));
    assert_eq!(found.get(256..), data.get(256..));
}

#[test]
fn an_erased_page_is_corrected_too() {
    for code in CODES {
        let mut chip = SoftwareEcc::new(bare("2048+64:4:2"), code).unwrap();
        chip.erase(BlockId(0)).unwrap();
        assert_eq!(
            read(&mut chip, PageId(2)),
            (Ok(ReadOutcome::Clean), vec![0xff; 2048], vec![0xff; chip.geometry().free_spare_bytes as usize])
        );
        // The chip lost bits that nobody programmed.
        let mut lost = vec![0xff; 2048];
        (0..code.bits()).for_each(|n| lost[100 + 3 * n as usize] = 0xfb);
        let free = chip.chip().geometry().free_spare_bytes as usize;
        chip.chip_mut().program(PageId(2), &lost, &vec![0xff; free]).unwrap();
        let (outcome, data, _) = read(&mut chip, PageId(2));
        assert_eq!(outcome, Ok(ReadOutcome::Corrected { bits: code.bits(), refresh: true }), "{code:?}");
        assert_eq!(data, vec![0xff; 2048]);
    }
}

/// Codes are those of the page that is read, not of the one that was programmed last.
#[test]
fn pages_are_corrected_by_their_own_codes() {
    for code in CODES {
        let mut chip = SoftwareEcc::new(bare("2048+64:4:2"), code).unwrap();
        let pages = [0, 1, 2].map(PageId);
        for page in pages {
            let (data, spare) = content(&chip, page);
            chip.program(page, &data, &spare).unwrap();
        }
        for page in pages {
            flip(&mut chip, page, &[77]);
            let (outcome, data, spare) = read(&mut chip, page);
            assert!(matches!(outcome, Ok(ReadOutcome::Corrected { bits: 1, .. })), "{code:?}: {outcome:?}");
            assert_eq!((data, spare), content(&chip, page), "{code:?}: {page:?}");
        }
    }
}

#[test]
fn bad_blocks_are_the_chips() {
    let mut chip = SoftwareEcc::new(bare("2048+64:4:3"), SoftwareCode::Hamming).unwrap();
    chip.mark_bad(BlockId(1)).unwrap();
    assert_eq!([0, 1, 2].map(|block| chip.is_bad(BlockId(block))), [Ok(false), Ok(true), Ok(false)]);
}

#[test]
fn wrong_lengths_are_violations() {
    let mut chip = SoftwareEcc::new(bare("2048+64:4:2"), SoftwareCode::Hamming).unwrap();
    let is_violation = |result: Result<(), NandError>| matches!(result, Err(NandError::Violation(..)));
    assert!(is_violation(chip.program(PageId(0), &[0; 2047], &[0; 38])));
    assert!(is_violation(chip.program(PageId(0), &[0; 2048], &[0; 37])));
    assert!(is_violation(chip.read(PageId(0), &mut [0; 2048], &mut [0; 39]).map(drop)));
    assert!(is_violation(chip.read(PageId(0), &mut [0; 2], &mut [0; 38]).map(drop)));
    assert!(is_violation(chip.read_spare(PageId(0), &mut [0; 64]).map(drop)));
    let (outcome, data, _) = read(&mut chip, PageId(0));
    assert_eq!((outcome, data), (Ok(ReadOutcome::Clean), vec![0xff; 2048]), "nothing was programmed");
}
