//! Chunks that cleaning moved between an fsync and the loss of all roots.

use alloc::{format, vec};

use pumice_media::{BlockId, Nand, SimChip};
use pumice_vfs::FileKind;

use crate::api::repair;
use crate::dir::Bucket;
use crate::moving::{Reason, Supply};
use crate::nodes::ROOT;
use crate::options::RepairOptions;
use crate::pages::META;
use crate::params::ANCHOR_BLOCKS;
use crate::testing::{chip_of, formatted, mounted};
use crate::volume::Volume;

type Vol = Volume<'static>;

fn make(volume: &mut Vol, dir: u32, name: &str, kind: FileKind) -> u32 {
    volume.begin().unwrap();
    volume.make(dir, name, kind)
}

/// A directory of two buckets, a file that fsync promised since, and a checkpoint's bucket that cleaning then moved: not the
/// one that the new name belongs to. One name was taken away before.
fn moved_by_cleaning() -> Vol {
    let mut volume = mounted(formatted("2048+64:16:96"), 1 << 20);
    let many = make(&mut volume, ROOT, "many", FileKind::Dir);
    for n in 0..60 {
        make(&mut volume, many, &format!("a name that takes a little room {n}"), FileKind::File);
    }
    volume.checkpoint(false).unwrap();
    volume.begin().unwrap();
    volume.unlink_node(many, b"a name that takes a little room 7", false).unwrap();
    // Pages from here on lie in other blocks.
    for n in 0..volume.log.params.pages_per_block {
        make(&mut volume, ROOT, &format!("x{n}"), FileKind::File);
        volume.checkpoint(false).unwrap();
    }
    let new = make(&mut volume, many, "new", FileKind::File);
    volume.write(new, 0, b"promised");
    volume.fsync_node(new).unwrap();
    let here = Bucket::of(volume.files.name_hash(b"new"), 1).block();
    let other = u32::from(here == 0);
    let before = volume.files.map_get(&mut volume.log, many, other).unwrap();
    assert!(
        before.is_stored()
            && volume.files.cache.is_dirty(many, here)
            && !volume.files.cache.is_dirty(many, other)
    );
    let block = volume.log.params.block_of(before.page);
    evacuate(&mut volume, block);
    volume.log.program_all(&mut volume.files).unwrap();
    assert_ne!(volume.files.map_get(&mut volume.log, many, other).unwrap(), before, "nothing was moved");
    volume
}

/// Moves all live chunks out of a block.
fn evacuate(volume: &mut Volume<'_>, block: u32) {
    let usage = volume.log.usage(block).unwrap();
    let view = volume.log.blocks.view(&usage);
    let moving = volume.log.start_move(&mut volume.files, block, Reason::Space, view).unwrap();
    volume.log.cleaner.take();
    volume.log.cleaner.begin(moving);
    volume.log.clean_one(&mut volume.files, Supply::Ample).unwrap();
}

/// A file with two blocks promised by fsync, one after the other; cleaning copied its node before the first, into a
/// page that was programmed between both.
fn node_copied_before_a_promise() -> (Vol, u32) {
    let mut volume = mounted(formatted("16384+1952:16:64"), 1 << 20);
    let file = make(&mut volume, ROOT, "file", FileKind::File);
    for block in 0..8 {
        volume.files.write_file(&mut volume.log, file, block * 4096, &[1; 4096]).unwrap();
    }
    volume.checkpoint(false).unwrap();
    let there = volume.files.nodes.addr(&mut volume.log.pages, file).unwrap();
    volume.log.pages.leave(volume.log.params.block_of(there.page)).unwrap();
    let block = volume.log.params.block_of(there.page);
    evacuate(&mut volume, block);
    assert_ne!(
        volume.files.nodes.addr(&mut volume.log.pages, file).unwrap(),
        there,
        "the node was not moved"
    );
    for block in 0..2 {
        volume.begin().unwrap();
        volume.files.write_file(&mut volume.log, file, block * 4096, &[2; 4096]).unwrap();
        volume.fsync_node(file).unwrap();
        volume.log.program(&mut volume.files, META, None).unwrap();
    }
    (volume, file)
}

fn both_are_there(chip: SimChip, file: u32) {
    let mut volume = mounted(chip, 1 << 20);
    for block in 0..2 {
        let mut byte = [0];
        volume.read(file, block * 4096, &mut byte);
        assert_eq!(byte, [2], "block {block} is older than its fsync");
    }
}

#[test]
fn a_copy_of_a_node_takes_nothing_back() {
    let (volume, file) = node_copied_before_a_promise();
    both_are_there(chip_of(volume), file);
}

#[test]
fn a_copy_of_a_node_takes_nothing_back_without_roots() {
    let (volume, file) = node_copied_before_a_promise();
    let records: vec::Vec<u32> =
        (0..volume.log.params.blocks).filter(|block| volume.log.roots.holds(*block)).collect();
    let mut chip = chip_of(volume);
    records.into_iter().chain(0..ANCHOR_BLOCKS).for_each(|block| chip.erase(BlockId(block)).unwrap());
    let (chip, _) = repair(chip, RepairOptions::default()).unwrap();
    both_are_there(chip, file);
}

#[test]
fn a_promised_file_stays_though_another_bucket_of_its_directory_is_newer() {
    for with_anchors in [true, false] {
        let volume = moved_by_cleaning();
        let records: vec::Vec<u32> =
            (0..volume.log.params.blocks).filter(|block| volume.log.roots.holds(*block)).collect();
        let mut chip = chip_of(volume);
        let anchors = 0..if with_anchors { 0 } else { ANCHOR_BLOCKS };
        records.into_iter().chain(anchors).for_each(|block| chip.erase(BlockId(block)).unwrap());
        let (chip, found) = repair(chip, RepairOptions::default()).unwrap();
        let mut volume = mounted(chip, 1 << 20);
        let many = volume.files.dir_find(&mut volume.log, ROOT, b"many").unwrap().unwrap().0;
        let (new, _) = volume
            .files
            .dir_find(&mut volume.log, many, b"new")
            .unwrap()
            .unwrap_or_else(|| panic!("dropped: {found:?}"));
        let mut bytes = vec![0; 8];
        volume.read(new, 0, &mut bytes);
        assert_eq!(bytes, b"promised");
        assert_eq!(
            volume.files.dir_find(&mut volume.log, many, b"a name that takes a little room 7").unwrap(),
            None
        );
        assert_eq!(volume.files.inode(&mut volume.log, many).unwrap().size, 60);
    }
}
