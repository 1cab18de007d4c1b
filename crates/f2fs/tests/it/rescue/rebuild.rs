//! Volumes of which checkpoints, tables and super blocks are gone, laid anew in place: every check finds them sound, and all
//! files are there.

use std::{collections::BTreeMap, fmt::Write, sync::Arc};

use pumice_f2fs::{
    F2fs, MountOptions,
    crypt::Keyring,
    read_super_block,
    repair::{Extent, Repair, plan},
};
use pumice_media::ReadAt;
use pumice_vfs::Timestamp;
use xtask::{Machine, f2fs};

use super::{PARTS, Part, VOLUMES, aged::aged, each_loss, key, without};
use crate::{
    common::{
        image::Golden,
        manifest::{self, Record, differences},
        walk,
    },
    writable::{
        compressed::SHAPE,
        disk::{SharedDisk, save},
        subject::{Shape, ours, theirs},
        tree::tree,
    },
};

fn damaged(bytes: &Arc<Vec<u8>>, parts: &[Part]) -> SharedDisk {
    let mut left = vec![0; bytes.len()];
    without(bytes, parts).read_at(0, &mut left).unwrap();
    SharedDisk::of(4096, left)
}

fn planned(disk: &SharedDisk, uuid: [u8; 16]) -> Repair {
    let extent = Extent::Rebuild { uuid };
    plan(Box::new(disk.clone()), extent, Timestamp::default(), 2, &mut |_, _| ()).unwrap()
}

fn mounted(disk: &SharedDisk, keys: Keyring) -> F2fs {
    let options = MountOptions { cache_bytes: 8 << 20, keys, recover: None };
    F2fs::mount(vec![Box::new(disk.clone())], options).unwrap()
}

/// The records, but for times of birth: whether they count is a feature of the super block.
fn without_birth(mut records: BTreeMap<String, Record>) -> BTreeMap<String, Record> {
    for record in records.values_mut() {
        record.0.remove("btime");
    }
    records
}

#[test]
fn a_volume_is_laid_anew_from_its_nodes() {
    let (mut wrong, mut mended) = (Vec::new(), 0);
    for (name, kind, has_key) in VOLUMES {
        let golden = Golden::own(name);
        let wanted = without_birth(manifest::parse(&golden.text(kind).unwrap()));
        let bytes = Arc::new(golden.bytes());
        let uuid = read_super_block(&bytes).unwrap().uuid();
        for parts in each_loss() {
            let disk = damaged(&bytes, parts);
            let before = disk.bytes_now();
            let repair = planned(&disk, uuid);
            let left = &repair.after().findings;
            assert!(left.is_empty(), "{name} without {parts:?}: {:?}", &left[..left.len().min(9)]);
            mended += usize::from(!repair.is_empty());
            let undo = repair.undo().unwrap();
            assert!(disk.bytes_now() == before, "{name} without {parts:?}: a plan writes");
            repair.commit().unwrap();
            ours(&disk);
            if name != "compress" {
                theirs(&disk);
            }
            let again = planned(&disk, uuid);
            assert!(again.before().count == 0 && again.is_empty(), "{name} without {parts:?}");
            let keys = if has_key { key() } else { Keyring::default() };
            let found = without_birth(walk::records(&mounted(&disk, keys)));
            let lines = differences(&found, &wanted);
            wrong.extend(lines.iter().take(5).map(|line| format!("{name} without {parts:?}: {line}")));
            undo.put_back(&mut disk.clone()).unwrap();
            assert!(disk.bytes_now() == before, "{name} without {parts:?}: the way back");
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // The journals of a small volume may hold all that a table lost.
    assert!(mended >= 50, "{mended}");
}

/// The same after many sessions: numbers, blocks and names of before are all over the volume.
#[test]
fn an_aged_volume_is_laid_anew() {
    for (seed, shape) in (1..).zip([Shape::PLAIN, SHAPE]) {
        let mut card = aged(&shape, seed, 8);
        let wanted = tree(card.fs());
        card.close();
        let bytes = Arc::new(card.disk().bytes_now());
        for parts in each_loss() {
            let disk = damaged(&bytes, parts);
            planned(&disk, [9; 16]).commit().unwrap();
            ours(&disk);
            if seed == 1 {
                theirs(&disk);
            }
            let mut found = tree(&mounted(&disk, Keyring::default()));
            found.retain(|path, _| !path.starts_with("lost+found"));
            let differs = |path: &&String| found.get(*path) != wanted.get(*path);
            let lines: Vec<&String> = wanted.keys().chain(found.keys()).filter(differs).collect();
            assert!(lines.is_empty(), "seed {seed} without {parts:?}: {lines:?}");
        }
    }
}

/// Linux mounts what was laid anew from nodes alone, and shows all files.
#[test]
fn linux_takes_what_was_laid_anew() {
    const NAMES: [&str; 6] = ["basic", "fragmented", "full", "compress", "casefold", "quota"];
    let Some(machine) = Machine::for_test() else { return };
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (mut script, mut images) = (String::new(), Vec::new());
    for (name, letter) in NAMES.iter().zip('a'..) {
        let disk = damaged(&Arc::new(Golden::own(name).bytes()), &PARTS);
        planned(&disk, [0; 16]).commit().unwrap();
        let path = dir.path().join(name);
        save(&disk, &path);
        images.push(path);
        writeln!(
            script,
            "mount -t f2fs -o noatime /dev/vd{letter} /mnt; guest-manifest /mnt >/host/{name}; umount /mnt"
        )
        .unwrap();
    }
    let run = f2fs::run_in_kernel(&machine, &images, &format!("{script}dmesg | grep F2FS-fs >/host/dmesg\n"));
    let run = run.unwrap();
    for name in NAMES {
        let wanted = manifest::parse(&Golden::own(name).text("manifest.jsonl").unwrap());
        let found = without_birth(manifest::parse(&run.file(name).unwrap()));
        let wanted = without_birth(wanted);
        let lines = differences(&found, &wanted);
        assert!(lines.is_empty(), "{name}: {:#?}", &lines[..lines.len().min(9)]);
    }
    let told = run.file("dmesg").unwrap();
    let is_usual = |line: &&str| line.contains("Mounted with") || line.contains("Using encoding");
    let warnings: Vec<&str> = told.lines().filter(|line| !is_usual(line)).collect();
    assert!(warnings.is_empty(), "{warnings:#?}");
}
