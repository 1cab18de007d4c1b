//! Chips in container files, and raw dumps of them.

use std::io::Cursor;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use pumice_media::{
    BitFlip, BlockId, ChipFile, ChipSpec, CutMode, MediaError, Nand, NandError, PageId, Pairing, ReadDisturb,
    ReadOutcome, Retention, SimChip,
};
use tempfile::TempDir;

fn spec() -> ChipSpec {
    ChipSpec::named("rcffs-128m").unwrap()
}

fn place() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("chip");
    (dir, path)
}

/// Contents that tell the page they belong to.
fn contents(at: u32) -> (Vec<u8>, Vec<u8>) {
    let bytes = |n: u32| (0..n).map(|i| (i.wrapping_mul(31) ^ at).to_le_bytes()[0]).collect();
    (bytes(2048), bytes(38))
}

fn program(chip: &mut impl Nand, at: u32) -> Result<(), NandError> {
    let (data, spare) = contents(at);
    chip.program(PageId(at), &data, &spare)
}

fn holds(chip: &mut impl Nand, at: u32) -> bool {
    let (mut data, mut spare) = (vec![0; 2048], vec![0; 38]);
    assert_eq!(chip.read(PageId(at), &mut data, &mut spare), Ok(ReadOutcome::Clean));
    let mut alone = vec![0; 38];
    assert_eq!(chip.read_spare(PageId(at), &mut alone), Ok(ReadOutcome::Clean));
    assert_eq!(alone, spare);
    (data, spare) == contents(at)
}

#[test]
fn a_chip_comes_back_with_pages_wear_marks_faults_and_work() {
    let (_dir, path) = place();
    let flip = BitFlip { page: PageId(9), bit: 3 };
    let mut chip = ChipFile::create(&path, &spec(), false).unwrap();
    program(&mut chip, 0).unwrap();
    program(&mut chip, 5).unwrap();
    chip.erase(BlockId(1)).unwrap();
    chip.erase(BlockId(1)).unwrap();
    chip.mark_bad(BlockId(7)).unwrap();
    chip.faults_mut().flips.insert(flip);
    let work = chip.stats();
    drop(chip);

    let mut chip = ChipFile::open(&path, false).unwrap();
    assert_eq!(*chip.spec(), spec());
    assert!(holds(&mut chip, 0) && holds(&mut chip, 5) && !holds(&mut chip, 1));
    assert_eq!(chip.erase_count(BlockId(1)), 2);
    assert_eq!((chip.is_bad(BlockId(7)), chip.is_bad(BlockId(6))), (Ok(true), Ok(false)));
    assert!(chip.faults().flips.contains(&flip));
    assert_eq!(chip.operations(), 5);
    assert_eq!(chip.lifetime_stats() - chip.stats(), work);
    assert!(matches!(program(&mut chip, 5), Err(NandError::Violation(..))), "page states are kept");
    program(&mut chip, 6).unwrap();
}

