//! `pumice rescue` on volumes that nothing else reads any more.

use std::{
    fs::{self, File},
    os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink},
    process::Command,
};

use crate::common::World;

/// An image with a little of everything, of which the tree is in `from`.
fn card() -> World {
    let world = World::new();
    let from = world.path("from");
    fs::create_dir_all(from.join("deep/er")).unwrap();
    for number in 0..300_usize {
        fs::write(from.join(format!("deep/file-{number}")), format!("content {number}\n").repeat(number))
            .unwrap();
    }
    fs::write(from.join("deep/er/big"), vec![0x5a; 5_000_000]).unwrap();
    fs::set_permissions(from.join("deep/er/big"), fs::Permissions::from_mode(0o4750)).unwrap();
    fs::hard_link(from.join("deep/er/big"), from.join("again")).unwrap();
    symlink("deep/er", from.join("link")).unwrap();
    let hole = File::create(from.join("hole")).unwrap();
    hole.write_all_at(b"middle", 3_000_000).unwrap();
    hole.set_len(64 << 20).unwrap();
    world.say("mkfs -t f2fs --size 96M --from from disk").good();
    world
}

/// Writes zeros over the blocks from the beginning of one area to that of another.
fn wipe(world: &World, from: &str, to: &str) {
    let sb: serde_json::Value = serde_json::from_str(&world.say("dump disk sb --json").good()).unwrap();
    let [from, to] = [from, to].map(|field| sb[field].as_u64().unwrap() * 4096);
    let disk = File::options().write(true).open(world.path("disk")).unwrap();
    disk.write_all_at(&vec![0; usize::try_from(to - from).unwrap()], from).unwrap();
}

