//! Chips with ECC that leaves the spare area out, as Linux's Hamming code does: single wrong bits there.

use crate::common::formatted;
use pumice_media::{Layer, Nand, NandError, PageId, ReadOutcome, SimChip};
use pumice_nandfs::{MountOptions, NandFs};
use pumice_vfs::{FileKind, FileSystem, Ino, NewNode, Timestamp};

const FILE: NewNode<'_> = NewNode { kind: FileKind::File, perm: 0o644, uid: 0, gid: 0, rdev: 0, target: b"" };
const FILES: u32 = 60;

/// A chip that gives every fourth spare area with a wrong bit, each time another, and has no idea that it does.
/// Superpages have four small pages, and so one wrong bit each.
struct Flipping {
    chip: SimChip,
    turn: u32,
}

impl Flipping {
    fn disturb(&mut self, spare: &mut [u8]) {
        let bits = u32::try_from(spare.len() * 8).unwrap_or(0);
        self.turn += 1;
        if let Some(bit) = self.turn.checked_rem(bits).filter(|_| self.turn.is_multiple_of(4)) {
            spare[bit as usize / 8] ^= 1 << (bit % 8);
        }
    }
}

impl Layer for Flipping {
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
        let outcome = self.chip.read(page, data, spare)?;
        self.disturb(spare);
        Ok(outcome)
    }
    fn pass_read_spare(&mut self, page: PageId, spare: &mut [u8]) -> Result<ReadOutcome, NandError> {
        let outcome = self.chip.read_spare(page, spare)?;
        self.disturb(spare);
        Ok(outcome)
    }
}

fn mounted(chip: Flipping) -> NandFs<Flipping> {
    let options = MountOptions::new(1 << 18, Box::new(Timestamp::default));
    NandFs::mount(chip, options).unwrap()
}

fn content(n: u32) -> Vec<u8> {
    (0..n * 100 + 9).map(|i| (i.wrapping_mul(n + 7) >> 3).to_le_bytes()[0]).collect()
}

/// Every file holds its written bytes, and the volume is sound.
fn sound(fs: NandFs<Flipping>, what: &str) -> Flipping {
    for n in 0..FILES {
        let found = fs.lookup(Ino::ROOT, format!("{n}").as_bytes()).unwrap();
        let mut bytes = vec![0; 10_000];
        let read = fs.read(found.ino, 0, &mut bytes).unwrap();
        assert_eq!(bytes[..read], content(n), "{what}: file {n}");
    }
    let mut chip = fs.unmount().unwrap();
    let turn = std::mem::replace(&mut chip.turn, 0);
    assert!(turn > 100, "{what}: read only {turn} times");
    let report = pumice_nandfs::check(chip.chip.clone(), &mut |_, _| {}).unwrap();
    assert!(report.findings.is_empty(), "{what}: {:?}", report.findings);
    chip
}

#[test]
fn one_wrong_bit_of_a_spare_area_costs_nothing() {
    for geometry in ["512+16:32:1024", "2048+64:64:128", "4096+128:16:80"] {
        let fs = mounted(Flipping { chip: formatted(geometry, Timestamp::default()), turn: 0 });
        for n in 0..FILES {
            let file = fs.create(Ino::ROOT, format!("{n}").as_bytes(), &FILE).unwrap().ino;
            fs.write(file, 0, &content(n)).unwrap();
            fs.fsync(file, false).unwrap();
        }
        let cut = mounted(fs.abandon().unwrap());
        let fs = mounted(sound(cut, &format!("{geometry}, after a power cut")));
        // Dead space on all sides: cleaning has to move the live data between.
        let fill = fs.create(Ino::ROOT, b"fill", &FILE).unwrap().ino;
        let room = fs.space().unwrap().free_bytes / 4096 / 8 * 7;
        for turn in 0..room * 4 {
            let block = turn.wrapping_mul(0x9e37_79b9) % room;
            fs.write(fill, block * 4096, &[turn.to_le_bytes()[0]; 4096]).unwrap();
        }
        sound(mounted(fs.unmount().unwrap()), &format!("{geometry}, after cleaning"));
    }
}