#[test]
fn a_chip_comes_back_with_its_age_its_reads_and_what_a_cut_left() {
    let (_dir, path) = place();
    let spec = spec().with_bare_spare().with_pairing(Pairing::Dist3).unwrap();
    let mut chip = ChipFile::create(&path, &spec, false).unwrap();
    chip.faults_mut().retention = Some(Retention { millibits_per_month: 1000, seed: 5 });
    chip.faults_mut().read_disturb = Some(ReadDisturb { harmless_reads: 100, reads_per_flip: 10, seed: 5 });
    program(&mut chip, 0).unwrap();
    chip.pass(2_000_000);
    program(&mut chip, 1).unwrap();
    (0..30).for_each(|_| assert!(holds(&mut chip, 1)));
    assert_eq!(chip.reads(BlockId(0)), Ok(60));
    // Once by flush and once by the end of the process; a reader counts for itself alone.
    chip.flush().unwrap();
    drop(chip);
    let mut chip = ChipFile::open(&path, true).unwrap();
    assert!(holds(&mut chip, 1));
    assert_eq!(chip.reads(BlockId(0)), Ok(62));
    drop(chip);
    let mut chip = ChipFile::open(&path, false).unwrap();
    assert_eq!((chip.clock_s(), chip.reads(BlockId(0)), chip.pairing()), (2_000_000, Ok(60), Pairing::Dist3));
    assert_eq!(*chip.spec(), spec);
    let flipped = |chip: &mut ChipFile, at| {
        let (before, (mut data, mut spare)) = (chip.fault_counts().flipped_bits, contents(at));
        let _ = chip.read(PageId(at), &mut data, &mut spare);
        chip.fault_counts().flipped_bits - before
    };
    chip.faults_mut().read_disturb = None;
    assert_eq!(flipped(&mut chip, 1), 0, "young");
    chip.pass(12 * 2_629_800);
    drop(chip);
    let mut chip = ChipFile::open(&path, false).unwrap();
    let old = [flipped(&mut chip, 0), flipped(&mut chip, 1)];
    assert!(old.iter().all(|bits| (3..30).contains(bits)), "{old:?} bits in a year");
    chip.cut_after(0, CutMode::Unstable { seed: 1 });
    chip.erase(BlockId(0)).unwrap_err();
    chip.faults_mut().fading.insert(PageId(99), 2);
    drop(chip);
    let mut chip = ChipFile::open(&path, false).unwrap();
    assert_eq!(chip.reads(BlockId(0)), Ok(0), "an erase forgets them");
    assert_eq!(chip.faults().fading.get(&PageId(99)), Some(&2));
    program(&mut chip, 0).unwrap();
    assert_eq!(chip.fault_counts().spoiled_programs, 1, "it only looked erased");
    assert!(chip.faults().fading.contains_key(&PageId(0)));
}

/// A frail block is known as such from its erase on. A chip that was opened since lets its pages fade all the same,
/// though nobody asked for its faults; the next erase cures it.
#[test]
fn what_is_frail_fades_after_the_chip_is_opened_again() {
    let (_dir, path) = place();
    let mut chip = ChipFile::create(&path, &spec(), false).unwrap();
    chip.cut_after(0, CutMode::Unstable { seed: 1 });
    chip.erase(BlockId(0)).unwrap_err();
    drop(chip);
    let mut chip = ChipFile::open(&path, false).unwrap();
    program(&mut chip, 0).unwrap();
    assert!(holds(&mut chip, 0), "reads right at first");
    let fades = |chip: &mut ChipFile| {
        let (mut data, mut spare) = contents(0);
        (0..64).any(|_| chip.read(PageId(0), &mut data, &mut spare).is_err())
    };
    assert!(fades(&mut chip), "it holds");
    chip.erase(BlockId(0)).unwrap();
    program(&mut chip, 0).unwrap();
    assert!(!fades(&mut chip), "an erase cures it");
}

#[test]
fn the_file_is_sparse() {
    let (_dir, path) = place();
    drop(ChipFile::create(&path, &spec().with_size(1 << 40).unwrap(), false).unwrap());
    let meta = path.metadata().unwrap();
    assert!(meta.len() > 1 << 40);
    assert!(meta.blocks() * 512 < 1 << 20, "{} bytes on disk", meta.blocks() * 512);
    let mut chip = ChipFile::open(&path, false).unwrap();
    let last = u32::try_from(chip.geometry().pages() - 1).unwrap();
    program(&mut chip, last).unwrap();
    assert!(holds(&mut chip, last));
}

#[test]
fn damage_of_a_power_cut_is_kept() {
    let (_dir, path) = place();
    let mut chip = ChipFile::create(&path, &spec(), false).unwrap();
    for at in 0..64 {
        program(&mut chip, at).unwrap();
    }
    chip.cut_after(0, CutMode::Half { seed: 2 });
    assert_eq!(chip.erase(BlockId(0)), Err(NandError::PowerLost));
    let mut states: Vec<_> = (0..64).map(|at| chip.page_state(PageId(at)).unwrap()).collect();
    drop(chip);
    let mut chip = ChipFile::open(&path, false).unwrap();
    let mut reopened: Vec<_> = (0..64).map(|at| chip.page_state(PageId(at)).unwrap()).collect();
    assert_eq!(reopened, states);
    chip.power_on();
    chip.erase(BlockId(0)).unwrap();
    chip.cut_after(0, CutMode::Half { seed: 1 });
    chip.erase(BlockId(0)).unwrap_err();
    drop(chip);
    let mut chip = ChipFile::open(&path, false).unwrap();
    states.clear();
    reopened.clear();
    if let Ok(()) = program(&mut chip, 63) {
        let (mut data, mut spare) = contents(63);
        assert_eq!(chip.read(PageId(63), &mut data, &mut spare), Err(NandError::Uncorrectable(PageId(63))));
    }
}

