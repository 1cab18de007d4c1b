//! Damaged and hostile chips: no panic, no hang, and memory in proportion to the chip. Pages are changed at random and,
//! so that the damage gets past the door, sealed again: the checksums here follow the specification, not the code.

use std::cell::Cell;

use crate::common::raw::{LogPage, Seal, Tagged, check as header_check, read};
use crate::common::{CASES, Case, Step, chip_of, policies, start};
use pumice_ftl::{Ftl, FtlError, OpenOptions, RepairOptions, check, repair};
use pumice_knobs::FTL_DAMAGE;
use pumice_media::{BlockDevice, BlockId, Layer, Lba, Nand, NandError, PageId, ReadOutcome, SimChip};

/// A chip that ends the run once a call has made it do more than any call should.
struct Bounded {
    chip: SimChip,
    left: Cell<u64>,
}

impl Bounded {
    fn new(chip: SimChip) -> Bounded {
        let left = Cell::new(chip.geometry().pages() * 300);
        Bounded { chip, left }
    }

    fn spend(&self) {
        self.left.set(self.left.get().checked_sub(1).unwrap_or_else(|| panic!("no end of operations")));
    }
}

impl Layer for Bounded {
    type Chip = SimChip;
    fn behind(&self) -> &SimChip {
        &self.chip
    }
    fn behind_mut(&mut self) -> &mut SimChip {
        &mut self.chip
    }
    fn pass_read(
        &mut self,
        page: PageId,
        data: &mut [u8],
        spare: &mut [u8],
    ) -> Result<ReadOutcome, NandError> {
        self.spend();
        self.chip.read(page, data, spare)
    }
    fn pass_read_spare(&mut self, page: PageId, spare: &mut [u8]) -> Result<ReadOutcome, NandError> {
        self.spend();
        self.chip.read_spare(page, spare)
    }
    fn pass_program(&mut self, page: PageId, data: &[u8], spare: &[u8]) -> Result<(), NandError> {
        self.spend();
        self.chip.program(page, data, spare)
    }
    fn pass_erase(&mut self, block: BlockId) -> Result<(), NandError> {
        self.spend();
        self.chip.erase(block)
    }
}

/// A chip in use, closed or not.
fn populated(case: Case, seed: u64) -> SimChip {
    let mut disk = start(case.chip(600, &policies("cost-benefit", "sepbit", "none")));
    let mut rng = fastrand::Rng::with_seed(seed);
    let blocks = disk.blocks();
    for _ in 0..400 {
        match Step::random(&mut rng, blocks) {
            Step::Write { first, count } => {
                let bytes = vec![rng.u8(..); usize::try_from(count).unwrap() * case.block_bytes as usize];
                disk.write(Lba(first), &bytes).unwrap();
            }
            Step::Trim { first, count } => disk.discard(Lba(first), count.min(blocks - first)).unwrap(),
            _ => disk.flush().unwrap(),
        }
    }
    if seed.is_multiple_of(2) { disk.close().unwrap() } else { chip_of(&disk).clone() }
}

/// Copies a chip, with `damage` done to its log pages.
fn copy(case: Case, chip: &mut SimChip, mut damage: impl FnMut(Seal, u32, u32, &mut LogPage)) -> SimChip {
    let geometry = chip.geometry();
    let mut copied = SimChip::new(&case.spec());
    for block in 0..geometry.blocks {
        // Roots are pages of their own size.
        let first = read(chip, block, 0, case.gang(true));
        let is_root = block < 4 || Seal::of(case, true).kind(&first, block, 0) == Some(14);
        let (gang, seal) = (case.gang(is_root), Seal::of(case, is_root));
        for index in 0..geometry.pages_per_block / gang {
            let mut page = read(chip, block, index, gang);
            if page.data.iter().chain(&page.spare).all(|byte| *byte == 0xff) {
                continue;
            }
            damage(seal, block, index, &mut page);
            let parts = page.data.chunks(geometry.page_bytes as usize);
            for (part, (data, spare)) in
                (0..).zip(parts.zip(page.spare.chunks(geometry.free_spare_bytes as usize)))
            {
                let _ = copied.program(geometry.page(BlockId(block), index * gang + part), data, spare);
            }
        }
    }
    copied
}

fn reseal(seal: Seal, page: &mut LogPage, block: u32, index: u32, kind: u8) {
    let (payload, mut tag) = seal.tagged.parts(page);
    if seal.tagged == Tagged::Proof {
        tag.copy_from_slice(&seal.sum(&payload, block, index, &[kind]));
    } else {
        tag[7] = header_check(&tag[..7]);
        let sum = seal.sum(&payload, block, index, &[&tag[..8], &tag[12..]].concat());
        tag[8..12].copy_from_slice(&sum);
    }
    match seal.tagged {
        Tagged::Page => page.data[payload.len()..].copy_from_slice(&tag),
        Tagged::Spare(_) | Tagged::Proof => page.spare[..tag.len()].copy_from_slice(&tag),
    }
}

