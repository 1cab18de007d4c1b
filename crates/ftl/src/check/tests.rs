//! Canaries: each kind of damage is planted, has to be found by its name, and is gone after a repair.

use alloc::{vec, vec::Vec};

use pumice_media::{BlockDevice, BlockId, ChipSpec, Lba, Nand, PageId, SimChip};

use super::*;
use crate::error::FtlError;
use crate::layout::VERSION;
use crate::open::{CreateOptions, OpenOptions, create};
use crate::repair::{RepairOptions, repair};
use crate::tag::Entry;
use crate::testing::{chip_of, served, served_with};

/// Tags and summaries; a tag beside each page; a proof alone.
const LAYOUTS: [&str; 3] = ["2048+64:32:32", "2048+64:8:40", "4096+54:16:40"];

/// A disk in use, everything flushed.
fn used(geometry: &str) -> Server<'static> {
    let mut chip = SimChip::new(&ChipSpec::parse_geometry(geometry).unwrap());
    let options = CreateOptions { block_bytes: 2048.max(page_bytes(&chip)), ..CreateOptions::default() };
    create(&mut chip, &options, &mut |_, _| {}).unwrap();
    let mut disk = served(chip);
    let bytes = vec![7; options.block_bytes as usize];
    let blocks = disk.blocks();
    for round in 0..2 * blocks {
        disk.write(Lba(round * 37 % blocks), &bytes).unwrap();
    }
    disk.flush().unwrap();
    disk
}

fn page_bytes(chip: &SimChip) -> u32 {
    chip.geometry().page_bytes
}

/// The chip of a disk that is closed, after this was done to it in memory.
fn closed(mut disk: Server<'static>, tamper: impl FnOnce(&mut Server<'static>)) -> SimChip {
    disk.write_checkpoint(false).unwrap();
    tamper(&mut disk);
    disk.write_checkpoint(true).unwrap();
    chip_of(&disk)
}

/// Lets a check find this, a repair mend it, and a second check find nothing.
#[track_caller]
fn is_found(code: &str, chip: SimChip) {
    let report = check(chip.clone(), &mut |_, _| {}).unwrap();
    assert!(report.findings.iter().any(|finding| finding.code == code), "{code}: {report:?}");
    let options = RepairOptions { dry_run: false, uuid: [1; 16] };
    let (chip, fixes) = repair(chip, options, &mut |_, _| {}).unwrap();
    assert!(fixes.iter().any(|finding| finding.code == code), "{code}: {fixes:?}");
    let report = check(chip, &mut |_, _| {}).unwrap();
    assert!(report.findings.is_empty(), "{code}, a second check: {report:?}");
}

/// The chip pages of a log page.
fn parts(disk: &Server<'static>, place: Place) -> Vec<PageId> {
    let page = disk.log.shape.page(place);
    (0..disk.log.shape.medium.parts()).map(|part| disk.log.shape.medium.chip_page(page, part)).collect()
}

/// A sealed segment in which something lives.
fn sealed(disk: &Server<'static>) -> u32 {
    let mut sealed = disk.log.segments.iter().filter(|(_, s)| s.state == State::Sealed && s.valid > 0);
    sealed.next().unwrap().0
}

#[test]
fn a_sound_disk_is_sound_and_was_seen_whole() {
    for geometry in LAYOUTS {
        let disk = used(geometry);
        let blocks = disk.blocks();
        for chip in [chip_of(&disk), closed(disk, |_| {})] {
            let report = check(chip, &mut |_, _| {}).unwrap();
            assert!(report.findings.is_empty() && report.notes.is_empty(), "{geometry}: {report:?}");
            assert_eq!((report.stored_blocks, u64::from(report.logical_blocks)), (blocks, blocks));
        }
    }
}

#[test]
fn two_blocks_exchanged_in_the_table() {
    for geometry in LAYOUTS {
        let swap = |disk: &mut Server<'static>| {
            let (one, other) =
                (disk.map.addr(&mut disk.log, 3).unwrap(), disk.map.addr(&mut disk.log, 4).unwrap());
            disk.map.set_addr(&mut disk.log, 3, other).unwrap();
            disk.map.set_addr(&mut disk.log, 4, one).unwrap();
        };
        is_found("table", closed(used(geometry), swap));
    }
}

