//! Power fails while an fsync of blocks that are written over where they stand is under way.

use std::sync::Arc;

use pumice_f2fs::{InPlace, WritableOptions, read_super_block};
use pumice_vfs::{FileKind, FileSystem, Ino, Timestamp, conformance::TestClock};

use super::{mount, mount_by, options, sound, ticking};
use crate::writable::{
    power::{Live, Replay},
    subject::{Shape, node, volume},
};

/// Blocks of the file.
const BLOCKS: usize = 4;
const BLOCK: usize = 4096;
/// Calls of fsync.
const ROUNDS: u8 = 6;

/// A file as an fsync left it.
#[derive(Clone, PartialEq, Debug)]
struct State {
    bytes: Vec<u8>,
    mtime: Timestamp,
}

fn state(fs: &dyn FileSystem, file: Ino) -> State {
    let attr = fs.attr(file).unwrap();
    assert_eq!((attr.kind, attr.perm, attr.nlink), (FileKind::File, 0o755, 1));
    let mut bytes = vec![0; usize::try_from(attr.size).unwrap()];
    assert_eq!(fs.read(file, 0, &mut bytes).unwrap(), bytes.len());
    State { bytes, mtime: attr.mtime }
}

/// Writes to a file of `bytes` bytes and calls fsync, round by round; `judge` is given what each cut in that leaves, the
/// state before, and the one that is promised then.
fn cut_rounds(
    bytes: usize,
    write: impl Fn(&dyn FileSystem, Ino, u8),
    judge: impl Fn(&State, &State, &State),
) {
    let live = Live::new(volume(64 << 20, &Shape::default(), &TestClock::new()));
    let sb = read_super_block(&live).unwrap();
    let how = WritableOptions { in_place: InPlace::Fsync, clock: ticking(), ..options() };
    let fs = mount_by(&live, how).unwrap();
    let file = fs.create(Ino::ROOT, b"file", &node(FileKind::File)).unwrap().ino;
    fs.write(file, 0, &vec![0; bytes]).unwrap();
    fs.sync().unwrap();
    let (mut replay, mut random) = (Replay::new(&sb, live.image()), fastrand::Rng::with_seed(1));
    for round in 1..=ROUNDS {
        let (before, begin) = (state(&fs, file), live.count());
        write(&fs, file, round);
        fs.fsync(file, false).unwrap();
        let after = state(&fs, file);
        let events = live.log().events[begin..].to_vec();
        for event in &events {
            replay.step(event);
            let mut images = vec![replay.draw(&mut random), replay.draw(&mut random)];
            replay.families(&mut |_, make| images.push(make()));
            for image in images {
                let what = format!("round {round}");
                sound(&what, &Arc::new(image.clone()));
                let found = state(&mount(&Live::new(image), false).unwrap(), file);
                judge(&found, &before, &after);
            }
        }
        let mut durable = None;
        replay.families(&mut |name, make| durable = durable.take().or((name == "nothing kept").then(make)));
        let kept = state(&mount(&Live::new(durable.unwrap()), false).unwrap(), file);
        assert_eq!(kept, after, "round {round}");
    }
}

/// Only times change beside the bytes: the inode is the one before or the one behind.
#[test]
fn an_inode_is_written_over_as_a_whole() {
    let write = |fs: &dyn FileSystem, file, round| {
        let at = usize::from(round) % BLOCKS * BLOCK;
        fs.write(file, at as u64, &[round; BLOCK]).unwrap();
    };
    cut_rounds(BLOCKS * BLOCK, write, |found, before, after| {
        assert!([before.mtime, after.mtime].contains(&found.mtime), "{:?}", found.mtime);
        assert_eq!(found.bytes.len(), after.bytes.len());
        let either = before.bytes.iter().zip(&after.bytes);
        let mut all = found.bytes.iter().zip(either);
        assert!(all.all(|(found, (before, after))| found == before || found == after));
    });
}

/// The file grows within its last block, which is written over: no cut leaves the new size with older bytes.
#[test]
fn bytes_are_no_older_than_the_size() {
    let write = |fs: &dyn FileSystem, file, round| {
        let end = fs.attr(file).unwrap().size;
        fs.write(file, end - 100, &[round; 300]).unwrap();
    };
    cut_rounds(BLOCKS * BLOCK + 1000, write, |found, before, after| {
        let grew = found.bytes.len() == after.bytes.len();
        assert!(if grew { found == after } else { found.bytes.len() == before.bytes.len() });
    });
}
