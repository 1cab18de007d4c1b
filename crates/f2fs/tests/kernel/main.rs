//! Volumes of this repository's own, made by Linux: those kept in `tests/images` (`cargo xtask f2fs-images` makes
//! them), and a fresh one. Each is compared with what the kernel says of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "../golden/manifest.rs"]
mod manifest;
#[path = "../golden/walk.rs"]
mod walk;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use manifest::{Record, differences};
use pumice_f2fs::{F2fs, MountOptions, check::check, crypt::Keyring};
use pumice_media::FileDisk;
use xtask::{Machine, f2fs};

fn images() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/images")
}

fn decompress(from: &Path, to: &Path) {
    let mut zstd = Command::new("zstd");
    zstd.args(["-dqf", "--long=27", "--sparse", "-o"]).args([to, from]);
    assert!(zstd.status().expect("zstd is installed").success(), "{}", from.display());
}

fn text(from: &Path, dir: &Path) -> String {
    let to = dir.join("text");
    decompress(from, &to);
    std::fs::read_to_string(to).unwrap()
}

/// The key of the recipes.
fn key() -> Keyring {
    let mut keys = Keyring::default();
    keys.add(&(0..64).collect::<Vec<u8>>()).unwrap();
    keys
}

/// The volume shows what the kernel's manifest says.
#[track_caller]
fn same(name: &str, image: &Path, keys: Keyring, manifest: &str) {
    let wanted: BTreeMap<String, Record> = manifest::parse(manifest);
    let now = manifest::last_change(&wanted);
    let disk = FileDisk::open(image, 512, true).unwrap();
    let options = MountOptions { cache_bytes: 8 << 20, keys, recover: Some(now) };
    let fs = F2fs::mount(vec![Box::new(disk)], options).unwrap();
    let lines = differences(&walk::records(&fs), &wanted);
    let shown: Vec<&String> = lines.iter().take(40).collect();
    assert!(lines.is_empty(), "{name}: {} of {} differ: {shown:#?}", lines.len(), wanted.len());
}

/// Calls `each` with every kept volume: its name and path without ending, and the volume decompressed.
fn each_kept(mut each: impl FnMut(&str, &Path, &Path)) {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut seen = 0;
    for entry in std::fs::read_dir(images()).unwrap() {
        let packed = entry.unwrap().path();
        let Some(name) = packed.to_str().unwrap().strip_suffix(".img.zst") else { continue };
        let image = place.path().join("image");
        decompress(&packed, &image);
        each(name, &image, place.path());
        seen += 1;
    }
    assert!(seen >= 10, "only {seen} volumes in {}", images().display());
}

#[test]
fn kept_volumes_show_what_the_kernel_shows() {
    each_kept(|name, image, place| {
        let beside = |ending: &str| PathBuf::from(format!("{name}.{ending}.zst"));
        same(name, image, Keyring::default(), &text(&beside("manifest.jsonl"), place));
        if beside("with-key.manifest").exists() {
            same(name, image, key(), &text(&beside("with-key.manifest"), place));
        }
    });
}

/// The check finds no fault in a volume that the kernel wrote.
#[track_caller]
fn sound(name: &str, image: &Path) {
    let disk = FileDisk::open(image, 512, true).unwrap();
    let report = check(vec![Box::new(disk)], 2, &mut |_, _| ()).unwrap();
    assert_eq!(report.findings, [], "{name}");
    assert!(report.files > 0, "{name}");
}

#[test]
fn kept_volumes_are_sound() {
    each_kept(|name, image, _| sound(name, image));
}

#[test]
fn a_fresh_volume_shows_what_the_kernel_shows() {
    let Some(machine) = Machine::for_test() else { return };
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let volume = f2fs::make(&machine, "basic", place.path()).unwrap_or_else(|error| panic!("{error}"));
    same("fresh", &volume.image, Keyring::default(), &volume.manifest);
    sound("fresh", &volume.image);
}
