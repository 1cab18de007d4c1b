//! Inode flags and projects: who gets them, and what they forbid.

use std::{fmt::Write, fs};

use pumice_f2fs::{F2fs, MountOptions, crypt::Keyring};
use pumice_vfs::{
    Access, Errno, FileKind, FileSystem, FlagChange, Ino, RenameMode, SetAttr, SpaceMode, XattrMode,
    conformance::TestClock,
};
use xtask::{Machine, f2fs};

use super::{
    advise,
    disk::{SharedDisk, save},
    linux::open,
    subject::{Card, Shape, node, sound, volume},
};

const SYNC: u32 = 0x8;
const IMMUTABLE: u32 = 0x10;
const APPEND: u32 = 0x20;
const DIRSYNC: u32 = 0x1_0000;
const PROJECT_INHERIT: u32 = 0x2000_0000;
const INLINE: u32 = 0x1000_0000;

const SHAPE: Shape = Shape {
    features: &["extra_attr", "project_quota", "quota_ino", "compression", "casefold"],
    folds: true,
    ..Shape::PLAIN
};

/// The letters of `chattr`: flags that Linux sets on F2FS, flags that it only shows there, and others.
const LETTERS: [(char, u32); 16] = [
    ('c', 0x4),
    ('S', SYNC),
    ('i', IMMUTABLE),
    ('a', APPEND),
    ('d', 0x40),
    ('A', 0x80),
    ('m', 0x400),
    ('D', DIRSYNC),
    ('P', PROJECT_INHERIT),
    ('F', 0x4000_0000),
    ('C', 0x80_0000),
    ('s', 0x1),
    ('j', 0x4000),
    ('t', 0x8000),
    ('T', 0x2_0000),
    ('x', 0x200_0000),
];

/// What flags are given to: a name, a kind, the bytes of a file, and the flags that it has already.
const HOLDERS: [(&str, FileKind, usize, u32); 8] = [
    ("empty", FileKind::File, 0, 0),
    ("inline", FileKind::File, 10, 0),
    ("large", FileKind::File, 9000, 0),
    ("packed", FileKind::File, 0, 0x4),
    ("unpacked", FileKind::File, 0, 0x400),
    ("dir", FileKind::Dir, 0, 0),
    ("plain", FileKind::Dir, 0, 0x4000_0000),
    ("full", FileKind::Dir, 1, 0),
];

/// As `chattr` does: these flags besides those that are there, or without them. It asks for dirsync on directories only.
fn chattr(fs: &dyn FileSystem, ino: Ino, bits: u32, is_set: bool) -> pumice_vfs::Result<()> {
    let old = fs.flags(ino)?.bits;
    let bits = if is_set { old | bits } else { old & !bits };
    let bits = if fs.attr(ino)?.kind == FileKind::Dir { bits } else { bits & !DIRSYNC };
    fs.set_flags(ino, &FlagChange { bits, mask: u32::MAX, project: None })
}

/// As `chattr -p` does.
fn set_project(fs: &dyn FileSystem, ino: Ino, project: u32) -> pumice_vfs::Result<()> {
    let bits = fs.flags(ino)?.bits;
    fs.set_flags(ino, &FlagChange { bits, mask: PROJECT_INHERIT, project: Some(project) })
}

fn errno<T: std::fmt::Debug>(done: pumice_vfs::Result<T>) -> Errno {
    done.unwrap_err().errno()
}

/// The name of a holder, and what is done to it: the letter of a flag to set or to clear, or `p` for a project.
fn trials() -> impl Iterator<Item = (String, &'static str, char, bool)> {
    let letters = LETTERS.iter().map(|(letter, _)| *letter).chain(['p']);
    let trials = letters.flat_map(|letter| [(letter, true), (letter, false)]);
    trials.flat_map(|(letter, is_set)| {
        let sign = if is_set { "set" } else { "clear" };
        // Names that differ only in case are the same here.
        let number = u32::from(letter);
        HOLDERS.iter().map(move |(name, ..)| (format!("{name}-{sign}-{number}"), *name, letter, is_set))
    })
}

