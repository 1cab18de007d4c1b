//! Making file systems, and refusals.

use std::{fs, os::unix::fs::symlink};

use crate::common::{CHIP, World, document};

#[test]
fn a_volume_has_the_label_and_the_uuid_it_was_given() {
    let world = World::new();
    let uuid = "01234567-89ab-cdef-0123-456789abcdef";
    let words = [&["mkfs"], &CHIP[..], &["-l", "köln", "-U", uuid, "image"]].concat();
    assert!(world.run(&words).good().contains(uuid));
    let info = document(&world.say("info --json image").good(), "info");
    assert_eq!((&info["label"], &info["uuid"]), (&"köln".into(), &uuid.into()));
    assert_eq!(info["chip"]["capacity_bytes"], 16 << 20);
    assert!(world.say("info image").good().contains("köln"));
}

#[test]
fn policies_are_recorded_and_shown_and_wrong_ones_refused() {
    let world = World::new();
    world
        .say("mkfs --geometry 2048+64:64:128 --victim cat --placement chain:2 --wear end-of-life image")
        .good();
    assert!(
        world
            .say("info image")
            .good()
            .contains("policies:    victim cat, placement chain:2, wear end-of-life")
    );
    let info = document(&world.say("info --json image").good(), "info");
    assert_eq!((&info["victim"], &info["placement"]), (&"cat".into(), &"chain:2".into()));
    assert_eq!(info["wear"], "end-of-life");
    world.say("mkfs --geometry 2048+64:64:128 other").good();
    assert!(world.say("info other").good().contains("victim root-age, placement sepbit:2, wear behind:8"));
    world.say("mkfs --geometry 2048+64:16:600 --placement read-only apart").good();
    assert!(world.say("info apart").good().contains("placement read-only:m6, wear behind:8"));
    world.say("mkfs --geometry 2048+64:64:128 --victim fifo --wear least-worn turns").good();
    assert!(world.say("info turns").good().contains("victim fifo, placement sepbit:2, wear least-worn"));
    let refused = |words: &str, code, says: &str| {
        for dry in ["", "--dry-run"] {
            world.say(&format!("mkfs --geometry 2048+64:64:128 {words} {dry} new")).bad(code, &[says]);
        }
        assert!(!world.path("new").exists());
    };
    refused("--placement oracle", 1, "told every write");
    refused("--placement sepbit:6", 1, "room for 2 heads");
    refused("--placement read-only:m6", 1, "room for 2 heads");
    refused("--placement read-only:adaptive", 2, "`adaptive` cannot be inside");
    refused("--victim best", 2, "unknown victim `best`");
    refused("--wear even", 1, "wear rule `even` chooses a free erase block for each head");
    refused("-t scaleffs --wear none", 2, "--wear is for nandfs");
    refused("-t scaleffs --victim cat", 2, "--victim is for nandfs");
}

#[test]
fn parity_that_no_volume_can_have_is_refused() {
    let world = World::new();
    let refused = |words: &str, code, says: &str| {
        for dry in ["", "--dry-run"] {
            world.say(&format!("mkfs {words} {dry} new")).bad(code, &[says]);
        }
        assert!(!world.path("new").exists());
    };
    refused("--geometry 2048+64:64:128 --parity-pages 9", 2, "9");
    refused("--geometry 2048+64:8:128 --parity-pages 5", 1, "too many for 8 log pages");
    refused("--chip mlc-8k-64g --size 256M --parity-pages 1", 1, "share cells");
    refused("-t f2fs --parity-pages 1", 2, "--parity-pages is for nandfs");
    refused("--geometry 2048+64:64:128 --fsync-protection now", 1, "there is no parity to be copied");
    refused("--geometry 2048+64:64:128 --fsync-protection never", 2, "known: at-close, now");
    refused("--geometry 2048+64:11:128 --parity-pages 7 --fsync-protection now", 1, "room for 1 of 6 copies");
    refused("-t f2fs --fsync-protection now", 2, "--fsync-protection is for nandfs");
    refused("--geometry 2048+64:64:128 --compress zip", 2, "known: none, lz4, zstd, zstd:LEVEL");
    refused("--geometry 2048+64:64:128 --compress zstd:20", 2, "levels 1 to 19");
    refused("--chip mlc-8k-64g --size 256M --compress lz4", 1, "share cells");
    refused("-t f2fs --compress lz4", 2, "--compress is for nandfs");
}

#[test]
fn what_fsync_promises_is_protected_as_asked_for() {
    let world = World::new();
    for (words, says) in [("", "at-close"), (" --fsync-protection now", "now")] {
        world.say(&format!("mkfs --geometry 2048+64:64:128 --parity-pages 1{words} {says}")).good();
        let parity = format!("parity:      1 page of each erase block, fsync {says}; 0 pages brought back");
        assert!(world.say(&format!("info {says}")).good().contains(&parity));
        let info = document(&world.say(&format!("info --json {says}")).good(), "info");
        assert_eq!((&info["parity_pages"], &info["fsync_protection"]), (&1.into(), &says.into()));
    }
}

