//! Discards: what the device is told of, when, and that no power cut makes anybody miss it.

use std::collections::BTreeSet;

use pumice_f2fs::{DiscardUnit, Volume, WritableF2fs, WritableOptions, layout::BlockAddr};
use pumice_knobs::F2FS_STATES;
use pumice_media::BlockDevice;
use pumice_vfs::{Errno, FileKind, FileSystem, Ino, conformance::TestClock};

use super::{
    crash::{discarding_workloads, mount_by, options},
    power::{BLOCK, Event, Live},
    subject::{Shape, node, sound, volume},
};

fn with(unit: DiscardUnit) -> WritableOptions {
    WritableOptions { discard_unit: unit, ..options() }
}

/// Blocks of the main area that the last checkpoint has in use.
pub(crate) fn used(live: &Live) -> BTreeSet<usize> {
    let volume = Volume::open(vec![Box::new(live.clone())], 1 << 20).unwrap();
    let (start, end) =
        (volume.super_block().main_start().0, u32::try_from(volume.super_block().main_end()).unwrap());
    let used = (start..end).filter(|addr| volume.is_valid(BlockAddr(*addr)).unwrap());
    used.map(|addr| addr as usize).collect()
}

/// Runs that were discarded from event `from` on: the first block, and how many.
pub(crate) fn discarded(live: &Live, from: usize) -> Vec<(usize, usize)> {
    let log = live.log();
    let discards = log.events[from..].iter().filter_map(|event| match event {
        Event::Discard { first, count } => Some((*first, *count)),
        _ => None,
    });
    discards.collect()
}

fn make(fs: &WritableF2fs, name: &[u8], blocks: usize) {
    let file = fs.create(Ino::ROOT, name, &node(FileKind::File)).unwrap().ino;
    fs.write(file, 0, &vec![7; blocks * BLOCK]).unwrap();
}

/// Linux's names of the pieces: the device is told of runs, of segments, of sections; of nothing that is in use.
#[test]
fn the_device_is_told_in_such_pieces() {
    let shape = Shape { section_segments: Some(2), ..Shape::PLAIN };
    for unit in [DiscardUnit::Block, DiscardUnit::Segment, DiscardUnit::Section] {
        let live = Live::new(volume(128 << 20, &shape, &TestClock::new()));
        let fs = mount_by(&live, with(unit)).unwrap();
        for number in 0..9 {
            make(&fs, format!("small-{number}").as_bytes(), 40);
            make(&fs, format!("large-{number}").as_bytes(), 500);
        }
        fs.sync().unwrap();
        let before = live.count();
        for number in 2..7 {
            fs.unlink(Ino::ROOT, format!("large-{number}").as_bytes()).unwrap();
        }
        for number in [1, 3, 4, 5, 8] {
            fs.unlink(Ino::ROOT, format!("small-{number}").as_bytes()).unwrap();
        }
        fs.sync().unwrap();
        let told = discarded(&live, before);
        let start = Volume::open(vec![Box::new(live.clone())], 1 << 20).unwrap().super_block().main_start().0
            as usize;
        assert!(!told.is_empty(), "{unit:?}");
        let whole = |size: usize| {
            told.iter()
                .all(|(first, count)| (first - start).is_multiple_of(size) && count.is_multiple_of(size))
        };
        match unit {
            DiscardUnit::Block => {
                assert!(!whole(512) && told.iter().all(|(_, count)| *count >= 16), "{told:?}");
            }
            DiscardUnit::Segment => assert!(whole(512) && !whole(1024), "{told:?}"),
            DiscardUnit::Section => assert!(whole(1024), "{told:?}"),
        }
        let used = used(&live);
        assert!(
            told.iter().all(|(first, count)| used.range(*first..first + count).next().is_none()),
            "{unit:?}"
        );
        fs.unmount().unwrap();
        sound(&live);
    }
}

/// fstrim tells of all that is free, even where a mount discards nothing; of the range and in the pieces that it asks for;
/// and what is changed is durable first.
#[test]
fn a_trim_tells_of_all_that_is_free() {
    let live = Live::new(volume(64 << 20, &Shape::PLAIN, &TestClock::new()));
    let fs = mount_by(&live, WritableOptions { discard: false, ..options() }).unwrap();
    for number in 0..8 {
        make(&fs, format!("small-{number}").as_bytes(), 40);
        make(&fs, format!("large-{number}").as_bytes(), 500);
    }
    fs.sync().unwrap();
    for number in 0..7 {
        fs.unlink(Ino::ROOT, format!("large-{number}").as_bytes()).unwrap();
    }
    let before = live.count();
    let bytes = live.blocks() * BLOCK as u64;
    let freed = fs.trim(0..u64::MAX, 0).unwrap();
    let told = discarded(&live, before);
    let sum = |told: &[(usize, usize)]| told.iter().map(|(_, count)| (count * BLOCK) as u64).sum::<u64>();
    assert_eq!(sum(&told), freed);
    let used = used(&live);
    assert!(told.iter().all(|(first, count)| used.range(*first..first + count).next().is_none()));
    let (space, all) = (fs.space().unwrap(), (live.blocks() - 16 * 512) * BLOCK as u64);
    // Six segments are the logs'.
    assert!(
        freed + 7 * (2 << 20) > all - used.len() as u64 * BLOCK as u64 && freed >= space.free_bytes / 2,
        "{freed}"
    );
    let log = live.log().events.clone();
    let first = log.iter().rposition(|event| !matches!(event, Event::Discard { .. })).unwrap();
    assert!(matches!(log[first], Event::Flush), "told before the checkpoint is there");
    // A range, and pieces.
    let (from, count) = told[told.len() / 2];
    let middle = ((from * BLOCK) as u64 + 1)..((from + count) * BLOCK) as u64;
    assert_eq!(fs.trim(middle.clone(), 0).unwrap(), ((count - 1) * BLOCK) as u64);
    assert_eq!(fs.trim(0..u64::MAX, bytes).unwrap(), 0);
    for range in [bytes..u64::MAX, 0..100] {
        assert_eq!(fs.trim(range, 0).unwrap_err().errno(), Errno::Invalid);
    }
    fs.unmount().unwrap();
    sound(&live);
}

/// Whatever a device has in place of what it was told of.
#[test]
fn a_power_cut_leaves_what_was_promised() {
    let discards = discarding_workloads(DiscardUnit::Block);
    assert!(discards >= 10 || !F2FS_STATES.is_usual(), "{discards} discards");
}