/// A volume with one holder for each trial.
fn holders(disk: &SharedDisk) {
    let fs = open(disk).unwrap();
    for (path, name, ..) in trials() {
        let (_, kind, size, flags) = HOLDERS.into_iter().find(|(holder, ..)| *holder == name).unwrap();
        let ino = fs.create(Ino::ROOT, path.as_bytes(), &node(kind)).unwrap().ino;
        // Directories ignore case here unless they are told otherwise.
        let is_set = kind == FileKind::File;
        if flags != 0 {
            chattr(&fs, ino, flags, is_set).unwrap();
        }
        match kind {
            FileKind::Dir if size > 0 => drop(fs.create(ino, b"file", &node(FileKind::File)).unwrap()),
            FileKind::File => fs.write(ino, 0, &vec![7; size]).unwrap(),
            _ => {}
        }
    }
    advise::prepare(&fs);
    fs.unmount().unwrap();
    sound(disk);
}

/// Flags, project and the way of compression of each holder, in words. Where the bytes stand is left out: Linux moves
/// those of a small file out of its inode before it refuses to compress it.
fn shown(disk: &SharedDisk) -> Vec<String> {
    let how = MountOptions { cache_bytes: 1 << 20, keys: Keyring::default(), recover: None };
    let fs = F2fs::mount(vec![Box::new(disk.clone())], how).unwrap();
    let one = |path: String| {
        let (inode, _) = fs.inode(fs.lookup(Ino::ROOT, path.as_bytes()).unwrap().ino).unwrap();
        let extra = inode.extra.unwrap();
        let way = (extra.algorithm, extra.log_cluster, extra.compress_flag);
        format!("{path} {:#x} {} {way:?}", inode.shown_flags() & !INLINE, extra.project)
    };
    trials().map(|(path, ..)| one(path)).collect()
}

/// Every flag and every advice, given to a little of everything here and by Linux, is taken or refused alike, and does the same.
#[test]
fn flags_are_taken_and_refused_as_by_linux() {
    let Some(machine) = Machine::for_test() else { return };
    let ours = SharedDisk::of(4096, volume(64 << 20, &SHAPE, &TestClock::new()).bytes_now());
    holders(&ours);
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = place.path().join("theirs");
    save(&ours, &path);
    let mut script = String::new();
    for (path, _, letter, is_set) in trials() {
        let what = match (letter, is_set) {
            ('p', true) => "-p 7".to_owned(),
            ('p', false) => "-p 0".to_owned(),
            (letter, true) => format!("+{letter}"),
            (letter, false) => format!("-{letter}"),
        };
        writeln!(script, "if chattr {what} {path} 2>/dev/null; then echo {path}; fi").unwrap();
    }
    script.push_str(&advise::script());
    let taken = f2fs::mount_in_kernel(&machine, &path, &script).unwrap();
    let theirs = SharedDisk::of(4096, fs::read(&path).unwrap());
    let fs = open(&ours).unwrap();
    let mut differing = Vec::new();
    for (path, _, letter, is_set) in trials() {
        let ino = fs.lookup(Ino::ROOT, path.as_bytes()).unwrap().ino;
        let done = match LETTERS.into_iter().find(|(known, _)| *known == letter) {
            Some((_, flag)) => chattr(&fs, ino, flag, is_set),
            None => set_project(&fs, ino, if is_set { 7 } else { 0 }),
        };
        if done.is_ok() != taken.lines().any(|line| line == path) {
            differing.push(format!("{path}: {done:?}"));
        }
    }
    advise::compare(&fs, &taken);
    fs.unmount().unwrap();
    assert!(differing.is_empty(), "{differing:#?}");
    let flags = taken.lines().filter(|line| !line.starts_with("advise")).count();
    assert!(flags > 100 && trials().count() > flags + 50);
    sound(&ours);
    assert_eq!(advise::shown(&ours), advise::shown(&theirs));
    let (ours, theirs) = (shown(&ours), shown(&theirs));
    let unlike: Vec<_> = ours.iter().zip(&theirs).filter(|(ours, theirs)| ours != theirs).collect();
    assert!(unlike.is_empty(), "ours and theirs: {unlike:#?}");
}

