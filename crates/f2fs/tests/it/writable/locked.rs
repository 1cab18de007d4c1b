//! Encrypted files on a volume that is written to, without their key and with it: as Linux has them.

use std::{collections::BTreeMap, fmt::Write, fs};

use pumice_f2fs::{F2fs, MountOptions, WritableF2fs, WritableOptions, crypt::Keyring};
use pumice_knobs::F2FS_LOCKED;
use pumice_vfs::{
    Errno, FileKind, FileSystem, Ino, NewNode, RenameMode, SetAttr, SpaceMode, XattrMode, path,
};
use xtask::{Machine, f2fs};

use super::{
    crash::options,
    disk::{SharedDisk, save},
    linux::{golden, open},
    policy::{key, keys},
    subject::{node, ours, theirs},
};
use crate::common::{
    manifest::{Record, differences, parse},
    walk,
};

/// Calls of a round.
const CALLS: usize = 200;

/// The files there, without the times of their changes.
fn shown(disk: &SharedDisk, keys: Keyring) -> BTreeMap<String, Record> {
    let options = MountOptions { cache_bytes: 1 << 20, keys, recover: None };
    timeless(walk::records(&F2fs::mount(vec![Box::new(disk.clone())], options).unwrap()))
}

fn timeless(mut records: BTreeMap<String, Record>) -> BTreeMap<String, Record> {
    let times = ["atime", "mtime", "ctime"];
    for record in records.values_mut() {
        record.0.retain(|field, _| !times.contains(&field.as_str()));
    }
    records
}

fn errno<T: std::fmt::Debug>(done: pumice_vfs::Result<T>) -> Errno {
    done.unwrap_err().errno()
}

fn entries(fs: &dyn FileSystem, dir: Ino) -> Vec<(Vec<u8>, Ino, FileKind)> {
    let mut entries = Vec::new();
    fs.readdir(dir, 0, &mut |entry| {
        entries.push((entry.name.to_vec(), entry.ino, entry.kind));
        true
    })
    .unwrap();
    entries
}

fn without_key(fs: &dyn FileSystem, dir: Ino) {
    assert_eq!(errno(fs.create(dir, b"new", &node(FileKind::File))), Errno::NoKey);
    assert_eq!(errno(fs.create(dir, b"new", &node(FileKind::Dir))), Errno::NoKey);
    assert_eq!(errno(fs.lookup(dir, b"new")), Errno::NoEntry);
    let clear = fs.lookup(Ino::ROOT, b"clear").unwrap().ino;
    assert_eq!(errno(fs.link(clear, dir, b"new")), Errno::NoKey);
    assert_eq!(errno(fs.rename(Ino::ROOT, b"clear", dir, b"new", RenameMode::Replace)), Errno::NoKey);
    for (name, ino, kind) in entries(fs, dir) {
        assert_eq!(fs.lookup(dir, &name).unwrap().ino, ino);
        assert_eq!(errno(fs.create(dir, &name, &node(FileKind::File))), Errno::Exists);
        assert_eq!(errno(fs.rename(dir, &name, Ino::ROOT, b"new", RenameMode::Replace)), Errno::NoKey);
        fs.set_attr(ino, &SetAttr { perm: Some(0o700), ..SetAttr::default() }).unwrap();
        if kind == FileKind::File {
            assert_eq!(errno(fs.read(ino, 0, &mut [0])), Errno::NoKey);
            assert_eq!(errno(fs.write(ino, 0, &[0])), Errno::NoKey);
            assert_eq!(errno(fs.allocate(ino, SpaceMode::PunchHole, 0, 1)), Errno::NoKey);
            let size = SetAttr { size: Some(0), ..SetAttr::default() };
            assert_eq!(errno(fs.set_attr(ino, &size)), Errno::NoKey);
            fs.set_xattr(ino, b"user.new", b"value", XattrMode::Either).unwrap();
            fs.fsync(ino, false).unwrap();
        }
        match kind {
            FileKind::Symlink => {
                assert_eq!(fs.readlink(ino).unwrap().len() as u64, fs.attr(ino).unwrap().size);
            }
            FileKind::Dir => without_key(fs, ino),
            _ => {}
        }
    }
}

