//! Simulated chips without a file system.

use std::fs;

use crate::common::{World, document};

const SMALL: &str = "--geometry 512+16:8:16";
/// Bytes of a raw dump of it.
const DUMP_BYTES: usize = (512 + 16) * 8 * 16;

fn with_chip() -> World {
    let world = World::new();
    world.say(&format!("nand create {SMALL} chip")).good();
    world
}

#[test]
fn chips_are_listed() {
    let world = World::new();
    assert!(world.say("chips").good().lines().any(|line| line.starts_with("slc-2k-2g ")));
    let list = document(&world.say("chips --json").good(), "chips");
    let chips = list["chips"].as_array().unwrap();
    assert!(chips.iter().any(|chip| chip["name"] == "slc-2k-2g" && chip["timing"]["erase_ns"] == 2_000_000));
}

#[test]
fn create_makes_a_container_once() {
    let world = with_chip();
    world.say(&format!("nand create {SMALL} chip")).bad(1, &["chip", "--force"]);
    world.say(&format!("nand create --force {SMALL} chip")).good();
    world.say("nand create other").bad(2, &["other", "--chip"]);
    world.say("nand create --chip slc-2k-3g other").bad(1, &["slc-2k-3g", "slc-2k-2g"]);
    world.say("nand create --geometry 2048:64 other").bad(1, &["2048:64", "PAGE+OOB:PAGES:BLOCKS"]);
    assert!(!world.path("other").exists());
}

#[test]
fn a_file_may_describe_the_chip() {
    let world = World::new();
    let description = r#"{
        "name": "mine", "geometry": {"page_bytes": 2048, "spare_bytes": 64, "free_spare_bytes": 38,
        "pages_per_block": 16, "blocks": 64}, "timing": {"read_page_ns": 1, "read_spare_ns": 1,
        "program_ns": 2, "erase_ns": 3}, "ecc": {"step_bytes": 256, "bits": 1, "covers_spare": false},
        "free_ranges": [{"offset": 2, "bytes": 38}], "bad_mark_offset": 0, "endurance_erases": 3000,
        "pairing": "dist3"}"#;
    fs::write(world.path("mine.json"), description).unwrap();
    world.say("nand create --chip mine.json chip").good();
    let stats = document(&world.say("nand stats --json chip").good(), "nand-stats");
    assert_eq!((&stats["chip"], &stats["endurance_erases"]), (&"mine".into(), &3000.into()));
    fs::write(world.path("odd.json"), description.replace(": 16,", ": 15,")).unwrap();
    world.say("nand create --chip odd.json other").bad(1, &["odd.json", "15 pages"]);
    fs::write(world.path("half.json"), &description[..90]).unwrap();
    world.say("nand create --chip half.json other").bad(1, &["half.json", "no description"]);
    world.say("nand create --chip none.json other").bad(1, &["none.json"]);
    assert!(!world.path("other").exists());
}

#[test]
fn a_dry_run_makes_nothing() {
    let world = World::new();
    let said = world.say(&format!("nand create --dry-run {SMALL} chip")).good();
    assert!(said.contains("would make the chip container chip"), "{said}");
    assert!(!world.path("chip").exists());
}

#[test]
fn dumps_go_out_and_come_back() {
    let world = with_chip();
    world.say("nand export chip dump").good();
    let blank = fs::read(world.path("dump")).unwrap();
    assert!(blank.len() == DUMP_BYTES && blank.iter().all(|byte| *byte == 0xff));
    world.say("nand export chip dump").bad(1, &["dump", "--force"]);

    let mut written = blank.clone();
    written[..512].fill(0x5a);
    fs::write(world.path("dump"), &written).unwrap();
    world.say("nand import dump chip").bad(1, &["chip", "--force"]);
    world.say("nand import --force dump chip").good();
    world.say(&format!("nand import {SMALL} dump second")).good();
    for image in ["chip", "second"] {
        world.say(&format!("nand export --force {image} back")).good();
        assert!(fs::read(world.path("back")).unwrap() == written);
    }
    assert_eq!(world.command().args(["nand", "export", "chip", "-"]).output().unwrap().stdout, written);
}

#[test]
fn a_dump_of_another_chip_is_refused() {
    let world = with_chip();
    fs::write(world.path("dump"), b"short").unwrap();
    world.say("nand import --force dump chip").bad(1, &["5 bytes", &DUMP_BYTES.to_string()]);
    world.say(&format!("nand import {SMALL} dump second")).bad(1, &["5 bytes"]);
    assert!(!world.path("second").exists());
    world.say(&format!("nand import {SMALL} missing second")).bad(1, &["missing"]);
}