/// What nobody may do with an immutable file, and with one that is added to only, are not done with either.
#[test]
fn immutable_and_append_only_files_are_guarded() {
    let mut card = Card::new(64 << 20, &SHAPE);
    let fs = card.fs();
    for (name, flag) in [(&b"fixed"[..], IMMUTABLE), (b"grows", APPEND)] {
        let file = fs.create(Ino::ROOT, name, &node(FileKind::File)).unwrap().ino;
        let dir = fs.create(Ino::ROOT, &[name, b"-dir"].concat(), &node(FileKind::Dir)).unwrap().ino;
        let other = fs.create(Ino::ROOT, &[name, b"-other"].concat(), &node(FileKind::File)).unwrap().ino;
        fs.write(file, 0, b"12345").unwrap();
        for below in [&b"one"[..], b"two"] {
            fs.create(dir, below, &node(FileKind::File)).unwrap();
        }
        chattr(fs, file, flag, true).unwrap();
        chattr(fs, dir, flag, true).unwrap();
        let adds = flag == APPEND;
        let set = |change: SetAttr| fs.set_attr(file, &change).map(drop);
        let none = SetAttr::default();
        let refused = [
            fs.write(file, 0, b"x"),
            fs.open(file, Access::Write),
            fs.allocate(file, SpaceMode::PunchHole, 0, 4),
            set(SetAttr { size: Some(0), ..none }),
            set(SetAttr { perm: Some(0o600), ..none }),
            set(SetAttr { uid: Some(3), ..none }),
            fs.set_xattr(file, b"user.x", b"y", XattrMode::Either),
            fs.link(file, Ino::ROOT, b"link").map(drop),
            fs.unlink(Ino::ROOT, name),
            fs.rename(Ino::ROOT, name, Ino::ROOT, b"moved", RenameMode::Replace),
            fs.rename(Ino::ROOT, &[name, b"-other"].concat(), Ino::ROOT, name, RenameMode::Replace),
            fs.rename(Ino::ROOT, &[name, b"-other"].concat(), Ino::ROOT, name, RenameMode::Exchange),
            fs.unlink(dir, b"one"),
            fs.rename(dir, b"one", Ino::ROOT, b"out", RenameMode::Replace),
            fs.rename(dir, b"one", dir, b"two", RenameMode::Replace),
        ];
        for (number, done) in refused.into_iter().enumerate() {
            assert_eq!(done.map_err(|error| error.errno()), Err(Errno::Perm), "{number} of {flag:#x}");
        }
        let added = [
            fs.open(file, Access::Append),
            fs.write(file, 5, b"67"),
            fs.allocate(file, SpaceMode::Reserve { keep_size: true }, 0, 4),
            fs.create(dir, b"new", &node(FileKind::File)).map(drop),
            fs.link(other, dir, b"link").map(drop),
            fs.rename(Ino::ROOT, &[name, b"-other"].concat(), dir, b"in", RenameMode::Replace),
        ];
        for (number, done) in added.into_iter().enumerate() {
            let wanted = if adds { Ok(()) } else { Err(Errno::Perm) };
            assert_eq!(done.map_err(|error| error.errno()), wanted, "{number} of {flag:#x}");
        }
        fs.open(file, Access::Read).unwrap();
        chattr(fs, file, flag, false).unwrap();
        fs.unlink(Ino::ROOT, name).unwrap();
    }
    card.close();
    sound(card.disk());
}

/// Somebody who adds to a file takes its set-id bits away, and nothing else.
#[test]
fn set_id_bits_of_a_file_that_is_added_to_can_go() {
    let mut card = Card::new(64 << 20, &SHAPE);
    let fs = card.fs();
    let file = fs.create(Ino::ROOT, b"file", &node(FileKind::File)).unwrap().ino;
    let perm = |perm| SetAttr { perm: Some(perm), ..SetAttr::default() };
    fs.set_attr(file, &perm(0o6755)).unwrap();
    chattr(fs, file, APPEND, true).unwrap();
    assert_eq!(errno(fs.set_attr(file, &perm(0o4754))), Errno::Perm);
    assert_eq!(fs.set_attr(file, &perm(0o0755)).unwrap().perm, 0o0755);
    assert_eq!(errno(fs.set_attr(file, &perm(0o4755))), Errno::Perm);
}