/// Whatever needs the key fails; all else is done, and removes everything in the end.
#[test]
fn what_needs_the_key_fails_and_all_else_is_done() {
    let disk = golden("encrypt", 4096);
    let dirs = ["aes-pad4", "aes-pad32", "adiantum", "adiantum-direct", "aes128", "old-aes"];
    let fs = open(&disk).unwrap();
    for dir in dirs {
        without_key(&fs, fs.lookup(Ino::ROOT, dir.as_bytes()).unwrap().ino);
    }
    fs.unmount().unwrap();
    ours(&disk);
    theirs(&disk);
    let (before, after) = (shown(&golden("encrypt", 4096), key()), shown(&disk, key()));
    assert_eq!(before.len(), after.len());
    let contents = |records: &BTreeMap<String, Record>| -> Vec<_> {
        records.iter().map(|(path, record)| (path.clone(), record.0.get("sha256").cloned())).collect()
    };
    assert!(contents(&before) == contents(&after), "contents are as they were");
    let fs = open(&disk).unwrap();
    for dir in dirs {
        remove(&fs, Ino::ROOT, dir.as_bytes());
    }
    fs.unmount().unwrap();
    ours(&disk);
    theirs(&disk);
    assert_eq!(shown(&disk, key()).len(), 2, "the root, and what is not encrypted");
}

fn remove(fs: &dyn FileSystem, dir: Ino, name: &[u8]) {
    let found = fs.lookup(dir, name).unwrap();
    if found.kind != FileKind::Dir {
        return fs.unlink(dir, name).unwrap();
    }
    for (name, ..) in entries(fs, found.ino) {
        remove(fs, found.ino, &name);
    }
    fs.rmdir(dir, name).unwrap();
}

/// A call, as a line of a shell, and how it ended here.
struct Call {
    line: String,
    ended: Option<Errno>,
}

/// Everything with its path.
fn all(fs: &dyn FileSystem) -> Vec<(String, FileKind)> {
    let mut all = vec![(String::new(), FileKind::Dir)];
    let mut at = 0;
    while let Some((dir, kind)) = all.get(at).cloned() {
        at += 1;
        if kind == FileKind::Dir {
            let ino = path::find(fs, format!("{dir}/").as_bytes()).unwrap().ino;
            let below = entries(fs, ino).into_iter();
            all.extend(
                below.map(|(name, _, kind)| (format!("{dir}/{}", String::from_utf8(name).unwrap()), kind)),
            );
        }
    }
    all
}

fn split<'a>(fs: &dyn FileSystem, path: &'a str) -> (Ino, &'a [u8]) {
    path::split(fs, path.as_bytes()).unwrap()
}

