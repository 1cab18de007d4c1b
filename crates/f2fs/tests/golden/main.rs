//! Volumes that Linux wrote, compared with what Linux says of them: every attribute, every byte, every name.
//!
//! The volumes are not part of the repository. They are looked for in the folder that `PUMICE_GOLDEN` names, otherwise in
//! `../shared/golden` beside the checkout; without them the tests say so and pass.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, missing_docs)]

#[expect(dead_code, reason = "others need the path and the volume below")]
mod image;
mod manifest;
mod walk;

use image::Golden;
use manifest::differences;
use pumice_f2fs::crypt::Keyring;
use pumice_vfs::Timestamp;

#[track_caller]
fn same(golden: &Golden, keys: Keyring, manifest: &str) {
    let wanted = golden.manifest(manifest);
    // Directories that recovery changed have the time of the mount, which is the last in the manifest.
    let now = manifest::last_change(&wanted);
    assert!(!wanted.is_empty());
    let lines = differences(&walk::records(&golden.mount(keys, now)), &wanted);
    let shown: Vec<&String> = lines.iter().take(40).collect();
    assert!(lines.is_empty(), "{} of {} differ: {shown:#?}", lines.len(), wanted.len());
}

macro_rules! clean {
    ($($test:ident: $name:literal,)*) => {
        $(#[test]
        fn $test() {
            if let Some(golden) = Golden::find($name) {
                same(&golden, Keyring::default(), "manifest.jsonl");
            }
        })*
    };
}

clean! {
    basic: "g01-basic",
    all_features: "g02-allfeat",
    inline: "g03-inline",
    deep: "g05-deep",
    compressed: "g06-compress",
    rolled_forward: "g08-crash-rollfwd",
    orphans: "g09-crash-orphan",
    quota: "g11-quota",
    casefolded: "g12-casefold",
    encrypted_without_key: "g13-encrypt",
}

/// Volumes with a manifest of a folder that has more than the well-known ones.
#[test]
fn others() {
    const KNOWN: [&str; 10] = ["g01", "g02", "g03", "g05", "g06", "g08", "g09", "g11", "g12", "g13"];
    let entries = std::fs::read_dir(image::folder()).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    for name in names.filter_map(|name| name.strip_suffix(".manifest.jsonl.zst").map(str::to_owned)) {
        if KNOWN.iter().any(|known| name.starts_with(known)) {
            continue;
        }
        if let Some(golden) = Golden::find(&name) {
            eprintln!("{name}");
            same(&golden, Keyring::default(), "manifest.jsonl");
        }
    }
}

#[test]
fn encrypted_with_key() {
    let Some(golden) = Golden::find("g13-encrypt") else { return };
    let mut keys = Keyring::default();
    keys.add(&(0..64).collect::<Vec<u8>>()).unwrap();
    same(&golden, keys, "with-key.manifest");
}

#[test]
fn a_difference_is_found() {
    let Some(golden) = Golden::find("g01-basic") else { return };
    let mut wanted = golden.manifest("manifest.jsonl");
    wanted.get_mut("acl").unwrap().set("mode", "0777");
    wanted.remove("abs");
    let lines = differences(&walk::records(&golden.mount(Keyring::default(), Timestamp::default())), &wanted);
    assert_eq!(lines, ["acl: mode is \"0664\", want \"0777\"", "abs: too many"]);
}
