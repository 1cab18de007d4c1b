//! Hostile images through every verb that reads, and a mount: each ends by itself, in bounded time, memory and output.
//!
//! `PUMICE_HOSTILE=200` tries so many images of each kind. The kernel ends whoever goes
//! over a limit by a signal (prlimit(1)), and that fails the test.

use std::{
    fs::{self, File},
    os::unix::{
        fs::{FileExt, MetadataExt},
        process::ExitStatusExt,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread::sleep,
    time::Duration,
};

use crate::common::{CHIP, World, patience::unmount};
use pumice_knobs::{CLI_HOSTILE, Patience, STANDSTILL};

/// The number of each kind, if nothing else is asked for.
const USUAL: u64 = 4;
/// A mount costs a second: every so many images.
const MOUNTED_EVERY: u64 = 2;

/// Seconds of processor, bytes of memory, bytes that are printed.
const PROCESSOR_SECONDS: u32 = 60;
const MEMORY_BYTES: u32 = 1 << 30;
const OUTPUT_BYTES: u32 = 256 << 20;

const BLOCK: usize = 4096;

const F2FS: [&str; 26] = [
    "fsck -n disk",
    "fsck -n --json disk",
    "info disk",
    "info --json disk",
    "df disk",
    "ls -lR disk",
    "ls -R --json disk",
    "tree disk",
    "find disk",
    "find --json disk",
    "stat disk /",
    "stat --json disk /dir/a-5",
    "cat disk /dir/a-5",
    "cat disk /large",
    "tar disk",
    "get disk / out",
    "rescue disk out",
    "undelete disk * out",
    "map disk /large",
    "whois disk 5000",
    "dump disk sb",
    "dump disk cp",
    "dump disk nat 3",
    "dump disk sit 0",
    "dump disk node 3",
    "dump disk dentry /",
];

const NANDFS: [&str; 13] = [
    "fsck -n disk",
    "fsck -n --json disk",
    "info disk",
    "df disk",
    "ls -lR disk",
    "ls -R --json disk",
    "tree disk",
    "find --json disk",
    "stat disk /",
    "cat disk /dir/a-5",
    "cat disk /large",
    "tar disk",
    "get disk / out",
];

/// A tree with small and large files, holes, links, and a directory of several blocks.
fn plant(world: &World) {
    let dir = world.path("tree/dir");
    fs::create_dir_all(dir.join("deep/er")).unwrap();
    for number in 0..300_usize {
        fs::write(dir.join(format!("a-{number}")), vec![b'x'; number * 97]).unwrap();
    }
    fs::write(world.path("tree/large"), vec![7; 6 << 20]).unwrap();
    fs::hard_link(world.path("tree/large"), dir.join("deep/again")).unwrap();
    std::os::unix::fs::symlink("../large", dir.join("deep/er/link")).unwrap();
    let hole = File::create(world.path("tree/hole")).unwrap();
    hole.set_len(1 << 30).unwrap();
    hole.write_all_at(b"end", (1 << 30) - 3).unwrap();
}

/// An image that was changed, and its former bytes.
struct Patient {
    file: File,
    before: Vec<(u64, Vec<u8>)>,
}

impl Patient {
    /// Changes some places in blocks that hold something: bytes, whole blocks of elsewhere, words that stand nearby.
    fn damage(disk: &Path, used: &[u64], seed: u64) -> Patient {
        let file = File::options().read(true).write(true).open(disk).unwrap();
        let mut random = fastrand::Rng::with_seed(seed);
        let mut patient = Patient { file, before: Vec::new() };
        for _ in 0..[1, 3, 30, 300][random.usize(..4)] {
            let at = used[random.usize(..used.len())];
            let mut block = patient.block(at);
            let (to, from) = (random.usize(..BLOCK - 64), random.usize(..BLOCK - 64));
            match random.u8(..5) {
                0 => block[to..to + 4].copy_from_slice(&random.u32(..).to_le_bytes()),
                1 => block[to..to + 8].fill([0, 1, 0x7f, 0xff][random.usize(..4)]),
                2 => block.copy_within(from..from + random.usize(1..64), to),
                3 => block = patient.block(used[random.usize(..used.len())]),
                // Where an inode has its length, and the counts in front of it.
                _ => block[12 + random.usize(..3) * 4..][..8].copy_from_slice(&random.u64(..).to_le_bytes()),
            }
            patient.put(at, &block);
        }
        patient
    }

    fn block(&self, at: u64) -> Vec<u8> {
        let mut block = vec![0; BLOCK];
        self.file.read_exact_at(&mut block, at).unwrap();
        block
    }

    fn put(&mut self, at: u64, block: &[u8]) {
        self.before.push((at, self.block(at)));
        self.file.write_all_at(block, at).unwrap();
    }

    fn heal(self) {
        for (at, block) in self.before.iter().rev() {
            self.file.write_all_at(block, *at).unwrap();
        }
    }
}

/// Blocks of an image that hold something; the content of files, which nobody takes apart, only now and then.
fn used(disk: &Path) -> Vec<u64> {
    let bytes = fs::read(disk).unwrap();
    let is_content = |block: &[u8]| block.iter().all(|byte| *byte == block[0]);
    let blocks = (0_u64..).zip(bytes.chunks_exact(BLOCK));
    blocks.filter(|(_, block)| !is_content(block)).map(|(index, _)| index * BLOCK as u64).collect()
}

/// Runs a verb within limits.
fn run(world: &World, line: &str, seed: u64) {
    let (mut limit, mut end) = (String::new(), ">stdout".to_owned());
    match line.split(' ').next() {
        // A file may well have holes of any length: its blocks count, not its length.
        Some("get" | "rescue" | "undelete") => {}
        // A reader that asks for such a file gets all of it; nobody reads on here.
        Some("cat") => end = format!("| head -c {OUTPUT_BYTES} >stdout"),
        _ => limit = format!("--fsize={OUTPUT_BYTES}"),
    }
    let limits = format!("prlimit --cpu={PROCESSOR_SECONDS} --as={MEMORY_BYTES} {limit}");
    let script = format!("{limits} \"$0\" {line} {end}; exit ${{PIPESTATUS[0]}}");
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", &STANDSTILL.as_secs().to_string(), "bash", "-c", &script]);
    command.arg(env!("CARGO_BIN_EXE_pumice")).current_dir(world.path(""));
    let output = command.stdin(Stdio::null()).stderr(Stdio::piped()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    let last: Vec<&str> = told.lines().rev().take(5).collect();
    // A program that a signal ends, and one that panics, have codes above 100.
    assert!(
        output.status.code().is_some_and(|code| code < 100),
        "PUMICE_SEED={seed}: pumice {line}: {}: {last:#?}",
        output.status
    );
    assert!(told.len() < 16 << 20, "PUMICE_SEED={seed}: pumice {line} says {} bytes", told.len());
    let (taken, image) = (taken(&world.path("out")), fs::metadata(world.path("disk")).unwrap().len());
    assert!(taken <= image * 5 / 4, "PUMICE_SEED={seed}: pumice {line} takes {taken} of {image}");
    let _ = fs::remove_dir_all(world.path("out"));
}

/// Bytes that a tree takes on the disk; none if it is not there.
fn taken(path: &Path) -> u64 {
    let Ok(found) = fs::symlink_metadata(path) else { return 0 };
    let below = if found.is_dir() {
        fs::read_dir(path).unwrap().map(|entry| taken(&entry.unwrap().path())).sum()
    } else {
        0
    };
    found.blocks() * 512 + below
}

/// Looks at everything in a mount.
fn mount(world: &World, seed: u64) {
    let dir = world.path("mnt");
    fs::create_dir_all(&dir).unwrap();
    let before = device(&dir);
    let mut server = Command::new("prlimit");
    server.arg(format!("--cpu={PROCESSOR_SECONDS}")).arg(format!("--as={MEMORY_BYTES}"));
    server.arg(env!("CARGO_BIN_EXE_pumice")).args(["mount", "-o", "ro", "disk", "mnt"]);
    server.current_dir(world.path("")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut server = server.spawn().unwrap();
    let patience = Patience::with(Some(server.id()));
    while device(&dir) == before {
        assert!(!patience.is_over(), "PUMICE_HOSTILE_SEED={seed}: mount does not come to an end");
        if let Some(status) = server.try_wait().unwrap() {
            assert!(status.signal().is_none(), "PUMICE_SEED={seed}: mount: {status}");
            return;
        }
        sleep(Duration::from_millis(10));
    }
    let walk = "find mnt -ls; cat mnt/dir/a-5; head -c 64M mnt/large; du -s mnt";
    let mut walker = Command::new("timeout");
    walker
        .args(["-s", "KILL", &STANDSTILL.as_secs().to_string(), "sh", "-c", walk])
        .current_dir(world.path(""));
    let looked = walker.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    let alive = server.try_wait().unwrap();
    unmount(&dir);
    let status = server.wait().unwrap();
    assert!(
        looked.signal().is_none() && alive.is_none() && status.code().is_some(),
        "PUMICE_SEED={seed}: in a mount: {looked}, the server {status}"
    );
}

/// The device of a directory.
fn device(dir: &Path) -> Option<u64> {
    fs::metadata(dir).ok().map(|found| found.dev())
}

fn can_mount() -> bool {
    let can = File::options().read(true).write(true).open("/dev/fuse").is_ok();
    if !can {
        eprintln!("SKIPPED: /dev/fuse cannot be opened, so no mount of a hostile image was tested");
    }
    can
}

fn campaign(world: &World, verbs: &[&str]) {
    let disk: PathBuf = world.path("disk");
    let (used, can_mount) = (used(&disk), can_mount());
    let seeds = CLI_HOSTILE.seeds(0..USUAL);
    for seed in seeds.clone() {
        let patient = Patient::damage(&disk, &used, seed);
        for line in verbs {
            run(world, line, seed);
        }
        if can_mount && seed % MOUNTED_EVERY == 0 {
            mount(world, seed);
        }
        patient.heal();
    }
    CLI_HOSTILE.ran(seeds.clone(), seeds.end - seeds.start);
    // It was the damage, and not the image.
    world.say("fsck -n disk").good();
}

#[test]
fn every_verb_survives_hostile_f2fs() {
    let world = World::new();
    plant(&world);
    world.say("mkfs -t f2fs --size 96M --from tree disk").good();
    for line in F2FS {
        let run = world.say(line);
        assert!(run.code == 0, "pumice {line} on a sound image: {run:?}");
        let _ = fs::remove_dir_all(world.path("out"));
    }
    campaign(&world, &F2FS);
}

#[test]
fn every_verb_survives_hostile_nandfs() {
    let world = World::new();
    plant(&world);
    world.run(&[&["mkfs"], &CHIP[..2], &["--size", "64M", "--from", "tree", "disk"]].concat()).good();
    for line in NANDFS {
        let run = world.say(line);
        assert!(run.code == 0, "pumice {line} on a sound image: {run:?}");
        let _ = fs::remove_dir_all(world.path("out"));
    }
    campaign(&world, &NANDFS);
}
