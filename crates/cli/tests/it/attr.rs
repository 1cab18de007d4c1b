//! `pumice attr`: extended attributes, flags and projects of files in images.

use std::fs;

use crate::common::{CHIP, World, document};

fn card(features: &str) -> World {
    let world = World::new();
    fs::create_dir_all(world.path("tree/dir")).unwrap();
    fs::write(world.path("tree/file"), vec![7; 20_000]).unwrap();
    world.say(&format!("mkfs -t f2fs --from tree --size 64M -O {features} card")).good();
    world
}

#[test]
fn attributes_flags_and_projects_are_set_and_listed() {
    let world = card("extra_attr,project_quota,quota");
    assert_eq!(world.say("attr card /file").good(), "/file\n    flags: -\n  project: 0\n");
    let before = fs::read(world.path("card")).unwrap();
    let change = "attr card /file /dir -s user.by=me=1 --set user.raw=0x00fF -f +id-S -p 77";
    let told = world.say(&format!("{change} --dry-run")).good();
    assert!(told.contains("would set user.raw of /file\n"), "{told}");
    assert!(told.contains("would set flags id and clear S of /dir\n"), "{told}");
    assert!(fs::read(world.path("card")).unwrap() == before);
    world.say("attr card /file /dir -s user.by=me=1 --set user.raw=0x00fF -f +dA-S -p 77").good();
    let wanted = "/dir\n    flags: dAN\n  project: 77\n    xattr: user.by = me=1\n    xattr: user.raw = ";
    let found = world.say("attr card /dir").good();
    assert!(found.starts_with(wanted), "{found}");
    let json = document(&world.say("attr card --json /file").good(), "attr");
    let file = &json["files"][0];
    assert_eq!((&file["flags"], &file["project"]), (&"dA".into(), &77.into()));
    assert_eq!(file["xattrs"][1]["value_hex"], "00ff");
    world.say("attr card /file -f -A -r user.raw").good();
    world.say("attr card /file -f =i").good();
    let found = world.say("attr card /file").good();
    assert_eq!(found, "/file\n    flags: i\n  project: 77\n    xattr: user.by = me=1\n");
    world.say("attr card /file -s user.by=you").bad(1, &["/file", "not permitted"]);
    world.say("attr card /file -f -i").good();
    world.say("fsck -n card").good();
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let world = card("extra_attr");
    for (line, code, words) in [
        ("attr card", 2, "<PATH>"),
        ("attr card /file -s user.by", 2, "`user.by` (want NAME=VALUE)"),
        ("attr card /file -s user.by=0x1", 2, "hexadecimal"),
        ("attr card /file -s user.by=0x+1", 2, "hexadecimal"),
        ("attr card /file -f i", 2, "invalid flags `i`"),
        ("attr card /file -f +iE", 2, "letters of SDiadAcFPm"),
        ("attr card /file -f =", 0, ""),
        ("attr card /file -p x", 2, "`x`"),
        ("attr card /file --json -p 5", 2, "--json"),
        ("attr card /file -p 5", 1, "/file"),
        ("attr card /file -f +F", 1, "/file"),
        ("attr card /file -s none=x", 1, "/file"),
        ("attr card /file -r user.none", 1, "/file"),
        ("attr card /none -r user.none", 1, "/none"),
        ("attr card /none", 1, "/none"),
        ("attr none /file", 1, "none"),
    ] {
        let run = world.say(line);
        assert_eq!(run.code, code, "{line}: {run:?}");
        assert!(run.err.contains(words), "{line}: {run:?}");
    }
    world.say("fsck -n card").good();
}

#[test]
fn a_chip_has_attributes_and_no_flags() {
    let world = World::new();
    world.run(&[&["mkfs"], &CHIP[..], &["chip"]].concat()).good();
    world.say("attr chip / -s user.by=me").good();
    assert_eq!(world.say("attr chip /").good(), "/\n    xattr: user.by = me\n");
    world.say("attr chip / -f +i").bad(1, &["/", "not supported"]);
}
