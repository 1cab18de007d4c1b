//! Damaged volumes, mounted to be written to: calls may fail, but they end and none panics. Files that could be read
//! before and were not touched are unchanged.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use pumice_f2fs::{
    F2fs, MountOptions, Volume, WritableF2fs, WritableOptions,
    check::check,
    crypt::Keyring,
    layout::{CpFlags, Inode},
    read_super_block,
};
use pumice_knobs::{F2FS_HOSTILE, watched};
use pumice_vfs::{
    FileKind, FileSystem, Ino, NewNode, RenameMode, SetAttr, SpaceMode, Timestamp, XattrMode,
    conformance::TestClock,
};

use super::{patient::Patient, subject::Subject};
use crate::repair::medium::Medium;

/// The place of an inode's parent in its block.
const PARENT: usize = 84;
/// Names and bytes that are looked at; circles of directories have no end.
const NAMES_MOST: usize = 3000;
const BYTES_MOST: u64 = 1 << 20;

fn node(kind: FileKind) -> NewNode<'static> {
    NewNode {
        kind,
        perm: 0o755,
        uid: 0,
        gid: 0,
        rdev: 0,
        target: if kind == FileKind::Symlink { b"x" } else { b"" },
    }
}

/// Files and directories, each where it was first met.
struct Met {
    files: Vec<(Ino, Vec<u8>, Ino)>,
    dirs: Vec<(Ino, Vec<u8>, Ino)>,
}

fn walk(fs: &dyn FileSystem) -> Met {
    let mut met = Met { files: Vec::new(), dirs: Vec::new() };
    let (mut seen, mut pending, mut names) = (BTreeSet::from([Ino::ROOT]), vec![Ino::ROOT], 0);
    while let Some(dir) = pending.pop() {
        let mut found = Vec::new();
        // Entries that cannot be listed are told; the names in front of them count.
        let _ = fs.readdir(dir, 0, &mut |entry| {
            names += 1;
            found.push((entry.ino, entry.name.to_vec(), entry.kind));
            names < NAMES_MOST
        });
        for (ino, name, kind) in found {
            let is_new = name != b"." && name != b".." && seen.insert(ino);
            match kind {
                _ if !is_new => {}
                FileKind::Dir => {
                    met.dirs.push((dir, name, ino));
                    pending.push(ino);
                }
                _ => met.files.push((dir, name, ino)),
            }
        }
    }
    met
}

/// The readable bytes of each file.
fn contents(disk: &Medium) -> BTreeMap<Ino, (u64, Vec<u8>)> {
    let options =
        MountOptions { cache_bytes: 1 << 20, keys: Keyring::default(), recover: Some(Timestamp::default()) };
    let Ok(fs) = F2fs::mount(vec![Box::new(disk.clone())], options) else { return BTreeMap::new() };
    let mut all = BTreeMap::new();
    for (.., ino) in walk(&fs).files {
        let Ok(attr) = fs.attr(ino) else { continue };
        let mut bytes = vec![0; usize::try_from(attr.size.min(BYTES_MOST)).unwrap()];
        if attr.kind == FileKind::File && fs.read(ino, 0, &mut bytes).is_ok_and(|count| count == bytes.len())
        {
            all.insert(ino, (attr.size, bytes));
        }
    }
    all
}

