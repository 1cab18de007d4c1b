//! Paths, files and walks for programs that use a file system.

use std::io::{Read, Seek, SeekFrom};

use pumice_vfs::{
    Attr, Errno, File, FileKind, FileSystem, Ino, NewNode, Timestamp,
    model::MemFs,
    path,
    walk::{Names, Step, walk, walk_directories},
};

fn memory() -> MemFs {
    MemFs::new(Box::new(|| Timestamp { seconds: 1_000_000_000, nanos: 7 }))
}

fn make(fs: &MemFs, dir: Ino, name: &str, kind: FileKind, content: &str) -> Ino {
    let target = if kind == FileKind::Symlink { content.as_bytes() } else { b"" };
    let node = NewNode { kind, perm: 0o755, uid: 0, gid: 0, rdev: 0, target };
    let ino = fs.create(dir, name.as_bytes(), &node).unwrap().ino;
    if kind == FileKind::File {
        fs.write(ino, 0, content.as_bytes()).unwrap();
    }
    ino
}

fn find(fs: &MemFs, path: &str) -> Result<Ino, Errno> {
    path::find_target(fs, path.as_bytes()).map(|attr| attr.ino).map_err(|error| error.errno())
}

#[test]
fn links_are_followed_within_the_file_system() {
    let fs = memory();
    let a = make(&fs, Ino::ROOT, "a", FileKind::Dir, "");
    let b = make(&fs, a, "b", FileKind::Dir, "");
    make(&fs, a, "absolute", FileKind::Symlink, "/a/b");
    make(&fs, b, "up", FileKind::Symlink, "../../a/absolute");
    for path in ["/a/b", "a/absolute", "/a//absolute/.", "a/b/up", "../../a/b/up/up", "a/b/"] {
        assert_eq!(find(&fs, path), Ok(b), "{path}");
    }
    assert_eq!(path::find(&fs, b"a/absolute").unwrap().kind, FileKind::Symlink);
    assert_eq!(path::find(&fs, b"a/absolute/").unwrap().ino, b);
    make(&fs, Ino::ROOT, "x", FileKind::Symlink, "y");
    make(&fs, Ino::ROOT, "y", FileKind::Symlink, "x");
    assert!(path::find_target(&fs, b"x").unwrap_err().to_string().contains("40 symbolic links"));
    assert_eq!(find(&fs, ""), Err(Errno::NoEntry));
    assert_eq!(find(&fs, "a/none"), Err(Errno::NoEntry));
}

#[test]
fn the_last_name_is_split_off() {
    let fs = memory();
    let a = make(&fs, Ino::ROOT, "a", FileKind::Dir, "");
    make(&fs, a, "file", FileKind::File, "");
    let split = |path: &'static str| path::split(&fs, path.as_bytes()).map_err(|error| error.errno());
    assert_eq!(split("/name/"), Ok((Ino::ROOT, b"name".as_slice())));
    assert_eq!(split("a/new"), Ok((a, b"new".as_slice())));
    for (path, errno) in [
        ("", Errno::NoEntry),
        ("/", Errno::Invalid),
        ("a/..", Errno::Invalid),
        ("none/new", Errno::NoEntry),
        ("a/file/new", Errno::NotDir),
    ] {
        assert_eq!(split(path), Err(errno), "{path}");
    }
}

#[test]
fn a_file_is_read_as_std_reads() {
    let fs = memory();
    let ino = make(&fs, Ino::ROOT, "file", FileKind::File, "pumice is a stone");
    make(&fs, Ino::ROOT, "dir", FileKind::Dir, "");
    make(&fs, Ino::ROOT, "pipe", FileKind::Fifo, "");
    let mut file = File::open(&fs, b"/file").unwrap();
    // It is there as long as it is open.
    fs.unlink(Ino::ROOT, b"file").unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "pumice is a stone");
    assert_eq!(file.seek(SeekFrom::End(-5)).unwrap(), 12);
    assert_eq!(file.seek(SeekFrom::Current(-2)).unwrap(), 10);
    let mut rest = [0; 9];
    assert_eq!(file.read(&mut rest).unwrap(), 7);
    assert_eq!(&rest[..7], b"a stone");
    assert!(file.seek(SeekFrom::Current(-100)).is_err());
    drop(file);
    assert!(fs.attr(ino).is_err());
    for (path, errno) in [("dir", Errno::IsDir), ("pipe", Errno::Invalid), ("file", Errno::NoEntry)] {
        assert_eq!(File::open(&fs, path.as_bytes()).err().map(|error| error.errno()), Some(errno), "{path}");
    }
}

type Walk = fn(&dyn FileSystem, &[u8], &Attr, &mut dyn FnMut(Step<'_>) -> Result<(), ()>) -> Result<(), ()>;

fn steps(fs: &MemFs, walk: Walk) -> Vec<String> {
    let mut seen = Vec::new();
    let root = fs.attr(Ino::ROOT).unwrap();
    let done = walk(fs, b"", &root, &mut |step| {
        seen.push(match step {
            Step::Enter(place) => format!("in {} {}", String::from_utf8_lossy(place.path), place.last),
            Step::Leave(place) => format!("out {}", String::from_utf8_lossy(place.path)),
            Step::Lost { path, error } => format!("lost {} {error}", String::from_utf8_lossy(path)),
        });
        Ok(())
    });
    assert!(done.is_ok());
    seen
}

#[test]
fn directories_are_left_after_their_content() {
    let fs = memory();
    let a = make(&fs, Ino::ROOT, "a", FileKind::Dir, "");
    make(&fs, a, "2", FileKind::File, "");
    make(&fs, a, "1", FileKind::File, "");
    make(&fs, Ino::ROOT, "b", FileKind::File, "");
    let wanted = ["in  true", "in a false", "in a/1 false", "in a/2 true", "out a", "in b true", "out "];
    assert_eq!(steps(&fs, walk), wanted);
    assert_eq!(steps(&fs, walk_directories), ["in  true", "in a true", "out a", "out "]);
    // The visitor's error ends the walk.
    let root = fs.attr(Ino::ROOT).unwrap();
    assert_eq!(walk(&fs, b"", &root, &mut |_| Err(7)), Err(7));
}

#[test]
fn a_large_directory_comes_in_order_and_whole() {
    let fs = memory();
    let count = 80_000;
    for number in 0..count {
        // Not in the order of their names.
        make(&fs, Ino::ROOT, &format!("{:06}", number * 7919 % count), FileKind::File, "");
    }
    let mut names = Names::of(Ino::ROOT);
    for number in 0..count {
        let next = names.next(&fs).and_then(Result::ok).map(|(name, ..)| name);
        assert_eq!(next, Some(format!("{number:06}").into_bytes()));
    }
    assert!(names.next(&fs).is_none());
}
