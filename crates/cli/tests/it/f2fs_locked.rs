//! Volumes of Linux with unreadable parts: encrypted files without their key, files that fs-verity refuses. The rest is
//! copied, and missing files are named and counted.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::Path,
    process::{Command, Stdio},
};

use crate::common::{Run, World, finish};
use serde_json::Value;

/// A volume that Linux made, in `disk`.
fn kept(name: &str) -> World {
    let world = World::new();
    let image = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../f2fs/tests/images/{name}.img.zst"));
    let mut zstd = Command::new("zstd");
    zstd.args(["-dq", "--long=27", "--sparse", "-o"]).arg(world.path("disk")).arg(image);
    assert!(zstd.status().unwrap().success(), "zstd is installed");
    world
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.out).unwrap()
}

/// Regular files that are not empty, by their paths, for which `is_meant` holds of the forms of their content.
fn files(world: &World, is_meant: &dyn Fn(&[Value]) -> bool) -> Vec<String> {
    let found = json(&world.say("find --json --type f disk"));
    let paths: Vec<String> = found["entries"].as_array().unwrap().iter().map(path_of).collect();
    let stats = json(&world.run(&[vec!["stat".into(), "--json".into(), "disk".into()], paths].concat()));
    let is_wanted = |file: &&Value| file["size_bytes"] != 0 && is_meant(file["kept"].as_array().unwrap());
    stats["files"].as_array().unwrap().iter().filter(is_wanted).map(path_of).collect()
}

fn path_of(entry: &Value) -> String {
    entry["path"].as_str().unwrap().to_owned()
}

/// Each of `lost` is told on a line of its own, and nothing else but the summary.
#[track_caller]
fn names_each(run: &Run, lost: &[String]) {
    assert_eq!(run.code, 1, "{run:?}");
    assert_eq!(run.err.lines().count(), lost.len() + 1, "{}", run.err);
    for path in lost {
        assert!(run.err.contains(&format!("pumice: {path}: ")), "{path}: {}", run.err);
    }
}

#[test]
fn encrypted_files_without_their_key_are_named_and_the_rest_is_copied() {
    let world = kept("encrypt");
    let is_locked = |kept: &[Value]| kept.contains(&"encrypted".into());
    let lost = files(&world, &is_locked);
    let open = files(&world, &|kept| !is_locked(kept));
    assert!(lost.len() > 10 && !open.is_empty(), "{} and {}", lost.len(), open.len());
    names_each(&world.say("get disk / out"), &lost);
    assert!(lost.iter().all(|path| !world.path("out").join(&path[1..]).exists()));
    for path in &open {
        let copy = fs::read(world.path("out").join(&path[1..])).unwrap();
        assert_eq!(
            copy.len() as u64,
            json(&world.run(&["stat", "--json", "disk", path]))["files"][0]["size_bytes"]
        );
    }
    let archive = File::create(world.path("archive")).unwrap();
    let child = world.command().args(["tar", "disk"]).stdout(archive).stderr(Stdio::piped()).spawn().unwrap();
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    names_each(&Run { code: output.status.code().unwrap(), out: String::new(), err }, &lost);
    let listed = finish(Command::new("tar").args(["-tf", "archive"]).current_dir(world.path(""))).good();
    assert!(lost.iter().all(|path| !listed.lines().any(|line| line[1..] == **path)));
    assert!(open.iter().all(|path| listed.lines().any(|line| line[1..] == **path)));
}

/// A byte that differs from the sealed one costs its block, and no byte of it comes out.
#[test]
fn what_verity_refuses_is_missing_in_the_copy() {
    let world = kept("verity");
    let sealed = files(&world, &|kept| kept.contains(&"verity".into()));
    let blocks = |path: &str| {
        let map = json(&world.run(&["map", "--json", "disk", path]));
        map["extents"].as_array().unwrap().first().and_then(|extent| extent["block"].as_u64())
    };
    let (path, block) = sealed.iter().find_map(|path| Some((path, blocks(path)?))).unwrap();
    let whole = world.run(&["get", "disk", path, "whole"]);
    assert_eq!((whole.code, whole.err.as_str()), (0, ""));
    let disk = File::options().read(true).write(true).open(world.path("disk")).unwrap();
    let mut byte = [0];
    disk.read_exact_at(&mut byte, block * 4096 + 7).unwrap();
    disk.write_all_at(&[byte[0] ^ 1], block * 4096 + 7).unwrap();
    let got = world.say("get disk / out");
    names_each(&got, std::slice::from_ref(path));
    let (whole, copy) =
        (fs::read(world.path("whole")).unwrap(), fs::read(world.path("out").join(&path[1..])));
    // A file of one block has nothing left.
    match copy {
        Ok(copy) => assert!(copy[..4096] == [0; 4096] && copy[4096..] == whole[4096..]),
        Err(_) => assert!(whole.len() <= 4096),
    }
}

/// A tree deeper than any path may be long.
#[test]
fn a_tree_deeper_than_a_path_is_copied() {
    const DEPTH: usize = 2100;
    let world = World::formatted();
    let deep = "d/".repeat(DEPTH);
    world.run(&["mkdir", "-p", "image", &deep]).good();
    fs::write(world.path("file"), b"at the end").unwrap();
    world.run(&["put", "image", "file", &format!("{deep}file")]).good();
    world.run(&["ln", "image", &format!("{deep}file"), &format!("{deep}same")]).good();
    world.say("get image / out").good();
    let found =
        finish(Command::new("find").args(["out", "-type", "f", "-links", "2"]).current_dir(world.path("")));
    let below = finish(Command::new("find").args(["out", "-type", "d"]).current_dir(world.path("")));
    // The standard library does not remove so deep a tree.
    assert!(Command::new("rm").args(["-rf", "out"]).current_dir(world.path("")).status().unwrap().success());
    assert_eq!(found.good().lines().count(), 2);
    assert_eq!(below.good().lines().count(), DEPTH + 1);
}
