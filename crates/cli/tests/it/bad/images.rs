//! Images of ours that are damaged, and images that are another verb's.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
};

use super::ground::{Ledger, snapshot};
use crate::common::{CHIP, World};

/// The damage to a sound container.
pub(crate) enum Damage {
    /// It ends here.
    Cut(u64),
    /// Bytes are added.
    Longer(u64),
    /// Bytes are written over it.
    Over(u64, &'static [u8]),
}

use Damage::{Cut, Longer, Over};

/// Each damage, and its message.
pub(crate) const DAMAGES: &[(Damage, &str)] = &[
    (Cut(7), "a text file"),
    (Cut(8), "version 0"),
    (Cut(40), "header"),
    (Cut(64), "ends at byte 64"),
    (Cut(100), "ends at byte 100"),
    (Cut(4096), "4096 bytes"),
    (Cut(5000), "5000 bytes"),
    (Cut(600_000), "600000 bytes"),
    (Longer(1), "bytes"),
    (Longer(1 << 20), "bytes"),
    (Over(0, b"pumichip"), "is not a chip container"),
    (Over(8, &[0, 0, 0, 0]), "version 0"),
    (Over(8, &[99, 0, 0, 0]), "version 99"),
    (Over(8, &[0xff; 4]), "version 4294967295"),
    (Over(12, &[0xff; 4]), "header"),
    (Over(16, &[0; 4]), "header"),
    (Over(60, &[0; 4]), "header is damaged"),
    (Over(64, b"{}"), "chip description is damaged"),
    (Over(4096, &[0; 8]), ""),
];

/// An image, a verb that is not for it, and the message.
pub(crate) const STRANGERS: &[(&str, &str, &str)] = &[
    ("ls", "disk", "no file system on this chip, but a logical disk: see `pumice ftl info disk`"),
    ("info", "disk", "but a logical disk"),
    ("fsck", "disk", "but a logical disk"),
    ("scrub", "disk", "but a logical disk"),
    ("df", "disk", "but a logical disk"),
    ("tree", "disk", "but a logical disk"),
    ("tar", "disk", "but a logical disk"),
    ("mkdir", "disk x", "but a logical disk"),
    ("mount", "disk dir", "but a logical disk"),
    ("ls", "blank", "no file system on this chip; make one with `pumice mkfs blank`"),
    ("fsck", "blank", "no file system on this chip"),
    ("scrub", "blank", "no file system on this chip"),
    ("info", "blank", "no file system on this chip"),
    ("mount", "blank dir", "no file system on this chip"),
    ("ftl info", "blank", "no logical disk on this chip; make one with `pumice ftl create`"),
    ("ftl mount", "blank dir", "no logical disk on this chip"),
    ("ftl info", "image", "no logical disk on this chip, but a file system"),
    ("ftl mount", "image dir", "no logical disk on this chip, but a file system (nandfs)"),
    ("map", "image /", "image: not F2FS; it is a chip container"),
    ("whois", "image 1", "image: not F2FS; it is a chip container"),
    ("dump", "image sb", "image: not F2FS; it is a chip container"),
    ("map", "disk /", "disk: not F2FS; it is a chip container"),
    ("mkfs", "image", "holds a nandfs file system; use --force"),
    ("mkfs", "disk", "use --force"),
    ("mkfs --chip slc-2k-2g --size 16M", "image", "exists already; use --force"),
    ("nand create --chip slc-2k-2g --size 16M", "image", "exists already; use --force"),
    ("ftl create --chip slc-2k-2g --size 16M", "image", "exists already; use --force"),
    ("nand import", "image blank", "exists already; use --force"),
    ("nand import --force", "image blank", "bytes"),
    ("nand export", "image blank", "exists already; use --force"),
    ("tar", "image / -o blank", "exists already; use --force"),
    ("nand export", "image dir", "dir: is a directory"),
    ("nand export", "image missing/dump", "no such file or directory"),
    ("nand export --force", "image pipe", "not a regular file"),
    ("nand export --force", "image /dev/null", "not a regular file"),
    ("nand import --force", "pipe blank", "not a regular file"),
    ("nand import --force", "dir blank", "not a regular file"),
    ("nand import --force", "/dev/zero blank", "not a regular file"),
    ("nand create --force --chip slc-2k-2g --size 16M", "pipe", "not a regular file"),
    ("nand create --force --chip slc-2k-2g --size 16M", "/dev/null", "not a regular file"),
    ("ftl create --force --chip slc-2k-2g --size 16M", "pipe", "not a regular file"),
    ("ftl create --force --chip slc-2k-2g --size 16M", "dir", "is a directory"),
    ("mkfs --force --chip slc-2k-2g --size 16M", "pipe", "pipe"),
    ("mkfs --force --chip slc-2k-2g --size 16M", "dir", "is a directory"),
    ("mkfs --chip slc-2k-2g --size 16M", "missing/image", "no such file or directory"),
];

const VERBS: &[&str] = &[
    "ls IMAGE",
    "info IMAGE",
    "fsck IMAGE",
    "scrub IMAGE",
    "mkdir IMAGE a",
    "mkfs IMAGE",
    "mount IMAGE dir",
    "nand stats IMAGE",
    "nand export IMAGE dump",
    "nand flip --page 1 IMAGE",
    "ftl info IMAGE",
];

fn world() -> World {
    let world = World::formatted();
    fs::create_dir(world.path("dir")).unwrap();
    world.run(&[&["nand", "create"], &CHIP[..], &["blank"]].concat()).good();
    world.run(&[&["ftl", "create"], &CHIP[..], &["disk"]].concat()).good();
    rustix::fs::mkfifoat(rustix::fs::CWD, world.path("pipe"), rustix::fs::Mode::RWXU).unwrap();
    world
}

#[test]
fn damaged_containers_are_named() {
    let ledger = Ledger::default();
    let world = world();
    for (damage, says) in DAMAGES {
        fs::copy(world.path("image"), world.path("bad")).unwrap();
        let file = File::options().write(true).open(world.path("bad")).unwrap();
        let length = file.metadata().unwrap().len();
        match damage {
            Cut(at) => file.set_len(*at).unwrap(),
            Longer(by) => file.set_len(length + by).unwrap(),
            Over(at, bytes) => file.write_all_at(bytes, *at).unwrap(),
        }
        if says.is_empty() {
            // One of two slots is spare.
            world.say("ls bad").good();
            continue;
        }
        let mut before = snapshot(&world.path("."));
        for verb in VERBS {
            let line = verb.replace("IMAGE", "bad");
            ledger.refuses(&world, &line, &[1, 8], &["bad", says]);
            ledger.unchanged(&world, &mut before, &line, "/-");
        }
    }
    ledger.close();
}

#[test]
fn an_image_for_another_verb_is_sent_there() {
    let ledger = Ledger::default();
    let world = world();
    let mut before = snapshot(&world.path("."));
    for (verb, image, says) in STRANGERS {
        let line = format!("{verb} {image}");
        ledger.refuses(&world, &line, &[1, 8], &[says]);
        // A chip that was opened for writing remembers how often it was read.
        let writes = ["mkdir", "mount", "ftl mount"].contains(verb);
        let opened = if writes { image.split(' ').next().unwrap() } else { "-" };
        ledger.unchanged(&world, &mut before, &line, &format!("/{opened}"));
    }
    ledger.close();
}
