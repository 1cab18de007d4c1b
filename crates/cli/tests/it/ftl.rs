//! Logical disks without a mount.

use crate::common::{World, document};
use pumice_ftl::{Ftl, OpenOptions};
use pumice_media::{BlockDevice, ChipFile, Lba, Nand};
use serde_json::json;

const SMALL: &str = "--geometry 2048+64:16:64";

#[test]
fn create_makes_a_disk_once() {
    let world = World::new();
    let said = world.say(&format!("ftl create {SMALL} chip")).good();
    assert!(
        said.starts_with("chip: logical disk of 1.64 MiB in 420 blocks, on 2048+64:16:64, 2.00 MiB"),
        "{said}"
    );
    world.say(&format!("ftl create {SMALL} chip")).bad(1, &["chip", "--force"]);
    world.say(&format!("ftl create --force {SMALL} --export 50% chip")).good();
    world.say(&format!("ftl create --force {SMALL} --export 1M --block 2k chip")).good();
    world.say("ftl create other").bad(2, &["other", "--chip"]);
    assert!(!world.path("other").exists());
}

#[test]
fn what_cannot_be_is_refused_and_nothing_stays() {
    let world = World::new();
    world.say(&format!("ftl create {SMALL} --block 3000 chip")).bad(1, &["3000", "power of two"]);
    world.say(&format!("ftl create {SMALL} --export 2M chip")).bad(1, &["512 blocks", "does not fit"]);
    for (words, named) in [
        ("--victim oldest", ["oldest", "greedy", "cat"]),
        ("--placement m7", ["m7", "m6", "sepbit"]),
        ("--placement chain:17", ["chain:17", "chain:2", "chain:16"]),
        ("--placement read-only:adaptive", ["read-only:adaptive", "cannot be inside", "m6"]),
        ("--placement read-only:midas", ["read-only:midas", "cannot be inside", "m6"]),
        ("--wear much", ["much", "even", "none"]),
    ] {
        let run = world.say(&format!("ftl create {SMALL} {words} chip"));
        assert!(run.code == 2 && named.iter().all(|word| run.err.contains(word)), "{run:?}");
    }
    for dry in ["", "--dry-run"] {
        let line = format!("ftl create {SMALL} --placement oracle {dry} chip");
        world.say(&line).bad(1, &["oracle", "every write"]);
    }
    assert!(!world.path("chip").exists());
    let run = world.say(&format!("ftl create {SMALL} --export 100% chip"));
    assert!(run.code == 2 && run.err.contains("100%"), "{run:?}");
}

#[test]
fn a_dry_run_makes_nothing() {
    let world = World::new();
    let said = world.say(&format!("ftl create --dry-run {SMALL} chip")).good();
    assert!(said.contains("would make a logical disk on chip"), "{said}");
    assert!(!world.path("chip").exists());
}

#[test]
fn info_tells_geometry_wear_and_amplification() {
    let world = World::new();
    world.say(&format!("ftl create {SMALL} --victim cat --placement chain chip")).good();
    let text = world.say("ftl info chip").good();
    assert!(text.contains("policies:     victim cat, placement chain:4, wear even"), "{text}");
    world.say(&format!("ftl create {SMALL} --placement read-only:chain apart")).good();
    let text = world.say("ftl info apart").good();
    assert!(text.contains("placement read-only:chain:4, wear even"), "{text}");
    let info = document(&world.say("ftl info --json chip").good(), "ftl-info");
    assert_eq!(info["logical_blocks"], 420);
    assert_eq!(info["size_bytes"], 420 * 4096);
    assert_eq!((&info["start"], &info["waf"]), (&"checkpoint".into(), &1.0.into()));
    assert_eq!((&info["segments"], &info["bad_segments"]), (&64.into(), &0.into()));
}

#[test]
fn other_chips_are_told_apart() {
    let world = World::formatted();
    world.say("ftl info image").bad(1, &["image", "no logical disk", "file system (nandfs)"]);
    world.say(&format!("ftl create {SMALL} chip")).good();
    world.say("ls chip").bad(1, &["chip", "no file system"]);
    world.say("mkfs chip").bad(1, &["chip", "--force"]);
    world.say("ftl info nowhere").bad(1, &["nowhere", "no such file"]);
}

#[test]
fn a_dry_run_of_a_mount_changes_nothing() {
    let world = World::formatted();
    world.say(&format!("ftl create {SMALL} disk")).good();
    std::fs::create_dir(world.path("dir")).unwrap();
    for (line, image) in [("mount --dry-run image dir", "image"), ("ftl mount --dry-run disk dir", "disk")] {
        let before = std::fs::read(world.path(image)).unwrap();
        world.say(line).good();
        assert!(std::fs::read(world.path(image)).unwrap() == before, "{line}");
    }
}