/// Makes all sorts of calls on all files.
fn change_all(fs: &dyn FileSystem, draw: &mut Rng) {
    let met = walk(fs);
    for _ in 0..150 {
        let one = |list: &[(Ino, Vec<u8>, Ino)], draw: &mut Rng| draw.choice(list).cloned();
        let Some((dir, name, ino)) = one(&met.files, draw) else { break };
        let (above, dir_name, below) =
            one(&met.dirs, draw).unwrap_or((Ino::ROOT, b"none".to_vec(), Ino::ROOT));
        let new = format!("pumice-{}", draw.u32(..));
        let size = fs.attr(ino).map_or(0, |attr| attr.size);
        // Whatever they say: they end.
        let _ = match draw.u8(..16) {
            0 => fs.write(ino, 0, &[1; 100]),
            1 => fs.write(ino, size, &[2; 9000]),
            2 => fs.write(ino, draw.u64(..1 << 32), &[3; 5000]),
            3 => fs.set_attr(ino, &SetAttr { size: Some(size / 2), ..SetAttr::default() }).map(drop),
            4 => fs.set_attr(ino, &SetAttr { size: Some(0), ..SetAttr::default() }).map(drop),
            5 => fs.set_xattr(ino, b"user.pumice", &vec![4; draw.usize(..3000)], XattrMode::Either),
            6 => fs.rename(dir, &name, below, new.as_bytes(), RenameMode::Replace),
            7 => fs.link(ino, below, new.as_bytes()).map(drop),
            8 => fs.unlink(dir, &name),
            9 => fs.allocate(ino, SpaceMode::PunchHole, size / 3, size),
            10 => fs
                .create(below, new.as_bytes(), &node(FileKind::File))
                .and_then(|made| fs.write(made.ino, 0, &vec![5; 20_000])),
            11 => fs.create(below, new.as_bytes(), &node(FileKind::Dir)).map(drop),
            12 => fs.rename(above, &dir_name, below, new.as_bytes(), RenameMode::Replace),
            13 => fs.rename(above, &dir_name, dir, &name, RenameMode::Exchange),
            14 => fs.rmdir(above, &dir_name),
            _ => fs.fsync(ino, draw.bool()),
        };
    }
}

/// Files of its own, and nothing else.
fn add(fs: &dyn FileSystem) -> pumice_vfs::Result<()> {
    let dir = fs.create(Ino::ROOT, b"pumice-new", &node(FileKind::Dir))?.ino;
    for number in 0..120_u32 {
        let file = fs.create(dir, format!("new file {number}").as_bytes(), &node(FileKind::File))?.ino;
        fs.write(file, 0, &vec![0xa5; number as usize * 300])?;
        if number % 10 == 0 {
            fs.fsync(file, false)?;
        }
        if number % 3 == 0 {
            fs.unlink(dir, format!("new file {}", number / 2).as_bytes()).or_else(|error| {
                if error.errno() == pumice_vfs::Errno::NoEntry { Ok(()) } else { Err(error) }
            })?;
        }
    }
    fs.sync()
}

fn mount(disk: &Medium) -> Option<WritableF2fs> {
    let options = WritableOptions { cache_bytes: 1 << 20, ..WritableOptions::new(TestClock::new().clock()) };
    WritableF2fs::mount(Box::new(disk.clone()), options).ok()
}

/// `PUMICE_HOSTILE=N` tries N damages of each volume.
#[test]
fn damaged_volumes_are_written_to_without_harm() {
    let (mut mounted, mut added, mut harmed) = (0, 0, Vec::new());
    let seeds = F2FS_HOSTILE.seeds(0..30);
    let names = ["basic", "features", "fragmented", "xattrs", "quota", "compress"];
    for name in names {
        let subject = Subject::new(name);
        for seed in seeds.clone() {
            let damaged = subject.damage(seed);
            let what = format!("{name}, PUMICE_SEED={seed}: {} {}", damaged.member, damaged.what);
            let fresh = || Medium::new(&damaged.patient.disk);
            let ended = watched(&what, || {
                let disk = fresh();
                let Some(fs) = mount(&disk) else { return };
                mounted += 1;
                change_all(&fs, &mut Rng::with_seed(seed));
                let _ = fs.unmount();
            });
            let also = watched(&what, || {
                let disk = fresh();
                let before = contents(&disk);
                let was_sound = finding(&disk).is_none();
                let Some(fs) = mount(&disk) else { return };
                if add(&fs).is_err() || fs.unmount().is_err() {
                    // Nothing more is written, and the files stay.
                }
                added += 1;
                let after = contents(&disk);
                let lost = before.iter().filter(|(ino, before)| after.get(ino) != Some(before)).count();
                if lost > 0 {
                    harmed.push(format!("{what}: {lost} of {} files", before.len()));
                }
                if let Some(finding) = finding(&disk).filter(|_| was_sound) {
                    harmed.push(format!("{what}: was sound; now {finding}"));
                }
            });
            if ended.is_err() || also.is_err() {
                harmed.push(format!("{what}: panicked"));
            }
        }
    }
    eprintln!("{mounted} changed, {added} added to");
    F2FS_HOSTILE.ran(seeds.clone(), (seeds.end - seeds.start) * names.len() as u64);
    assert!((mounted > 0 && added > 0) || !F2FS_HOSTILE.is_usual());
    assert!(harmed.is_empty(), "{} harmed: {harmed:#?}", harmed.len());
}