/// A cut loses nothing of a file, and no name of a directory, that is written at once.
#[test]
fn what_is_written_at_once_outlives_a_cut() {
    for (of_file, of_dir) in [(SYNC, 0), (0, SYNC), (0, DIRSYNC), (0, 0)] {
        let mut card = Card::new(64 << 20, &SHAPE);
        let fs = card.fs();
        let dir = fs.create(Ino::ROOT, b"dir", &node(FileKind::Dir)).unwrap().ino;
        let file = fs.create(dir, b"file", &node(FileKind::File)).unwrap().ino;
        for name in [&b"goes"[..], b"moves"] {
            fs.create(dir, name, &node(FileKind::File)).unwrap();
        }
        chattr(fs, file, of_file, true).unwrap();
        chattr(fs, dir, of_dir, true).unwrap();
        fs.sync().unwrap();
        fs.create(dir, b"made", &node(FileKind::File)).unwrap();
        fs.link(file, dir, b"link").unwrap();
        fs.unlink(dir, b"goes").unwrap();
        fs.rename(dir, b"moves", Ino::ROOT, b"moved", RenameMode::Replace).unwrap();
        let has_names = |fs: &dyn FileSystem| {
            let there = [(dir, &b"made"[..], true), (dir, b"link", true), (dir, b"goes", false)];
            there.map(|(dir, name, wanted)| fs.lookup(dir, name).is_ok() == wanted)
        };
        card.cut_power();
        assert_eq!(has_names(card.fs()), [of_dir != 0; 3], "{of_dir:#x}");
        assert_eq!(card.fs().lookup(Ino::ROOT, b"moved").is_ok(), of_dir != 0, "{of_dir:#x}");
        card.fs().write(file, 0, &[7; 9000]).unwrap();
        card.cut_power();
        // A file in a directory that is written at once has the flag only if it was made there.
        let size = card.fs().attr(file).unwrap().size;
        assert_eq!(size, if of_file == 0 { 0 } else { 9000 }, "{of_file:#x}");
        card.close();
        sound(card.disk());
    }
}

/// What is made in a directory of a project is of it, too, and the quota files count it there.
#[test]
fn projects_are_set_and_handed_down() {
    let mut card = Card::new(64 << 20, &SHAPE);
    let fs = card.fs();
    let dir = fs.create(Ino::ROOT, b"dir", &node(FileKind::Dir)).unwrap().ino;
    let old = fs.create(dir, b"old", &node(FileKind::File)).unwrap().ino;
    fs.write(old, 0, &[1; 9000]).unwrap();
    fs.sync().unwrap();
    let change = FlagChange { bits: PROJECT_INHERIT, mask: PROJECT_INHERIT, project: Some(7) };
    fs.set_flags(dir, &change).unwrap();
    let new = fs.create(dir, b"new", &node(FileKind::File)).unwrap().ino;
    assert_eq!([dir, old, new].map(|ino| fs.flags(ino).unwrap().project), [7, 0, 7]);
    assert_eq!(errno(fs.link(old, dir, b"link")), Errno::CrossDevice);
    assert_eq!(errno(set_project(fs, new, u32::MAX)), Errno::Invalid);
    let change = FlagChange { bits: DIRSYNC, mask: u32::MAX, project: None };
    assert_eq!(errno(fs.set_flags(new, &change)), Errno::NotSupported, "a file");
    set_project(fs, old, 8).unwrap();
    card.close();
    sound(card.disk());
    let mut plain = Card::new(64 << 20, &Shape::PLAIN);
    let file = plain.fs().create(Ino::ROOT, b"file", &node(FileKind::File)).unwrap().ino;
    assert_eq!(errno(set_project(plain.fs(), file, 7)), Errno::NotSupported);
    set_project(plain.fs(), file, 0).unwrap();
}