#[test]
fn faults_are_set_counted_and_lifted() {
    let world = with_chip();
    let faults = || {
        let stats = document(&world.say("nand stats --json chip").good(), "nand-stats");
        [&stats["flipped_bits"], &stats["unreadable_pages"], &stats["dead_blocks"]]
            .map(|n| n.as_u64().unwrap())
    };
    world.say("nand flip chip --page 3 --bits 0,7,4095").good();
    world.say("nand kill chip --page 9").good();
    assert_eq!(faults(), [3, 1, 0]);
    world.say("nand kill chip --block 2,3").good();
    assert_eq!(faults(), [3, 17, 2]);
    world.say("nand flip --dry-run chip --page 3 --lift").good();
    assert_eq!(faults(), [3, 17, 2]);
    world.say("nand flip chip --lift").good();
    world.say("nand kill chip --lift").good();
    assert_eq!(faults(), [0, 0, 0]);
    world.say("nand flip chip --page 128").bad(1, &["no page 128", "0 to 127"]);
    world.say("nand flip chip --page 1 --bits 4160").bad(1, &["no bit 4160", "0 to 4159"]);
    world.say("nand kill chip --block 16").bad(1, &["no block 16", "0 to 15"]);
}

/// Age, wear, reads and pages that come and go: set, told by `nand stats`, kept, lifted.
#[test]
fn time_and_wear_are_set_and_kept() {
    let world = with_chip();
    let stat = |key: &str| document(&world.say("nand stats --json chip").good(), "nand-stats")[key].clone();
    world.say("nand age chip --lose 0.25 --seed 3 10y").good();
    world.say("nand age chip 90d").good();
    assert_eq!((stat("age_s"), stat("lost_millibits_per_month")), (323_352_000.into(), 250.into()));
    world.say("nand age chip --lift").good();
    assert!(stat("lost_millibits_per_month").is_null());
    world.say("nand wear chip --block 1,2 --erases 7 --endurance 9").good();
    assert_eq!((stat("wear_max_erases"), stat("wear_min_erases")), (7.into(), 0.into()));
    assert_eq!(stat("block_life_erases"), 9);
    world.say("nand wear --dry-run chip --erases 8").good();
    world.say("nand wear chip --lift").good();
    assert_eq!((stat("wear_max_erases"), stat("block_life_erases").is_null()), (7.into(), true));
    world.say("nand disturb chip --harmless 5 --fail 10").good();
    assert_eq!(stat("harmless_reads"), 5);
    world.say("nand disturb chip --lift").good();
    assert!(stat("harmless_reads").is_null());
    world.say("nand kill chip --page 3 --after 2").good();
    world.say("nand kill chip --page 4,5 --until 1").good();
    assert_eq!((stat("fading_pages"), stat("stuttering_pages")), (1.into(), 2.into()));
    world.say("nand kill chip --page 6,7 --codeword 0,2").good();
    assert_eq!((stat("dead_codewords"), stat("unreadable_pages")), (4.into(), 0.into()));
    world.say("nand kill chip --lift").good();
    assert_eq!((stat("fading_pages"), stat("stuttering_pages")), (0.into(), 0.into()));
    assert_eq!(stat("dead_codewords"), 0);
    world.say("nand flip chip --spare --page 1 --bits 0,63").good();
    assert_eq!(stat("flipped_bits"), 2);
    world.say("nand flip chip --spare --page 1 --bits 64").bad(1, &["no bit 64", "0 to 63"]);
    world.say("nand wear chip --block 99 --erases 1").bad(1, &["no block 99"]);
}

/// The power fails in the middle of a copy, and the next command finds a sound volume.
#[test]
fn a_cut_ends_a_command_and_the_next_one_recovers() {
    let world = World::new();
    world.say("mkfs --geometry 2048+64:16:64 chip").good();
    fs::write(world.path("file"), vec![7; 50_000]).unwrap();
    world.say("nand cut chip --after 12 --mode torn --seed 5").good();
    world.say("put chip file /").bad(1, &["power"]);
    world.say("fsck -n chip").good();
    world.say("nand cut chip --after 12").good();
    world.say("nand cut chip --lift").good();
    world.say("put chip file /").good();
    assert_eq!(world.command().args(["cat", "chip", "/file"]).output().unwrap().stdout, vec![7; 50_000]);
}

