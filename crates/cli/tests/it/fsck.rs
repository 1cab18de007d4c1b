//! Checking volumes. A checker that sees nothing finds nothing, so its counts are asked for, too.

use std::fs;

use crate::common::{World, document};

/// Pages of the chip of [`World::formatted`].
const PAGES: u32 = 64 * 128;

fn filled() -> World {
    let world = World::formatted();
    let noise: Vec<u8> = (0..500_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    fs::write(world.path("noise"), noise).unwrap();
    world.say("mkdir image a a/b").good();
    world.say("put image noise a/b").good();
    world
}

#[test]
fn a_sound_volume_is_found_sound_and_was_seen_whole() {
    let world = filled();
    for switch in ["", "-n", "-p", "-a", "-y", "-f"] {
        assert!(world.say(&format!("fsck {switch} image")).good().contains("sound"));
    }
    let report = document(&world.say("fsck --json image").good(), "fsck");
    assert_eq!((&report["sound"], &report["findings"]), (&true.into(), &serde_json::json!([])));
    assert_eq!((report["directories"].as_u64(), report["inodes"].as_u64()), (Some(3), Some(4)));
    assert!(report["data_bytes"].as_u64().unwrap() >= 2_000_000);
}

#[test]
fn an_empty_volume_has_a_root() {
    let report = document(&World::formatted().say("fsck --json image").good(), "fsck");
    assert_eq!(report["directories"], 1);
}

#[test]
fn unreadable_pages_are_found() {
    let world = filled();
    let pages: Vec<String> = (0..PAGES).skip(64 * 4).step_by(2).map(|page| page.to_string()).collect();
    world.say(&format!("nand kill image --page {}", pages.join(","))).good();
    for switch in ["-n", "-p", "-y"] {
        let run = world.say(&format!("fsck {switch} image"));
        // 4 if it got so far as to name the faults, 1 if it mended them, 8 if it could not even begin.
        assert!(run.code == 8 || run.code == if switch == "-y" { 1 } else { 4 }, "{run:?}");
        assert!(!run.out.contains("sound"), "{run:?}");
    }
}

#[test]
fn a_repair_mends_once_and_a_dry_run_nothing() {
    let world = filled();
    // Where the file's data lies, and some nodes.
    let pages: Vec<String> = (64 * 6..64 * 9).map(|page| page.to_string()).collect();
    world.say(&format!("nand kill image --page {}", pages.join(","))).good();
    let before = fs::read(world.path("image")).unwrap();
    assert_eq!(world.say("fsck -n image").code, 4);
    let dry = world.say("fsck -y --dry-run image");
    assert_eq!((dry.code, dry.out.contains("would repair")), (4, true), "{dry:?}");
    assert_eq!(fs::read(world.path("image")).unwrap(), before);
    let run = world.say("fsck -y image");
    assert_eq!((run.code, run.out.contains("repaired")), (1, true), "{run:?}");
    assert!(world.say("fsck -n image").good().contains("sound"));
    world.say("fsck --dry-run image").bad(16, &["-y"]);
}

#[test]
fn what_cannot_be_checked_is_named() {
    let world = World::new();
    world.say("fsck missing").bad(8, &["missing"]);
    assert_eq!(world.say("fsck -n -y image").code, 16);
    assert_eq!(world.say("fsck").code, 16);
    world.say("nand create --chip slc-2k-2g --size 16M blank").good();
    world.say("fsck blank").bad(8, &["no file system"]);
}