#[test]
fn a_second_opener_hears_that_the_chip_is_in_use() {
    let (_dir, path) = place();
    let chip = ChipFile::create(&path, &spec(), false).unwrap();
    for read_only in [false, true] {
        let error = ChipFile::open(&path, read_only).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{} is in use by process {}", path.display(), std::process::id())
        );
    }
    assert!(
        matches!(ChipFile::create(&path, &spec(), true), Err(MediaError::Busy { .. })),
        "force breaks no lock"
    );
    drop(chip);
    let one = ChipFile::open(&path, true).unwrap();
    let two = ChipFile::open(&path, true).unwrap();
    assert!(matches!(ChipFile::open(&path, false), Err(MediaError::Busy { .. })));
    drop((one, two));
    ChipFile::open(&path, false).unwrap();
}

#[test]
fn read_only_changes_nothing() {
    let (_dir, path) = place();
    let mut chip = ChipFile::create(&path, &spec(), false).unwrap();
    program(&mut chip, 0).unwrap();
    drop(chip);
    let before = std::fs::read(&path).unwrap();
    let mut chip = ChipFile::open(&path, true).unwrap();
    assert!(holds(&mut chip, 0));
    assert_eq!(program(&mut chip, 1), Err(NandError::Device(30)));
    assert_eq!(chip.erase(BlockId(0)), Err(NandError::Device(30)));
    assert_eq!(chip.mark_bad(BlockId(0)), Err(NandError::Device(30)));
    assert_eq!(chip.flush(), Ok(()));
    drop(chip);
    assert!(std::fs::read(&path).unwrap() == before);
}

#[test]
fn an_existing_file_is_replaced_only_by_force() {
    let (_dir, path) = place();
    std::fs::write(&path, "precious").unwrap();
    assert!(matches!(ChipFile::create(&path, &spec(), false), Err(MediaError::Exists(_))));
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    ChipFile::create(&path, &spec(), true).unwrap();
}

fn refusal(path: &Path) -> String {
    let text = ChipFile::open(path, false).unwrap_err().to_string();
    assert!(!text.contains('\n') && !text.ends_with('.'), "{text}");
    text.replace(&path.display().to_string(), "FILE")
}

#[test]
fn foreign_and_damaged_files_are_refused_with_a_reason() {
    let (_dir, path) = place();
    assert!(refusal(&path).starts_with("cannot open FILE: "));
    std::fs::write(&path, "").unwrap();
    assert!(refusal(&path).contains("magic 0x0000000000000000 at byte 0"));
    std::fs::write(&path, [7; 9000]).unwrap();
    assert!(refusal(&path).starts_with("FILE is not a chip container (magic 0x0707070707070707"));

    drop(ChipFile::create(&path, &spec(), true).unwrap());
    let file = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let length = file.metadata().unwrap().len();
    file.set_len(length - 1).unwrap();
    assert_eq!(
        refusal(&path),
        format!("FILE has {} bytes, want {length}: it was cut off or is not whole", length - 1)
    );
    file.set_len(70).unwrap();
    assert!(refusal(&path).contains("the header ends at byte 70"));
    file.set_len(length).unwrap();

    let spoil = |at: u64, value: u8, want: &str| {
        drop(ChipFile::create(&path, &spec(), true).unwrap());
        file.write_all_at(&[value], at).unwrap();
        let found = refusal(&path);
        assert!(found.contains(want), "byte {at}: {found}");
    };
    spoil(8, 1, "chip container of version 1, this program reads version 3");
    spoil(30, 1, "the header is damaged (checksum 0x");
    spoil(80, 0, "the chip description is damaged (checksum 0x");
    spoil(4096 + 20, 0, "both slots of faults and work done are damaged");
}

#[test]
fn every_damaged_header_is_refused_or_harmless() {
    let (_dir, path) = place();
    drop(ChipFile::create(&path, &spec(), true).unwrap());
    let file = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let mut header = vec![0; 512];
    file.read_exact_at(&mut header, 0).unwrap();
    for at in 0..header.len() {
        file.write_all_at(&[header[at] ^ 0xFF], at as u64).unwrap();
        if let Ok(chip) = ChipFile::open(&path, true) {
            assert_eq!(*chip.spec(), spec(), "byte {at}");
        }
        file.write_all_at(&header[at..=at], at as u64).unwrap();
    }
}

