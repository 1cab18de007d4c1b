//! Trees from the host into an image and back, with everything that belongs to a file.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink},
    path::Path,
    process::Command,
    time::{Duration, UNIX_EPOCH},
};

use crate::common::{World, is_root};

/// The attributes that a copy must keep.
#[derive(Debug, PartialEq, Eq)]
struct Kept {
    mode: u32,
    owner: (u32, u32),
    links: u64,
    device: u64,
    mtime: (i64, i64),
    content: Vec<u8>,
    target: Option<std::path::PathBuf>,
}

fn look(root: &Path, dir: &Path, found: &mut BTreeMap<String, Kept>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let meta = fs::symlink_metadata(&path).unwrap();
        let kept = Kept {
            mode: meta.mode(),
            owner: (meta.uid(), meta.gid()),
            links: meta.nlink(),
            device: meta.rdev(),
            mtime: (meta.mtime(), meta.mtime_nsec()),
            content: if meta.is_file() { fs::read(&path).unwrap() } else { Vec::new() },
            target: fs::read_link(&path).ok(),
        };
        found.insert(path.strip_prefix(root).unwrap().to_string_lossy().into_owned(), kept);
        if meta.is_dir() {
            look(root, &path, found);
        }
    }
}

fn tree(root: &Path) -> BTreeMap<String, Kept> {
    let mut found = BTreeMap::new();
    look(root, root, &mut found);
    found
}

/// One of each kind, with odd attributes.
fn make_tree(root: &Path) {
    fs::create_dir_all(root.join("dir/deep")).unwrap();
    fs::write(root.join("dir/file"), vec![7; 100_000]).unwrap();
    fs::write(root.join("empty"), b"").unwrap();
    fs::write(root.join("odd name\n"), b"odd").unwrap();
    fs::hard_link(root.join("dir/file"), root.join("dir/deep/second")).unwrap();
    symlink("../nowhere", root.join("dir/soft")).unwrap();
    let sparse = File::create(root.join("sparse")).unwrap();
    sparse.write_all_at(b"middle", 5_000_000).unwrap();
    sparse.set_len(9_000_000).unwrap();
    fs::set_permissions(root.join("empty"), fs::Permissions::from_mode(0o6751)).unwrap();
    let made = Command::new("mkfifo").arg(root.join("pipe")).status().unwrap();
    assert!(made.success());
    if is_root() {
        let made = Command::new("mknod").arg(root.join("dev")).args(["b", "8", "300"]).status().unwrap();
        assert!(made.success());
        std::os::unix::fs::lchown(root.join("dir/soft"), Some(1000), Some(1001)).unwrap();
        std::os::unix::fs::chown(root.join("dir/file"), Some(1000), Some(1001)).unwrap();
    }
    let old = UNIX_EPOCH - Duration::new(1, 200_000_000);
    File::open(root.join("dir/file")).unwrap().set_modified(old).unwrap();
    let dir = File::open(root.join("dir/deep")).unwrap();
    dir.set_modified(UNIX_EPOCH + Duration::new(1_000_000_000, 123_456_789)).unwrap();
}

#[test]
fn a_tree_comes_back_as_it_went() {
    let world = World::formatted();
    make_tree(&world.path("src"));
    world.say("put image src /").good();
    world.say("get image src out").good();
    assert_eq!(tree(&world.path("out")), tree(&world.path("src")));
    let sparse = fs::metadata(world.path("out/sparse")).unwrap();
    assert!(sparse.blocks() * 512 < 1_000_000, "the holes were filled: {} blocks", sparse.blocks());
    let (one, two) =
        (fs::metadata(world.path("out/dir/file")), fs::metadata(world.path("out/dir/deep/second")));
    assert_eq!(one.unwrap().ino(), two.unwrap().ino());
    world.say("fsck image").good();
}

