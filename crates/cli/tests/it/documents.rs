//! Numbers in documents that the program knows are the program's.

use std::{fs, path::Path};

use pumice_f2fs::check::Code;

use crate::common::World;

fn document(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)).unwrap()
}

/// The version in the JSON document that a command prints.
fn version(world: &World, line: &str) -> String {
    let document: serde_json::Value = serde_json::from_str(&world.say(line).good()).unwrap();
    document["format_version"].as_u64().unwrap().to_string()
}

#[test]
fn format_versions_are_those_of_the_program() {
    let world = World::new();
    let (changes, status) = (document("CHANGELOG.md"), document("docs/status.md"));
    let row = |name: &str| {
        let line = changes.lines().find(|line| line.starts_with(&format!("| {name} "))).unwrap();
        line.split('|').skip(2).take(2).map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
    };
    for (title, kind, chip) in [
        ("nandfs", "nandfs", "slc-2k-2g"),
        ("ScaleFFS", "scaleffs", "scaleffs-256m"),
        ("CFFS", "cffs", "rcffs-128m"),
        ("RCFFS", "rcffs", "rcffs-128m"),
    ] {
        world.say(&format!("mkfs -t {kind} --chip {chip} {kind}")).good();
        let version = version(&world, &format!("info --json {kind}"));
        assert_eq!(row(title), [version.clone(), version.clone()], "{title}");
        if kind == "nandfs" {
            assert!(changes.contains(&format!("file system, format version {version},")));
            assert!(status.contains(&format!("(nandfs, format version {version})")));
        }
    }
    world.say("ftl create --chip slc-2k-2g --size 16M disk").good();
    let version = version(&world, "ftl info --json disk");
    assert_eq!(row("ftl"), [version.clone(), version.clone()]);
    world.say("lab run cat-fig13-sequential --seeds 1").good();
    let records = fs::read_to_string(world.path("lab/cat-fig13-sequential.jsonl")).unwrap();
    let record: serde_json::Value = serde_json::from_str(records.lines().next().unwrap()).unwrap();
    let of_records = record["version"].as_u64().unwrap().to_string();
    assert_eq!(row("records of `pumice lab run`"), [of_records.clone(), of_records]);
    assert!(changes.contains(&format!("raw NAND, format version {version},")));
    assert!(status.contains(&format!("(ftl, format version {version})")));
}

#[test]
fn kinds_of_damage_are_counted() {
    let kinds = Code::all().count();
    assert!(document("CHANGELOG.md").contains(&format!("checked for {kinds} kinds of damage")), "{kinds}");
}