#[test]
fn a_damaged_slot_falls_back_to_the_one_before() {
    let (_dir, path) = place();
    let mut chip = ChipFile::create(&path, &spec(), false).unwrap();
    chip.faults_mut().unreadable.insert(PageId(1));
    chip.flush().unwrap();
    chip.faults_mut().unreadable.insert(PageId(2));
    drop(chip);
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&[0; 4], 4096).unwrap();
    let chip = ChipFile::open(&path, true).unwrap();
    assert_eq!(chip.faults().unreadable.iter().collect::<Vec<_>>(), [&PageId(1)]);
}

#[test]
fn faults_too_many_for_a_slot_are_an_error_and_no_damage() {
    let (_dir, path) = place();
    let mut chip = ChipFile::create(&path, &spec(), false).unwrap();
    chip.faults_mut().unreadable = (0..65536).map(PageId).collect();
    assert_eq!(chip.flush(), Err(NandError::Device(27)));
    drop(chip);
    ChipFile::open(&path, false).unwrap();
}

#[test]
fn a_dump_goes_out_and_comes_in_again() {
    let spec = ChipSpec::parse_geometry("2048+64:4:8").unwrap();
    let mut chip = SimChip::new(&spec);
    program(&mut chip, 0).unwrap();
    program(&mut chip, 6).unwrap();
    chip.mark_bad(BlockId(3)).unwrap();
    let mut dump = Vec::new();
    assert_eq!(chip.export_dump(&mut dump).unwrap(), 2112 * 32);
    let page = |at: usize| &dump[at * 2112..(at + 1) * 2112];
    let (data, spare) = contents(6);
    assert_eq!(&page(6)[..2048], data);
    assert_eq!(&page(6)[2048..2050], [0xFF; 2], "the mark");
    assert_eq!(&page(6)[2050..2088], spare);
    assert_eq!(&page(6)[2088..], [0xFF; 24], "the bytes of ECC");
    assert!(page(5).iter().all(|b| *b == 0xFF));
    assert_eq!(page(12)[2048], 0);

    let mut other = SimChip::new(&spec);
    program(&mut other, 1).unwrap();
    other.erase(BlockId(2)).unwrap();
    other.import_dump(&mut Cursor::new(&dump)).unwrap();
    assert!(holds(&mut other, 0) && holds(&mut other, 6) && !holds(&mut other, 1));
    assert_eq!((other.is_bad(BlockId(3)), other.is_bad(BlockId(0))), (Ok(true), Ok(false)));
    assert_eq!(other.erase_count(BlockId(2)), 1);
    assert!(program(&mut other, 5).is_err(), "a later page is programmed");
    program(&mut other, 7).unwrap();
    let mut again = Vec::new();
    chip.export_dump(&mut again).unwrap();
    assert_eq!(again, dump);
}

#[test]
fn the_small_page_layout_has_its_mark_at_byte_five() {
    let spec = ChipSpec::named("k9s1208").unwrap().with_size(16384).unwrap();
    let mut chip = SimChip::new(&spec);
    chip.program(PageId(1), &[1; 512], &[2; 8]).unwrap();
    chip.mark_bad(BlockId(0)).unwrap();
    let mut dump = Vec::new();
    chip.export_dump(&mut dump).unwrap();
    assert_eq!(
        dump[512..528],
        [255, 255, 255, 255, 255, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255]
    );
    assert_eq!(dump[528 + 512..528 + 528], [255, 255, 255, 255, 255, 255, 255, 255, 2, 2, 2, 2, 2, 2, 2, 2]);
}

#[test]
fn a_dump_of_another_chip_is_refused_untouched() {
    let mut chip = SimChip::new(&ChipSpec::parse_geometry("2048+64:4:8").unwrap());
    program(&mut chip, 0).unwrap();
    let error = chip.import_dump(&mut Cursor::new(vec![0; 67583])).unwrap_err();
    assert_eq!(error.to_string(), "the dump has 67583 bytes, want 67584: 32 pages of 2048+64 bytes");
    assert!(holds(&mut chip, 0));
}