#[track_caller]
fn same_trees(world: &World, one: &str, other: &str) {
    let output = Command::new("diff").arg("-r").args([world.path(one), world.path(other)]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn without_any_table_all_files_come_out() {
    let world = card();
    wipe(&world, "checkpoint_block", "main_block");
    world.say("get disk / out").bad(1, &["checkpoint"]);
    let told = world.say("rescue disk out").good();
    assert_eq!(told, "disk: 3 directories and 303 other files under their names\n");
    same_trees(&world, "from", "out/tree");
    let big = fs::metadata(world.path("out/tree/deep/er/big")).unwrap();
    let (again, hole) = (world.path("out/tree/again"), world.path("out/tree/hole"));
    assert_eq!((big.mode() & 0o7777, big.ino()), (0o4750, fs::metadata(again).unwrap().ino()));
    assert!(fs::metadata(hole).unwrap().blocks() < 100);
    assert!(!world.path("out/guessed").exists());
}

/// The same, in place: afterwards the volume is sound.
#[test]
fn without_any_table_the_volume_is_laid_anew() {
    let world = card();
    world.say("fsck -y --rebuild disk").good();
    world.say("fsck --rebuild disk").bad(16, &["-y"]);
    wipe(&world, "checkpoint_block", "main_block");
    let disk = File::options().write(true).open(world.path("disk")).unwrap();
    disk.write_all_at(&[0; 8192], 0).unwrap();
    let damaged = fs::read(world.path("disk")).unwrap();
    world.say("fsck -y disk").bad(8, &["disk"]);
    let run = world.say("fsck -y --rebuild --dry-run disk");
    assert!(run.code == 4 && run.out.ends_with("disk: would be sound\n"), "{run:?}");
    assert!(fs::read(world.path("disk")).unwrap() == damaged, "a dry run changes nothing");
    let run = world.say("fsck -y --rebuild --undo undo disk");
    assert!(run.code == 1 && run.out.ends_with("disk: is sound now\n"), "{run:?}");
    world.say("fsck -y --rebuild disk").good();
    let peer = Command::new("fsck.f2fs").arg("--dry-run").arg(world.path("disk")).status().unwrap();
    assert!(peer.success());
    world.say("get disk / out").good();
    same_trees(&world, "from", "out");
    world.say("fsck --put-back undo disk").good();
    assert!(fs::read(world.path("disk")).unwrap() == damaged, "all is as before");
    fs::write(world.path("noise"), vec![0x5a; 1 << 20]).unwrap();
    world.say("fsck -y --rebuild noise").bad(8, &["noise", "F2FS"]);
}

/// Half of the volume is gone, with the root: the rest comes out as far as it goes, and the exit code says so.
#[test]
fn what_is_left_of_half_a_volume_comes_out() {
    let world = card();
    wipe(&world, "checkpoint_block", "main_block");
    let disk = File::options().write(true).open(world.path("disk")).unwrap();
    let main = fs::read(world.path("disk")).unwrap();
    let is_root = |block: &&[u8]| block[4072..4080] == [3, 0, 0, 0, 3, 0, 0, 0];
    let root = main.chunks_exact(4096).position(|block| is_root(&block)).unwrap();
    disk.write_all_at(&[0; 4096], root as u64 * 4096).unwrap();
    let run = world.say("rescue disk out");
    assert_eq!((run.code, run.err.as_str()), (4, ""), "{run:?}");
    assert!(run.out.contains("305 under guessed names"), "{run:?}");
    assert!(!world.path("out/tree").exists());
    same_trees(&world, "from/deep", "out/guessed/deep");
    disk.set_len(fs::metadata(world.path("disk")).unwrap().len() / 2).unwrap();
    let run = world.say("rescue disk half");
    assert!(run.code == 4 && run.err.contains("cut short"), "{run:?}");
}

/// Without super blocks, too.
#[test]
fn without_anything_but_the_main_area_all_files_come_out() {
    let world = card();
    wipe(&world, "checkpoint_block", "main_block");
    let disk = File::options().write(true).open(world.path("disk")).unwrap();
    disk.write_all_at(&[0; 8192], 0).unwrap();
    let run = world.say("rescue disk out");
    assert_eq!((run.code, run.messages().len()), (0, 1), "{run:?}");
    assert!(run.err.contains("no super block is left"), "{run:?}");
    same_trees(&world, "from", "out/tree");
}

#[test]
fn a_deleted_file_comes_back() {
    let world = card();
    world.say("rm disk /deep/file-7 /deep/file-200 /link").good();
    let listed = world.say("undelete disk").good();
    assert_eq!(listed.lines().count(), 3, "{listed}");
    assert!(listed.lines().all(|line| line.starts_with("sure ")) && listed.contains(" 70 /deep/file-7\n"));
    assert_eq!(world.say("undelete disk file-2?0").good().lines().count(), 1);
    let json: serde_json::Value =
        serde_json::from_str(&world.say("undelete --json disk /deep/*").good()).unwrap();
    assert_eq!((&json["entries"][0]["sure"], json["entries"].as_array().unwrap().len()), (&true.into(), 2));
    world.say("undelete disk * out").good();
    for path in ["deep/file-7", "deep/file-200", "link"] {
        let (one, other) = (world.path(&format!("from/{path}")), world.path(&format!("out/sure/{path}")));
        assert_eq!(fs::read_link(&one).ok(), fs::read_link(&other).ok());
        assert!(path == "link" || fs::read(one).unwrap() == fs::read(other).unwrap(), "{path}");
    }
    world.say("undelete disk * out").bad(1, &["exists already", "--force"]);
    wipe(&world, "checkpoint_block", "main_block");
    world.say("undelete disk").bad(1, &["checkpoint"]);
    world.say("undelete none").bad(1, &["none", "no such file"]);
    world.say("undelete").bad(2, &["IMAGE"]);
}

#[test]
fn a_rescue_says_what_it_would_do_and_replaces_nothing_unasked() {
    let world = card();
    let said = world.say("rescue --dry-run disk out").good();
    assert!(said.contains("would write out/tree/deep/er/big (file)\n"), "{said}");
    assert!(!world.path("out").exists());
    world.say("rescue disk out").good();
    world.say("rescue disk out").bad(1, &["exists already", "--force"]);
    world.say("rescue --force disk out").good();
    fs::write(world.path("file"), "").unwrap();
    world.say("rescue disk file").bad(1, &["file", "not a directory"]);
    world.say("rescue disk none/out").bad(1, &["none/out", "no such file"]);
    world.say("rescue none out").bad(1, &["none", "no such file"]);
    world.say("rescue file out").bad(1, &["file"]);
    world.say("rescue disk").bad(2, &["DIR"]);
}
