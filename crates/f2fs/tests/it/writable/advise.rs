//! `system.advise`: what a user says of a file is kept as by Linux, and its blocks go to the log for it.

use std::fmt::Write;

use pumice_f2fs::{F2fs, InPlace, Logging, Mapped, MountOptions, WritableOptions, crypt::Keyring};
use pumice_vfs::{Errno, FileKind, FileSystem, Ino, SpaceMode, XattrMode, conformance::TestClock};

use super::{
    care::pin,
    crash::mount_by,
    disk::SharedDisk,
    power::Live,
    streams::kinds,
    subject::{Card, Shape, node, sound, volume},
};

const NAME: &[u8] = b"system.advise";
const COLD: u8 = 0x01;
const KEEP_SIZE: u8 = 0x10;
const HOT: u8 = 0x20;

/// Values as `setfattr` gives them, and those that it takes away.
const VALUES: [Option<&[u8]>; 9] = [
    Some(&[COLD]),
    Some(&[HOT]),
    Some(&[COLD | HOT]),
    Some(&[0]),
    Some(&[]),
    Some(&[0x02]),
    Some(&[COLD | 0x80]),
    Some(&[COLD, 0xff]),
    None,
];

/// A file for each value, and another of a cold extension, with bits of which users have no say.
fn files() -> impl Iterator<Item = (String, Option<&'static [u8]>)> {
    (0..).zip(VALUES).flat_map(|(number, value)| {
        ["text", "mp3"].map(|extension| (format!("advise-{number}.{extension}"), value))
    })
}

/// Makes the files, and a directory, of which anything can be said, too.
pub(super) fn prepare(fs: &dyn FileSystem) {
    for (path, _) in files() {
        let ino = fs.create(Ino::ROOT, path.as_bytes(), &node(FileKind::File)).unwrap().ino;
        fs.allocate(ino, SpaceMode::Reserve { keep_size: true }, 0, 5000).unwrap();
    }
    fs.create(Ino::ROOT, b"advise-dir", &node(FileKind::Dir)).unwrap();
}

/// Has Linux do it; it names the files where that went well.
pub(super) fn script() -> String {
    let mut script = String::new();
    for (path, value) in files() {
        let what = value.map_or("-x system.advise".to_owned(), |value| {
            let digits = value.iter().fold(String::new(), |digits, byte| format!("{digits}{byte:02x}"));
            let value = if digits.is_empty() { "''".to_owned() } else { format!("0x{digits}") };
            format!("-n system.advise -v {value}")
        });
        writeln!(script, "if setfattr {what} {path} 2>/dev/null; then echo {path}; fi").unwrap();
    }
    script.push_str("setfattr -n system.advise -v 0x20 advise-dir && echo advise-dir\n");
    script
}

/// Does it here, and compares what went well.
pub(super) fn compare(fs: &dyn FileSystem, taken: &str) {
    let is_taken = |path: &str| taken.lines().any(|line| line == path);
    for (path, value) in files() {
        let ino = fs.lookup(Ino::ROOT, path.as_bytes()).unwrap().ino;
        let before = fs.attr(ino).unwrap();
        let done = match value {
            Some(value) => fs.set_xattr(ino, NAME, value, XattrMode::Create),
            None => fs.remove_xattr(ino, NAME),
        };
        let wanted = if is_taken(&path) { Ok(()) } else { Err(Errno::Invalid) };
        assert_eq!(done.map_err(|error| error.errno()), wanted, "{path}: {value:?}");
        assert_eq!(fs.attr(ino).unwrap(), before, "{path}: Linux leaves the times");
    }
    let dir = fs.lookup(Ino::ROOT, b"advise-dir").unwrap().ino;
    fs.set_xattr(dir, NAME, &[HOT], XattrMode::Either).unwrap();
    assert!(is_taken("advise-dir"));
}

/// The byte of each, as a reader finds it, who lists it nowhere.
pub(super) fn shown(disk: &SharedDisk) -> Vec<(String, Vec<u8>)> {
    let how = MountOptions { cache_bytes: 1 << 20, keys: Keyring::default(), recover: None };
    let fs = F2fs::mount(vec![Box::new(disk.clone())], how).unwrap();
    let paths = files().map(|(path, _)| path).chain(["advise-dir".to_owned()]);
    paths
        .map(|path| {
            let ino = fs.lookup(Ino::ROOT, path.as_bytes()).unwrap().ino;
            assert!(fs.list_xattr(ino).unwrap().is_empty(), "{path}");
            let value = fs.xattr(ino, NAME).unwrap();
            assert_eq!(value, [fs.inode(ino).unwrap().0.advise.0], "{path}");
            (path, value)
        })
        .collect()
}

