//! Limits of users, groups and projects: who has no more than they allow, and who has.

use std::{collections::BTreeMap, fmt::Write, fs, sync::Arc};

use pumice_f2fs::{
    Error, F2fs, Grace, Lost, LostLimits, MountOptions, Quota, QuotaKind, Share, Volume, WritableF2fs,
    WritableOptions,
    check::Code,
    crypt::Keyring,
    layout::CpFlags,
    repair::{Extent, plan},
};
use pumice_vfs::{
    Errno, FileKind, FileSystem, FlagChange, Ino, NewNode, RenameMode, SetAttr, SpaceMode, XattrMode,
    conformance::TestClock,
};
use xtask::{Machine, f2fs};

use super::{
    disk::{SharedDisk, save},
    subject::{Shape, sound, volume},
};
use crate::check::patient::{Patient, Seal, place as byte_of};

const SHAPE: Shape = Shape { features: &["extra_attr", "project_quota", "quota_ino"], ..Shape::PLAIN };

const BLOCK: u64 = 4096;
const DAY: i64 = 24 * 3600;
/// Clocks differ by the time that a guest takes to start.
const SLACK: i64 = DAY / 2;
const PROJECT_INHERIT: u32 = 0x2000_0000;

/// Users; each is in group 100, and in group 200 besides.
const ROOT: u32 = 0;
const ANN: u32 = 1000;
const BEN: u32 = 1001;
const EVE: u32 = 1002;
const GROUP: u32 = 200;
const PROJECT: u32 = 7;

