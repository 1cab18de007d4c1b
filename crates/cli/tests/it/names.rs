//! Verbs that read and change names and attributes inside an image.

use std::{fs, process::Stdio};

use crate::common::{World, document};

/// A volume with a few things in it.
fn filled() -> World {
    let world = World::formatted();
    fs::write(world.path("hello"), b"hello\n").unwrap();
    world.say("mkdir image dir dir/sub").good();
    world.say("put image hello dir/file").good();
    world.say("ln -s image dir/file soft").good();
    world.say("ln image dir/file hard").good();
    world
}

#[test]
fn ls_lists() {
    let world = filled();
    assert_eq!(world.say("ls image").good(), "dir\nhard\nsoft\n");
    assert_eq!(world.say("ls image dir").good(), "file\nsub\n");
    assert_eq!(world.say("ls -R image /").good(), "/:\ndir\nhard\nsoft\n\n/dir:\nfile\nsub\n\n/dir/sub:\n");
    assert_eq!(world.say("ls -d image dir").good(), "dir\n");
    let long = world.say("ls -l image").good();
    assert!(
        long.lines().any(|line| line.starts_with("lrwxrwxrwx") && line.ends_with("soft -> dir/file")),
        "{long}"
    );
    assert!(long.lines().any(|line| line.starts_with("-rw") && line.contains(" 6 ")), "{long}");
    world.say("ls image none").bad(1, &["none: no such file or directory"]);
    world.say("ls image hard/below").bad(1, &["not a directory"]);
}

