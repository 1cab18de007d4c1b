//! The papers' own file systems, by every verb that works on any file system.

use std::{fs, os::unix::fs::symlink};

use crate::common::{World, document};

/// Each with a chip of its paper, and MiB of it.
const PAPERS: [(&str, &str, u64); 3] =
    [("scaleffs", "scaleffs-256m", 16), ("cffs", "k9s1208", 16), ("rcffs", "rcffs-128m", 32)];

fn made(paper: &str, chip: &str, size: u64) -> World {
    let world = World::new();
    let said = world.say(&format!("mkfs -t {paper} --chip {chip} --size {size}M -l tape image")).good();
    assert!(said.starts_with(&format!("image: {paper} on ")), "{said}");
    world
}

#[test]
fn a_volume_is_known_by_its_content() {
    for (paper, chip, size) in PAPERS {
        let world = made(paper, chip, size);
        let info = document(&world.say("info --json image").good(), "info");
        let found = (&info["file_system"], &info["label"], &info["clean"], &info["chip"]["capacity_bytes"]);
        assert_eq!(found, (&paper.into(), &"tape".into(), &true.into(), &(size << 20).into()));
        assert!(world.say("info image").good().contains(paper));
        let df = document(&world.say("df --json image").good(), "df");
        assert!(df["total_bytes"].as_u64().unwrap() > 10 << 20, "{df}");
        world.say("mkfs image").bad(1, &[&format!("holds a {paper} file system"), "--force"]);
        world.say("ftl info image").bad(1, &["no logical disk on this chip", paper]);
        world.say("mkfs --force image").good();
        assert_eq!(document(&world.say("info --json image").good(), "info")["file_system"], "nandfs");
        world.say(&format!("mkfs -t {paper} image")).bad(1, &["holds a nandfs file system"]);
        world.say(&format!("mkfs -t {paper} --force image")).good();
        assert_eq!(document(&world.say("info --json image").good(), "info")["file_system"], paper);
    }
}

#[test]
fn trees_go_in_and_come_back() {
    for (paper, chip, size) in PAPERS {
        let world = World::new();
        fs::create_dir_all(world.path("tree/a/b")).unwrap();
        let noise: Vec<u8> =
            (0..100_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        fs::write(world.path("tree/a/noise"), &noise).unwrap();
        fs::write(world.path("tree/a/b/small"), b"small").unwrap();
        symlink("a/noise", world.path("tree/link")).unwrap();
        let with = format!("-t {paper} --chip {chip} --size {size}M --from tree image");
        assert!(
            world.say(&format!("mkfs --dry-run {with}")).good().contains(&format!("would make a {paper}"))
        );
        world.say(&format!("mkfs {with}")).good();
        world.say("mkdir image d").good();
        world.say("put image tree/a d/copy").good();
        world.say("mv image d/copy/noise d/moved").good();
        world.say("rm -r image a/b").good();
        assert_eq!(world.say("cat image d/copy/b/small").good(), "small");
        assert!(world.say("ls image d").good().contains("moved"));
        assert!(world.say("find image d --name small").good().contains("d/copy/b/small"));
        assert!(world.say("tree image").good().contains("link"));
        let stat = document(&world.say("stat --json image d/moved").good(), "stat");
        assert_eq!(stat["files"][0]["size_bytes"], noise.len());
        world.say("get image d back").good();
        assert_eq!(fs::read(world.path("back/moved")).unwrap(), noise);
        world.say("tar -o out.tar image").good();
        assert!(fs::metadata(world.path("out.tar")).unwrap().len() > 2 * noise.len() as u64);
        let report = document(&world.say("fsck -n --json image").good(), "fsck");
        assert_eq!((&report["sound"], report["directories"].as_u64()), (&true.into(), Some(5)), "{report}");
        world.say("map image a").bad(1, &["not F2FS"]);
    }
}

#[test]
fn damage_is_found_and_left() {
    for (paper, chip, size) in PAPERS {
        let world = made(paper, chip, size);
        fs::write(world.path("file"), vec![7; 200_000]).unwrap();
        world.say("put image file /").good();
        // Each second page of the first eighth of the chip, but for the first block.
        let pages: Vec<String> = (64..4096).step_by(2).map(|page| page.to_string()).collect();
        world.say(&format!("nand kill image --page {}", pages.join(","))).good();
        for switch in ["-n", "-y"] {
            let run = world.say(&format!("fsck {switch} image"));
            assert!(run.code == 4 || run.code == 8, "{run:?}");
            assert!(!run.out.contains("sound"), "{run:?}");
        }
    }
}

#[test]
fn a_chip_that_a_paper_does_not_know_is_refused() {
    let world = World::new();
    world
        .say("mkfs -t scaleffs --chip slc-2k-2g --size 16M image")
        .bad(1, &["512 bytes", "image was not made"]);
    world
        .say("mkfs -t rcffs --chip rcffs-128m --size 8M image")
        .bad(1, &["4 segments, rcffs needs 12", "image was not made"]);
    assert!(!world.path("image").exists());
}

#[test]
fn parity_of_rcffs_brings_erase_blocks_back() {
    let noise: Vec<u8> = (0..400_000_u32).map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    let with = |options: &str| {
        let world = World::new();
        world.say(&format!("mkfs -t rcffs --chip rcffs-128m --size 32M {options} image")).good();
        fs::write(world.path("noise"), &noise).unwrap();
        world.say("put image noise /").good();
        world
    };
    for (options, parity, blocks) in
        [("", [1, 1], 1), ("--parity-pages 2 --parity-blocks 2", [2, 2], 2), ("--parity-blocks 3", [1, 3], 3)]
    {
        let world = with(options);
        let info = document(&world.say("info --json image").good(), "info");
        assert_eq!([&info["parity_pages"], &info["parity_blocks"]], [parity[0], parity[1]], "{info}");
        // The first erase blocks of the second segment, which the file went to.
        let pages: Vec<String> = (1024..1024 + 64 * blocks).map(|page| page.to_string()).collect();
        world.say(&format!("nand kill image --page {}", pages.join(","))).good();
        world.say("get image /noise back").good();
        assert_eq!(fs::read(world.path("back")).unwrap(), noise, "{options}");
    }
    // One block more than parity bears.
    let world = with("--parity-blocks 0");
    let pages: Vec<String> = (1024..1088).map(|page| page.to_string()).collect();
    world.say(&format!("nand kill image --page {}", pages.join(","))).good();
    assert_ne!(world.say("get image /noise back").code, 0);
}

#[test]
fn parity_that_a_file_system_has_not_is_refused() {
    let refused = |options: &str, code: i32, why: &str| {
        World::new().say(&format!("mkfs {options} --size 32M image")).bad(code, &[why]);
    };
    refused("-t rcffs --chip rcffs-128m --parity-pages 0", 1, "1 to 8 parity pages");
    refused("-t cffs --chip k9s1208 --parity-pages 1", 2, "--parity-pages is for nandfs");
    refused("-t cffs --chip k9s1208 --parity-blocks 1", 2, "--parity-blocks is for RCFFS; add -t rcffs");
    refused("-t f2fs --parity-blocks 1", 2, "--parity-blocks is for RCFFS");
    refused("--chip rcffs-128m --parity-blocks 1", 2, "--parity-blocks is for RCFFS");
    refused("-t rcffs --chip rcffs-128m --compress lz4", 2, "--compress is for nandfs");
}