#[test]
fn check_finds_and_repairs() {
    let world = World::new();
    world.say(&format!("ftl create {SMALL} chip")).good();
    assert!(world.say("ftl check chip").good().contains("chip: sound; a disk of 1.64 MiB"));
    let report = document(&world.say("ftl check --json chip").good(), "ftl-check");
    assert_eq!((&report["sound"], &report["logical_blocks"]), (&true.into(), &420.into()));
    // The first ring of anchors.
    let pages: Vec<String> = (0..32).map(|page| page.to_string()).collect();
    world.say(&format!("nand kill chip --page {}", pages.join(","))).good();
    for switch in ["", "-n", "-p", "-a"] {
        let run = world.say(&format!("ftl check {switch} chip"));
        assert!(run.code == 4 && run.out.contains("anchors: ring 0"), "{run:?}");
    }
    let before = std::fs::read(world.path("chip")).unwrap();
    let dry = world.say("ftl check -y --dry-run chip");
    assert_eq!((dry.code, dry.out.contains("would repair: anchors")), (4, true), "{dry:?}");
    assert_eq!(std::fs::read(world.path("chip")).unwrap(), before);
    let run = world.say("ftl check -y chip");
    assert_eq!((run.code, run.out.contains("repaired: anchors")), (1, true), "{run:?}");
    assert!(world.say("ftl check -y chip").good().contains("sound"));
    assert_eq!(world.say("ftl check -n -y chip").code, 16);
    assert_eq!(world.say("ftl check missing").code, 8);
    world.say("nand create --chip slc-2k-2g --size 16M blank").good();
    world.say("ftl check blank").bad(8, &["no logical disk"]);
    let other = World::formatted();
    other.say("ftl check image").bad(8, &["nandfs", "pumice fsck"]);
}

/// A small disk with a page of parity in each segment, and something in every block.
fn with_parity(world: &World) {
    world.say("ftl create --geometry 2048+64:18:64 --parity-pages 1 --export 50% chip").good();
    let chip = ChipFile::open(world.path("chip"), false).unwrap();
    let mut disk = Ftl::open(chip, OpenOptions::default()).unwrap();
    for lba in 0..disk.blocks() {
        disk.write(Lba(lba), &[7; 4096]).unwrap();
    }
    disk.close().unwrap().flush().unwrap();
}

/// True if every block holds its written bytes.
fn is_whole(world: &World) -> bool {
    let chip = ChipFile::open(world.path("chip"), true).unwrap();
    let mut disk = Ftl::open(chip, OpenOptions { read_only: true, ..OpenOptions::default() }).unwrap();
    let mut bytes = [0; 4096];
    (0..disk.blocks()).all(|lba| disk.read(Lba(lba), &mut bytes).is_ok() && bytes == [7; 4096])
}

#[test]
fn scrub_moves_what_parity_brings_back() {
    let world = World::new();
    with_parity(&world);
    assert!(world.say("ftl info chip").good().contains("of 8 blocks, and 1 page of parity; "));
    assert!(world.say("ftl scrub chip").good().contains("0 wrong bits put right"));
    let pages: Vec<String> = (4..24).map(|block| (block * 18 + block % 16).to_string()).collect();
    world.say(&format!("nand kill chip --page {}", pages.join(","))).good();
    assert!(is_whole(&world));
    assert!(world.say("ftl check chip").good().contains("chip: sound"));
    let before = std::fs::read(world.path("chip")).unwrap();
    let looked = world.say("ftl scrub -n chip");
    assert!(looked.code == 4 && looked.out.contains("; left where they are"), "{looked:?}");
    assert_eq!(std::fs::read(world.path("chip")).unwrap(), before);
    let run = world.say("ftl scrub --json chip");
    let found = document(&run.out, "ftl-scrub");
    assert_eq!((run.code, &found["moved"], &found["lost_blocks"]), (1, &true.into(), &json!([])), "{found}");
    assert!(found["rebuilt_pages"].as_u64().unwrap() >= 8, "{found}");
    let again = world.say("ftl scrub chip").good();
    assert!(!again.contains("weak") && is_whole(&world), "{again}");
}

#[test]
fn a_quick_scrub_reads_spare_areas() {
    let world = World::new();
    with_parity(&world);
    assert!(!world.say("ftl scrub --quick chip").good().contains("weak"));
    // The parity of a segment.
    world.say(&format!("nand kill chip --page {}", 8 * 18 + 17)).good();
    let run = world.say("ftl scrub --quick --json chip");
    let found = document(&run.out, "ftl-scrub");
    assert_eq!(
        (run.code, &found["weak_segments"], &found["read_pages"]),
        (1, &1.into(), &0.into()),
        "{found}"
    );
    assert!(world.say("ftl scrub --quick chip").good().contains(" spare areas read") && is_whole(&world));
    world.say("ftl create --geometry 2048+64:18:64 plain").good();
    world.say("ftl scrub --quick plain").bad(8, &["no parity pages"]);
}

#[test]
fn scrub_tells_what_is_lost() {
    let world = World::new();
    with_parity(&world);
    // Two chip pages make a page of the log: two of the eight, where one has parity.
    world.say("nand kill chip --page 174,176").good();
    for _ in 0..2 {
        let run = world.say("ftl scrub chip");
        assert!(run.code & 4 == 4 && run.out.contains("lost: blocks "), "{run:?}");
    }
    world.say("ftl scrub missing").bad(8, &["missing"]);
    assert_eq!(world.say("ftl scrub").code, 16);
    assert_eq!(world.say("ftl create --geometry 2048+64:18:64 --parity-pages 9 other").code, 2);
}
