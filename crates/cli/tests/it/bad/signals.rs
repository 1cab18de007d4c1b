//! Signals in the middle of the work.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    os::unix::fs::MetadataExt,
    path::Path,
    process::{Child, Command},
    time::Duration,
};

use rustix::fs::{Mode, OFlags};

use super::ground;
use pumice_knobs::Patience;

use crate::common::World;

/// The command that is interrupted, the signal, and the message.
pub(crate) const ROWS: &[(&str, &str, &str)] = &[
    ("mkfs --chip slc-4k-8g --from src new", "INT", "interrupted; new was not made"),
    ("mkfs --chip slc-4k-8g --from src new", "TERM", "interrupted; new was not made"),
    ("mkfs --chip slc-4k-8g --from src new", "HUP", "interrupted; new was not made"),
    ("mkfs --force --from src old", "INT", "interrupted; old is as it was"),
    ("put image src there", "INT", "interrupted; nothing was copied"),
    ("put image src there", "TERM", "interrupted; nothing was copied"),
    ("put --force image src/0 kept", "INT", "interrupted; nothing was copied"),
    ("get full / out", "INT", "interrupted; the files that are there are whole"),
    ("nand export full dump", "INT", "interrupted; dump was not made"),
    ("tar full / -o out.tar", "INT", "interrupted; out.tar was not made"),
    ("mkfs -t f2fs --from src --free 1M new", "INT", "interrupted; new was not made"),
    ("mkfs -t f2fs --from src --free 1M new", "TERM", "interrupted; new was not made"),
    ("mkfs -t f2fs --from src.tar --free 1M new", "HUP", "interrupted; new was not made"),
    ("mkfs -t f2fs --force --from src --free 1M old", "INT", "interrupted; old is as it was"),
    ("get card / out", "INT", "interrupted; the files that are there are whole"),
    ("tar card / -o out.tar", "TERM", "interrupted; out.tar was not made"),
    ("nand import --chip slc-4k-8g --size 200M dump.raw new", "INT", "interrupted; new was not made"),
];

/// The commands that are killed. Nobody is left to clear up, so there must be nothing to clear.
pub(crate) const KILLED: &[&str] = &[
    "mkfs --chip slc-4k-8g --from src new",
    "mkfs --force --from src old",
    "mkfs -t f2fs --from src --free 1M new",
    "mkfs -t f2fs --force --from src --free 1M old",
    "mkfs -t f2fs --sparse --from src --free 1M new",
    "nand export full dump",
    "nand import --chip slc-4k-8g --size 200M dump.raw new",
    "tar full / -o out.tar",
    "tar card / -o out.tar",
];

/// Bytes to copy: enough that no copy is done before the signal comes.
const BYTES: usize = 96 << 20;
/// Blocks of 512 bytes that must have been written before it comes.
const BEGUN: u64 = 4 << 11;

fn world() -> World {
    let world = World::new();
    fs::create_dir(world.path("src")).unwrap();
    let mut random = fastrand::Rng::with_seed(3);
    let mut noise = vec![0; BYTES];
    random.fill(&mut noise);
    fs::write(world.path("src/0"), noise).unwrap();
    fs::write(world.path("src/1"), "small").unwrap();
    world.say("mkfs --chip slc-4k-8g image").good();
    world.say("put image src/1 kept").good();
    world.say("nand create --chip slc-4k-8g --size 200M old").good();
    world.say("mkfs --chip slc-4k-8g --size 200M --from src full").good();
    world.say("nand export full dump.raw").good();
    world.say("mkfs -t f2fs --from src --free 1M card").good();
    world.say("tar card / -o src.tar").good();
    world
}

/// Blocks of all files of a directory and below.
fn blocks(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| Some((entry.path(), fs::symlink_metadata(entry.path()).ok()?)))
        .map(|(path, found)| if found.is_dir() { blocks(&path) } else { found.blocks() })
        .sum()
}

/// Blocks of the files that a process has open and that have no name.
fn nameless_blocks(child: &Child) -> u64 {
    let open = fs::read_dir(format!("/proc/{}/fd", child.id())).into_iter().flatten().flatten();
    let found: BTreeMap<u64, u64> = open
        .filter_map(|entry| fs::metadata(entry.path()).ok())
        .filter(|found| found.is_file() && found.nlink() == 0)
        .map(|found| (found.ino(), found.blocks()))
        .collect();
    found.into_values().sum()
}

fn signal_once_begun(child: &mut Child, world: &World, signal: &str) {
    let before = blocks(&world.path("."));
    let patience = Patience::with(Some(child.id()));
    while blocks(&world.path(".")) + nameless_blocks(child) < before + BEGUN {
        assert!(child.try_wait().unwrap().is_none(), "done before the signal came");
        assert!(!patience.is_over(), "nothing is written");
        std::thread::sleep(Duration::from_millis(1));
    }
    let sent = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

fn number(signal: &str) -> i32 {
    match signal {
        "HUP" => 1,
        "INT" => 2,
        "TERM" => 15,
        other => panic!("{other}"),
    }
}

#[test]
fn a_signal_ends_it_in_good_order() {
    let world = world();
    for (line, signal, says) in ROWS {
        let before = ground::snapshot(&world.path("."));
        let err = File::create(world.path("said")).unwrap();
        let mut child = world.command().args(line.split_whitespace()).stderr(err).spawn().unwrap();
        signal_once_begun(&mut child, &world, signal);
        let code = ground::code(child.wait().unwrap());
        let said = fs::read_to_string(world.path("said")).unwrap();
        fs::remove_file(world.path("said")).unwrap();
        assert_eq!((code, &*said), (128 + number(signal), &*format!("pumice: {says}\n")), "{line}");
        if world.path("out").exists() {
            assert!(!world.path("out/0").exists(), "half a file stays");
            fs::remove_dir_all(world.path("out")).unwrap();
        }
        let mut after = ground::snapshot(&world.path("."));
        let mut before = before;
        // The file is put into the container itself.
        for shot in [&mut before, &mut after] {
            shot.retain(|name, _| !name.ends_with("/image"));
        }
        assert_eq!(after, before, "{line}");
        assert_eq!(world.say("find image").good(), "/\n/kept\n", "{line}");
        assert_eq!(world.say("cat image kept").good(), "small", "{line}");
        world.say("fsck image").good();
    }
}

#[test]
fn a_kill_leaves_nothing() {
    let world = world();
    if rustix::fs::open(world.path("."), OFlags::TMPFILE | OFlags::RDWR, Mode::RWXU).is_err() {
        eprintln!("SKIPPED: no O_TMPFILE here, so a kill leaves a hidden file and nothing was tested");
        return;
    }
    let before = ground::snapshot(&world.path("."));
    for line in KILLED {
        let mut child = world.command().args(line.split_whitespace()).spawn().unwrap();
        signal_once_begun(&mut child, &world, "KILL");
        assert_eq!(ground::code(child.wait().unwrap()), 128 + 9, "{line}");
        assert_eq!(ground::snapshot(&world.path(".")), before, "{line}");
    }
    world.say("fsck full").good();
}
