//! Memory and file are the same chip: random calls, with faults and power cuts, give the same answers on
//! both, also when the file is closed and opened between them.

use fastrand::Rng;
use pumice_knobs::MEDIA_STORES;
use pumice_media::{
    BlockId, ChipFile, ChipSpec, CutMode, Nand, NandError, PageId, Pairing, Rate, ReadDisturb, ReadOutcome,
    Retention, SimChip, Store,
};

const PAGES: u32 = 8;
const BLOCKS: u32 = 6;

/// The answer of a call; reads with their bytes.
type Answer = (Result<Option<ReadOutcome>, NandError>, Vec<u8>);

/// Makes the call that `rng` draws.
fn call<S: Store>(chip: &mut SimChip<S>, mut rng: Rng) -> Answer {
    let g = chip.geometry();
    let page = PageId(rng.u32(..PAGES * BLOCKS));
    let block = g.block_of(page);
    let mut data = vec![rng.u8(..); g.page_bytes as usize];
    let mut spare = vec![rng.u8(..); g.free_spare_bytes as usize];
    let done = |result: Result<(), NandError>| (result.map(|()| None), Vec::new());
    match rng.u8(..64) {
        0..30 => {
            // Mostly the next page, so that programs are allowed.
            let index = (0..PAGES).find(|i| !chip.page_state(g.page(block, *i)).unwrap().is_written());
            let page = if rng.u8(..8) > 0 { g.page(block, index.unwrap_or(0)) } else { page };
            done(chip.program(page, &data, &spare))
        }
        30..36 => done(chip.erase(block)),
        36..56 => {
            let outcome = chip.read(page, &mut data, &mut spare).map(Some);
            data.extend(&spare);
            (outcome, data)
        }
        56 => {
            chip.pass(rng.u32(..4_000_000));
            done(Ok(()))
        }
        57..60 => (chip.read_spare(page, &mut spare).map(Some), spare),
        60 if rng.u8(..8) == 0 => done(chip.mark_bad(block)),
        60 | 61 => done(chip.is_bad(block).map(drop)),
        62 => {
            let seed = rng.u64(..);
            let modes = [
                CutMode::Nothing,
                CutMode::Complete,
                CutMode::Torn { seed },
                CutMode::Garbage { seed },
                CutMode::Half { seed },
                CutMode::Unstable { seed },
            ];
            chip.cut_after(rng.u64(..10), modes[rng.usize(..modes.len())]);
            done(Ok(()))
        }
        _ => {
            chip.power_on();
            done(chip.flush())
        }
    }
}

fn set_faults<S: Store>(chip: &mut SimChip<S>, seed: u64) {
    let rate = |per_billion| Some(Rate { per_billion, seed });
    let faults = chip.faults_mut();
    faults.program_fail_rate = rate(20_000_000);
    faults.erase_fail_rate = rate(20_000_000);
    faults.retention = Some(Retention { millibits_per_month: 900, seed });
    faults.read_disturb = Some(ReadDisturb { harmless_reads: 40, reads_per_flip: 10, seed });
    faults.read_fail_rate = rate(10_000_000);
    faults.factory_bad.insert(BlockId(2));
}

#[test]
fn memory_and_file_answer_alike() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("chip");
    let seeds = MEDIA_STORES.seeds(0..60);
    for seed in seeds.clone() {
        let pairing = [Pairing::Unpaired, Pairing::Dist3, Pairing::WordLine { pages: 4 }];
        let spec = ChipSpec::parse_geometry(&format!("512+16:{PAGES}:{BLOCKS}")).unwrap();
        let spec = spec.with_pairing(pairing[usize::try_from(seed % 3).unwrap()]).unwrap();
        let mut memory = SimChip::new(&spec);
        let mut file = ChipFile::create(&path, &spec, true).unwrap();
        if seed % 2 == 1 {
            set_faults(&mut memory, seed);
            set_faults(&mut file, seed);
        }
        let mut rng = Rng::with_seed(seed);
        for step in 0..500 {
            let draw = rng.fork();
            assert_eq!(
                call(&mut memory, draw.clone()),
                call(&mut file, draw),
                "PUMICE_SEED={seed}, step {step}"
            );
            if rng.u8(..50) == 0 {
                drop(file);
                file = ChipFile::open(&path, false).unwrap();
                memory.power_on();
            }
        }
        assert_eq!(memory.lifetime_stats(), file.lifetime_stats());
        for block in (0..BLOCKS).map(BlockId) {
            assert_eq!(memory.erase_count(block), file.erase_count(block));
            assert_eq!(memory.reads(block), file.reads(block));
        }
    }
    MEDIA_STORES.ran(seeds.clone(), seeds.end - seeds.start);
}

#[test]
fn a_clone_goes_its_own_way_under_random_calls() {
    let spec = ChipSpec::parse_geometry(&format!("512+16:{PAGES}:{BLOCKS}")).unwrap();
    let seeds = MEDIA_STORES.seeds(0..60);
    for seed in seeds.clone() {
        let mut rng = Rng::with_seed(seed);
        let mut chip = SimChip::new(&spec);
        for _ in 0..100 {
            let _ = call(&mut chip, rng.fork());
        }
        let mut witness = chip.clone();
        let mut other = chip.clone();
        for _ in 0..100 {
            let _ = call(&mut other, rng.fork());
        }
        for _ in 0..200 {
            let draw = rng.fork();
            assert_eq!(call(&mut chip, draw.clone()), call(&mut witness, draw), "PUMICE_SEED={seed}");
        }
    }
    MEDIA_STORES.ran(seeds.clone(), seeds.end - seeds.start);
}

#[test]
fn absurd_faults_are_slow_at_worst() {
    let mut chip = SimChip::new(&ChipSpec::named("tlc-16k-96g").unwrap());
    let g = chip.geometry();
    let (mut data, mut spare) = (vec![0; g.page_bytes as usize], vec![0; g.free_spare_bytes as usize]);
    chip.program(PageId(0), &data, &spare).unwrap();
    let all = Some(Rate { per_billion: u32::MAX, seed: 1 });
    let faults = chip.faults_mut();
    faults.read_flip_rate = all;
    faults.retention = Some(Retention { millibits_per_month: u32::MAX, seed: 1 });
    faults.read_disturb = Some(ReadDisturb { harmless_reads: 0, reads_per_flip: 0, seed: 1 });
    faults.flips.insert(pumice_media::BitFlip { page: PageId(0), bit: u32::MAX });
    assert_eq!(chip.read(PageId(0), &mut data, &mut spare), Err(NandError::Uncorrectable(PageId(0))));
    chip.pass(u32::MAX);
    chip.pass(u32::MAX);
    assert_eq!(chip.read(PageId(0), &mut data, &mut spare), Err(NandError::Uncorrectable(PageId(0))));
    chip.faults_mut().program_fail_rate = all;
    assert_eq!(chip.program(PageId(1), &data, &spare), Err(NandError::ProgramFailed(PageId(1))));
}
