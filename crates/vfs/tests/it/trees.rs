//! `compare_trees` and the tools for paths.

use pumice_vfs::conformance::{TestClock, compare_trees, mkdir_p, read_file, resolve, walk, write_file};
use pumice_vfs::model::MemFs;
use pumice_vfs::{Errno, FileSystem, Ino, SetAttr, XattrMode};

/// Two trees alike: `/a/b/file` (also `/link`) and `/a/other`.
fn alike() -> [MemFs; 2] {
    let clock = TestClock::new();
    let trees = [MemFs::new(clock.clock()), MemFs::with_size(clock.clock(), 512, 1 << 30)];
    for tree in &trees {
        mkdir_p(tree, "/a/b").unwrap();
        let file = write_file(tree, "/a/b/file", &[7; 10_000]).unwrap();
        tree.link(file, Ino::ROOT, b"link").unwrap();
        tree.write(file, 1 << 30, b"far").unwrap();
        write_file(tree, "a/other", b"content").unwrap();
        tree.set_xattr(file, b"user.a", b"value", XattrMode::Either).unwrap();
    }
    clock.tick();
    trees
}

/// The message when the second tree has been changed.
fn difference(change: impl FnOnce(&MemFs)) -> String {
    let [one, two] = alike();
    compare_trees(&one, &two).unwrap();
    change(&two);
    compare_trees(&one, &two).unwrap_err()
}

#[test]
fn paths() {
    let [tree, _] = alike();
    assert_eq!(read_file(&tree, "/a/other").unwrap(), b"content");
    write_file(&tree, "/a/other", b"new").unwrap();
    assert_eq!(read_file(&tree, "/a/other").unwrap(), b"new");
    assert_eq!(resolve(&tree, "/").unwrap().ino, Ino::ROOT);
    assert_eq!(resolve(&tree, "/a/c").unwrap_err().errno(), Errno::NoEntry);
    let paths: Vec<String> =
        walk(&tree).unwrap().into_iter().map(|(path, _)| String::from_utf8(path).unwrap()).collect();
    assert_eq!(paths, ["", "/a", "/link", "/a/b", "/a/other", "/a/b/file"]);
}

#[test]
fn differences_are_told_with_their_place() {
    // The last times are set back, so that content alone differs.
    let told = difference(|tree| {
        let attr = resolve(tree, "/link").unwrap();
        tree.write(attr.ino, 9_999, b"x").unwrap();
        let times = SetAttr { mtime: Some(attr.mtime), ctime: Some(attr.ctime), ..SetAttr::default() };
        tree.set_attr(attr.ino, &times).unwrap();
    });
    assert!(told.ends_with("byte 9999: 7 and 120"), "{told}");

    let told = difference(|tree| {
        let change = SetAttr { perm: Some(0), ..SetAttr::default() };
        tree.set_attr(resolve(tree, "/a/b").unwrap().ino, &change).unwrap();
    });
    assert_eq!(told, "/a/b: perm: 493 and 0");
}

#[test]
fn links_must_tie_the_same_names() {
    let trees = alike();
    for (tree, from) in trees.iter().zip(["/a/b/file", "/a/other"]) {
        let ino = resolve(tree, from).unwrap().ino;
        tree.link(ino, Ino::ROOT, b"third").unwrap();
    }
    assert!(compare_trees(&trees[0], &trees[1]).is_err());
}