#[test]
fn ls_has_a_document() {
    let world = filled();
    let list = document(&world.say("ls --json -R image").good(), "ls");
    let entries = list["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 5);
    let file = entries.iter().find(|entry| entry["path"] == "/dir/file").unwrap();
    assert_eq!((&file["size_bytes"], &file["links"], &file["kind"]), (&6.into(), &2.into(), &"file".into()));
    assert!(entries.iter().any(|entry| entry["target"] == "dir/file"));
}

#[test]
fn tree_draws() {
    let world = filled();
    let picture = "/\n├── dir\n│   ├── file\n│   └── sub\n├── hard\n└── soft -> dir/file\n\n2 directories, 3 other files\n";
    assert_eq!(world.say("tree image").good(), picture);
    let list = document(&world.say("tree --json image dir").good(), "tree");
    assert_eq!(list["entries"].as_array().unwrap().len(), 3);
    world.say("tree image none").bad(1, &["none"]);
}

#[test]
fn cat_follows_links_inside_the_image() {
    let world = filled();
    assert_eq!(world.say("cat image soft /dir/file hard").good(), "hello\nhello\nhello\n");
    world.say("cat image dir").bad(1, &["dir: is a directory"]);
    world.say("cat image none").bad(1, &["none: no such file"]);
    let mut child = world.command().args(["cat", "image", "soft"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().code().is_some());
}

#[test]
fn stat_tells_everything() {
    let world = filled();
    let text = world.say("stat image soft dir").good();
    assert!(text.contains("path: soft -> dir/file") && text.contains("kind: directory"), "{text}");
    let found = document(&world.say("stat --json image hard").good(), "stat");
    let file = &found["files"][0];
    assert_eq!((&file["links"], &file["size_bytes"]), (&2.into(), &6.into()));
    assert!(file["modified_utc"].as_str().unwrap().ends_with('Z'));
    world.say("stat image none").bad(1, &["none"]);
}

#[test]
fn mkdir_makes() {
    let world = World::formatted();
    world.say("mkdir image a/b").bad(1, &["a/b: no such file"]);
    world.say("mkdir -p image a/b/c").good();
    world.say("mkdir -p image a/b/c").good();
    world.say("mkdir image a").bad(1, &["a: file exists"]);
    world.say("mkdir -m 2750 image m").good();
    let found = document(&world.say("stat --json image m").good(), "stat");
    assert_eq!(found["files"][0]["mode_octal"], "2750");
    assert_eq!(world.say("mkdir -m 888 image n").code, 2);
    assert!(world.say("mkdir -p --dry-run image x/y").good().contains("would make"));
    assert_eq!(world.say("ls image").good(), "a\nm\n");
}

#[test]
fn rm_removes() {
    let world = filled();
    world.say("rm image dir").bad(1, &["is a directory", "-r"]);
    world.say("rm image none").bad(1, &["none"]);
    world.say("rm -f image none").good();
    let said = world.say("rm -r --dry-run image dir").good();
    assert_eq!(said, "would remove dir/file\nwould remove dir/sub\nwould remove dir\n");
    world.say("rm -r image dir soft").good();
    assert_eq!(world.say("ls image").good(), "hard\n");
    assert_eq!(world.say("cat image hard").good(), "hello\n");
    world.say("rm -r image /").bad(1, &["/"]);
}

#[test]
fn mv_moves() {
    let world = filled();
    world.say("mv image hard dir").good();
    assert_eq!(world.say("ls image dir").good(), "file\nhard\nsub\n");
    world.say("mv image dir/hard dir/other").good();
    world.say("mv -n image dir/other dir/file").bad(1, &["file exists"]);
    world.say("mv --exchange image dir/sub soft").good();
    assert_eq!(world.say("ls -d image soft").good(), "soft\n");
    world.say("mv image none x").bad(1, &["none"]);
    world.say("mv image dir dir/dir").bad(1, &["invalid"]);
    assert!(world.say("mv --dry-run image dir x").good().starts_with("would move dir to x"));
    assert!(world.say("ls image").good().contains("dir"));
}

#[test]
fn ln_links() {
    let world = filled();
    world.say("ln image dir again").bad(1, &["not permitted"]);
    world.say("ln image hard soft").bad(1, &["soft: file exists"]);
    world.say("ln image none x").bad(1, &["none"]);
    world.say("ln -s --dry-run image any x").good();
    world.say("ls image x").bad(1, &["x"]);
}

#[test]
fn df_and_info_tell_space() {
    let world = filled();
    assert!(world.say("df image").good().contains('%'));
    let space = document(&world.say("df --json image").good(), "df");
    let get = |key: &str| space[key].as_u64().unwrap();
    assert_eq!(get("used_bytes") + get("free_bytes"), get("total_bytes"));
    assert!(get("total_bytes") <= 16 << 20);
    assert!(world.say("info image").good().contains("clean"));
}

#[test]
fn stats_go_to_stderr() {
    let world = filled();
    let run = world.say("ls --stats image");
    assert_eq!(run.code, 0);
    assert!(run.err.starts_with("page reads ") && run.err.contains("device time"), "{run:?}");
    assert!(run.out.contains("dir"));
}

#[test]
fn the_cache_has_a_least_size() {
    let world = filled();
    world.say("ls --cache 256k image").good();
    assert_eq!(world.say("ls --cache 4k image").code, 2);
}

#[test]
fn images_that_are_none_are_named() {
    let world = World::new();
    world.say("ls missing").bad(1, &["missing: no such file", "mkfs"]);
    fs::write(world.path("letter"), b"dear all").unwrap();
    world.say("ls letter").bad(1, &["letter is not a chip container"]);
    world.say("nand create --chip slc-2k-2g --size 16M blank").good();
    world.say("ls blank").bad(1, &["blank: no file system", "mkfs"]);
    let whole = fs::read(world.path("blank")).unwrap();
    fs::write(world.path("cut"), &whole[..5000]).unwrap();
    world.say("ls cut").bad(1, &["cut", "5000 bytes"]);
    world.say("ls .").bad(1, &["directory"]);
}

#[test]
fn json_stands_before_and_behind_the_verb() {
    let world = filled();
    let wanted = world.say("ls --json image").good();
    assert_eq!(world.say("--json ls image").good(), wanted);
    assert_eq!(world.say("ls image --json").good(), wanted);
    document(&world.say("--json nand stats image").good(), "nand-stats");
    world.say("--json chips").good();
}

#[test]
fn one_is_singular() {
    let world = World::formatted();
    world.say("mkdir image dir").good();
    fs::write(world.path("file"), b"").unwrap();
    world.say("put image file dir").good();
    assert!(world.say("tree image").good().ends_with("\n1 directory, 1 other file\n"));
    assert!(world.say("fsck image").good().contains("2 directories, 1 other file,"));
}

#[test]
fn keys_are_read_by_those_who_need_them() {
    let world = World::new();
    world.say("--key-file missing chips").good();
    world.say("--key-file missing mkfs --chip slc-2k-2g --size 16M image").good();
}
