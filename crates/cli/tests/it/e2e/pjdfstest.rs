//! pjdfstest: the rules of POSIX for system calls on files.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use super::mounting::{Bench, said, tool};

/// Everything the suite can test on Linux is on. What stays off:
///
/// - `chflags`, `chflags_sf_snapshot`: system calls of BSD; Linux has none of that name.
/// - `nfsv4_acls`: Linux file systems have POSIX lists instead; see the tests in `acl.rs`.
/// - `allow_remount` (13 tests of EROFS): mount(8) hands the remounting of a FUSE file system to a helper in
///   /sbin, where tests install nothing. Read-only mounts are tested in `tests/it/mount.rs`.
/// - `link::link_count_max` skips itself: pathconf(3) knows no limit of links for FUSE.
const CONFIGURATION: &str = "
[features]
posix_fallocate = {}
rename_ctime = {}
stat_st_birthtime = {}
utime_now = {}
utimensat = {}

[settings]
naptime = 0.01
allow_remount = false
";

/// Tests that may skip themselves, for the reasons above.
const SKIPPED: usize = 14;

/// A second file system, for renames and links that cross.
fn second() -> &'static Path {
    Path::new("/dev/shm")
}

#[test]
fn pjdfstest_finds_no_failure() {
    if let Some(bench) = Bench::new("512M") {
        pjdfstest(bench);
    }
}

#[test]
fn pjdfstest_finds_no_failure_in_f2fs() {
    if let Some(bench) = Bench::of_f2fs("256M") {
        pjdfstest(bench);
    }
}

fn pjdfstest(mut bench: Bench) {
    bench.mount();
    let path = bench.inside("suite");
    fs::create_dir(&path).unwrap();
    for dir in [&bench.path("mnt"), &path] {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let configuration = bench.path("pjdfstest.toml");
    fs::write(&configuration, CONFIGURATION).unwrap();
    let mut command = Command::new(tool("pjdfstest"));
    command.arg("-c").arg(&configuration).arg("-p").arg(&path).arg("-s").arg(second());
    let output = command.env("NO_COLOR", "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", said(&output));
    let skipped = text.lines().filter(|line| line.ends_with("skipped")).count();
    assert!(skipped <= SKIPPED, "{skipped} tests were skipped\n{text}");
    bench.unmount();
    bench.check();
}
