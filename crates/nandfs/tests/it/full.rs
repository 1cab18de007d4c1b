//! Writes on a volume that has room for a part of them.

use pumice_nandfs::{MountOptions, NandFs, cache_least};
use pumice_vfs::conformance::TestClock;
use pumice_vfs::{Attr, Errno, FileKind, FileSystem, Ino, NewNode};

use crate::cut::runner::chip;
use crate::cut::shared::Shared;

/// More than any of the chips holds at once.
const LONG: usize = 1 << 20;

fn attr(fs: &NandFs<Shared>, ino: Ino) -> Attr {
    fs.attr(ino).unwrap()
}

/// A volume with little room, a file that ends within a block, and one with blocks that are not written anew.
fn nearly_full(name: &str, cache: usize, clock: &TestClock) -> (NandFs<Shared>, Ino) {
    let shared = Shared::new(chip(name, clock));
    let cache = cache.max(cache_least(&shared).unwrap());
    let fs = NandFs::mount(shared, MountOptions::new(cache, clock.clock())).unwrap();
    let [filler, file] = [b"filler", b"file.."].map(|name| {
        let new = NewNode { kind: FileKind::File, perm: 0o640, uid: 0, gid: 0, rdev: 0, target: b"" };
        fs.create(Ino::ROOT, name, &new).unwrap().ino
    });
    fs.write(file, 0, &[1; 5000]).unwrap();
    while fs.space().unwrap().free_bytes > 150 << 10 {
        let at = attr(&fs, filler).size;
        fs.write(filler, at, &[2; 4096]).unwrap();
    }
    (fs, file)
}

#[test]
fn a_write_without_room_for_all_of_it_changes_nothing_and_one_that_may_be_short_tells_how_much() {
    for name in ["2048+64:16:96", "spare/dist3", "gang", "page/dist3", "slots", "2048+64:16:96@lz4"] {
        for cache in [0, 4 << 20] {
            let clock = TestClock::new();
            let (fs, file) = nearly_full(name, cache, &clock);
            let before = attr(&fs, file);
            let refused = fs.write(file, 4000, &vec![3; LONG]).unwrap_err();
            assert_eq!(refused.errno(), Errno::NoSpace, "{name}");
            assert_eq!(attr(&fs, file), before, "{name}: a refused write left something");
            let mut bytes = [0; 5000];
            fs.read(file, 0, &mut bytes).unwrap();
            assert_eq!(bytes, [1; 5000], "{name}");

            let mut rng = fastrand::Rng::with_seed(3);
            let noise: Vec<u8> = std::iter::repeat_with(|| rng.u8(..)).take(LONG).collect();
            let room = fs.space().unwrap().free_bytes;
            let wrote = fs.write_part(file, 4000, &noise).unwrap();
            assert!(wrote as u64 > room / 2 && wrote < LONG, "{name}: {wrote} bytes of {room}");
            assert_eq!(attr(&fs, file).size, 4000 + wrote as u64, "{name}");
            let more = fs.write_part(file, 4000 + wrote as u64, &noise[wrote..]).unwrap_err();
            assert_eq!(more.errno(), Errno::NoSpace, "{name}");
            fs.sync().unwrap();
            let mut back = vec![0; wrote];
            fs.read(file, 4000, &mut back).unwrap();
            assert_eq!(back, noise[..wrote], "{name}");
        }
    }
}

#[test]
fn a_write_that_may_be_short_ends_where_files_do() {
    let clock = TestClock::new();
    let (fs, file) = nearly_full("spare/dist3", 0, &clock);
    let most = u64::from(u32::MAX) * u64::from(fs.info().unwrap().block_bytes);
    let before = attr(&fs, file);
    assert_eq!(fs.write(file, most - 100, &[1; 4096]).unwrap_err().errno(), Errno::FileTooBig);
    assert_eq!(attr(&fs, file), before);
    assert_eq!(fs.write_part(file, most - 100, &[1; 4096]).unwrap(), 100);
    assert_eq!(attr(&fs, file).size, most);
    assert_eq!(fs.write_part(file, most, &[1]).unwrap_err().errno(), Errno::FileTooBig);
}