#[test]
fn an_older_copy_in_the_table() {
    for geometry in LAYOUTS {
        let mut disk = used(geometry);
        let older = disk.map.addr(&mut disk.log, 5).unwrap();
        disk.write(Lba(5), &vec![9; disk.block_bytes() as usize]).unwrap();
        disk.flush().unwrap();
        let point_back = |disk: &mut Server<'static>| {
            disk.map.set_addr(&mut disk.log, 5, older).unwrap();
        };
        is_found("table", closed(disk, point_back));
    }
}

#[test]
fn a_block_beyond_the_disk() {
    for geometry in LAYOUTS {
        let mut disk = used(geometry);
        let (lba, data) = (disk.map.table.len() + 3, vec![9; disk.block_bytes() as usize]);
        let at = disk.head_for_user(0).unwrap();
        let block = disk.log.heads.get(at).unwrap().block;
        disk.append(at, Entry { lba, written: disk.log.clock }, &data).unwrap();
        disk.log.segments.change(block, |segment| segment.valid -= 1);
        disk.flush().unwrap();
        is_found("page", chip_of(&disk));
        is_found("page", closed(disk, |_| {}));
    }
}

#[test]
fn a_wrong_count_of_erases() {
    for geometry in LAYOUTS {
        let disk = used(geometry);
        let block = sealed(&disk);
        is_found("segment", closed(disk, |disk| disk.log.segments.change(block, |s| s.erases += 1)));
        let disk = used(geometry);
        let block = sealed(&disk);
        is_found("segment", closed(disk, |disk| disk.log.segments.change(block, |s| s.erases = 0)));
    }
}

#[test]
fn a_head_that_does_not_fit() {
    for geometry in LAYOUTS {
        let change = |disk: &mut Server<'static>| {
            let mut heads = disk.log.heads.iter_mut();
            let head = heads.find(|head| head.contents.sequences.len() > 1).unwrap();
            head.contents.entries[0].lba = 11;
        };
        is_found("heads", closed(used(geometry), change));
    }
}

#[test]
fn failures_that_never_were() {
    for geometry in LAYOUTS {
        is_found("checkpoint", closed(used(geometry), |disk| disk.log.segments.set_failures(3)));
    }
}

#[test]
fn a_page_of_the_checkpoint() {
    for geometry in LAYOUTS {
        let chip = closed(used(geometry), |_| {});
        let disk = served_with(chip, OpenOptions { read_only: true, ..OpenOptions::default() });
        let pages = parts(&disk, Place { block: disk.log.recorded.record.segments[0], index: 0 });
        let mut chip = chip_of(&disk);
        chip.faults_mut().unreadable.extend(pages);
        is_found("checkpoint", chip);
    }
}

#[test]
fn a_ring_of_anchors() {
    for geometry in LAYOUTS {
        for ring in [0, 2] {
            let mut chip = closed(used(geometry), |_| {});
            chip.erase(BlockId(ring)).unwrap();
            chip.erase(BlockId(ring + 1)).unwrap();
            is_found("anchors", chip);
        }
    }
}

#[test]
fn a_copy_of_the_records() {
    // Where a block holds two records at most, a power cut may have left the other empty.
    let mut found = 0;
    for geometry in LAYOUTS {
        for copy in 0..2 {
            let mut disk = used(geometry);
            // More than one record, so that no power cut explains that the other block has none.
            (0..3).for_each(|_| disk.write_checkpoint(false).unwrap());
            let chip = closed(disk, |_| {});
            let disk = served_with(chip, OpenOptions { read_only: true, ..OpenOptions::default() });
            let block = disk.log.recorded.roots.blocks().nth(copy).unwrap();
            let mut chip = chip_of(&disk);
            chip.erase(BlockId(block)).unwrap();
            let report = check(chip.clone(), &mut |_, _| {}).unwrap();
            if report.notes.iter().all(|note| note.code != "records") {
                is_found("records", chip);
                found += 1;
            }
        }
    }
    assert!(found >= 4, "{found}");
}

