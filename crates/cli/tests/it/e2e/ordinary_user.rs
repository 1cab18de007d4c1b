//! A user other than root mounts, by the helper `fusermount3`.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    process::Command,
};

use super::mounting::{Bench, run};

/// Owns nothing and may nothing.
const USER: u32 = 65_534;

/// Root's preparation, in namespaces of its own: a /dev/fuse for everybody, as most systems have it.
const PREPARE: &str = "
mknod -m 666 fuse c 10 229
mount --bind fuse /dev/fuse
exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\"
";

/// Everything that such a user does with an image; `$1` is the command.
const USE: &str = "
test \"$(id -u)\" = 65534
$1 mkfs --chip slc-2k-2g --size 16M image
$1 mount --daemon image mnt
echo hello >mnt/hello
mkdir mnt/dir
ln -s ../hello mnt/dir/link
test \"$(cat mnt/dir/link)\" = hello
ls mnt
test \"$(stat -c %u:%g:%a mnt/hello)\" = 65534:65534:644
if chown 0 mnt/hello 2>/dev/null; then exit 1; fi
fusermount3 -u mnt
$1 fsck -n image
$1 cat image hello
$1 mount -o ro image mnt & mount=$!
until mountpoint -q mnt; do sleep 0.1; done
cat mnt/hello
if touch mnt/new 2>/dev/null; then exit 1; fi
kill -TERM $mount
wait $mount
if mountpoint -q mnt; then exit 1; fi
# A directory that may be written to and not be read.
mkdir -m 300 closed
$1 nand create --chip slc-2k-2g --size 16M closed/image
test -s closed/image
";

#[test]
fn somebody_who_is_not_root_can_mount() {
    let Some(bench) = Bench::new("16M") else { return };
    fs::remove_file(bench.path("image")).unwrap();
    for name in ["mnt", "."] {
        chown(bench.path(name), Some(USER), Some(USER)).unwrap();
    }
    // Where the build stands may be closed to others. Copied by a process of its own: one that is being started by another
    // test might hold the new file open for writing, and then it cannot be run.
    run(Command::new("cp").arg(env!("CARGO_BIN_EXE_pumice")).arg(bench.path("pumice")));
    let mut unshare = Command::new("unshare");
    // Whatever happens inside, its mounts and processes go with it.
    unshare.args(["--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-euc", PREPARE, "sh"]);
    unshare.args(["sh", "-euc", USE, "sh", "./pumice"]).current_dir(bench.path("."));
    let said = run(&mut unshare);
    assert_eq!(said.lines().filter(|line| *line == "hello").count(), 3, "{said}");
}

/// A set-id program loses its bits when it is copied under another owner or group.
#[test]
fn programs_that_run_as_somebody_else_do_not_run_as_who_copied_them() {
    let Some(bench) = Bench::new("16M") else { return };
    for (name, uid, gid) in [("roots", 0, 0), ("own", USER, USER), ("groups", 0, USER), ("users", USER, 0)] {
        let path = bench.path(name);
        fs::write(&path, name).unwrap();
        chown(&path, Some(uid), Some(gid)).unwrap();
        // After the owner, who takes these bits away.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o6755)).unwrap();
        bench.pumice(&["put", "image", name, "/"]);
    }
    fs::create_dir(bench.path("out")).unwrap();
    for name in ["image", "out"] {
        chown(bench.path(name), Some(USER), Some(USER)).unwrap();
    }
    run(Command::new("cp").arg(env!("CARGO_BIN_EXE_pumice")).arg(bench.path("pumice")));
    for (name, wanted) in [("roots", 0o755), ("own", 0o6755), ("groups", 0o2755), ("users", 0o4755)] {
        let mut get = Command::new("setpriv");
        get.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "./pumice", "get", "image"]);
        run(get.args([name, "out"]).current_dir(bench.path("")));
        let mode = fs::metadata(bench.path("out").join(name)).unwrap().mode() & 0o7777;
        assert_eq!(mode, wanted, "{name}: {mode:o}");
    }
}
