//! Paths inside an image that cannot be, for each verb that takes one.

use std::{fs, os::unix::fs::symlink};

use super::ground::{Ledger, snapshot};
use crate::common::World;

/// The words, and the message. The image holds `dir/file`, `file`, `soft` -> `dir`, `circle` -> `circle` and a pipe.
pub(crate) const ROWS: &[(&str, &str)] = &[
    ("ls image none", "none: no such file or directory"),
    ("ls image file/below", "file/below: not a directory"),
    ("ls image circle/x", "symbolic links"),
    ("tree image none", "none: no such file"),
    ("tree image circle", "symbolic links"),
    ("cat image", "required"),
    ("cat image none", "none: no such file"),
    ("cat image dir", "dir: is a directory"),
    ("cat image /", "/: is a directory"),
    ("cat image pipe", "pipe"),
    ("cat image circle", "symbolic links"),
    ("cat image file/", "not a directory"),
    ("cat image LONG", "file name too long"),
    ("stat image none", "none: no such file"),
    ("stat image file/x", "not a directory"),
    ("find image none", "none: no such file"),
    ("tar image none", "none: no such file"),
    ("tar image none -o out", "none: no such file"),
    ("tar image / -o taken", "taken: exists already; use --force"),
    ("tar image / -o hostdir", "hostdir: is a directory"),
    ("tar image / -o no/where", "no such file or directory"),
    ("tar image / -o hostpipe", "not a regular file"),
    ("tar image / --force", "--output"),
    ("get image none", "none: no such file"),
    ("get image none out", "none: no such file"),
    ("get image file taken", "taken: exists already; use --force"),
    ("get image file no/where", "no such file or directory"),
    ("get image file taken/x", "not a directory"),
    ("get image dir taken", "taken"),
    ("get image file hostdir/file", "exists already; use --force"),
    ("get image file hostdir", "exists already; use --force"),
    ("get --force image file holder", "holder/file: exists already; a directory is in the way"),
    ("put image none x", "none: no such file"),
    ("put image hostcircle/x x", "hostcircle"),
    ("put image taken no/where", "no/where: no such file"),
    ("put image taken file/x", "not a directory"),
    ("put image taken file", "file: exists already; use --force"),
    ("put image taken dir/file", "exists already; use --force"),
    ("put --force image other/dir /", "dir: a directory is in the way"),
    ("put image hostdir file", "file: exists already and is not a directory"),
    ("put image taken hostdir file", "file: not a directory"),
    ("put image taken LONG", "file name too long"),
    ("put image taken", "required"),
    ("mkdir image", "required"),
    ("mkdir image dir", "dir: file exists"),
    ("mkdir image file", "file: file exists"),
    ("mkdir image /", "the root directory itself"),
    ("mkdir image .", "ends in a dot"),
    ("mkdir image dir/..", "ends in a dot"),
    ("mkdir image no/where", "no/where: no such file"),
    ("mkdir image file/x", "not a directory"),
    ("mkdir -p image file/x", "file: not a directory"),
    ("mkdir image LONG", "file name too long"),
    ("mkdir image circle/x", "symbolic links"),
    ("rm image", "required"),
    ("rm image /", "the root directory itself"),
    ("rm -r image /", "the root directory itself"),
    ("rm -rf image //", "the root directory itself"),
    ("rm -r image .", "ends in a dot"),
    ("rm -r image dir/..", "ends in a dot"),
    ("rm image dir", "dir: is a directory; use -r"),
    ("rm image none", "none: no such file"),
    ("rm image file/x", "not a directory"),
    ("rm -f image file/x", "not a directory"),
    ("rm image LONG", "file name too long"),
    ("mv image file", "required"),
    ("mv image none x", "none: no such file"),
    ("mv image / x", "the root directory itself"),
    ("mv image dir dir/sub", "dir"),
    ("mv image file none/x", "none/x: no such file"),
    ("mv image file file2/x", "no such file"),
    ("mv -n image file dir/file", "file exists"),
    ("mv --exchange image file none", "none"),
    ("mv --exchange -n image file pipe", "cannot be used with"),
    ("mv image file LONG", "file name too long"),
    ("ln image file", "required"),
    ("ln image none x", "none: no such file"),
    ("ln image dir x", "not permitted"),
    ("ln image file file", "file: file exists"),
    ("ln image file /", "root directory"),
    ("ln image file no/where", "no/where: no such file"),
    ("ln -s image x file", "file: file exists"),
    ("ln -s image LONG4096 x", "name too long"),
    ("mount image none", "none: no such directory"),
    ("mount image taken", "taken: not a directory"),
    ("mount --daemon image none", "none: no such directory"),
    ("mount image hostpipe", "hostpipe: not a directory"),
    ("mount --dry-run image none", "none: no such directory"),
    ("ftl mount image none", "none: no such directory"),
    ("mkfs --from none --chip slc-2k-2g --size 16M new", "none: no such file"),
    ("mkfs --from taken --chip slc-2k-2g --size 16M new", "taken: not a directory"),
    ("mkfs --from hostpipe --chip slc-2k-2g --size 16M new", "hostpipe: not a directory"),
    ("--key-file none mount --dry-run image taken", "taken: not a directory"),
];

fn world() -> World {
    let world = World::formatted();
    for name in ["hostdir", "holder/file"] {
        fs::create_dir_all(world.path(name)).unwrap();
    }
    fs::create_dir(world.path("other")).unwrap();
    for name in ["taken", "hostdir/file", "other/dir"] {
        fs::write(world.path(name), "the host's\n").unwrap();
    }
    symlink("hostcircle", world.path("hostcircle")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, world.path("hostpipe"), rustix::fs::Mode::RWXU).unwrap();
    world.say("mkdir image dir").good();
    for name in ["file", "dir/file"] {
        world.say(&format!("put image taken {name}")).good();
    }
    for (target, name) in [("dir", "soft"), ("circle", "circle")] {
        world.say(&format!("ln -s image {target} {name}")).good();
    }
    world.say("put image hostpipe pipe").good();
    world
}

#[test]
fn paths_that_cannot_be_are_named() {
    let ledger = Ledger::default();
    let world = world();
    let inside = world.say("ls -lR image").good();
    let mut before = snapshot(&world.path("."));
    for (line, says) in ROWS {
        let line = line.replace("LONG4096", &"n".repeat(5000)).replace("LONG", &"n".repeat(256));
        let says = if line.len() > 200 { "too long" } else { says };
        ledger.refuses(&world, &line, &[1, 2], &[says]);
        // Mounting for writing changes a container.
        ledger.unchanged(&world, &mut before, &line, "/image");
    }
    assert_eq!(world.say("ls -lR image").good(), inside);
    world.say("fsck image").good();
    ledger.close();
}
