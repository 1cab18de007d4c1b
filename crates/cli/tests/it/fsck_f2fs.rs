//! Checking F2FS: volumes that mkfs.f2fs and sload.f2fs made, sound and damaged.

use std::{
    fs::{self, File, OpenOptions},
    os::unix::fs::FileExt,
    process::Command,
};

use crate::common::{World, document};

const BLOCK: u64 = 4096;
/// The place of the beginnings of SSA and main area in the super block.
const SSA_AND_MAIN: u64 = 1024 + 88;

/// A volume with a small tree; `None`, and a loud line, where f2fs-tools are not installed.
fn filled(options: &[&str]) -> Option<World> {
    let world = World::new();
    let image = world.path("image");
    File::create(&image).unwrap().set_len(200 << 20).unwrap();
    let Ok(made) = Command::new("mkfs.f2fs").arg("-q").args(options).arg(&image).output() else {
        eprintln!("SKIPPED: f2fs-tools are not installed");
        return None;
    };
    assert!(made.status.success(), "{options:?}: {}", String::from_utf8_lossy(&made.stdout));
    let tree = world.path("tree");
    fs::create_dir_all(tree.join("below/deep")).unwrap();
    for number in 0..300_u32 {
        fs::write(tree.join(format!("below/file-{number}")), vec![7; number as usize * 97]).unwrap();
    }
    fs::write(tree.join("large"), vec![9; 9 << 20]).unwrap();
    std::os::unix::fs::symlink("large", tree.join("link")).unwrap();
    let loaded = Command::new("sload.f2fs").arg("-f").arg(&tree).arg(&image).output().unwrap();
    assert!(loaded.status.success(), "{options:?}: {}", String::from_utf8_lossy(&loaded.stdout));
    Some(world)
}

#[test]
fn volumes_of_f2fs_tools_are_sound() {
    for options in [
        &[][..],
        &["-O", "extra_attr,inode_checksum,sb_checksum,compression,inode_crtime"],
        &["-O", "extra_attr,quota,project_quota,casefold", "-C", "utf8"],
        &["-s", "2", "-z", "2"],
        &["-O", "encrypt,verity,extra_attr,lost_found"],
        &["-i"],
        &["-O", "ro,extra_attr"],
    ] {
        let Some(world) = filled(options) else { return };
        let run = world.say("fsck -n image");
        assert_eq!(run.code, 0, "{options:?}: {run:?}");
        let report = document(&world.say("fsck --json image").good(), "fsck");
        assert_eq!((&report["sound"], &report["problems"]), (&true.into(), &0.into()));
        assert!(report["inodes"].as_u64().unwrap() >= 305, "{report}");
    }
}

/// The summaries of all segments are gone: fsck.f2fs does not mind.
#[test]
fn a_wiped_ssa_is_found() {
    let Some(world) = filled(&[]) else { return };
    let image = OpenOptions::new().read(true).write(true).open(world.path("image")).unwrap();
    let mut areas = [0; 8];
    image.read_exact_at(&mut areas, SSA_AND_MAIN).unwrap();
    let [ssa, main] = [0, 4].map(|at| u64::from(u32::from_le_bytes(*areas[at..].first_chunk().unwrap())));
    image.write_all_at(&vec![0; usize::try_from((main - ssa) * BLOCK).unwrap()], ssa * BLOCK).unwrap();
    let run = world.say("fsck -n image");
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.out.contains("ssa-owner: block ") && run.out.contains("; fix: "), "{run:?}");
    let run = world.say("fsck --json image");
    let report = document(&run.out, "fsck");
    assert_eq!((run.code, &report["sound"]), (4, &false.into()));
    let owner = report["findings"].as_array().unwrap().iter().find(|finding| finding["code"] == "ssa-owner");
    for key in ["object", "detail", "fix"] {
        assert!(owner.unwrap()[key].is_string());
    }
    drop(image);
    let damaged = fs::read(world.path("image")).unwrap();
    let run = world.say("fsck -p --dry-run image");
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.out.contains("would repair: ssa-owner: block "), "{run:?}");
    assert!(fs::read(world.path("image")).unwrap() == damaged, "a dry run changes nothing");
    let run = world.say("fsck -p --undo undo image");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.out.ends_with("image: is sound now\n"), "{run:?}");
    world.say("fsck -y image").good();
    let peer = Command::new("fsck.f2fs").arg("--dry-run").arg(world.path("image")).status().unwrap();
    assert!(peer.success());
    let run = world.say("fsck -p --undo undo image");
    assert_eq!(run.code, 0, "nothing is kept where nothing is changed: {run:?}");
    world.say("fsck --put-back undo image").good();
    assert!(fs::read(world.path("image")).unwrap() == damaged, "all is as before");
    // Without the NAT there is more than counts to mend.
    let image = OpenOptions::new().read(true).write(true).open(world.path("image")).unwrap();
    image.read_exact_at(&mut areas, SSA_AND_MAIN - 4).unwrap();
    let nat = u64::from(u32::from_le_bytes(*areas.first_chunk().unwrap()));
    image.write_all_at(&vec![0; usize::try_from((ssa - nat) * BLOCK).unwrap()], nat * BLOCK).unwrap();
    let run = world.say("fsck -p image");
    assert!(run.code == 4 && run.out.ends_with(" left\n"), "{run:?}");
    let run = world.say("fsck -y --dry-run image");
    assert!(run.code == 4 && run.out.ends_with("image: would be sound\n"), "{run:?}");
    assert_eq!(world.say("fsck -y image").code, 1);
    let run = world.say("fsck --put-back image image");
    assert!(run.code == 8 && run.err.contains("no file of fsck --undo"), "{run:?}");
}

#[test]
fn a_volume_without_a_checkpoint_is_told() {
    let Some(world) = filled(&[]) else { return };
    let image = OpenOptions::new().write(true).open(world.path("image")).unwrap();
    image.write_all_at(&vec![0; 1024 * 4096], 512 * BLOCK).unwrap();
    let run = world.say("fsck -n image");
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.out.starts_with("checkpoint: "), "{run:?}");
}