#[test]
fn stats_tell_wear() {
    let world = with_chip();
    let text = world.say("nand stats chip").good();
    assert!(text.contains("0 to 0 erases a block, mean 0.000, of 100000 promised"), "{text}");
    world.say("nand stats missing").bad(1, &["missing: no such file"]);
}

#[test]
fn a_dump_with_software_ecc_is_corrected() {
    let world = World::new();
    fs::create_dir(world.path("tree")).unwrap();
    fs::write(world.path("tree/file"), vec![7; 30_000]).unwrap();
    for (code, bits) in [("hamming", 1), ("bch4", 4), ("bch8", 8)] {
        let chip = format!("--geometry 2048+64:16:64 --ecc {code}");
        world.say(&format!("mkfs {chip} --from tree {code}")).good();
        world.say(&format!("nand export --ecc {code} {code} dump")).good();
        let mut dump = fs::read(world.path("dump")).unwrap();
        let programmed = |page: &&mut [u8]| page.iter().any(|byte| *byte != 0xff);
        let pages = dump.chunks_exact_mut(2048 + 64).filter(programmed).map(|page| {
            // In the first step, and in the last.
            (0..bits).for_each(|bit| page[3 * bit] ^= 4);
            page[2047] ^= 128;
        });
        let pages = pages.count();
        fs::write(world.path("dump"), &dump).unwrap();
        let said = world.say(&format!("nand import {chip} dump back")).good();
        assert_eq!(said, format!("dump: {pages} pages, wrong bits corrected in {pages}\n"));
        world.say("get back /file file").good();
        assert_eq!(fs::read(world.path("file")).unwrap(), vec![7; 30_000]);
        for name in ["dump", "back", "file"] {
            fs::remove_file(world.path(name)).unwrap();
        }
    }
}

#[test]
fn pages_of_a_dump_beyond_its_codes_are_unreadable() {
    let world = World::new();
    let chip = "--geometry 2048+64:16:64 --ecc bch4";
    world.say(&format!("mkfs {chip} chip")).good();
    world.say("nand export --ecc bch4 chip dump").good();
    let mut dump = fs::read(world.path("dump")).unwrap();
    let page = dump.chunks_exact(2048 + 64).position(|page| page.iter().any(|byte| *byte != 0xff)).unwrap();
    (0..5).for_each(|bit| dump[page * (2048 + 64) + 7 * bit] ^= 1);
    fs::write(world.path("dump"), &dump).unwrap();
    let first = format!("first page {page};");
    world.say(&format!("nand import {chip} dump back")).bad(1, &["dump: 1 pages", &first, "back"]);
    let stats = document(&world.say("nand stats --json back").good(), "nand-stats");
    assert_eq!(stats["unreadable_pages"], 1, "{stats}");
    // The container is there, and takes a dump of its own kind alone.
    world.say("nand import --force --ecc bch4 dump back").bad(1, &[&first]);
    world.say("nand import --force --ecc bch8 dump back").bad(1, &["another ECC", "2 to 35", "2 to 11"]);
    world.say("nand export --ecc hamming chip other").bad(1, &["another ECC"]);
    world.say("nand import --geometry 2048+64:16:64 --ecc hamming dump other").bad(1, &["no page fits"]);
    world.say("nand create --ecc bch4 other").bad(2, &["--ecc", "--geometry"]);
    world.say("nand create --geometry 512+16:8:16 --ecc bch8 other").bad(1, &["the codes need", "16 bytes"]);
    assert!(!world.path("other").exists());
}

/// More pages of an erase block lack a codeword than it has parity, each another one: nothing is lost. The same one in
/// as many is.
#[test]
fn codewords_come_back_by_parity() {
    let world = World::new();
    world.say("mkfs --chip slc-2k-2g --size 16M --parity-pages 2 chip").good();
    fs::write(world.path("numbers"), (0..60_000_u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>()).unwrap();
    world.say("put chip numbers /").good();
    let kill = |pages: std::ops::Range<u32>, number: &dyn Fn(u32) -> u32| {
        for page in pages {
            world.say(&format!("nand kill chip --page {page} --codeword {}", number(page % 3))).good();
        }
    };
    kill(322..328, &|turn| turn);
    world.say("fsck -n chip").good();
    kill(322..328, &|_| 0);
    let found = world.say("fsck -n chip");
    assert_eq!((found.code, found.out.matches("data-unreadable").count()), (4, 6), "{found:?}");
}