#[test]
fn a_block_that_cannot_be_read() {
    for geometry in LAYOUTS {
        let mut disk = used(geometry);
        let addr = disk.map.addr(&mut disk.log, 9).unwrap();
        let pages = parts(&disk, disk.log.shape.place(addr).0);
        let mut chip = closed(disk, |_| {});
        chip.faults_mut().unreadable.extend(pages);
        let report = check(chip.clone(), &mut |_, _| {}).unwrap();
        assert!(report.lost.contains(&9), "{geometry}: {report:?}");
        is_found("lost", chip);
    }
}

#[test]
fn a_mark_on_a_block_in_use() {
    for geometry in LAYOUTS {
        let disk = used(geometry);
        let block = sealed(&disk);
        let mut chip = closed(disk, |_| {});
        chip.mark_bad(BlockId(block)).unwrap();
        is_found("bad-block", chip);
    }
}

#[test]
fn no_summary() {
    let disk = used(LAYOUTS[2]);
    let block = sealed(&disk);
    let used = u32::from(disk.log.segments.get(block).used);
    let pages = (used - 2..used).flat_map(|index| parts(&disk, Place { block, index })).collect::<Vec<_>>();
    // Those that commits left before it must be gone, too.
    let earlier = (1..used - 2).flat_map(|index| parts(&disk, Place { block, index }));
    let earlier = earlier.collect::<Vec<_>>();
    let mut chip = closed(disk, |_| {});
    chip.faults_mut().unreadable.extend(pages);
    let mut all = chip.clone();
    all.faults_mut().unreadable.extend(earlier);
    is_found("summary", chip);
    is_found("summary", all);
}

#[test]
fn no_block_is_older_for_want_of_the_last_summaries() {
    let mut disk = used(LAYOUTS[2]);
    let blocks = disk.blocks();
    let mark = |lba: u64| u8::try_from(lba % 251).unwrap();
    for lba in 0..blocks {
        let bytes = vec![mark(lba); disk.block_bytes() as usize];
        disk.write(Lba(lba), &bytes).unwrap();
        if lba % 5 == 0 {
            disk.flush().unwrap();
        }
    }
    disk.flush().unwrap();
    let mut ends = Vec::new();
    for (block, segment) in disk.log.segments.iter().filter(|(_, segment)| segment.valid > 0) {
        let head = disk.log.heads.iter().find(|head| head.block == block);
        let end = head.map_or(u32::from(segment.used), |head| head.index);
        let pages = (end - 2..end).flat_map(|index| parts(&disk, Place { block, index }));
        ends.push((block, segment.state, pages.collect::<Vec<_>>()));
    }
    assert!([State::Open, State::Sealed].iter().all(|state| ends.iter().any(|(_, known, _)| known == state)));
    let sound = closed(disk, |_| {});
    for (block, state, pages) in ends {
        let mut chip = sound.clone();
        chip.faults_mut().unreadable.extend(pages);
        let report = check(chip.clone(), &mut |_, _| {}).unwrap();
        assert!(report.findings.iter().all(|finding| finding.code == "summary"), "{block}: {report:?}");
        assert_eq!(report.findings.len(), 1, "{block}, {state:?}");
        let options = RepairOptions { dry_run: false, uuid: [1; 16] };
        let (chip, _) = repair(chip, options, &mut |_, _| {}).unwrap();
        let mut disk = served(chip);
        let mut bytes = vec![0; disk.block_bytes() as usize];
        for lba in 0..blocks {
            disk.read(Lba(lba), &mut bytes).unwrap();
            assert!(bytes.iter().all(|byte| *byte == mark(lba)), "block {lba}, segment {block}");
        }
    }
}

