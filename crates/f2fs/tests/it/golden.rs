//! Volumes that Linux wrote, compared with Linux's own view of them: every attribute, every byte, every name.
//!
//! The well-known volumes are not part of the repository; without them its own volumes of the same kind are compared.

use std::collections::BTreeMap;

use crate::common::image::{Golden, VOLUMES};
use crate::common::manifest::{self, Record, differences};
use crate::common::walk;
use pumice_f2fs::crypt::Keyring;
use pumice_vfs::Timestamp;

fn manifest(golden: &Golden, kind: &str) -> BTreeMap<String, Record> {
    manifest::parse(&golden.text(kind).expect("a golden volume has a manifest"))
}

#[track_caller]
fn same(golden: &Golden, keys: Keyring, kind: &str) {
    let wanted = manifest(golden, kind);
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
            same(&Golden::of_kind($name), Keyring::default(), "manifest.jsonl");
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
    for name in Golden::other_names().iter().filter(|name| !VOLUMES.contains(&name.as_str())) {
        let golden = Golden::of_kind(name);
        eprintln!("{name}");
        same(&golden, Keyring::default(), "manifest.jsonl");
    }
}

#[test]
fn encrypted_with_key() {
    let golden = Golden::of_kind("g13-encrypt");
    let mut keys = Keyring::default();
    keys.add(&(0..64).collect::<Vec<u8>>()).unwrap();
    same(&golden, keys, "with-key.manifest");
}

#[test]
fn a_difference_is_found() {
    let golden = Golden::own("basic");
    let mut wanted = manifest(&golden, "manifest.jsonl");
    wanted.get_mut("tree/acl").unwrap().set("mode", "0777");
    wanted.remove("tree/chr");
    let lines = differences(&walk::records(&golden.mount(Keyring::default(), Timestamp::default())), &wanted);
    assert_eq!(lines, ["tree/acl: mode is \"0664\", want \"0777\"", "tree/chr: too many"]);
}
