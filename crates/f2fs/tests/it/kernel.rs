//! Volumes of this repository's own: those that are kept in `tests/images`, and a fresh one. Each is compared with the
//! kernel's view of it, or with the tree that f2fs-tools put in.

use std::collections::BTreeMap;

use crate::common::image::Golden;
use crate::common::manifest::{self, Record, differences};
use crate::common::walk;
use pumice_f2fs::{check::check, crypt::Keyring};
use pumice_vfs::{FileSystem, Timestamp};
use xtask::{Machine, f2fs};

/// The key of the recipes.
fn key() -> Keyring {
    let mut keys = Keyring::default();
    keys.add(&(0..64).collect::<Vec<u8>>()).unwrap();
    keys
}

/// The volume agrees with the kernel's manifest.
#[track_caller]
fn same(golden: &Golden, keys: Keyring, manifest: &str) {
    let wanted = manifest::parse(manifest);
    equal(golden, &walk::records(&golden.mount(keys, manifest::last_change(&wanted))), &wanted);
}

#[track_caller]
fn equal(golden: &Golden, found: &BTreeMap<String, Record>, wanted: &BTreeMap<String, Record>) {
    let lines = differences(found, wanted);
    let shown: Vec<&String> = lines.iter().take(40).collect();
    assert!(lines.is_empty(), "{}: {} of {} differ: {shown:#?}", golden.name(), lines.len(), wanted.len());
}

fn each_own() -> impl Iterator<Item = Golden> {
    let names = Golden::own_names();
    assert!(names.len() >= 18, "only {names:?}");
    names.into_iter().map(|name| Golden::own(&name))
}

#[test]
fn kept_volumes_show_what_the_kernel_shows() {
    for golden in each_own() {
        if let Some(manifest) = golden.text("manifest.jsonl") {
            same(&golden, Keyring::default(), &manifest);
        }
        if let Some(manifest) = golden.text("with-key.manifest") {
            same(&golden, key(), &manifest);
        }
    }
}

/// Bytes that are said to stand on a device as they are do, and those of a file that has to be verified are not said to.
#[test]
fn what_is_stored_as_it_is_stands_there() {
    let mut compared = 0;
    for golden in each_own() {
        let (fs, disks) = (golden.mount(key(), Timestamp::default()), golden.disks());
        for file in walk::files(&fs) {
            let is_verity = fs.inode(file.ino).unwrap().0.is_verity();
            // From the middle of a block on, too.
            for start in [0, 1, 4095, 5000] {
                let Some(stored) = fs.stored(file.ino, start).unwrap() else { continue };
                assert!(!is_verity && stored.length > 0 && start + stored.length <= file.size);
                let length = usize::try_from(stored.length.min(1 << 20)).unwrap();
                let (mut read, mut found) = (vec![0; length], vec![0; length]);
                assert_eq!(fs.read(file.ino, start, &mut read).unwrap(), length);
                disks[stored.device].read_at(stored.offset, &mut found).unwrap();
                assert!(read == found, "{}: {file:?} from {start}", golden.name());
                compared += 1;
            }
        }
    }
    assert!(compared > 100, "{compared} ranges");
}

/// The attributes that `sload.f2fs` takes over from the tree that it puts in.
const LOADED: [&str; 6] = ["path", "type", "mode", "mtime", "sha256", "target"];

#[test]
fn volumes_that_were_filled_show_what_was_put_in() {
    let mut seen = 0;
    for golden in each_own() {
        let Some(tree) = golden.text("tree.jsonl") else { continue };
        let loaded = |mut records: BTreeMap<String, Record>| {
            for record in records.values_mut() {
                record.0.retain(|field, _| LOADED.contains(&field.as_str()));
            }
            records
        };
        let found = walk::records(&golden.mount(Keyring::default(), Timestamp::default()));
        equal(&golden, &loaded(found), &loaded(manifest::parse(&tree)));
        seen += 1;
    }
    assert!(seen >= 4);
}

/// The check finds no fault in a volume that nobody damaged.
#[track_caller]
fn sound(golden: &Golden) {
    let report = check(golden.disks(), 2, &mut |_, _| ()).unwrap();
    assert_eq!(report.findings, [], "{}", golden.name());
    assert!(report.files > 0, "{}", golden.name());
}

#[test]
fn kept_volumes_are_sound() {
    each_own().for_each(|golden| sound(&golden));
}

#[test]
fn a_fresh_volume_shows_what_the_kernel_shows() {
    let Some(machine) = Machine::for_test() else { return };
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let volume = f2fs::make(&machine, "basic", place.path()).unwrap_or_else(|error| panic!("{error}"));
    let golden = Golden::at(&volume.image);
    same(&golden, Keyring::default(), &volume.manifest);
    sound(&golden);
}
