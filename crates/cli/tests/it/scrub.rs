//! Scrubbing: decaying pages of a chip are found, moved and counted; losses are told.

use std::fs;

use crate::common::{World, document};
use serde_json::Value;

/// Pages of an erase block of the chips that are used here.
const PAGES: u32 = 64;

fn noise() -> Vec<u8> {
    (0..500_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect()
}

/// A chip that puts eight bits right and asks for five to be refreshed, with two megabytes in a file.
fn filled() -> World {
    let world = World::new();
    world.say("mkfs --chip slc-4k-8g --size 32M image").good();
    fs::write(world.path("noise"), noise()).unwrap();
    world.say("put image noise noise").good();
    world
}

/// Six wrong bits in the first codeword of a page.
fn weaken(world: &World, page: u32) {
    world.say(&format!("nand flip image --page {page} --bits 0,100,200,300,400,500")).good();
}

fn info(world: &World) -> Value {
    document(&world.say("info --json image").good(), "info")
}

fn scrubbed(world: &World, code: i32) -> Value {
    let run = world.say("scrub --json image");
    assert_eq!((run.code, run.err.as_str()), (code, ""), "{run:?}");
    document(&run.out, "scrub")
}

#[test]
fn what_decays_is_moved_once_and_counted() {
    let world = filled();
    assert!(world.say("scrub image").good().contains("0 wrong bits put right"));
    (7..10).for_each(|block| weaken(&world, block * PAGES + 3));
    let before = fs::read(world.path("image")).unwrap();
    let looked = world.say("scrub -n image");
    assert_eq!(looked.code, 4, "{looked:?}");
    assert!(
        looked.out.contains("weak: 3 erase blocks") && looked.out.contains("left where they are"),
        "{looked:?}"
    );
    assert_eq!(fs::read(world.path("image")).unwrap(), before);
    let found = scrubbed(&world, 1);
    assert_eq!((&found["weak_blocks"], &found["moved"]), (&3.into(), &true.into()), "{found}");
    assert!(found["corrected_bits"].as_u64().unwrap() >= 18 && found["read_pages"].as_u64().unwrap() > 480);
    let after = info(&world);
    assert_eq!(after["mended_blocks"], 3, "{after}");
    assert!(after["corrected_bits"].as_u64().unwrap() >= 18 && after["patrol_passes"].as_u64().unwrap() >= 2);
    assert!(world.say("info image").good().contains("mended:      3 erase blocks moved"));
    // The second finds nothing.
    assert!(!world.say("scrub image").good().contains("weak"));
    world.say("get image noise back").good();
    assert_eq!(fs::read(world.path("back")).unwrap(), noise());
}

#[test]
fn roots_that_decay_are_written_anew() {
    let world = filled();
    (0..4 * PAGES).filter(|page| page % PAGES == 0).for_each(|page| weaken(&world, page));
    let run = world.say("scrub image");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.out.contains("anchors, or records of checkpoints; written anew"), "{run:?}");
    assert!(world.say("fsck image").good().contains("sound"));
}

#[test]
fn what_is_lost_is_told_every_time_until_it_is_given_up() {
    let world = filled();
    world.say(&format!("nand kill image --page {},{}", 7 * PAGES + 5, 8 * PAGES + 9)).good();
    for _ in 0..2 {
        let run = world.say("scrub image");
        assert_eq!(run.code & 4, 4, "{run:?}");
        assert!(run.out.contains("unreadable: log pages") && run.out.contains("lost: 8.00 KiB"), "{run:?}");
    }
    assert_eq!(world.say("fsck -y image").code, 1);
    let run = world.say("scrub --json image");
    assert_eq!(document(&run.out, "scrub")["lost_bytes"], 0, "{run:?}");
}

#[test]
fn rcffs_is_scrubbed_by_pages_and_by_signatures() {
    // A page, or the signature of one, in a segment that holds data.
    for (harm, quick) in [("kill image --page", ""), ("flip image --spare --bits 16,25 --page", "--quick")] {
        let world = World::new();
        world.say("mkfs -t rcffs --chip rcffs-128m --size 32M image").good();
        fs::write(world.path("noise"), noise()).unwrap();
        world.say("put image noise noise").good();
        assert!(!world.say(&format!("scrub {quick} image")).good().contains("wrong"));
        let info = info(&world);
        let shape = [&info["segment_blocks"], &info["chip"]["pages_per_block"]];
        let segment: u64 = shape.iter().map(|count| count.as_u64().unwrap()).product();
        world.say(&format!("nand {harm} {}", segment + 3)).good();
        let run = world.say(&format!("scrub -n {quick} image"));
        assert!(run.code == 4 && run.out.contains("left where they are"), "{quick} {run:?}");
        let run = world.say(&format!("scrub {quick} image"));
        assert!(run.code == 1 && run.out.contains("1 segment moved"), "{quick} {run:?}");
        assert!(!world.say(&format!("scrub {quick} image")).good().contains("wrong"));
        world.say("get image noise back").good();
        assert_eq!(fs::read(world.path("back")).unwrap(), noise());
    }
}