/// A call at random on a volume; with the key content is written more often.
fn call(fs: &dyn FileSystem, number: usize, keyed: bool, draw: &mut fastrand::Rng) -> Option<Call> {
    let all = all(fs);
    let of = |draw: &mut fastrand::Rng, wanted: &dyn Fn(FileKind) -> bool| {
        let fitting: Vec<&String> = all
            .iter()
            .filter(|(path, kind)| !path.is_empty() && wanted(*kind))
            .map(|(path, _)| path)
            .collect();
        draw.choice(fitting).cloned()
    };
    let is_file = |kind| kind == FileKind::File;
    let is_dir = |kind| kind == FileKind::Dir;
    let [file, other] = [of(draw, &is_file)?, of(draw, &is_file)?];
    let (dir, any) = (of(draw, &is_dir)?, of(draw, &|kind| kind != FileKind::Dir)?);
    let new = format!("{dir}/new-{number}");
    let ino = |path: &str| path::find(fs, path.as_bytes()).unwrap().ino;
    let make = |kind, target: &[u8]| {
        let (dir, name) = split(fs, &new);
        let perm = if kind == FileKind::Symlink { 0o777 } else { 0o755 };
        fs.create(dir, name, &NewNode { kind, perm, uid: 0, gid: 0, rdev: 0, target }).map(drop)
    };
    let (line, done) = match draw.u8(..if keyed { 20 } else { 13 }) {
        0 => (format!("cat /mnt{file} >/dev/null"), fs.read(ino(&file), 0, &mut [0]).map(drop)),
        1 => {
            let bytes = if keyed { draw.u64(..30_000) } else { 10 };
            let size = SetAttr { size: Some(bytes), ..SetAttr::default() };
            (format!("truncate -s {bytes} /mnt{file}"), fs.set_attr(ino(&file), &size).map(drop))
        }
        2 => (format!("mkfifo -m 755 /mnt{new}"), make(FileKind::Fifo, b"")),
        3 => (format!("mkdir -m 755 /mnt{new}"), make(FileKind::Dir, b"")),
        4 => (format!("ln -s target /mnt{new}"), make(FileKind::Symlink, b"target")),
        5 => {
            let (dir, name) = split(fs, &new);
            (format!("ln /mnt{file} /mnt{new}"), fs.link(ino(&file), dir, name).map(drop))
        }
        6 => {
            let ((from, name), (to, to_name)) = (split(fs, &any), split(fs, &new));
            let done = fs.rename(from, name, to, to_name, RenameMode::Replace);
            (format!("guest-control rename /mnt{any} /mnt{new}"), done)
        }
        7 if ino(&file) != ino(&other) => {
            let ((from, name), (to, to_name)) = (split(fs, &file), split(fs, &other));
            let done = fs.rename(from, name, to, to_name, RenameMode::Replace);
            (format!("guest-control rename /mnt{file} /mnt{other}"), done)
        }
        8 => {
            let (dir, name) = split(fs, &any);
            (format!("rm /mnt{any}"), fs.unlink(dir, name))
        }
        9 => {
            let (above, name) = split(fs, &dir);
            (format!("rmdir /mnt{dir}"), fs.rmdir(above, name))
        }
        10 => {
            let perm = SetAttr { perm: Some(0o640), ..SetAttr::default() };
            (format!("chmod 640 /mnt{file}"), fs.set_attr(ino(&file), &perm).map(drop))
        }
        11 => {
            let value = vec![b'x'; draw.usize(..3000)];
            let text = String::from_utf8(value.clone()).unwrap();
            let done = fs.set_xattr(ino(&dir), b"user.pumice", &value, XattrMode::Either);
            (format!("setfattr -n user.pumice -v '{text}' /mnt{dir}"), done)
        }
        12 => {
            let (dir, name) = split(fs, &new);
            (format!("rm /mnt{new}"), fs.unlink(dir, name))
        }
        _ => content_call(fs, number, (&file, &new), draw),
    };
    Some(Call { line, ended: done.err().map(|error| error.errno()) })
}

/// A call that changes the content of a file, or makes one.
fn content_call(
    fs: &dyn FileSystem,
    number: usize,
    (file, new): (&str, &str),
    draw: &mut fastrand::Rng,
) -> (String, pumice_vfs::Result<()>) {
    let ino = path::find(fs, file.as_bytes()).unwrap().ino;
    match draw.u8(..7) {
        0 => {
            let offset = draw.u64(..20_000);
            let done = fs.allocate(ino, SpaceMode::PunchHole, offset, 9000);
            (format!("fallocate -p -o {offset} -l 9000 /mnt{file}"), done)
        }
        1 | 2 => {
            let (dir, name) = split(fs, new);
            let done = fs.create(dir, name, &node(FileKind::File)).map(drop);
            (format!("umask 022; : >/mnt{new}; chmod 755 /mnt{new}; chown 1000:100 /mnt{new}"), done)
        }
        _ => {
            let bytes = draw.usize(1..9000);
            let at = if draw.bool() { fs.attr(ino).unwrap().size } else { draw.u64(..40_000) };
            let text = format!("{number:0bytes$}");
            let put = format!("dd of=/mnt{file} bs=1 seek={at} conv=notrunc");
            (format!("printf %0{bytes}d {number} | {put}"), fs.write(ino, at, text.as_bytes()))
        }
    }
}

/// The error in the last words of a tool of Linux's.
fn error_of(said: &str) -> Option<Errno> {
    [
        (Errno::NoKey, "Required key not available"),
        (Errno::NoEntry, "No such file or directory"),
        (Errno::Exists, "File exists"),
        (Errno::NotEmpty, "Directory not empty"),
        (Errno::CrossDevice, "Invalid cross-device link"),
        (Errno::CrossDevice, "CrossesDevices"),
    ]
    .into_iter()
    .find(|(_, words)| said.contains(words))
    .map(|(errno, _)| errno)
}

/// Calls at random, here and by Linux, without the key: they end alike, and leave the same; with the key all content is
/// there, and Linux finds nothing wrong with ours.
#[test]
fn random_calls_end_as_in_linux() {
    end_as_in_linux(false);
}

