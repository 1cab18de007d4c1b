//! A quick scrub of a disk finds segments without fitting parity by spare areas alone, and empties them.

use crate::common::{Case, content, policies};
use pumice_ftl::{Ftl, FtlError, OpenOptions};
use pumice_media::{BlockDevice, Lba, Nand, SimChip};

fn opened(chip: SimChip) -> Ftl<SimChip> {
    Ftl::open(chip, OpenOptions::default()).unwrap()
}

/// A disk with something in every block, closed.
fn filled(case: Case) -> SimChip {
    let mut disk = opened(case.chip(500, &policies("greedy", "sepbit", "none")));
    for lba in 0..disk.blocks() {
        disk.write(Lba(lba), &content(lba, 1, case.block_bytes as usize)).unwrap();
    }
    disk.close().unwrap()
}

fn is_whole(disk: &mut Ftl<SimChip>, block_bytes: u32) -> bool {
    let mut bytes = vec![0; block_bytes as usize];
    (0..disk.blocks())
        .all(|lba| disk.read(Lba(lba), &mut bytes).is_ok() && bytes == content(lba, 1, bytes.len()))
}

#[test]
fn segments_without_fitting_parity_are_emptied() {
    // Two pages of the chip to a page of the log, the last of which has the signature.
    let ganged = Case { name: "ganged", geometry: "2048+64:36:40", block_bytes: 4096, parity: 2 };
    for case in [ganged, Case::named("leaves-parity")] {
        let name = case.name;
        let mut disk = opened(filled(case));
        let before = disk.chip().stats();
        let sound = disk.quick_scrub(&mut |_, _| {}).unwrap();
        let did = disk.chip().stats() - before;
        assert_eq!((sound.weak_segments, sound.spare_areas), (0, did.spare_reads), "{name}");
        assert!(did.spare_reads > 0 && (did.page_reads, did.programs) == (0, 0), "{name}: {did:?}");
        let mut chip = disk.close().unwrap();
        // The last page of every segment that is filled to its end.
        let geometry = chip.geometry();
        let last = |block: u32| geometry.page(pumice_media::BlockId(block), geometry.pages_per_block - 1);
        let filled = (4..geometry.blocks).map(last);
        let filled: Vec<_> = filled.filter(|page| chip.page_state(*page).unwrap().is_written()).collect();
        chip.faults_mut().unreadable.extend(filled);
        let mut disk = opened(chip);
        let found = disk.quick_scrub(&mut |_, _| {}).unwrap();
        assert!(found.weak_segments > 4 && found.pages == 0, "{name}: {found:?}");
        assert_eq!(disk.quick_scrub(&mut |_, _| {}).unwrap().weak_segments, 0, "{name}");
        assert!(is_whole(&mut disk, case.block_bytes), "{name}");
    }
}

#[test]
fn where_there_are_no_signatures_it_is_refused() {
    for (name, parity) in [("summary", 0), ("parity", 1)] {
        let mut disk = opened(filled(Case::named(name)));
        assert_eq!(disk.quick_scrub(&mut |_, _| {}), Err(FtlError::NoSignatures { parity }), "{name}");
    }
}
