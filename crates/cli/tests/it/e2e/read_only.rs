//! Mounts that are read-only, or become so: the kernel passes `fstrim` on nevertheless.

use std::{
    fs::{self, File},
    process::Command,
};

use super::mounting::{Bench, run};

/// What `fstrim` complains of; nothing if it had its way.
fn trimmed(bench: &Bench) -> String {
    let done = Command::new("fstrim").arg(bench.path("mnt")).output().unwrap();
    String::from_utf8(done.stderr).unwrap()
}

#[test]
fn a_volume_is_not_trimmed_through_a_mount_that_became_read_only() {
    let Some(mut bench) = Bench::of_f2fs("64M") else { return };
    bench.mount();
    let file = bench.inside("file");
    fs::write(&file, vec![1; 4 << 20]).unwrap();
    File::open(&file).unwrap().sync_all().unwrap();
    fs::remove_file(&file).unwrap();
    assert_eq!(trimmed(&bench), "");
    // Without `-i` it would look for the program that mounted.
    run(Command::new("mount").args(["-i", "-o", "remount,ro"]).arg(bench.path("mnt")));
    let before = fs::read(bench.path("image")).unwrap();
    let said = trimmed(&bench);
    assert!(said.contains("Read-only file system"), "{said}");
    assert!(fs::read(bench.path("image")).unwrap() == before);
    run(Command::new("mount").args(["-i", "-o", "remount,rw"]).arg(bench.path("mnt")));
    assert_eq!(trimmed(&bench), "");
    bench.unmount();
    bench.check();
}

#[test]
fn a_read_only_mount_writes_nothing() {
    let Some(mut bench) = Bench::of_f2fs("64M") else { return };
    let before = fs::read(bench.path("image")).unwrap();
    bench.mount_read_only();
    let said = trimmed(&bench);
    assert!(said.contains("Read-only file system"), "{said}");
    bench.unmount();
    assert!(fs::read(bench.path("image")).unwrap() == before);
}