#[test]
fn blocks_go_to_the_log_that_a_user_chose() {
    const BLOCKS: usize = 600;
    let chosen = [(&b"file"[..], Some(COLD), 2), (b"file", Some(HOT), 0), (b"file", Some(COLD | HOT), 2)];
    let listed = [(&b"a.mp3"[..], None, 2), (b"a.mp3", Some(0), 1), (b"a.db", Some(COLD), 2)];
    for (name, advice, kind) in chosen.into_iter().chain(listed) {
        let mut card = Card::new(64 << 20, &Shape::PLAIN);
        let fs = card.fs();
        let file = fs.create(Ino::ROOT, name, &node(FileKind::File)).unwrap().ino;
        if let Some(advice) = advice {
            fs.set_xattr(file, NAME, &[advice], XattrMode::Either).unwrap();
            assert_eq!(fs.xattr(file, NAME).unwrap(), [advice]);
        }
        fs.write(file, 0, &vec![7; BLOCKS * 4096]).unwrap();
        card.close();
        let blocks = kinds(Box::new(card.disk().clone()));
        assert!(blocks[kind] as usize >= BLOCKS, "{advice:?}: {blocks:?}");
        sound(card.disk());
    }
}

/// Blocks of a file that stand where they stood once they are written again, and all.
fn written_over(name: &[u8], in_place: InPlace, logging: Logging, is_pinned: bool) -> (usize, usize) {
    const BLOCKS: usize = 40;
    let mut disk = Live::new(volume(64 << 20, &Shape::PLAIN, &TestClock::new()));
    let how = || WritableOptions { in_place, logging, ..WritableOptions::new(TestClock::new().clock()) };
    let fs = mount_by(&disk, how()).unwrap();
    let file = fs.create(Ino::ROOT, name, &node(FileKind::File)).unwrap().ino;
    fs.write(file, 0, &vec![1; BLOCKS * 4096]).unwrap();
    fs.unmount().unwrap();
    if is_pinned {
        pin(&mut disk, file);
    }
    let places = |disk: &Live| -> Vec<Mapped> {
        let how = MountOptions { cache_bytes: 1 << 20, keys: Keyring::default(), recover: None };
        let fs = F2fs::mount(vec![Box::new(disk.clone())], how).unwrap();
        let (inode, block) = fs.inode(file).unwrap();
        let at = |index| fs.nodes().run_at(&inode, &block, index, 1).unwrap().mapped;
        (0..fs.attr(file).unwrap().size / 4096).map(at).collect()
    };
    let before = places(&disk);
    let fs = mount_by(&disk, how()).unwrap();
    // Some are new, between two of them that are not.
    fs.write(file, 3 * 4096, &vec![2; 17 * 4096]).unwrap();
    fs.write(file, BLOCKS as u64 * 4096, &vec![2; 9 * 4096]).unwrap();
    fs.sync().unwrap();
    let mut bytes = vec![0; (BLOCKS + 9) * 4096];
    assert_eq!(fs.read(file, 0, &mut bytes).unwrap(), bytes.len());
    let wanted = [(1, 3), (2, 17), (1, 20), (2, 9)].map(|(byte, count)| vec![byte; count * 4096]).concat();
    assert!(bytes == wanted);
    fs.unmount().unwrap();
    sound(&disk);
    let after = places(&disk);
    let same = after[3..20].iter().zip(&before[3..20]).filter(|(one, other)| one == other).count();
    (same, 17)
}

/// As in Linux: to move them would scatter a file that seldom changes, and whoever pinned a file knows its places.
#[test]
fn blocks_of_cold_and_pinned_files_are_written_over() {
    let (adaptive, normal) = (Logging::Adaptive, Logging::Normal);
    for (name, in_place, logging, is_pinned, stay) in [
        (&b"a.mp3"[..], InPlace::Fsync, adaptive, false, true),
        (b"a.mp3", InPlace::Never, adaptive, false, false),
        (b"a.mp3", InPlace::Fsync, normal, false, false),
        (b"file", InPlace::Fsync, adaptive, false, false),
        (b"file", InPlace::Never, adaptive, true, true),
        (b"a.mp3", InPlace::Fsync, normal, true, true),
    ] {
        let (same, all) = written_over(name, in_place, logging, is_pinned);
        let wanted = if stay { all } else { 0 };
        assert_eq!(same, wanted, "{}: {in_place:?}, {logging:?}, {is_pinned}", name.escape_ascii());
    }
}

/// Bits of others stay, and an fsync keeps the choice.
#[test]
fn a_choice_outlives_a_cut() {
    let mut card = Card::new(64 << 20, &Shape::PLAIN);
    let fs = card.fs();
    let file = fs.create(Ino::ROOT, b"file", &node(FileKind::File)).unwrap().ino;
    fs.allocate(file, SpaceMode::Reserve { keep_size: true }, 0, 5000).unwrap();
    fs.sync().unwrap();
    fs.set_xattr(file, NAME, &[COLD], XattrMode::Either).unwrap();
    fs.fsync(file, true).unwrap();
    card.cut_power();
    assert_eq!(card.fs().xattr(file, NAME).unwrap(), [COLD | KEEP_SIZE]);
}
