//! Fewer logs than six: which segments are written, and that a power cut takes nothing that was promised.

use std::sync::Arc;

use pumice_f2fs::{Streams, Volume, WritableOptions, layout::SegNo};
use pumice_media::ReadAt;
use pumice_vfs::{FileKind, FileSystem, Ino, conformance::TestClock};

use super::{
    crash::{mount_by, options, shown},
    power::Live,
    subject::{Shape, node, volume},
};

/// Blocks of each file: more than a segment.
const BLOCKS: usize = 600;

/// Blocks in use by the kind of their segment, after a hot, a warm and a cold file were written.
fn blocks_by_kind(streams: Streams) -> [u32; 6] {
    let live = Live::new(volume(64 << 20, &Shape::default(), &TestClock::new()));
    let fs = mount_by(&live, WritableOptions { streams, ..options() }).unwrap();
    for name in ["a.db", "a.text", "a.mp3"] {
        let file = fs.create(Ino::ROOT, name.as_bytes(), &node(FileKind::File)).unwrap().ino;
        fs.write(file, 0, &vec![7; BLOCKS * 4096]).unwrap();
    }
    fs.unmount().unwrap();
    kinds(Box::new(live.clone()))
}

/// Blocks in use by the kind of their segment.
pub(super) fn kinds(disk: Box<dyn ReadAt>) -> [u32; 6] {
    let volume = Volume::open(vec![disk], 1 << 20).unwrap();
    let mut blocks = [0; 6];
    for segno in 0..volume.super_block().main_segments() {
        let entry = volume.sit_entry(SegNo(segno)).unwrap();
        blocks[usize::from(entry.kind)] += entry.bits();
    }
    blocks
}

#[test]
fn logs_are_written_to_as_they_are_divided() {
    let many = u32::try_from(BLOCKS).unwrap();
    let cases = [
        (Streams::Six, [true, true, true]),
        (Streams::Four, [true, false, true]),
        (Streams::FourByCold, [false, true, true]),
        (Streams::Two, [true, false, false]),
    ];
    for (streams, data) in cases {
        let blocks = blocks_by_kind(streams);
        assert_eq!([0, 1, 2].map(|kind| blocks[kind] >= many), data, "{streams:?}: {blocks:?}");
        // The file's inode and nodes; the root's inode is where mkfs put it or was moved by the change.
        assert_eq!(blocks[4] > 0, streams != Streams::Two, "{streams:?}: {blocks:?}");
    }
}

#[test]
fn fsync_promises_with_any_number_of_logs() {
    for (_, streams) in Streams::NAMED {
        let live = Live::new(volume(64 << 20, &Shape::default(), &TestClock::new()));
        let fs = mount_by(&live, WritableOptions { streams, ..options() }).unwrap();
        let other = fs.create(Ino::ROOT, b"other", &node(FileKind::File)).unwrap().ino;
        fs.sync().unwrap();
        let file = fs.create(Ino::ROOT, b"file", &node(FileKind::File)).unwrap().ino;
        fs.write(file, 0, &[5; 10_000]).unwrap();
        fs.write(other, 0, &[6; 10_000]).unwrap();
        fs.fsync(file, false).unwrap();
        let tree = shown(&Arc::new(live.image()), true).unwrap();
        assert!(tree.keys().any(|path| path.ends_with("/file")), "{streams:?}: {tree:?}");
        drop(fs);
        let fs = mount_by(&live, WritableOptions { streams, ..options() }).unwrap();
        let file = fs.lookup(Ino::ROOT, b"file").unwrap().ino;
        let mut bytes = [0; 10_000];
        assert_eq!(fs.read(file, 0, &mut bytes).unwrap(), bytes.len(), "{streams:?}");
        assert!(bytes.iter().all(|byte| *byte == 5), "{streams:?}");
    }
}
