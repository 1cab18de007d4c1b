//! Readers of F2FS lose what is damaged, name it, and nothing else: every verb, and a mount.
//!
//! Where f2fs-tools are not installed the tests say so on stderr and pass.
#![allow(clippy::unwrap_used, clippy::print_stderr, missing_docs)]

mod common;

use std::{
    collections::BTreeSet,
    fs::{self, File},
    os::unix::fs::FileExt,
    path::Path,
    process::{Command, Stdio},
    thread::sleep,
    time::Duration,
};

use common::{Run, World, finish};

const FILES: usize = 300;
const BLOCK: u64 = 4096;

fn done(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// A volume of 300 files in `disk`; `None`, and a loud line, without f2fs-tools.
fn image() -> Option<World> {
    let world = World::new();
    let dir = world.path("tree/dir/below");
    fs::create_dir_all(&dir).unwrap();
    for number in 0..FILES {
        fs::write(dir.join(name(number)), format!("content {number}\n").repeat(1 + number * 7)).unwrap();
    }
    File::create(world.path("disk")).unwrap().set_len(96 << 20).unwrap();
    if !done(Command::new("mkfs.f2fs").args(["-q", "-f"]).arg(world.path("disk"))) {
        eprintln!("SKIPPED: mkfs.f2fs of f2fs-tools cannot be run, so nothing was tested");
        return None;
    }
    let mut sload = Command::new("sload.f2fs");
    assert!(done(sload.arg("-f").arg(world.path("tree")).arg(world.path("disk"))));
    Some(world)
}

fn name(number: usize) -> String {
    format!("file-{number:03}")
}

fn path(number: usize) -> String {
    format!("/dir/below/{}", name(number))
}

fn json(world: &World, line: &str) -> serde_json::Value {
    serde_json::from_str(&world.say(line).good()).unwrap()
}

/// Where the node of an inode stands, in bytes.
fn node_at(world: &World, path: &str) -> u64 {
    let ino = json(world, &format!("stat --json disk {path}"))["files"][0]["inode"].as_u64().unwrap();
    let entry = &json(world, &format!("dump --json disk nat {ino}"))["entries"][0];
    entry["block"].as_u64().unwrap() * BLOCK
}

fn overwrite(world: &World, at: u64, bytes: &[u8]) {
    File::options().write(true).open(world.path("disk")).unwrap().write_all_at(bytes, at).unwrap();
}

/// Files of `dir` below, by name, with their content.
fn names_in(dir: &Path) -> BTreeSet<String> {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Each of `lost` is named on a line of its own, and a summary ends it with status 1.
#[track_caller]
fn names_each(run: &Run, lost: &[usize]) {
    assert_eq!(run.code, 1, "{run:?}");
    let lines: Vec<&str> = run.err.lines().collect();
    assert_eq!(lines.len(), lost.len() + 1, "{}", run.err);
    for number in lost {
        let told =
            lines.iter().filter(|line| line.starts_with(&format!("pumice: {}: ", path(*number)))).count();
        assert_eq!(told, 1, "{}: {}", path(*number), run.err);
    }
    assert!(lines.last().unwrap().contains("could not be read"), "{}", run.err);
}

#[test]
fn damaged_files_are_lost_alone_and_named() {
    let Some(world) = image() else { return };
    let lost = [0, 17, 100, 101, 299];
    for number in lost {
        let at = node_at(&world, &path(number));
        overwrite(&world, at, &[0xa5; 4096]);
    }
    let kept: BTreeSet<String> = (0..FILES).filter(|number| !lost.contains(number)).map(name).collect();

    let found = world.say("find disk / --type f");
    names_each(&found, &lost);
    assert_eq!(found.out.lines().count(), kept.len());
    let listed = world.say("ls -R disk");
    names_each(&listed, &lost);
    assert_eq!(listed.out.lines().filter(|line| line.starts_with("file-")).count(), kept.len());
    for line in [
        "ls -lR disk",
        "ls disk /dir/below",
        "ls --json -R disk",
        "find --json disk",
        "tree disk",
        "tree --json disk",
    ] {
        names_each(&world.say(line), &lost);
    }
    let document: serde_json::Value =
        serde_json::from_str(&world.say("find --json disk --type f").out).unwrap();
    assert_eq!(
        (document["entries"].as_array().unwrap().len(), document["missing"].as_u64()),
        (kept.len(), Some(5))
    );

    let got = world.say("get disk / out");
    names_each(&got, &lost);
    assert_eq!(names_in(&world.path("out/dir/below")), kept);
    assert_eq!(
        fs::read(world.path("out").join(&path(50)[1..])).unwrap(),
        fs::read(world.path("tree").join(&path(50)[1..])).unwrap()
    );

    let archive = File::create(world.path("archive")).unwrap();
    let written = finish_to(&world, archive);
    names_each(&written, &lost);
    fs::create_dir(world.path("unpacked")).unwrap();
    let untar =
        finish(Command::new("tar").args(["-xf", "archive", "-C", "unpacked"]).current_dir(world.path("")));
    assert!(untar.code == 0 && untar.err.is_empty(), "{untar:?}");
    assert_eq!(names_in(&world.path("unpacked/dir/below")), kept);
    let bytes = fs::read(world.path("archive")).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    for number in lost {
        assert!(text.contains(&format!("comment={}: ", path(number))), "the archive names {number}");
    }
    in_a_mount(&world, &lost, &kept);
}

fn finish_to(world: &World, archive: File) -> Run {
    let child = world.command().args(["tar", "disk"]).stdout(archive).stderr(Stdio::piped()).spawn().unwrap();
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    Run { code: output.status.code().unwrap(), out: String::new(), err }
}

/// The mount shows all names, `ls -R` and `cp -a` lose what is damaged, by name.
fn in_a_mount(world: &World, lost: &[usize], kept: &BTreeSet<String>) {
    if File::options().read(true).write(true).open("/dev/fuse").is_err() {
        eprintln!("SKIPPED: /dev/fuse cannot be opened, so no mount was tested");
        return;
    }
    let dir = world.path("dir");
    fs::create_dir(&dir).unwrap();
    world.say("mount --daemon disk dir").good();
    let names = names_in(&dir.join("dir/below"));
    let broken = fs::symlink_metadata(dir.join(&path(lost[0])[1..]));
    let copied = finish(Command::new("cp").args(["-a", "dir", "copy"]).current_dir(world.path("")));
    for _ in 0..50 {
        if done(Command::new("umount").arg(&dir)) {
            break;
        }
        sleep(Duration::from_millis(100));
    }
    assert_eq!(names.len(), FILES, "each name is shown");
    assert_eq!(broken.unwrap_err().raw_os_error(), Some(5), "an error of input and output");
    assert_eq!(names_in(&world.path("copy/dir/below")), *kept);
    assert_eq!(copied.err.lines().count(), lost.len(), "{}", copied.err);
}
