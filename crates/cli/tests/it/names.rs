//! Verbs that read and change names and attributes inside an image.

use std::{
    fs,
    process::{Command, Stdio},
};

use crate::common::{CHIP, Run, World, document};

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

/// Half a document is none: a verb that fails writes nothing on stdout, and its message is a document, too.
#[test]
fn failures_are_told_in_json_where_it_is_asked_for() {
    let world = filled();
    for line in
        ["ls --json image nope", "tree --json image nope", "--json stat image nope", "find --json image nope"]
    {
        let run = world.say(line);
        assert_eq!((run.code, &*run.out), (1, ""), "{line}: {run:?}");
        let message = document(&run.err, "message");
        assert_eq!(message["message"], "nope: no such file or directory", "{line}");
    }
    let run = world.say("ls --json --nope image");
    assert_eq!((run.code, &*run.out), (2, ""), "{run:?}");
    assert!(document(&run.err, "message")["message"].as_str().unwrap().contains("'--nope'"), "{run:?}");
    // Behind `--` it is a name.
    assert_eq!(world.say("ls image -- --json").err, "pumice: --json: no such file or directory\n");
}

/// Names from images and from the host are shown, and not obeyed.
#[test]
fn no_name_moves_the_cursor() {
    let (world, wild) = (World::new(), "a\u{1b}[2Jb\nc");
    world.run(&[&["mkfs", "--label", wild], &CHIP[..], &["image"]].concat()).good();
    let shown = |run: Run| [run.out, run.err].concat();
    assert!(world.say("info image").good().contains("label:       a\\u{1b}[2Jb\\nc\n"));
    fs::write(world.path("x"), "x").unwrap();
    fs::create_dir(world.path(wild)).unwrap();
    let inside = format!("{wild}/x");
    for words in [
        ["put", "--dry-run", "image", "x", wild].as_slice(),
        &["put", "image", &inside, "x"],
        &["get", "image", "/", wild],
        &["get", "image", "none", &inside],
        &["get", "--dry-run", "image", "/", &inside],
        &["ls", wild],
        &["ls", &inside],
        &["nand", "export", "image", wild],
        &["tar", "image", "-o", wild],
        &["mkfs", "--chip", wild, "new"],
        &["mount", "image", &inside],
        &[wild],
    ] {
        let shown = shown(world.run(words));
        assert!(!shown.contains('\u{1b}') && shown.lines().count() <= 1, "{words:?}: {shown:?}");
    }
}

/// As on Linux.
#[test]
fn an_empty_path_is_no_path() {
    let world = filled();
    let missing = "'': no such file or directory";
    for words in [
        ["ls", "image", ""].as_slice(),
        &["cat", "image", ""],
        &["stat", "image", ""],
        &["find", "image", ""],
        &["tree", "image", ""],
        &["rm", "image", ""],
        &["mkdir", "image", ""],
        &["mv", "image", "hard", ""],
        &["ln", "image", "hard", ""],
        &["put", "image", "hello", ""],
        &["get", "image", "", "out"],
        &["tar", "image", "", "-o", "out"],
    ] {
        world.run(words).bad(1, &[missing]);
    }
    assert!(!world.path("out").exists());
}

/// `-h` is what it is for ls(1) and df(1).
#[test]
fn sizes_have_units_where_they_are_asked_for() {
    let world = filled();
    fs::write(world.path("large"), [0; 3000]).unwrap();
    world.say("put image large large").good();
    assert!(world.say("ls -l image large").good().contains(" 3000 "));
    assert!(world.say("ls -lh image large").good().contains(" 2.92 KiB "));
    assert_eq!(world.say("df -h image").good(), world.say("df image").good());
    assert_eq!(world.say("ls -h image").good(), world.say("ls image").good());
    assert!(world.say("ls --help").good().contains("Usage: pumice ls"));
}

#[test]
fn no_archive_goes_to_a_terminal() {
    let world = filled();
    let call = format!("exec {} tar image", env!("CARGO_BIN_EXE_pumice"));
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &call, "/dev/null"]).stdin(Stdio::null());
    let run = script.current_dir(world.path(".")).output().unwrap();
    let said = String::from_utf8(run.stdout).unwrap();
    assert_eq!(said.trim_end(), "pumice: an archive is not for a terminal; name a file with -o, or a pipe");
    assert_eq!(run.status.code(), Some(2));
}

/// A tree deeper than the host has words for, told in a line.
#[test]
fn trees_with_endless_paths_are_refused_in_a_line() {
    let world = World::formatted();
    let deep = "mkdir tree; cd tree; for i in $(seq 60); do mkdir $1; cd -P $1; done";
    let made =
        Command::new("sh").args(["-c", deep, "sh", &"d".repeat(100)]).current_dir(world.path(".")).status();
    assert!(made.unwrap().success());
    for line in ["put image tree x", "mkfs -t f2fs --size 64M --from tree card"] {
        let run = world.say(line);
        assert!(run.err.len() < 700, "{line}: {run:?}");
        run.bad(1, &["name too long"]);
    }
    assert_eq!(world.say("ls image").good(), "");
}

/// What only the program itself says is nobody's to complete.
#[test]
fn completions_have_what_help_has() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish"] {
        let text = world.say(&format!("completions {shell}")).good();
        assert!(text.contains("daemon"), "{shell}");
        for word in ["background", "helper"] {
            assert!(
                !text.contains(&format!("--{word}")) && !text.contains(&format!("-l {word} ")),
                "{shell}: {word}"
            );
        }
    }
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
