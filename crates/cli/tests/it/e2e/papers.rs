//! The papers' file systems under a mount.

use std::{fs, os::unix::fs::symlink};

use super::mounting::Bench;

/// Files go in and outlive an unmount, and synced ones outlive a killed mount.
fn lives_on(paper: &str, chip: &str, size: &str) {
    let words = ["mkfs", "-t", paper, "--chip", chip, "--size", size];
    let Some(mut bench) = Bench::with(&words) else { return };
    bench.mount();
    fs::create_dir(bench.inside("dir")).unwrap();
    for number in 0..40_u8 {
        fs::write(bench.inside(&format!("dir/{number}")), vec![number; 7000 * usize::from(number)]).unwrap();
    }
    symlink("dir/39", bench.inside("link")).unwrap();
    for number in (0..40).step_by(3) {
        fs::remove_file(bench.inside(&format!("dir/{number}"))).unwrap();
    }
    bench.unmount();
    bench.check();
    bench.mount();
    for number in (0..40_u8).filter(|number| number % 3 != 0) {
        let found = fs::read(bench.inside(&format!("dir/{number}"))).unwrap();
        assert!(found == vec![number; 7000 * usize::from(number)], "{number}");
    }
    assert_eq!(fs::read_link(bench.inside("link")).unwrap().to_str(), Some("dir/39"));
    fs::write(bench.inside("late"), vec![5; 50_000]).unwrap();
    fs::File::open(bench.inside("late")).unwrap().sync_all().unwrap();
    bench.kill();
    bench.check();
    bench.mount();
    assert!(fs::read(bench.inside("late")).unwrap() == vec![5; 50_000]);
    bench.unmount();
    bench.check();
}

#[test]
fn scaleffs_lives_on() {
    lives_on("scaleffs", "scaleffs-256m", "16M");
}

#[test]
fn cffs_lives_on() {
    lives_on("cffs", "k9s1208", "16M");
}

#[test]
fn rcffs_lives_on() {
    lives_on("rcffs", "rcffs-128m", "32M");
}