/// The same with the key, when content is written, too.
#[test]
fn random_calls_with_the_key_end_as_in_linux() {
    end_as_in_linux(true);
}

/// Gives Linux the key on /mnt.
pub(crate) const GIVE: &str = "
key=$(for n in $(seq 0 63); do printf %02x $n; done)
guest-control key /mnt $key >/dev/null
guest-control key /mnt $key 04334e23057a6e2d >/dev/null
";

fn end_as_in_linux(keyed: bool) {
    let (give, given) = if keyed { (GIVE, Some(keys())) } else { ("", None) };
    let shown_now = |disk: &SharedDisk| shown(disk, if keyed { key() } else { Keyring::default() });
    let Some(machine) = Machine::for_test() else { return };
    let seeds = F2FS_LOCKED.seeds(0..1);
    for seed in seeds.clone() {
        F2FS_LOCKED.begin(seed);
        let mut draw = fastrand::Rng::with_seed(seed);
        let disk = golden("encrypt", 4096);
        let how = WritableOptions { keys: given.clone(), ..options() };
        let fs = WritableF2fs::mount(Box::new(disk.clone()), how).unwrap();
        let calls: Vec<Call> = (0..CALLS).filter_map(|number| call(&fs, number, keyed, &mut draw)).collect();
        fs.unmount().unwrap();
        ours(&disk);
        theirs(&disk);
        let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let [linux, here] = ["linux", "here"].map(|name| place.path().join(name));
        save(&golden("encrypt", 4096), &linux);
        save(&disk, &here);
        let mut script = format!("mount -t f2fs -o noatime /dev/vda /mnt\n{give}");
        for (number, Call { line, .. }) in calls.iter().enumerate() {
            writeln!(
                script,
                "if {line} 2>/tmp/said; then :; else echo {number} $(cat /tmp/said) >>/host/said; fi"
            )
            .unwrap();
        }
        script += "touch /host/said\nguest-manifest /mnt >/host/linux\numount /mnt\n";
        writeln!(script, "mount -t f2fs -o noatime /dev/vdb /mnt\n{give}").unwrap();
        script += "guest-manifest /mnt >/host/here\numount /mnt\n";
        script += "dmesg | grep F2FS-fs >/host/dmesg\n";
        let run = f2fs::run_in_kernel(&machine, &[linux.clone(), here], &script).unwrap();
        let said = run.file("said").unwrap();
        let mut wrong = Vec::new();
        for (number, Call { line, ended }) in calls.iter().enumerate() {
            let words = said.lines().find_map(|said| said.strip_prefix(&format!("{number} ")));
            if words.map(error_of) != ended.map(Some) {
                wrong.push(format!("{line}: {ended:?}, and in Linux: {words:?}"));
            }
        }
        assert!(wrong.is_empty(), "PUMICE_SEED={seed}: {wrong:#?}");
        let theirs = SharedDisk::of(4096, fs::read(&linux).unwrap());
        let kernel = timeless(parse(&run.file("linux").unwrap()));
        let same = |found: &BTreeMap<String, Record>, wanted: &BTreeMap<String, Record>| {
            let mut lines = differences(found, wanted);
            // Numbers are given in another order, new files are born at another time, and blocks of names go otherwise.
            lines.retain(|line| {
                ![": ino ", ": btime", ": blocks", ": size"].iter().any(|word| line.contains(word))
            });
            assert!(lines.is_empty(), "PUMICE_SEED={seed}: {:#?}", &lines[..lines.len().min(20)]);
        };
        same(&shown_now(&disk), &kernel);
        same(&timeless(parse(&run.file("here").unwrap())), &kernel);
        same(&shown(&disk, key()), &shown(&theirs, key()));
        let told = run.file("dmesg").unwrap();
        let is_usual = |line: &&str| line.contains("Mounted with") || line.contains("Found nat_bits");
        let warnings: Vec<&str> = told.lines().filter(|line| !is_usual(line)).collect();
        assert!(warnings.is_empty(), "PUMICE_SEED={seed}: {warnings:#?}");
        let failed = calls.iter().filter(|call| call.ended.is_some()).count();
        assert!(failed > 0 && failed < calls.len());
    }
    F2FS_LOCKED.ran(seeds.clone(), seeds.end - seeds.start);
}