#[test]
fn no_summary_and_none_before_it() {
    let mut disk = used(LAYOUTS[2]);
    // Of one that no commit left an earlier summary in.
    let sealed =
        disk.log.segments.iter().filter(|(_, s)| s.state == State::Sealed && s.valid > 0 && s.used > 8);
    let sealed = sealed.map(|(block, s)| (block, u32::from(s.used))).collect::<Vec<_>>();
    let mut alone = sealed.into_iter().filter(|(block, used)| {
        let mut earlier = (1..used - 2).map(|index| Place { block: *block, index });
        earlier.all(|place| disk.log.flash.read_summary(place).unwrap().is_none())
    });
    let (block, used) = alone.next().unwrap();
    let pages = (used - 2..used).flat_map(|index| parts(&disk, Place { block, index })).collect::<Vec<_>>();
    // Nothing is left but the first page.
    let earlier = (1..used - 2).flat_map(|index| parts(&disk, Place { block, index }));
    let earlier = earlier.collect::<Vec<_>>();
    let mut chip = closed(disk, |_| {});
    chip.faults_mut().unreadable.extend(pages);
    let mut all = chip.clone();
    all.faults_mut().unreadable.extend(earlier);
    is_found("summary", chip);
    is_found("summary", all);
}

#[test]
fn a_summary_that_lies() {
    let mut disk = used(LAYOUTS[0]);
    let lie = |disk: &mut Server<'static>| {
        let full = disk.log.shape.data_pages() - 1;
        let heads = disk.log.heads.iter_mut();
        let found = heads.filter(|head| head.index == full).count();
        disk.log.heads.iter_mut().for_each(|head| {
            if head.index == full {
                head.contents.entries[1].written ^= 1;
            }
        });
        found > 0
    };
    let bytes = vec![3; disk.block_bytes() as usize];
    while !lie(&mut disk) {
        disk.write(Lba(1), &bytes).unwrap();
        disk.flush().unwrap();
    }
    for lba in 20..60 {
        disk.write(Lba(lba), &bytes).unwrap();
    }
    disk.flush().unwrap();
    is_found("summary", closed(disk, |_| {}));
}

#[test]
fn a_copy_of_trims() {
    for geometry in &LAYOUTS[..2] {
        let mut disk = used(geometry);
        disk.write_checkpoint(false).unwrap();
        disk.discard(Lba(7), 3).unwrap();
        disk.flush().unwrap();
        disk.write(Lba(1), &vec![3; disk.block_bytes() as usize]).unwrap();
        disk.flush().unwrap();
        let trims = (0..disk.log.shape.blocks * disk.log.shape.pages)
            .map(|page| Place { block: page / disk.log.shape.pages, index: page % disk.log.shape.pages });
        let mut found = Vec::new();
        for place in trims.collect::<Vec<_>>() {
            if disk.log.flash.read(place).unwrap().of_kind(Kind::Trim).is_some() {
                found.push(place);
            }
        }
        assert_eq!(found.len(), 2, "{geometry}");
        let pages = parts(&disk, found[0]);
        let mut chip = chip_of(&disk);
        chip.faults_mut().unreadable.extend(pages);
        is_found("trims", chip);
    }
}

/// The first write after a power cut is followed by a page of trims without a range, which has no copy.
#[test]
fn a_page_without_a_trim_needs_no_copy() {
    let mut disk = used("2048+64:8:40");
    disk.flush().unwrap();
    let mut disk = served(chip_of(&disk));
    assert!(!disk.log.aftermath.unsure.is_empty(), "no page is unsure");
    (0..3).for_each(|lba| disk.write(Lba(lba), &vec![9; disk.block_bytes() as usize]).unwrap());
    disk.flush().unwrap();
    let report = check(chip_of(&disk), &mut |_, _| {}).unwrap();
    assert_eq!((report.findings, report.start), (Vec::new(), Start::Recovered));
}

#[test]
fn a_disk_of_another_version_is_refused() {
    let mut disk = used(LAYOUTS[0]);
    let anchor = pumice_flashlog::Anchor { version: VERSION + 1, ..disk.log.recorded.roots.anchor().clone() };
    disk.log.recorded.roots = pumice_flashlog::Roots::blank(disk.log.shape.medium, anchor).unwrap();
    let chip = closed(disk, |_| {});
    assert_eq!(check(chip, &mut |_, _| {}).map(drop), Err(FtlError::Version(VERSION + 1)));
}
