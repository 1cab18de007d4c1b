//! Readers of F2FS lose the damaged files, name them, and lose nothing else: every verb, and a mount.
//!
//! Where f2fs-tools are not installed the tests say so on stderr and pass.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    os::unix::fs::FileExt,
    path::Path,
    process::{Command, Stdio},
};

use crate::common::{Run, World, finish, patience::unmount};

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

/// The place of an inode's node, in bytes.
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
    let lines = run.messages();
    assert_eq!(lines.len(), lost.len() + 1, "{}", run.err);
    for number in lost {
        let told = lines.iter().filter(|line| line.starts_with(&format!("{}: ", path(*number)))).count();
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

/// The mount shows all names, and `cp -a` loses the damaged files, by name.
fn in_a_mount(world: &World, lost: &[usize], kept: &BTreeSet<String>) {
    mounted(world, |dir| {
        assert_eq!(names_in(&dir.join("dir/below")).len(), FILES, "each name is shown");
        let broken = fs::symlink_metadata(dir.join(&path(lost[0])[1..]));
        assert_eq!(broken.unwrap_err().raw_os_error(), Some(5), "an error of input and output");
        let copied = finish(Command::new("cp").args(["-a", "dir", "copy"]).current_dir(world.path("")));
        assert_eq!(names_in(&world.path("copy/dir/below")), *kept);
        assert_eq!(copied.err.lines().count(), lost.len(), "{}", copied.err);
    });
}

/// Blocks of the volume that hold names of a directory.
fn blocks_of_names(world: &World) -> Vec<u64> {
    let bytes = fs::read(world.path("disk")).unwrap();
    let names = |block: &[u8]| block.windows(5).filter(|window| window == b"file-").count();
    let blocks = (0_u64..).zip(bytes.chunks(4096)).filter(|(_, block)| names(block) > 5);
    blocks.map(|(index, _)| index * BLOCK).collect()
}

/// The names in the other blocks are shown, and the damage is told with the directory's name.
#[test]
fn a_directory_with_a_bad_block_shows_what_is_left() {
    let Some(world) = image() else { return };
    let blocks = blocks_of_names(&world);
    assert!(blocks.len() > 1, "the names are in several blocks");
    let all = names_in_block(&world, u64::MAX);
    let bad = names_in_block(&world, blocks[1]);
    // Used slots with names longer than any can be.
    overwrite(&world, blocks[1], &[0xff; 4096]);
    let kept: BTreeSet<String> = all.difference(&bad).cloned().collect();
    let run = world.say("ls disk /dir/below");
    assert_eq!(run.code, 1, "{run:?}");
    assert_eq!(run.out.lines().map(str::to_owned).collect::<BTreeSet<_>>(), kept);
    assert!(
        run.err.starts_with("pumice: /dir/below: ") && run.err.contains("more in the same directory"),
        "{run:?}"
    );
    let got = world.say("get disk / out");
    assert_eq!((got.code, got.err.lines().count()), (1, 2), "{got:?}");
    assert_eq!(names_in(&world.path("out/dir/below")), kept);
    mounted(&world, |dir| assert_eq!(names_in(&dir.join("dir/below")), kept));
}

/// The names in one block, or in all.
fn names_in_block(world: &World, at: u64) -> BTreeSet<String> {
    if at == u64::MAX {
        return (0..FILES).map(name).collect();
    }
    let mut block = vec![0; 4096];
    File::open(world.path("disk")).unwrap().read_exact_at(&mut block, at).unwrap();
    let found = block.windows(8).filter(|window| window.starts_with(b"file-") && window[5].is_ascii_digit());
    found.map(|window| String::from_utf8(window.to_vec()).unwrap()).collect()
}

/// Puts another name of the same length in place of one.
fn rename(world: &World, from: &[u8], to: &[u8]) {
    let mut changed = 0;
    for at in blocks_of_names(world) {
        let mut block = vec![0; 4096];
        File::open(world.path("disk")).unwrap().read_exact_at(&mut block, at).unwrap();
        if let Some(inside) = block.windows(from.len()).position(|window| window == from) {
            block[inside..inside + to.len()].copy_from_slice(to);
            overwrite(world, at, &block);
            changed += 1;
        }
    }
    assert!(changed > 0);
}

/// Names that would lead elsewhere, or are there twice, are told and not followed.
#[test]
fn names_that_cannot_be_do_not_leave() {
    let Some(world) = image() else { return };
    rename(&world, b"file-010", b"../../xx");
    rename(&world, b"file-011", b"file\x00011");
    rename(&world, b"file-012", b"file-013");
    fs::create_dir(world.path("inner")).unwrap();
    for line in [
        "ls disk /dir/below",
        "ls -R --json disk",
        "find disk",
        "find --json disk",
        "tree disk",
        "tar disk",
        "get disk / inner/out",
    ] {
        let run = world.say(line);
        assert_eq!(run.code, 1, "{line}: {}", run.err);
        // The archive names its missing files.
        let entries = if line.starts_with("tar") { entries_of(&world) } else { run.out };
        assert!(!entries.contains("..") && !entries.contains("0011") && !entries.contains("u0000"), "{line}");
        assert!(entries.matches("file-013").count() <= 1, "{line}");
        assert!(
            run.err.contains("../../xx") && run.err.contains("1 more in the same directory"),
            "{line}: {}",
            run.err
        );
        assert!(run.err.contains("file-013 is there twice"), "{line}: {}", run.err);
        // The name that cannot be, the one that is there twice, and the summary.
        assert_eq!(run.err.lines().count(), 3, "{line}: {}", run.err);
    }
    assert!(!world.path("xx").exists() && !world.path("inner/xx").exists());
    assert_eq!(names_in(&world.path("inner/out/dir/below")).len(), FILES - 3);
    mounted(&world, |dir| {
        let names: Vec<_> = fs::read_dir(dir.join("dir/below")).unwrap().map(Result::unwrap).collect();
        assert_eq!(names.len(), FILES - 2);
    });
}

/// The entries that tar(1) finds in the archive of the volume.
fn entries_of(world: &World) -> String {
    finish_to(world, File::create(world.path("archive")).unwrap());
    finish(Command::new("tar").args(["-tf", "archive"]).current_dir(world.path(""))).good()
}

/// Looks at the volume mounted, if it can be.
fn mounted(world: &World, look: impl FnOnce(&Path)) {
    if File::options().read(true).write(true).open("/dev/fuse").is_err() {
        eprintln!("SKIPPED: /dev/fuse cannot be opened, so no mount was tested");
        return;
    }
    let mount = Mounted { dir: world.path("dir") };
    fs::create_dir(&mount.dir).unwrap();
    world.say("mount --daemon disk dir").good();
    look(&mount.dir);
}

/// A mount, until it is dropped.
struct Mounted {
    dir: std::path::PathBuf,
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = rustix::mount::unmount(&self.dir, rustix::mount::UnmountFlags::DETACH);
        } else {
            unmount(&self.dir);
        }
    }
}