#[test]
fn get_of_the_root_takes_its_content() {
    let world = World::formatted();
    make_tree(&world.path("src"));
    world.say("put image src/dir src/empty /").good();
    world.say("get image / out").good();
    assert!(world.path("out/dir/file").exists() && world.path("out/empty").exists());
}

#[test]
fn extended_attributes_are_kept() {
    let world = World::formatted();
    fs::write(world.path("file"), b"x").unwrap();
    let set =
        Command::new("setfattr").args(["-n", "user.test", "-v", "value"]).arg(world.path("file")).status();
    if !set.is_ok_and(|status| status.success()) {
        eprintln_skip("setfattr does not work here");
        return;
    }
    world.say("put image file file").good();
    assert!(world.say("stat image file").good().contains("user.test = value"));
    world.say("get image file back").good();
    let got =
        Command::new("getfattr").args(["--only-values", "-n", "user.test"]).arg(world.path("back")).output();
    assert_eq!(got.unwrap().stdout, b"value");
}

fn eprintln_skip(why: &str) {
    eprintln!("SKIPPED: {why}");
}

#[test]
fn nothing_is_overwritten_unless_forced() {
    let world = World::formatted();
    fs::write(world.path("one"), b"one").unwrap();
    fs::write(world.path("two"), b"two").unwrap();
    world.say("put image one name").good();
    world.say("put image two name").bad(1, &["name: exists already", "--force"]);
    world.say("put --force image two name").good();
    assert_eq!(world.say("cat image name").good(), "two");
    world.say("get image name one").bad(1, &["one: exists already", "--force"]);
    world.say("get --force image name one").good();
    assert_eq!(fs::read(world.path("one")).unwrap(), b"two");
    fs::create_dir(world.path("dir")).unwrap();
    fs::create_dir(world.path("dir/name")).unwrap();
    world.say("get --force image name dir").bad(1, &["directory is in the way"]);
}

#[test]
fn wrong_paths_are_named() {
    let world = World::formatted();
    fs::write(world.path("file"), b"").unwrap();
    world.say("put image nothing /").bad(1, &["nothing: no such file"]);
    world.say("put image file no/where").bad(1, &["no/where: no such file"]);
    world.say("put image file file nowhere").bad(1, &["nowhere: not a directory"]);
    world.say("get image nothing").bad(1, &["nothing: no such file"]);
    assert_eq!(world.say("put image file").code, 2);
}

#[test]
fn a_dry_run_copies_nothing() {
    let world = World::formatted();
    fs::create_dir(world.path("src")).unwrap();
    fs::write(world.path("src/file"), b"").unwrap();
    let said = world.say("put --dry-run image src /").good();
    assert_eq!(said, "would copy src to /src\nwould copy src/file to /src/file\n");
    assert_eq!(world.say("ls image").good(), "");
    world.say("put image src /").good();
    let said = world.say("get --dry-run image src out").good();
    assert_eq!(said, "would write out (directory)\nwould write out/file (file)\n");
    assert!(!world.path("out").exists());
}

#[test]
fn a_copy_does_not_leave_through_a_link() {
    let world = World::formatted();
    fs::create_dir_all(world.path("src/dir")).unwrap();
    fs::write(world.path("src/dir/file"), b"").unwrap();
    world.say("put image src /").good();
    fs::create_dir(world.path("out")).unwrap();
    fs::create_dir(world.path("elsewhere")).unwrap();
    symlink(world.path("elsewhere"), world.path("out/dir")).unwrap();
    world.say("get --force image src out").good();
    assert!(world.path("out/src/dir/file").exists());
    symlink(world.path("elsewhere"), world.path("link")).unwrap();
    fs::create_dir(world.path("into")).unwrap();
    symlink(world.path("elsewhere"), world.path("into/src")).unwrap();
    world.say("get --force image src into").bad(1, &["into/src: exists already and is not a directory"]);
    assert_eq!(fs::read_dir(world.path("elsewhere")).unwrap().count(), 0);
}