/// Something that a user does.
enum Deed {
    Make(&'static str),
    MakeDir(&'static str),
    MakeFifo(&'static str),
    MakeLink(&'static str),
    /// Blocks, from one on, one by one.
    Write(&'static str, u64, u64),
    Resize(&'static str, u64),
    Reserve(&'static str, u64),
    /// An attribute that needs a block.
    Attribute(&'static str),
    Link(&'static str, &'static str),
    Move(&'static str, &'static str),
    Remove(&'static str),
    Own(&'static str, u32),
    Group(&'static str, u32),
    Project(&'static str, u32),
    /// Days go by.
    Wait(i64),
}

use Deed::*;

const DEEDS: [(u32, Deed); 71] = [
    // Inodes: more than 4 for a while, and never more than 6.
    (ANN, Make("home/a")),
    (ANN, Make("home/b")),
    (ANN, MakeDir("home/d")),
    (ANN, Make("home/e")),
    (ANN, MakeLink("home/l")),
    (ANN, Make("home/f")),
    (ANN, MakeFifo("home/p")),
    (ANN, MakeDir("home/q")),
    (ANN, MakeLink("home/r")),
    (ROOT, Make("home/g")),
    (ROOT, Own("home/g", ANN)),
    (ANN, Make("home/f")),
    (ANN, Move("home/a", "home/b")),
    (ANN, Make("home/f")),
    (ANN, Remove("home/l")),
    (ANN, Make("home/f")),
    (ANN, Make("home/h")),
    (ANN, Link("home/b", "home/b2")),
    (ANN, Remove("home/b")),
    (ANN, Make("home/h")),
    // Space: more than 24 KiB for a while, and never more than 40.
    (ANN, Write("home/b2", 0, 6)),
    (ANN, Write("home/b2", 6, 4)),
    (ANN, Write("home/b2", 10, 1)),
    (ANN, Write("home/b2", 1000, 1)),
    (ANN, Write("home/b2", 3, 2)),
    (ANN, Write("home/e", 0, 1)),
    (ANN, Attribute("home/d")),
    (ANN, Reserve("home/f", 1)),
    (BEN, Write("home/b2", 10, 1)),
    (ROOT, Write("home/b2", 10, 1)),
    (ANN, Write("home/b2", 11, 1)),
    (ANN, Resize("home/b2", 8 * BLOCK)),
    (ANN, Attribute("home/d")),
    (ANN, Reserve("home/f", 1)),
    (ANN, Write("home/b2", 8, 1)),
    (ANN, Resize("home/b2", 1 << 20)),
    // A group has 2 inodes at most.
    (ANN, Group("home/e", GROUP)),
    (ANN, Group("home/g", GROUP)),
    (ANN, Group("home/f", GROUP)),
    (ROOT, Group("home/f", GROUP)),
    (ANN, Group("home/g", 100)),
    (ANN, Group("home/b2", GROUP)),
    (ANN, Group("home/e", 100)),
    (ANN, Group("home/b2", GROUP)),
    // A project has 3 inodes at most, the directory among them, and more than 8 KiB for a while, but not more than 16.
    (BEN, Make("project/one")),
    (BEN, Make("project/two")),
    (BEN, Make("project/three")),
    (BEN, Make("other")),
    (BEN, Project("other", PROJECT)),
    (BEN, Write("project/one", 0, 4)),
    (BEN, Write("project/two", 0, 1)),
    (BEN, Remove("project/two")),
    (BEN, Project("other", PROJECT)),
    (BEN, Write("other", 0, 1)),
    (ROOT, Write("other", 0, 1)),
    // Nobody is above a soft limit for more than a week.
    (EVE, Make("eve-2")),
    (ANN, Remove("home/e")),
    (ROOT, Wait(6)),
    (ANN, Make("home/e")),
    (EVE, Make("eve-3")),
    (ROOT, Wait(2)),
    (EVE, Make("eve-4")),
    (ROOT, Make("home/root")),
    (ANN, Remove("home/e")),
    (ANN, Make("home/e")),
    (ANN, Resize("home/b2", 7 * BLOCK)),
    (ANN, Write("home/b2", 7, 1)),
    (ANN, Resize("home/b2", 0)),
    (ANN, Write("home/b2", 0, 7)),
    (BEN, Write("project/one", 4, 1)),
    (BEN, Project("project/one", 0)),
];

impl Deed {
    /// It in the shell, at a time.
    fn shell(&self, now: i64) -> String {
        match self {
            Make(path) => format!("printf '' >{path}"),
            MakeDir(path) => format!("mkdir {path}"),
            MakeFifo(path) => format!("mkfifo {path}"),
            MakeLink(path) => format!("ln -s target {path}"),
            Write(path, first, count) => {
                format!("dd if=/dev/zero of={path} bs={BLOCK} seek={first} count={count} conv=notrunc")
            }
            Resize(path, size) => format!("truncate -s {size} {path}"),
            Reserve(path, blocks) => format!("fallocate -l {} {path}", blocks * BLOCK),
            Attribute(path) => format!("setfattr -n user.large -v {:03000} {path}", 1),
            Link(old, new) => format!("ln {old} {new}"),
            Move(old, new) => format!("mv -f {old} {new}"),
            Remove(path) => format!("rm -f {path}"),
            Own(path, user) => format!("chown {user} {path}"),
            Group(path, group) => format!("chgrp {group} {path}"),
            Project(path, project) => format!("chattr -p {project} {path}"),
            Wait(_) => format!("date -s @{now} >/dev/null"),
        }
    }

    /// It here.
    fn perform(&self, fs: &dyn FileSystem, uid: u32, clock: &TestClock) -> pumice_vfs::Result<()> {
        let make = |path, kind| {
            let (dir, name) = place(fs, path);
            let target = if kind == FileKind::Symlink { &b"target"[..] } else { b"" };
            let node = NewNode { kind, perm: 0o777, uid, gid: 100, rdev: 0, target };
            fs.create(dir, name, &node).map(drop)
        };
        let set = |path, change: SetAttr| fs.set_attr(find(fs, path), &change).map(drop);
        let none = SetAttr::default();
        match *self {
            Make(path) => make(path, FileKind::File),
            MakeDir(path) => make(path, FileKind::Dir),
            MakeFifo(path) => make(path, FileKind::Fifo),
            MakeLink(path) => make(path, FileKind::Symlink),
            Write(path, first, count) => {
                let mut blocks = first..first + count;
                blocks.try_for_each(|at| fs.write(find(fs, path), at * BLOCK, &[0; 4096]))
            }
            Resize(path, size) => set(path, SetAttr { size: Some(size), ..none }),
            Reserve(path, blocks) => {
                fs.allocate(find(fs, path), SpaceMode::Reserve { keep_size: false }, 0, blocks * BLOCK)
            }
            Attribute(path) => fs.set_xattr(find(fs, path), b"user.large", &[b'0'; 3000], XattrMode::Either),
            Link(old, new) => {
                let (dir, name) = place(fs, new);
                fs.link(find(fs, old), dir, name).map(drop)
            }
            Move(old, new) => {
                let ((from, old), (to, new)) = (place(fs, old), place(fs, new));
                fs.rename(from, old, to, new, RenameMode::Replace)
            }
            Remove(path) => {
                let (dir, name) = place(fs, path);
                fs.unlink(dir, name)
            }
            Own(path, user) => set(path, SetAttr { uid: Some(user), ..none }),
            Group(path, group) => set(path, SetAttr { gid: Some(group), ..none }),
            Project(path, project) => {
                fs.set_flags(find(fs, path), &FlagChange { bits: 0, mask: 0, project: Some(project) })
            }
            Wait(days) => {
                clock.pass(days * DAY);
                Ok(())
            }
        }
    }
}

/// The directory of a path, and its last name.
fn place<'a>(fs: &dyn FileSystem, path: &'a str) -> (Ino, &'a [u8]) {
    match path.split_once('/') {
        Some((dir, name)) => (fs.lookup(Ino::ROOT, dir.as_bytes()).unwrap().ino, name.as_bytes()),
        None => (Ino::ROOT, path.as_bytes()),
    }
}

fn find(fs: &dyn FileSystem, path: &str) -> Ino {
    let (dir, name) = place(fs, path);
    fs.lookup(dir, name).unwrap().ino
}

fn open(disk: &SharedDisk, clock: &TestClock) -> WritableF2fs {
    let options = WritableOptions {
        cache_bytes: 1 << 20,
        enforced: QuotaKind::ALL.to_vec(),
        ..WritableOptions::new(clock.clock())
    };
    WritableF2fs::mount(Box::new(disk.clone()), options).unwrap()
}

/// A volume with limits, on inodes and on KiB. One user is above hers already.
fn limited(clock: &TestClock) -> SharedDisk {
    let disk = SharedDisk::of(4096, volume(64 << 20, &SHAPE, clock).bytes_now());
    let fs = open(&disk, clock);
    let share = |soft, hard| Share { soft, hard, ..Share::default() };
    let set = |kind, id, inodes: (u64, u64), kibibytes: (u64, u64)| {
        let bytes = share(kibibytes.0 << 10, kibibytes.1 << 10);
        fs.set_quota(kind, Quota { id, inodes: share(inodes.0, inodes.1), bytes }).unwrap();
    };
    set(QuotaKind::User, ANN, (4, 6), (24, 40));
    set(QuotaKind::User, EVE, (1, 0), (0, 0));
    set(QuotaKind::Group, GROUP, (0, 2), (0, 0));
    for (name, uid) in [("home", ANN), ("project", ROOT)] {
        MakeDir(name).perform(&fs, uid, clock).unwrap();
        let open = SetAttr { perm: Some(0o777), ..SetAttr::default() };
        fs.set_attr(find(&fs, name), &open).unwrap();
    }
    fs.set_attr(Ino::ROOT, &SetAttr { perm: Some(0o777), ..SetAttr::default() }).unwrap();
    let change = FlagChange { bits: PROJECT_INHERIT, mask: PROJECT_INHERIT, project: Some(PROJECT) };
    fs.set_flags(find(&fs, "project"), &change).unwrap();
    set(QuotaKind::Project, PROJECT, (0, 3), (8, 16));
    for name in ["eve", "eve-1"] {
        Make(name).perform(fs.limited(), EVE, clock).unwrap();
    }
    fs.unmount().unwrap();
    disk
}

/// The quotas of all owners that have some, by kind and number; times of grace as days from the first moment.
fn quotas(disk: &SharedDisk) -> BTreeMap<(String, u32), Quota> {
    let how = MountOptions { cache_bytes: 1 << 20, keys: Keyring::default(), recover: None };
    let fs = F2fs::mount(vec![Box::new(disk.clone())], how).unwrap();
    let start = TestClock::new().now().seconds;
    let days = |share: Share| {
        let until = i64::try_from(share.until).unwrap();
        Share { until: ((until - start + SLACK) / DAY).max(0).unsigned_abs(), ..share }
    };
    let of = |kind: QuotaKind| {
        let all = fs.quotas(kind).unwrap().unwrap().into_iter();
        let used = all.filter(|quota| quota.inodes.used > 0 || quota.inodes.hard > 0);
        used.map(move |quota| {
            let quota = Quota { inodes: days(quota.inodes), bytes: days(quota.bytes), ..quota };
            ((kind.to_string(), quota.id), quota)
        })
    };
    QuotaKind::ALL.into_iter().flat_map(of).collect()
}

/// All deeds, one shell after the other: each is for the deeds in a row of one user. Deeds and errors are told in
/// /host/said.
fn script(start: i64) -> String {
    let mut script = format!(
        "date -s @{start} >/dev/null
mount -t f2fs -o noatime,usrquota,grpquota,prjquota /dev/vda /mnt
cd /mnt
umask 0
chmod 777 /tmp
exec 3>/host/said
"
    );
    let (mut now, mut last) = (start, None);
    for (number, (uid, deed)) in DEEDS.iter().enumerate() {
        if let Wait(days) = deed {
            now += days * DAY;
        }
        if last != Some(uid) {
            script.push_str(if last.is_some() { "END\n" } else { "" });
            writeln!(
                script,
                "setpriv --reuid {uid} --regid 100 --groups 100,{GROUP} sh -s <<'END'
told() {{
    if [ $1 = 0 ]; then echo $2 done >&3; return; fi
    read -r line </tmp/{uid}
    case $line in *'quota exceeded'*) line=quota;; esac
    echo $2 $line >&3
}}"
            )
            .unwrap();
            last = Some(uid);
        }
        writeln!(script, "{{ {}; }} 2>/tmp/{uid}; told $? {number}", deed.shell(now)).unwrap();
    }
    script.push_str("END\nstat -f -c '%b %f %c %d' project >/host/space\ncd /\numount /mnt\n");
    script
}

/// What everybody may do here and in Linux is the same, and so is their use in the end.
#[test]
fn limits_hold_as_in_linux() {
    let Some(machine) = Machine::for_test() else { return };
    let clock = TestClock::new();
    let ours = limited(&clock);
    sound(&ours);
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = place.path().join("theirs");
    save(&ours, &path);
    let run =
        f2fs::run_in_kernel(&machine, std::slice::from_ref(&path), &script(clock.now().seconds)).unwrap();
    let said = run.file("said").unwrap();
    let fs = open(&ours, &clock);
    let here = DEEDS.iter().enumerate().map(|(number, (uid, deed))| {
        let fs: &dyn FileSystem = if *uid == ROOT { &fs } else { fs.limited() };
        match deed.perform(fs, *uid, &clock) {
            Ok(()) => format!("{number} done"),
            Err(error) if error.errno() == Errno::Quota => format!("{number} quota"),
            Err(error) => format!("{number} {error}"),
        }
    });
    let here: Vec<String> = here.collect();
    let deeds = DEEDS.iter().map(|(uid, deed)| format!("{uid}: {}", deed.shell(0)));
    let both = here.iter().map(String::as_str).zip(said.lines()).zip(deeds);
    let unlike: Vec<_> = both.filter(|((ours, theirs), _)| ours != theirs).collect();
    assert!(unlike.is_empty(), "here, in Linux: {unlike:#?}");
    assert_eq!(said.lines().count(), DEEDS.len());
    assert!(here.iter().filter(|line| line.ends_with("quota")).count() >= 20, "{here:#?}");
    let space = fs.space_at(find(&fs, "project")).unwrap();
    let blocks = [space.total_bytes, space.free_bytes].map(|bytes| bytes / BLOCK);
    let space = format!("{} {} {} {}\n", blocks[0], blocks[1], space.inodes, space.free_inodes);
    assert_eq!(space, run.file("space").unwrap());
    fs.unmount().unwrap();
    sound(&ours);
    let theirs = SharedDisk::of(4096, fs::read(&path).unwrap());
    // Linux wants a check of the quota files when it refused another owner. Nothing but that is to be mended.
    let mended = plan(Box::new(theirs.clone()), Extent::Safe, clock.now(), 1, &mut |_, _| ()).unwrap();
    let fixes: Vec<Code> = mended.fixes().iter().map(|fix| fix.finding.code).collect();
    assert_eq!(fixes, [Code::CheckpointFlag]);
    mended.commit().unwrap();
    sound(&theirs);
    assert_eq!(quotas(&ours), quotas(&theirs));
    // What Linux wrote goes on here.
    let fs = open(&theirs, &clock);
    assert_eq!(Make("eve-5").perform(fs.limited(), EVE, &clock).unwrap_err().errno(), Errno::Quota);
}

/// Linux, which reserves all blocks of a write that one node leads to together, takes none of such a write, and what fits
/// of one that comes in pieces.
#[test]
fn linux_takes_no_more_of_a_large_write() {
    let Some(machine) = Machine::for_test() else { return };
    let clock = TestClock::new();
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = place.path().join("theirs");
    save(&limited(&clock), &path);
    let script = format!(
        "date -s @{} >/dev/null
mount -t f2fs -o noatime,usrquota /dev/vda /mnt
cd /mnt/home
setpriv --reuid {ANN} --regid 100 --clear-groups sh -c '
    dd if=/dev/zero of=large bs=65536 count=1; stat -c %s large; rm large
    dd if=/dev/zero of=small bs=4096 count=16; stat -c %s small' >/host/said 2>/dev/null
cd /
umount /mnt
",
        clock.now().seconds
    );
    let run = f2fs::run_in_kernel(&machine, std::slice::from_ref(&path), &script).unwrap();
    let sizes: Vec<u64> = run.file("said").unwrap().lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(sizes, [0, 10 * BLOCK]);
}

/// A write that no limit has room for as a whole writes what there is room for, from its start; the next is refused. It is
/// the same where the volume is full.
#[test]
fn a_large_write_takes_what_fits() {
    const WIDTH: usize = 4096;
    let clock = TestClock::new();
    let disk = limited(&clock);
    let fs = open(&disk, &clock);
    for name in ["home/a", "home/b"] {
        Make(name).perform(fs.limited(), ANN, &clock).unwrap();
    }
    let bytes: Vec<u8> = (0..=255).flat_map(|byte| [byte; 1024]).collect();
    let file = find(&fs, "home/a");
    // Ten blocks are allowed, and it begins in the middle of one.
    assert_eq!(fs.limited().write_part(file, 700, &bytes).unwrap(), 10 * WIDTH - 700);
    assert_eq!(fs.attr(file).unwrap().size, 10 * BLOCK);
    let mut found = vec![0; 10 * WIDTH];
    fs.read(file, 0, &mut found).unwrap();
    assert!(found[..700].iter().all(|byte| *byte == 0) && found[700..] == bytes[..10 * WIDTH - 700]);
    let other = find(&fs, "home/b");
    for (file, offset) in [(file, 10 * BLOCK), (other, 0)] {
        let refused = fs.limited().write_part(file, offset, &bytes).unwrap_err();
        assert_eq!(refused.errno(), Errno::Quota);
    }
    assert_eq!(
        fs.limited().write_part(file, 0, &bytes[..4096]).unwrap(),
        4096,
        "what is there is written over"
    );
    assert_eq!(fs.write_part(other, 0, &bytes).unwrap(), bytes.len(), "root is not bound");
    let large = vec![1; 48 << 20];
    let (mut at, mut last) = (0, large.len());
    while last == large.len() {
        last = fs.write_part(other, at, &large).unwrap();
        at += last as u64;
    }
    assert!(last > 0 && last.is_multiple_of(WIDTH), "{last}");
    assert_eq!(fs.space().unwrap().free_bytes / BLOCK, 0);
    assert_eq!(fs.write_part(other, at, &large).unwrap_err().errno(), Errno::NoSpace);
    assert_eq!(fs.attr(other).unwrap().size, at);
    fs.unmount().unwrap();
    sound(&disk);
}

/// Times of grace are set for a kind. One that runs ends when it did; the next is as long as is said now. An owner who
/// is at the soft limit again has a new one later.
#[test]
fn times_of_grace_are_set() {
    let clock = TestClock::new();
    let disk = limited(&clock);
    let fs = open(&disk, &clock);
    let day = |days: i64| u32::try_from(days * DAY).unwrap();
    fs.set_grace(QuotaKind::User, Grace { inodes: day(2), bytes: day(1) }).unwrap();
    let make = |name| Make(name).perform(fs.limited(), ANN, &clock).map_err(|error| error.errno());
    let until = |fs: &WritableF2fs| {
        fs.sync().unwrap();
        quotas(&disk)[&("user".into(), ANN)]
    };
    for name in ["home/a", "home/b", "home/c"] {
        make(name).unwrap();
    }
    assert_eq!(until(&fs).inodes.until, 0, "at the soft limit, and not above it");
    make("home/d").unwrap();
    assert_eq!(until(&fs).inodes.until, 2);
    fs.set_grace(QuotaKind::User, Grace { inodes: day(30), bytes: day(30) }).unwrap();
    clock.pass(2 * DAY);
    assert_eq!(make("home/e"), Err(Errno::Quota), "the time that ran has ended");
    Remove("home/d").perform(&fs, ANN, &clock).unwrap();
    assert_eq!(until(&fs).inodes.until, 0);
    make("home/d").unwrap();
    assert_eq!(until(&fs).inodes.until, 32);
    fs.unmount().unwrap();
    sound(&disk);
    let how = MountOptions { cache_bytes: 1 << 20, keys: Keyring::default(), recover: None };
    let shown = F2fs::mount(vec![Box::new(disk.clone())], how).unwrap();
    let grace = |kind| shown.grace(kind).unwrap().unwrap();
    assert_eq!(grace(QuotaKind::User), Grace { inodes: day(30), bytes: day(30) });
    assert_eq!(grace(QuotaKind::Group), Grace { inodes: day(7), bytes: day(7) });
}

/// A file counts as long as it is open, and one that fsync promised counts after a power cut. A call that fails counts
/// nothing.
#[test]
fn open_files_and_promises_count() {
    let clock = TestClock::new();
    let disk = limited(&clock);
    let fs = open(&disk, &clock);
    let refused = |deed: Deed, fs: &WritableF2fs| {
        assert_eq!(deed.perform(fs.limited(), ANN, &clock).unwrap_err().errno(), Errno::Quota);
    };
    let done = |deed: Deed, fs: &WritableF2fs| deed.perform(fs.limited(), ANN, &clock).unwrap();
    for name in ["home/a", "home/b", "home/c", "home/d", "home/e"] {
        done(Make(name), &fs);
    }
    done(Write("home/a", 0, 9), &fs);
    let file = find(&fs, "home/a");
    fs.hold(file).unwrap();
    done(Remove("home/a"), &fs);
    for _ in 0..9 {
        refused(Make("home/a"), &fs);
        refused(Reserve("home/b", 2), &fs);
    }
    done(Write("home/b", 0, 1), &fs);
    fs.release(file).unwrap();
    done(Write("home/b", 1, 9), &fs);
    refused(Write("home/c", 0, 1), &fs);
    done(Resize("home/b", 0), &fs);
    fs.sync().unwrap();
    done(Write("home/c", 0, 8), &fs);
    fs.fsync(find(&fs, "home/c"), false).unwrap();
    drop(fs);
    let fs = open(&disk, &clock);
    assert_eq!(fs.recovery().inodes, 1);
    refused(Reserve("home/c", 11), &fs);
    done(Reserve("home/c", 10), &fs);
    fs.unmount().unwrap();
    sound(&disk);
}

/// The block of a small quota file that has its entries, as they are written here.
const LEAF: usize = 2;

/// A volume whose checkpoint says that quota files are out of date, and that of a kind is: by it the first two owners
/// have nothing.
fn stale(disk: &SharedDisk, kind: QuotaKind) -> Patient {
    let mut p = Patient::new(&Arc::new(disk.bytes_now()));
    let (sb, checkpoint) = (p.volume().super_block().clone(), p.volume().checkpoint().clone());
    let flags = byte_of(sb.checkpoint_addr(checkpoint.pack())) + 132;
    p.put32(flags, checkpoint.flags().with(CpFlags::QUOTA_NEED_FSCK).0);
    p.make_right(&Seal::Pack(checkpoint.pack()));
    // The leaf in front of the tree: inodes and bytes of its first two entries.
    let leaf = quota_block(&p, kind, LEAF);
    for entry in [leaf + 16, leaf + 16 + 72] {
        p.write(entry + 24, &[0; 8]);
        p.write(entry + 48, &[0; 8]);
    }
    p
}

/// The place of a block of 1024 bytes of a quota file.
fn quota_block(p: &Patient, kind: QuotaKind, number: usize) -> usize {
    let at = QuotaKind::ALL.iter().position(|other| *other == kind).unwrap();
    let (inode, node) = p.nodes.inode(p.volume().super_block().quota_inodes()[at]).unwrap();
    let address = inode.addrs_at() + number / 4 * 4;
    let address = u32::from_le_bytes(*node.block[address..].first_chunk().unwrap());
    byte_of(pumice_f2fs::layout::BlockAddr(address)) + number % 4 * 1024
}

fn disk_of(p: &Patient, like: &SharedDisk) -> SharedDisk {
    SharedDisk::of(4096, p.read(0, like.bytes_now().len()))
}

/// Linux says by a flag that it left quota files behind, and counts nothing from then on. Here a mount counts all
/// inodes; limits stay, and hold at once.
#[test]
fn what_was_not_counted_is_counted_by_a_mount() {
    let clock = TestClock::new();
    let disk = limited(&clock);
    let fs = open(&disk, &clock);
    for name in ["home/a", "home/b", "home/c", "home/d"] {
        Make(name).perform(fs.limited(), ANN, &clock).unwrap();
    }
    Write("home/a", 0, 7).perform(fs.limited(), ANN, &clock).unwrap();
    fs.unmount().unwrap();
    let wanted = quotas(&disk);
    for kind in QuotaKind::ALL {
        let stale = disk_of(&stale(&disk, kind), &disk);
        assert_ne!(quotas(&stale), wanted, "{kind}");
        let fs = open(&stale, &clock);
        Make("home/e").perform(fs.limited(), ANN, &clock).unwrap();
        let refused = Make("home/f").perform(fs.limited(), ANN, &clock).unwrap_err();
        assert_eq!(refused.errno(), Errno::Quota, "{kind}");
        Remove("home/e").perform(&fs, ANN, &clock).unwrap();
        fs.unmount().unwrap();
        sound(&stale);
        assert_eq!(quotas(&stale), wanted, "{kind}");
    }
    // Nothing was changed by anybody: the mount alone brings all up to date, by a checkpoint of its own.
    let stale = disk_of(&stale(&disk, QuotaKind::User), &disk);
    drop(open(&stale, &clock));
    let volume = Volume::open(vec![Box::new(stale.clone())], 1 << 20).unwrap();
    assert!(!volume.checkpoint().flags().has(CpFlags::QUOTA_NEED_FSCK));
    assert_eq!(quotas(&stale), wanted);
}

/// An inode that lost its last name while it was open goes with the mount that counts, and so does its use.
#[test]
fn what_has_no_name_is_not_counted_by_a_mount() {
    let clock = TestClock::new();
    let disk = limited(&clock);
    let fs = open(&disk, &clock);
    for name in ["home/a", "home/b"] {
        Make(name).perform(fs.limited(), ANN, &clock).unwrap();
        Write(name, 0, 3).perform(fs.limited(), ANN, &clock).unwrap();
    }
    fs.hold(find(&fs, "home/a")).unwrap();
    Remove("home/a").perform(&fs, ANN, &clock).unwrap();
    fs.sync().unwrap();
    drop(fs);
    let stale = disk_of(&stale(&disk, QuotaKind::User), &disk);
    open(&stale, &clock).unmount().unwrap();
    sound(&stale);
    let quota = quotas(&stale)[&("user".into(), ANN)];
    // Directory and file; the directory has no blocks besides its own.
    assert_eq!((quota.inodes.used, quota.bytes.used), (2, 3 * BLOCK));
}

/// A quota file that makes no sense is left to fsck: a mount that would write is refused by name.
#[test]
fn a_broken_quota_file_that_is_out_of_date_is_refused() {
    let clock = TestClock::new();
    let disk = limited(&clock);
    let mut p = stale(&disk, QuotaKind::User);
    p.flip(quota_block(&p, QuotaKind::Group, 0));
    let disk = disk_of(&p, &disk);
    let refused = WritableF2fs::mount(Box::new(disk.clone()), WritableOptions::new(clock.clock()));
    let Err(Error::Unsupported(why)) = refused.map(drop) else { panic!("it is mounted") };
    assert!(why.contains("quota files are out of date") && why.contains("makes no sense"), "{why}");
}

/// A repair makes a broken quota file anew. Limits and times of grace that are still there stay, and those that are not
/// are told; a repair that is to lose nothing leaves them to people.
#[test]
fn a_repair_keeps_limits() {
    let clock = TestClock::new();
    let disk = limited(&clock);
    let wanted = quotas(&disk);
    let mend = |p: &Patient, extent| {
        let disk = disk_of(p, &disk);
        let repair = plan(Box::new(disk.clone()), extent, clock.now(), 1, &mut |_, _| ()).unwrap();
        let (lost, fixes) = (repair.lost_limits().to_vec(), repair.fixes().len());
        repair.commit().unwrap();
        (disk, lost, fixes)
    };
    let broken = |edit: &dyn Fn(&mut Patient)| {
        let mut p = Patient::new(&Arc::new(disk.bytes_now()));
        edit(&mut p);
        p
    };
    let lost = |kind, lost| LostLimits { kind, lost };
    for kind in QuotaKind::ALL {
        // The first word, which alone says what the file is.
        let p = broken(&|p| p.flip(quota_block(p, kind, 0)));
        for extent in [Extent::Safe, Extent::All] {
            let (mended, lost, _) = mend(&p, extent);
            sound(&mended);
            assert_eq!((quotas(&mended), lost), (wanted.clone(), Vec::new()), "{kind}");
        }
        // The root of the tree, and the leaf in front of it.
        let p = broken(&|p| p.write(quota_block(p, kind, 1), &[0xaa; 1024]));
        let (mended, told, _) = mend(&p, Extent::All);
        sound(&mended);
        assert_eq!((quotas(&mended), told), (wanted.clone(), vec![lost(kind, Lost::Owners(0, u32::MAX))]));
        let p = broken(&|p| p.write(quota_block(p, kind, LEAF), &[0; 1024]));
        let (_, _, fixes) = mend(&p, Extent::Safe);
        assert_eq!(fixes, 0, "{kind}");
        let (mended, told, _) = mend(&p, Extent::All);
        sound(&mended);
        let owner = [ANN, GROUP, PROJECT][QuotaKind::ALL.iter().position(|other| *other == kind).unwrap()];
        assert!(told.contains(&lost(kind, Lost::Owner(owner))), "{told:?}");
        let mended = quotas(&mended);
        for (key, quota) in wanted.iter().filter(|((of, _), _)| *of != kind.to_string()) {
            assert_eq!(mended.get(key), Some(quota), "{kind}");
        }
    }
}
