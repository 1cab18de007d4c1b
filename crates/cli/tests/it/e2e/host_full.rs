//! A mount whose container lies on a disk that runs full: `df` tells, and what the mount accepts outlives it.

use std::{
    fs,
    io::Error,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use rustix::{
    fs::statvfs,
    io::Errno,
    mount::{MountFlags, UnmountFlags, mount, unmount},
};

use super::mounting::{Bench, run};

/// A small disk, unmounted when it goes.
struct Small(PathBuf);

impl Small {
    fn new(place: PathBuf) -> Small {
        fs::create_dir(&place).unwrap();
        mount("none", &place, "tmpfs", MountFlags::empty(), Some(c"size=24m")).unwrap();
        Small(place)
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        unmount(&self.0, UnmountFlags::DETACH).unwrap();
    }
}

fn free_bytes(place: &Path) -> usize {
    let found = statvfs(place).unwrap();
    usize::try_from(found.f_bavail * found.f_frsize).unwrap()
}

#[test]
fn a_removal_that_the_disk_cannot_keep_is_refused() {
    let Some(mut bench) = Bench::new("16M") else { return };
    let small = Small::new(bench.path("small"));
    let (image, kept) = (bench.path("image"), bench.inside("kept"));
    run(Command::new("cp").arg("--sparse=always").arg(&image).arg(small.0.join("image")));
    fs::remove_file(&image).unwrap();
    symlink("small/image", &image).unwrap();
    bench.mount();
    fs::write(&kept, vec![7; 300_000]).unwrap();
    bench.unmount();
    bench.mount();
    assert!(free_bytes(&bench.path("mnt")) > 1 << 20);
    let ballast = small.0.join("ballast");
    fs::write(&ballast, vec![1; free_bytes(&small.0)]).unwrap();
    assert_eq!(free_bytes(&bench.path("mnt")), 0);
    let is_full = |error: Error| error.raw_os_error() == Some(Errno::NOSPC.raw_os_error());
    assert!(is_full(fs::remove_file(&kept).unwrap_err()));
    assert!(is_full(fs::rename(&kept, bench.inside("moved")).unwrap_err()));
    assert!(is_full(fs::write(bench.inside("new"), "new").unwrap_err()));
    assert!(is_full(fs::write(&kept, "").unwrap_err()));
    assert_eq!(fs::read(&kept).unwrap(), vec![7; 300_000]);
    fs::remove_file(ballast).unwrap();
    fs::remove_file(&kept).unwrap();
    fs::write(bench.inside("new"), "new").unwrap();
    bench.unmount();
    assert_eq!(bench.pumice(&["ls", "image"]), "new\n");
    bench.check();
}