/// What a check finds first.
fn finding(disk: &Medium) -> Option<String> {
    match check(vec![Box::new(disk.clone())], 2, &mut |_, _| ()) {
        Ok(report) => report.findings.first().map(|first| format!("{first:?}")),
        Err(error) => Some(error.to_string()),
    }
}

/// Each of two directories is the other's parent.
#[test]
fn a_circle_of_directories_has_an_end() {
    let subject = Subject::new("basic");
    let mut patient = Patient::new(&subject.image);
    let root = patient.volume().super_block().root();
    let is_dir = |inode: &Inode| inode.kind == FileKind::Dir && inode.ino != root;
    let inodes: Vec<_> = patient.inodes().map(|(inode, _)| inode).filter(is_dir).collect();
    let [above, below] = [inodes[0].ino, inodes[1].ino];
    for (ino, parent) in [(above, below), (below, above)] {
        patient.edit_inode(ino, |block| block[PARENT..PARENT + 4].copy_from_slice(&parent.0.to_le_bytes()));
    }
    let disk = Medium::new(&patient.disk);
    let fs = mount(&disk).unwrap();
    let moved = fs.create(Ino::ROOT, b"moved", &node(FileKind::Dir)).unwrap();
    let inside = Ino(below.0.into());
    let error = fs.rename(Ino::ROOT, b"moved", inside, b"moved", RenameMode::Replace).unwrap_err();
    assert_eq!(error.errno(), pumice_vfs::Errno::Io, "{error}");
    assert_eq!(fs.lookup(Ino::ROOT, b"moved").unwrap().ino, moved.ino);
    fs.unmount().unwrap();
}

/// Damage that a mount meets is in the super block when it ends, and the volume is not written to until it was checked.
#[test]
fn damage_that_is_met_asks_for_a_check() {
    let subject = Subject::new("basic");
    let mut patient = Patient::new(&subject.image);
    let file = patient.find(|inode, _| inode.kind == FileKind::File && inode.blocks > 1);
    patient.edit_inode(file.ino, |block| block[24..32].copy_from_slice(&[0xff; 8]));
    let disk = Medium::new(&patient.disk);
    let fs = mount(&disk).unwrap();
    assert_eq!(fs.attr(Ino(file.ino.0.into())).unwrap_err().errno(), pumice_vfs::Errno::Io);
    for name in [b"one", b"two"] {
        fs.create(Ino::ROOT, name, &node(FileKind::File)).unwrap();
        fs.sync().unwrap();
        assert_eq!(read_super_block(&disk).unwrap().raw().s_errors[..2], [1 << 4, 0], "it stays there");
    }
    let before = disk.written();
    fs.attr(Ino(file.ino.0.into())).unwrap_err();
    fs.sync().unwrap();
    assert!(disk.written() == before, "what is known is not told again");
    fs.unmount().unwrap();
    let volume = Volume::open(vec![Box::new(disk.clone())], 1 << 20).unwrap();
    assert!(volume.checkpoint().flags().has(CpFlags::FSCK));
    assert_eq!(volume.super_block().raw().s_errors[..2], [1 << 4, 0]);
    let options = WritableOptions::new(TestClock::new().clock());
    let error = WritableF2fs::mount(Box::new(disk.clone()), options).err().unwrap().to_string();
    assert!(error.contains("needs a check"), "{error}");
    assert!(!contents(&disk).is_empty());
}

/// A segment's kind of blocks decides the kind that may be written there.
#[test]
fn a_segment_of_a_kind_that_is_none_is_not_written_to() {
    let subject = Subject::new("basic");
    for (kind, is_one) in [(5, true), (6, false), (7, false)] {
        let mut patient = Patient::new(&subject.image);
        let segno = patient.full_segments()[0];
        patient.edit_sit(segno, |raw| raw.vblocks = (raw.vblocks.get() & 0x3ff | kind << 10).into());
        let disk = Medium::new(&patient.disk);
        let mounted = WritableF2fs::mount(Box::new(disk), WritableOptions::new(TestClock::new().clock()));
        let error = mounted.err().map(|error| error.to_string());
        assert!(error.as_ref().is_none_or(|error| error.contains("the kind in the SIT is")), "{error:?}");
        assert_eq!(error.is_none(), is_one, "kind {kind}");
    }
}
