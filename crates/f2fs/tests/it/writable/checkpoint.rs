//! The contents of a checkpoint, and the blocks that it need not write.

use pumice_f2fs::{Volume, layout::CpFlags, read_super_block};
use pumice_vfs::{FileKind, FileSystem, Ino, conformance::TestClock};

use xtask::Machine;

use super::{
    crash::mount,
    disk::{SharedDisk, save},
    power::{Event, Live, Part, part},
    subject::{Shape, node, sound, volume},
};

fn fresh() -> Live {
    Live::new(volume(64 << 20, &Shape::default(), &TestClock::new()))
}

fn opened(live: &Live) -> Volume {
    Volume::open(vec![Box::new(live.clone())], 1 << 20).unwrap()
}

/// Blocks that were written from event `from` on, by the part that they are in.
fn written(live: &Live, from: usize, wanted: &[Part]) -> u64 {
    let sb = read_super_block(live).unwrap();
    let mut count = 0;
    for event in &live.log().events[from..] {
        if let Event::Write { first, pages, .. } = event {
            let parts = pages.iter().zip(*first..).map(|(page, block)| part(&sb, block, page));
            count += parts.filter(|part| wanted.contains(part)).count() as u64;
        }
    }
    count
}

/// A reader that cannot read the first pack finds the same in the second, as the version before.
#[test]
fn a_new_volume_has_its_checkpoint_twice() {
    let volume = opened(&fresh());
    let [first, second] = volume.packs().each_ref().map(|pack| pack.as_ref().unwrap().version());
    assert_eq!((volume.checkpoint().pack(), first), (1, second + 1));
}

/// So that no mount has to read all of the NAT.
#[test]
fn a_new_volume_says_which_blocks_of_the_nat_are_empty() {
    let volume = opened(&fresh());
    assert!(volume.checkpoint().flags().has(CpFlags::UMOUNT));
    let bits = volume.nat_bits().unwrap().unwrap();
    let (full, empty) = bits[8..].split_at((bits.len() - 8) / 2);
    assert!(full.iter().all(|byte| *byte == 0));
    assert!(empty[0] == 0xfe && empty[1..].iter().all(|byte| *byte == 0xff));
}

/// 1024 bytes that were written in the life of a volume that is unmounted, where Linux keeps their count.
fn life(live: &Live) -> u64 {
    let volume = opened(live);
    let summary = volume.log_heads()[3].summary.as_ref().unwrap();
    u64::from_le_bytes(summary.journal()[2..10].try_into().unwrap())
}

#[test]
fn what_was_written_is_counted_over_all_mounts() {
    let live = fresh();
    let mut wanted = life(&live);
    for name in [b"one", b"two", b"six"] {
        let begin = live.count();
        let fs = mount(&live, true).unwrap();
        let file = fs.create(Ino::ROOT, name, &node(FileKind::File)).unwrap().ino;
        fs.write(file, 0, &vec![1; 1 << 20]).unwrap();
        fs.fsync(file, false).unwrap();
        // Over the old bytes.
        fs.write(file, 4096, &[2; 4096]).unwrap();
        fs.fsync(file, true).unwrap();
        fs.unmount().unwrap();
        let blocks = written(&live, begin, &[Part::Nodes, Part::Data]);
        assert!(blocks > 256, "{blocks}");
        wanted += blocks * 4;
        assert_eq!(life(&live), wanted);
    }
}

/// A number that was given back is left alone as long as there are others: the inode of a stale handle stays gone.
#[test]
fn numbers_go_on_where_the_last_mount_ended() {
    let live = fresh();
    let fs = mount(&live, false).unwrap();
    let make =
        |fs: &dyn FileSystem, name: &[u8]| fs.create(Ino::ROOT, name, &node(FileKind::File)).unwrap().ino;
    let [first, last] = [&b"first"[..], b"last"].map(|name| make(&fs, name));
    fs.unlink(Ino::ROOT, b"first").unwrap();
    fs.unmount().unwrap();
    let fs = mount(&live, false).unwrap();
    let next = make(&fs, b"next");
    assert!(first < last && last < next, "{first:?} {last:?} {next:?}");
    fs.unmount().unwrap();
}

/// Looking for missing names wears no card out.
#[test]
fn calls_that_fail_are_no_change() {
    let live = fresh();
    let fs = mount(&live, false).unwrap();
    fs.create(Ino::ROOT, b"file", &node(FileKind::File)).unwrap();
    fs.sync().unwrap();
    let begin = live.count();
    fs.lookup(Ino::ROOT, b"another").unwrap_err();
    fs.create(Ino::ROOT, b"file", &node(FileKind::File)).unwrap_err();
    fs.sync().unwrap();
    assert_eq!(live.figures(begin), (0, 0));
    fs.unmount().unwrap();
}

/// Entries that the table of segments has are not written again.
#[test]
fn a_small_change_behind_a_large_one_goes_to_the_journals() {
    let live = fresh();
    let fs = mount(&live, false).unwrap();
    let file = fs.create(Ino::ROOT, b"large", &node(FileKind::File)).unwrap().ino;
    fs.write(file, 0, &vec![1; 16 << 20]).unwrap();
    let begin = live.count();
    fs.sync().unwrap();
    assert_eq!(written(&live, begin, &[Part::Sit]), 1, "more segments than the journal has room for");
    for name in [b"a", b"b", b"c"] {
        fs.create(Ino::ROOT, name, &node(FileKind::File)).unwrap();
        let begin = live.count();
        fs.sync().unwrap();
        assert_eq!(written(&live, begin, &[Part::Sit, Part::Nat]), 0);
    }
    fs.unmount().unwrap();
}

/// Checkpoints that Linux was told to leave out are made again: of the volume as it was before.
#[test]
fn checkpoints_that_were_switched_off_are_made_again() {
    let Some(machine) = Machine::for_test() else { return };
    let live = fresh();
    let fs = mount(&live, false).unwrap();
    fs.create(Ino::ROOT, b"before", &node(FileKind::File)).unwrap();
    fs.unmount().unwrap();
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = place.path().join("paused");
    save(&live, &path);
    let off = "cd /\nmount -o remount,checkpoint=disable /mnt\necho lost >/mnt/behind\nsync\nmkdir /mnt/dir";
    xtask::f2fs::mount_in_kernel(&machine, &path, off).unwrap();
    let disk = SharedDisk::of(4096, std::fs::read(&path).unwrap());
    let flags =
        |disk: &SharedDisk| Volume::open(vec![Box::new(disk.clone())], 1 << 20).unwrap().checkpoint().flags();
    assert!(flags(&disk).has(CpFlags::DISABLED));
    let fs = super::linux::open(&disk).unwrap();
    assert!(!flags(&disk).has(CpFlags::DISABLED), "one checkpoint does it");
    fs.lookup(Ino::ROOT, b"before").unwrap();
    fs.lookup(Ino::ROOT, b"behind").unwrap_err();
    fs.create(Ino::ROOT, b"after", &node(FileKind::File)).unwrap();
    fs.unmount().unwrap();
    sound(&disk);
    save(&disk, &path);
    let said =
        xtask::f2fs::mount_in_kernel(&machine, &path, "ls\ndmesg | grep 'checkpoint=' || true").unwrap();
    assert_eq!(said.split_whitespace().collect::<Vec<_>>(), ["after", "before"]);
}