/// A file with its data inside its inode that claims to have 3.9 TB: its possible bytes are there, and no more.
#[test]
fn a_size_that_cannot_be_fills_no_disk() {
    let Some(world) = image() else { return };
    let at = node_at(&world, &path(3));
    let content = fs::read(world.path("tree").join(&path(3)[1..])).unwrap();
    let stat = json(&world, &format!("stat --json disk {}", path(3)));
    assert_eq!(stat["files"][0]["kept"], serde_json::json!(["inline"]));
    // The length of a file is at byte 16 of its inode.
    overwrite(&world, at + 16, &3_900_000_000_000_u64.to_le_bytes());
    let got = world.say("get disk / out");
    names_each(&got, &[3]);
    let copy = fs::read(world.path("out").join(&path(3)[1..])).unwrap();
    assert!(copy.starts_with(&content) && copy.len() < 4096);
    world.say(&format!("cat disk {}", path(3))).bad(1, &["3900000000000"]);
    let archive = File::create(world.path("archive")).unwrap();
    names_each(&finish_to(&world, archive), &[3]);
    assert!(fs::metadata(world.path("archive")).unwrap().len() < 8 << 20);
    let listed = finish(Command::new("tar").args(["-tvf", "archive"]).current_dir(world.path("")));
    assert!(listed.code == 0 && !listed.out.contains("3900000000000"), "{listed:?}");
    mounted(&world, |dir| {
        let mut file = File::open(dir.join(&path(3)[1..])).unwrap();
        let read = std::io::copy(&mut file, &mut std::io::sink());
        assert_eq!(read.unwrap_err().raw_os_error(), Some(5));
    });
}

/// The beginning of the addresses of an inode that has no extra attributes, and the number of those that are set.
const ADDRESSES_AT: u64 = 360;
const ADDRESSES: u64 = 800;

/// Files that point to the same blocks, each to all of them: no more is copied than the image could hold, and left-out
/// files are told.
#[test]
fn shared_blocks_fill_no_disk() {
    let Some(world) = image() else { return };
    let disk_bytes = fs::metadata(world.path("disk")).unwrap().len();
    let nodes: Vec<u64> = (200..260).map(|number| node_at(&world, &path(number))).collect();
    let mut block = [0; 4];
    File::open(world.path("disk")).unwrap().read_exact_at(&mut block, nodes[0] + ADDRESSES_AT).unwrap();
    for node in &nodes {
        overwrite(&world, node + 16, &(ADDRESSES * BLOCK).to_le_bytes());
        overwrite(&world, node + ADDRESSES_AT, &block.repeat(usize::try_from(ADDRESSES).unwrap()));
    }
    assert!(nodes.len() as u64 * ADDRESSES * BLOCK > disk_bytes * 3 / 2, "more than fits");
    let words = ["share blocks", "pumice fsck"];
    let got = world.say("get disk / out");
    assert!(got.code == 1 && words.iter().all(|word| got.err.contains(word)), "{got:?}");
    let sizes = fs::read_dir(world.path("out/dir/below")).unwrap();
    let copied: u64 = sizes.map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    assert!(copied > disk_bytes / 2 && copied <= disk_bytes, "{copied} of {disk_bytes}");
    let tar = finish_to(&world, File::create(world.path("archive")).unwrap());
    assert!(tar.code == 1 && words.iter().all(|word| tar.err.contains(word)), "{tar:?}");
    let archive = fs::metadata(world.path("archive")).unwrap().len();
    assert!(archive > disk_bytes / 2 && archive < disk_bytes * 5 / 4, "{archive} of {disk_bytes}");
    // Each shared block is told once for each file that comes later; the list stays short.
    let check = world.say("fsck -n disk");
    assert_eq!(check.code, 4);
    assert!(check.out.lines().count() < 2_000, "{}", check.out.lines().count());
}