#[test]
fn what_cannot_be_scrubbed_is_named() {
    let world = World::new();
    world.say("scrub missing").bad(8, &["missing"]);
    assert_eq!(world.say("scrub").code, 16);
    for (kind, chip) in [("scaleffs", "scaleffs-256m"), ("cffs", "k9s1208")] {
        world.say(&format!("mkfs -t {kind} --chip {chip} --size 16M {kind}")).good();
        world.say(&format!("scrub {kind}")).bad(8, &[kind, "has no scrub; nandfs and rcffs have one"]);
        fs::create_dir_all(world.path("dir")).unwrap();
        world.say(&format!("mount --dry-run -o patrol=3 {kind} dir")).bad(2, &["patrol= is for nandfs"]);
    }
    world.say("mkfs -t f2fs --size 64M card").good();
    world.say("scrub card").bad(8, &["F2FS has no scrub"]);
    world.say("ftl create --chip slc-2k-2g --size 16M disk").good();
    world.say("scrub disk").bad(8, &["but a logical disk"]);
    world.say("mkfs --chip slc-2k-2g --size 16M image").good();
    world.say("scrub --quick image").bad(8, &["no parity pages"]);
    world.say("mkfs --chip scaleffs-256m --size 16M --parity-pages 1 narrow").good();
    world.say("scrub --quick narrow").bad(8, &["no room for signatures"]);
}

#[test]
fn a_mount_takes_a_patrol_and_tells_what_it_mended() {
    let world = filled();
    fs::create_dir(world.path("dir")).unwrap();
    for days in ["0", "3", "3650"] {
        let run = world.say(&format!("--stats mount --dry-run -o patrol={days} image dir"));
        assert_eq!(run.code, 0, "{run:?}");
        assert!(run.err.contains("mended blocks 0, corrected bits 0, pages moved for wear 0"), "{run:?}");
    }
    world
        .say("mount --dry-run -o patrol=3651 image dir")
        .bad(2, &["invalid patrol `3651` (want 0 to 3650 days)"]);
}

#[test]
fn pages_of_blocks_with_parity_come_back_and_are_moved_once() {
    let world = World::new();
    world.say("mkfs --chip rcffs-128m --size 32M --parity-pages 1 image").good();
    fs::write(world.path("noise"), noise()).unwrap();
    world.say("put image noise noise").good();
    assert!(
        world
            .say("info image")
            .good()
            .contains("parity:      1 page of each erase block, fsync at-close; 0 pages")
    );
    let pages: Vec<String> = (8..16).map(|block| (block * PAGES + block).to_string()).collect();
    world.say(&format!("nand kill image --page {}", pages.join(","))).good();
    assert!(world.say("fsck -n image").good().contains("sound"));
    let looked = world.say("scrub -n image");
    assert!(looked.code == 4 && looked.out.contains("with pages that parity brought back"), "{looked:?}");
    let found = scrubbed(&world, 1);
    assert_eq!((&found["lost_bytes"], &found["unreadable_pages"]), (&0.into(), &Value::Array(Vec::new())));
    assert!(found["rebuilt_pages"].as_u64().unwrap() >= 8, "{found}");
    let after = info(&world);
    assert_eq!(after["parity_pages"], 1);
    assert!(after["rebuilt_pages"].as_u64() >= Some(8), "{after}");
    assert!(!world.say("scrub image").good().contains("weak"));
    world.say("get image noise back").good();
    assert_eq!(fs::read(world.path("back")).unwrap(), noise());
}

#[test]
fn a_quick_scrub_of_nandfs_reads_spare_areas() {
    let world = World::new();
    world.say("mkfs --chip slc-2k-2g --size 16M --parity-pages 1 image").good();
    fs::write(world.path("noise"), noise()).unwrap();
    world.say("put image noise noise").good();
    let sound = document(&world.say("scrub --quick --json image").good(), "scrub");
    assert_eq!((&sound["weak_blocks"], &sound["read_pages"]), (&0.into(), &0.into()));
    assert!(sound["read_spare_areas"].as_u64() > Some(64), "{sound}");
    // The parity page of a block.
    world.say(&format!("nand kill image --page {}", 9 * PAGES + PAGES - 1)).good();
    let looked = world.say("scrub -n --quick image");
    assert!(looked.code == 4 && looked.out.contains("1 erase block without parity that fits"), "{looked:?}");
    let moved = world.say("scrub --quick image");
    assert!(moved.code == 1 && moved.out.contains("moved"), "{moved:?}");
    assert!(!world.say("scrub --quick image").good().contains("weak"));
    world.say("get image noise back").good();
    assert_eq!(fs::read(world.path("back")).unwrap(), noise());
}
