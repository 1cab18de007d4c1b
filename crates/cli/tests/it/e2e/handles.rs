//! Handles of files (`name_to_handle_at(2)`), as an NFS server keeps them: good after the kernel has forgotten the
//! names, and stale once the file is gone.

use std::{fs, path::Path, process::Command};

use rustix::mount::{MountFlags, mount_remount};

use super::mounting::{Bench, run, said};

/// The two calls, which no safe crate has; their numbers are those of x86-64.
const SCRIPT: &str = r#"
my ($verb, $path, $handle) = @ARGV;
if ($verb eq "name") {
    my $room = pack("II", 128, 0) . "\0" x 128;
    my $mount = pack("i", 0);
    syscall(303, -100, $path, $room, $mount, 0) == 0 or die "name: $!\n";
    print unpack("H*", $room);
} else {
    sysopen(my $root, $path, 0x10000) or die "root: $!\n";
    my $room = pack("H*", $handle);
    my $found = syscall(304, fileno($root), $room, 0);
    $found >= 0 or die "open: $!\n";
    open(my $file, "<&=", $found) or die "file: $!\n";
    print <$file>;
}
"#;

fn perl(words: &[&str], path: &Path, handle: &str) -> Command {
    let mut command = Command::new("perl");
    command.args(["-e", SCRIPT]).args(words).arg(path).arg(handle);
    command
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_handle_outlives_names_and_not_the_file() {
    let Some(mut bench) = Bench::new("64M") else { return };
    bench.mount();
    let root = bench.path("mnt");
    let file = bench.inside("dir/sub/file");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "found again").unwrap();
    let handle = run(&mut perl(&["name"], &file, ""));
    let open = || perl(&["open"], &root, &handle).output().unwrap();
    // A remount makes the kernel forget all names that nobody uses.
    let forget = || mount_remount(&root, MountFlags::empty(), c"").unwrap();
    forget();
    assert_eq!(String::from_utf8_lossy(&open().stdout), "found again", "{}", said(&open()));
    fs::rename(bench.inside("dir/sub"), bench.inside("moved")).unwrap();
    forget();
    assert_eq!(String::from_utf8_lossy(&open().stdout), "found again", "{}", said(&open()));
    fs::remove_file(bench.inside("moved/file")).unwrap();
    forget();
    fs::write(bench.inside("another"), "not the same").unwrap();
    assert!(said(&open()).contains("open: Stale file handle"), "{}", said(&open()));
    bench.unmount();
    bench.check();
}
