//! Faults around the command: streams that are closed or full, disks without room.

use std::{
    fs::{self, File},
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Command, Stdio},
};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use super::ground::{Ledger, patiently, run};
use crate::common::{CHIP, World, is_root};

/// Everything that prints.
const PRINTERS: [&str; 29] = [
    "ls image",
    "ls -lR image",
    "ls --json image",
    "tree image",
    "tree --json image",
    "cat image big",
    "stat image",
    "find image",
    "tar image",
    "info image",
    "df --json image",
    "fsck image",
    "scrub -n image",
    "chips",
    "nand stats image",
    "nand export image -",
    "mkdir --dry-run image x",
    "sim --write 1M",
    "lab list",
    "ls -lR card",
    "cat card big",
    "tar card",
    "find --json card",
    "info card",
    "map card big",
    "whois card 9000",
    "dump card sb",
    "fsck --json card",
    "completions bash",
];

/// What fills a disk.
const FILLERS: [&str; 14] = [
    "mkfs --chip slc-2k-2g --size 64M --from src new",
    "put image src/big x",
    "put image src tree",
    "put --force image src/big old",
    "get image big out",
    "get --force image big old",
    "nand export image dump",
    "nand import --chip slc-2k-2g --size 16M dump.raw new",
    "tar image / -o out.tar",
    "mkfs -t f2fs --from src --free 1M new",
    "put card src/big x",
    "get card big out",
    "get --force card big old",
    "tar card / -o out.tar",
];

/// Each printer with its output full and closed, each filler on a full disk, and a volume without room.
pub(crate) const KINDS: usize = 2 * PRINTERS.len() + FILLERS.len() + 3;

/// Bytes that cannot be compressed.
fn noise(bytes: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(2);
    let mut noise = vec![0; bytes];
    random.fill(&mut noise);
    noise
}

fn filled() -> World {
    let world = World::formatted();
    fs::write(world.path("big"), noise(3 << 20)).unwrap();
    world.say("put image big big").good();
    fs::create_dir(world.path("filling")).unwrap();
    fs::copy(world.path("big"), world.path("filling/big")).unwrap();
    world.say("mkfs -t f2fs --from filling --free 1M card").good();
    fs::remove_dir_all(world.path("filling")).unwrap();
    world
}

#[test]
fn a_full_output_is_told_and_a_closed_one_ends_it() {
    let world = filled();
    for line in PRINTERS {
        let with = |out: Stdio| {
            let mut command = world.command();
            command.args(line.split_whitespace()).stdout(out).stderr(tempfile::tempfile().unwrap());
            command
        };
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut err = tempfile::tempfile().unwrap();
        let mut command = with(full.into());
        command.stderr(err.try_clone().unwrap());
        let status = patiently(&mut command);
        let said = read(&mut err);
        assert!(status.code().is_some_and(|code| code != 0), "{line}: {status} {said}");
        assert!(said.lines().count() == 1 && said.contains("no space left on device"), "{line}: {said}");

        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut err = tempfile::tempfile().unwrap();
        let mut command = with(writer.into());
        command.stderr(err.try_clone().unwrap());
        let status = patiently(&mut command);
        let said = read(&mut err);
        assert!(status.code().is_some_and(|code| code != 0) && said.is_empty(), "{line}: {status} {said}");
    }
}

fn read(file: &mut File) -> String {
    use std::io::{Read, Seek};
    file.rewind().unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    text
}

/// Nobody listens at all.
#[test]
fn closed_streams_are_no_reason_to_panic() {
    let world = filled();
    for line in ["ls none", "ls image", "mkdir image made", "nope"] {
        let mut command = Command::new("sh");
        let program = env!("CARGO_BIN_EXE_pumice");
        command.arg("-c").arg(format!("exec {program} {line} <&- >&- 2>&-")).current_dir(world.path("."));
        let code = run(command).code;
        assert!(code < 128, "{line}: {code}");
    }
    world.say("fsck image").good();
}

/// A disk of the host with little room, unmounted when it goes.
struct Small {
    place: PathBuf,
}

impl Small {
    fn new(world: &World, bytes: u64) -> Option<Small> {
        if !is_root() {
            eprintln!("SKIPPED: only root may mount a small disk, so nothing was tested");
            return None;
        }
        let place = world.path("small");
        fs::create_dir(&place).unwrap();
        let options = std::ffi::CString::new(format!("size={bytes}")).unwrap();
        mount("none", &place, "tmpfs", MountFlags::empty(), Some(options.as_c_str())).unwrap();
        Some(Small { place })
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        unmount(&self.place, UnmountFlags::DETACH).unwrap();
    }
}