/// Changes a few fields: most often to something that fields hold.
fn scramble(rng: &mut fastrand::Rng, bytes: &mut [u8]) {
    let near = rng.bool();
    for _ in 0..rng.usize(1..4) {
        let end = if near { bytes.len().min(256) } else { bytes.len() };
        let at = rng.usize(..end / 4) * 4;
        let value = match rng.u32(..6) {
            0 => 0,
            1 => u32::MAX,
            2 => u32::MAX - 1,
            3 => rng.u32(..64),
            4 => rng.u32(..5000),
            _ => rng.u32(..),
        };
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
}

/// Every call ends, with or without an error, whatever the chip holds.
fn work(chip: &SimChip, seed: u64) {
    let checked = check(Bounded::new(chip.clone()), &mut |_, _| {});
    let options = RepairOptions { dry_run: false, uuid: [1; 16] };
    if let Ok((chip, _)) = repair(Bounded::new(chip.clone()), options, &mut |_, _| {}) {
        assert!(checked.is_ok(), "repaired, and could not be checked: {checked:?}");
        assert!(check(chip.chip, &mut |_, _| {}).is_ok());
    }
    for (read_only, rebuild) in [(true, false), (true, true), (false, false), (false, true)] {
        let chip = Bounded::new(chip.clone());
        let Ok(mut disk) = Ftl::open(chip, OpenOptions { read_only, rebuild, ..OpenOptions::default() })
        else {
            continue;
        };
        let bytes = disk.block_bytes() as usize;
        let mut rng = fastrand::Rng::with_seed(seed);
        for lba in 0..disk.blocks() {
            let _ = disk.read(Lba(lba), &mut vec![0; bytes]);
        }
        for _ in 0..300 {
            chip_of(&disk).left.set(disk.chip().geometry().pages() * 300);
            let lba = rng.u64(..disk.blocks());
            let _ = match rng.u32(..10) {
                0 => disk.flush(),
                1 => disk.discard(Lba(lba), rng.u64(1..9).min(disk.blocks() - lba)),
                _ => disk.write(Lba(lba), &vec![7; bytes]),
            };
        }
        let _ = disk.close();
    }
}

/// Pages with noise, and pages sealed over changed fields.
#[test]
fn damage_ends_in_errors_at_worst() {
    let seeds = FTL_DAMAGE.seeds(0..32);
    for (number, case) in (0..).zip(CASES) {
        let mut met = [0_u32; 16];
        for seed in seeds.clone() {
            FTL_DAMAGE.begin(seed);
            let mut chip = populated(case, number * 1000 + seed % 4);
            let mut rng = fastrand::Rng::with_seed(number << 32 | seed);
            let wanted = [1, 2, 3, 4, 14, 15][rng.usize(..6)];
            let every = if matches!(wanted, 1 | 2) { 40 } else { 2 };
            let damaged = copy(case, &mut chip, |seal, block, index, page| {
                let found = seal.kind(page, block, index);
                if rng.u32(..400) == 0 {
                    rng.fill(&mut page.data);
                    return;
                }
                let Some(kind) = found.filter(|kind| *kind == wanted) else { return };
                if rng.u32(..every) != 0 {
                    return;
                }
                met[usize::from(kind)] += 1;
                match seal.tagged {
                    Tagged::Spare(bytes) if rng.bool() => scramble(&mut rng, &mut page.spare[..bytes]),
                    _ => scramble(&mut rng, &mut page.data),
                }
                reseal(seal, page, block, index, kind);
            });
            work(&damaged, seed);
        }
        let are_met = [1, 3, 4, 14, 15].iter().all(|kind| met[*kind] > 0);
        assert!(are_met || !FTL_DAMAGE.is_usual(), "{}: {met:?}", case.name);
    }
    FTL_DAMAGE.ran(seeds.clone(), (seeds.end - seeds.start) * CASES.len() as u64);
}

/// A faithful copy is the same disk: the damage is done by the damage, not by the copying.
#[test]
fn a_copy_without_damage_is_the_same() {
    for case in CASES {
        let mut chip = populated(case, 1);
        let mut copied = start(copy(case, &mut chip, |_, _, _, _| {}));
        let mut disk = start(chip);
        let bytes = case.block_bytes as usize;
        for lba in 0..disk.blocks() {
            let (mut want, mut found) = (vec![0; bytes], vec![1; bytes]);
            let about = |error| panic!("{}: block {lba}: {error}", case.name);
            disk.read(Lba(lba), &mut want).unwrap_or_else(about);
            copied.read(Lba(lba), &mut found).unwrap_or_else(about);
            assert!(want == found, "{}: block {lba}", case.name);
        }
    }
}

/// The same on a chip that is said to have no pairs, of a disk that was made for one that has.
#[test]
fn a_disk_for_other_pairs_is_refused() {
    let mut chip = Case::chip_of("tags/dist3", 300, &policies("greedy", "sepbit", "none"));
    let copied = copy(Case::named("tags"), &mut chip, |_, _, _, _| {});
    let refused = check(copied.clone(), &mut |_, _| {}).map(drop).unwrap_err();
    assert!(matches!(refused, FtlError::Pairing(_)), "{refused}");
    assert!(refused.to_string().contains("dist3"), "{refused}");
    assert_eq!(Ftl::open(copied, OpenOptions::default()).map(drop), Err(refused));
    start(chip);
}