#[test]
fn files_are_compressed_as_asked_for() {
    let world = World::new();
    for (words, name, says) in [("", "none", None), (" --compress zstd", "small", Some("zstd:3"))] {
        world.say(&format!("mkfs --geometry 2048+64:64:128{words} {name}")).good();
        let told = world.say(&format!("info {name}")).good();
        assert_eq!(told.contains("compression: zstd:3"), says.is_some(), "{told}");
        let info = document(&world.say(&format!("info --json {name}")).good(), "info");
        assert_eq!(info["compression"].as_str(), says);
    }
}

#[test]
fn nothing_is_destroyed_unless_forced() {
    let world = World::formatted();
    world.say("mkfs image").bad(1, &["holds a nandfs file system", "--force"]);
    world.say("mkfs --chip slc-2k-2g image").bad(1, &["exists already", "--force"]);
    world.say("mkfs --force image").good();
    world.say("mkfs --force --geometry 2048+64:64:64 image").good();
    assert_eq!(document(&world.say("info --json image").good(), "info")["chip"]["blocks"], 64);

    fs::write(world.path("letter"), b"dear all").unwrap();
    world.say("mkfs letter").bad(1, &["letter is not a chip container"]);
    world.say("mkfs --chip slc-2k-2g letter").bad(1, &["letter: exists already"]);
    assert_eq!(fs::read(world.path("letter")).unwrap(), b"dear all");
}

#[test]
fn a_written_chip_is_not_blank() {
    let world = World::new();
    world.say("nand create --geometry 2048+64:64:64 image").good();
    let mut dump = vec![0xff_u8; (2048 + 64) * 64 * 64];
    dump[(2048 + 64) * 64 * 3] = 0;
    fs::write(world.path("dump"), dump).unwrap();
    world.say("nand import --force dump image").good();
    world.say("mkfs image").bad(1, &["block 3 is written", "--force"]);
    world.say("mkfs --force image").good();
}

#[test]
fn wrong_words_are_named() {
    let world = World::new();
    world.say("mkfs image").bad(2, &["image: no such file", "--chip slc-2k-2g"]);
    world.say("mkfs --size 1M image").bad(2, &["--size"]);
    world.say("mkfs --chip nope image").bad(1, &["unknown chip `nope`", "slc-2k-2g"]);
    world.say("mkfs --from nowhere --chip slc-2k-2g image").bad(1, &["nowhere"]);
    for wrong in ["--size 1x", "--chip a --geometry b", "-U zz", "-t ext4"] {
        let run = world.say(&format!("mkfs {wrong} image"));
        assert_eq!(run.code, 2, "{run:?}");
    }
    let long = "x".repeat(65);
    assert_eq!(world.run(&[&["mkfs", "-l", &long], &CHIP[..], &["image"]].concat()).code, 2);
    assert!(!world.path("image").exists());
}

#[test]
fn a_dry_run_makes_nothing() {
    let world = World::new();
    fs::create_dir(world.path("src")).unwrap();
    fs::write(world.path("src/file"), b"").unwrap();
    let said = world.say("mkfs --dry-run --chip slc-2k-2g --from src image").good();
    assert!(said.contains("would make a nandfs file system on image"), "{said}");
    assert!(said.contains("would copy src/file to /file"), "{said}");
    assert!(!world.path("image").exists());
    // A chip that is there is not changed either, and what it cannot have is refused all the same.
    world.say("mkfs --geometry 2048+64:64:128 image").good();
    let before = fs::read(world.path("image")).unwrap();
    world.say("mkfs --force --dry-run --victim cat image").good();
    world.say("mkfs --force --dry-run --placement sepbit:6 image").bad(1, &["sepbit:6"]);
    assert!(fs::read(world.path("image")).unwrap() == before);
}

#[test]
fn from_fills_the_root() {
    let world = World::new();
    fs::create_dir_all(world.path("src/a/b")).unwrap();
    fs::write(world.path("src/a/b/c"), b"deep").unwrap();
    world.run(&[&["mkfs", "--from", "src"], &CHIP[..], &["image"]].concat()).good();
    assert_eq!(world.say("cat image a/b/c").good(), "deep");
}

#[test]
fn what_does_not_fit_leaves_no_image_behind() {
    let world = World::new();
    fs::create_dir(world.path("src")).unwrap();
    let noise: Vec<u8> =
        (0..24_u32 << 18).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    fs::write(world.path("src/big"), noise).unwrap();
    world.run(&[&["mkfs", "--from", "src"], &CHIP[..], &["image"]].concat()).bad(1, &["no space left"]);
    assert!(!world.path("image").exists());
}

#[test]
fn links_to_the_program_take_its_tools_arguments() {
    let world = World::new();
    for name in ["mkfs.pumice", "fsck.pumice"] {
        symlink(env!("CARGO_BIN_EXE_pumice"), world.path(name)).unwrap();
    }
    let call = |name: &str, words: &[&str]| {
        let mut command = std::process::Command::new(world.path(name));
        crate::common::finish(command.args(words).current_dir(world.path(".")))
    };
    call("mkfs.pumice", &[&CHIP[..], &["image"]].concat()).good();
    call("fsck.pumice", &["-a", "-C0", "image"]).good();
    assert_eq!(call("fsck.pumice", &["--nonsense"]).code, 16);
    call("fsck.pumice", &["missing"]).bad(8, &["missing"]);
}