#[test]
fn a_full_disk_is_told_and_nothing_half_written_stays() {
    let ledger = Ledger::default();
    for line in FILLERS {
        let world = filled();
        world.say("nand export image dump.raw").good();
        let Some(small) = Small::new(&world, 40 << 20) else { return };
        let make_room = |bytes: usize| fs::write(small.place.join("ballast"), noise(bytes)).unwrap();
        for name in ["image", "dump.raw", "card"] {
            copy_sparse(&world, name);
        }
        fs::create_dir(small.place.join("src")).unwrap();
        fs::write(small.place.join("src/big"), noise(2 << 20)).unwrap();
        fs::write(small.place.join("old"), "as it was").unwrap();
        world.command().current_dir(&small.place).args(["put", "image", "old", "old"]).status().unwrap();
        let left = rustix::fs::statvfs(&small.place).unwrap();
        make_room(usize::try_from(left.f_bavail * left.f_frsize).unwrap() - (700 << 10));
        let before = names(&small.place);
        let mut command = world.command();
        command.current_dir(&small.place).args(line.split_whitespace());
        ledger.refuses_command(command, &[1], &["no space left on device"]);
        assert_eq!(names(&small.place), before, "{line}");
        assert_eq!(fs::read(small.place.join("old")).unwrap(), b"as it was");
        fs::remove_file(small.place.join("ballast")).unwrap();
        let pumice = |words: &[&str]| {
            let mut command = world.command();
            command.current_dir(&small.place).args(words);
            run(command)
        };
        assert_eq!(pumice(&["ls", "image"]).good(), "big\nold\n", "{line}");
        assert_eq!(pumice(&["cat", "image", "old"]).good(), "as it was", "{line}");
        pumice(&["fsck", "image"]).good();
        // Nothing was wrong with the card, and nothing in it says so.
        pumice(&["fsck", "card"]).good();
    }
    ledger.close();
}

fn names(dir: &std::path::Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn copy_sparse(world: &World, name: &str) {
    let mut copy = Command::new("cp");
    copy.args(["--sparse=always", name, "small"]).current_dir(world.path("."));
    assert!(copy.status().unwrap().success());
}

/// A volume that is too small for the files put into it.
#[test]
fn what_does_not_fit_a_volume_is_taken_out_again() {
    let ledger = Ledger::default();
    let world = World::new();
    world.run(&[&["mkfs"], &CHIP[..], &["image"]].concat()).good();
    fs::create_dir_all(world.path("tree/deep")).unwrap();
    fs::write(world.path("kept"), "kept").unwrap();
    fs::write(world.path("tree/a"), "small").unwrap();
    fs::write(world.path("tree/deep/b"), noise(40 << 20)).unwrap();
    world.say("put image kept kept").good();
    let free = |world: &World| {
        let text = world.say("df --json image").good();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["free_bytes"].as_u64().unwrap()
    };
    let before = free(&world);
    ledger.refuses(
        &world,
        "put image tree there",
        &[1],
        &["tree/deep/b: no space left", "nothing was copied"],
    );
    ledger.refuses(&world, "put image tree/deep/b kept", &[1], &["kept: exists already"]);
    ledger.refuses(
        &world,
        "put --force image tree/deep/b kept",
        &[1],
        &["no space left", "nothing was copied"],
    );
    assert_eq!(world.say("find image").good(), "/\n/kept\n");
    assert_eq!(world.say("cat image kept").good(), "kept");
    world.say("fsck image").good();
    assert!(free(&world) + (1 << 20) > before, "{} of {before}", free(&world));
    ledger.close();
}

/// A process may be told to write no large files.
#[test]
fn a_limit_on_files_is_told() {
    let ledger = Ledger::default();
    let world = filled();
    let mut command = Command::new("sh");
    let program = env!("CARGO_BIN_EXE_pumice");
    let script = format!("trap '' XFSZ; ulimit -f 1000; exec {program} nand export image dump");
    command.arg0("sh").args(["-c", &script]).current_dir(world.path("."));
    ledger.refuses_command(command, &[1], &["file too large"]);
    assert!(!world.path("dump").exists());
    ledger.close();
}
