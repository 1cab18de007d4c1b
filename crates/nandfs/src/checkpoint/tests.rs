//! Nodes written ahead of a checkpoint, and a cut before it; a window with more blocks than a record names.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test that panics, with small numbers"
)]

use crate::blocks::State;
use pumice_media::{ChipSpec, SimChip};
use pumice_vfs::FileKind;

use super::*;
use crate::api::check;
use crate::mount::format;
use crate::nodes::ROOT;
use crate::options::FormatOptions;
use crate::testing::{chip_of, formatted, mounted};

const BLOCKS: u64 = 3000;
const BYTES: u64 = 2048;

/// A volume with a file of ones in its checkpoint. Half of its blocks were written over with twos since, and written
/// back; no fsync promised them, and their index nodes are written ahead of the next checkpoint.
fn written_ahead() -> (Volume<'static>, u32) {
    let mut volume = mounted(formatted("2048+64:16:512"), 1 << 22);
    volume.begin().unwrap();
    let file = volume.make(ROOT, "file", FileKind::File);
    for at in 0..BLOCKS {
        write(&mut volume, file, at, 1);
    }
    volume.checkpoint(false).unwrap();
    for at in (0..BLOCKS).step_by(2) {
        write(&mut volume, file, at, 2);
    }
    volume.files.write_back_all(&mut volume.log).unwrap();
    let checkpoints = volume.log.recorded.checkpoints();
    let mut pieces = 0;
    while volume.log.write_nodes_ahead(&mut volume.files).unwrap() {
        pieces += 1;
    }
    assert!(pieces > 1 && volume.files.nodes.has_ahead(), "{pieces} pieces were written ahead");
    assert_eq!(volume.log.recorded.checkpoints(), checkpoints);
    (volume, file)
}

fn write(volume: &mut Volume<'static>, file: u32, at: u64, byte: u8) {
    volume.begin_writing(BYTES as usize).unwrap();
    volume.files.write_file(&mut volume.log, file, at * BYTES, &[byte; BYTES as usize]).unwrap();
}

/// Cuts the power, and mounts again: the file has these bytes in its even blocks and ones in the others.
fn assert_after_cut(volume: Volume<'static>, file: u32, even: u8) {
    let mut volume = mounted(chip_of(volume), 1 << 22);
    for at in 0..BLOCKS {
        let mut bytes = [0; BYTES as usize];
        volume.read(file, at * BYTES, &mut bytes);
        let want = if at % 2 == 0 { even } else { 1 };
        assert_eq!(bytes, [want; BYTES as usize], "block {at}");
    }
    let found = check(chip_of(volume), &mut |_, _| {}).unwrap().findings;
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn nodes_ahead_of_a_checkpoint_that_never_comes_do_not_count() {
    let (volume, file) = written_ahead();
    assert_after_cut(volume, file, 1);
}

#[test]
fn an_fsync_promises_nodes_that_were_written_ahead() {
    let (mut volume, file) = written_ahead();
    volume.fsync_node(file).unwrap();
    assert_after_cut(volume, file, 2);
}

#[test]
fn a_sync_that_finds_all_nodes_written_ahead_makes_its_checkpoint() {
    let (mut volume, file) = written_ahead();
    assert!(volume.has_changes());
    volume.sync_all().unwrap();
    assert!(!volume.files.nodes.has_ahead());
    assert_after_cut(volume, file, 2);
}

#[test]
fn a_file_can_go_with_nodes_that_were_written_ahead() {
    let (mut volume, file) = written_ahead();
    volume.begin().unwrap();
    volume.files.truncate(&mut volume.log, file, 0).unwrap();
    volume.fsync_node(file).unwrap();
    let mut volume = mounted(chip_of(volume), 1 << 22);
    assert_eq!(volume.files.inode(&mut volume.log, file).unwrap().size, 0);
    let found = check(chip_of(volume), &mut |_, _| {}).unwrap().findings;
    assert!(found.is_empty(), "{found:?}");
}

/// An erase failed in a block of the window, and the power went before a record could tell: once the window has no room for it, the
/// table does.
#[test]
fn a_bad_block_that_leaves_the_window_is_told() {
    let mut chip = SimChip::new(&ChipSpec::parse_geometry("2048+64:16:512").unwrap());
    format(&mut chip, &FormatOptions::default(), &mut |_, _| {}).unwrap();
    let mut volume = mounted(chip, 1 << 22);
    volume.mark_in_use().unwrap();
    let place = volume.log.pages.own_blocks() - 1;
    let mut window = volume.log.pages.window().clone();
    window[place].erased = false;
    let block = window[place].block;
    volume.log.pages.set_window(window);
    volume.log.pages.mark_bad(block).unwrap();
    volume.log.leave_out().unwrap();
    assert_eq!(volume.log.usage(block).unwrap().state, State::Bad);
    volume.checkpoint(true).unwrap();
    let found = check(chip_of(volume), &mut |_, _| {}).unwrap().findings;
    assert!(found.is_empty(), "{found:?}");
}
