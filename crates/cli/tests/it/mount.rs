//! Mounts for real, in the foreground, in the background and as mount(8) does.
//!
//! Where FUSE cannot be used the tests say so on stderr and pass.

use std::{
    fs,
    os::unix::fs::{MetadataExt, symlink},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use crate::common::{World, can_overlay, patience::wait_for};

/// A world that unmounts its `dir` when the test ends, however it ends.
struct Mounting {
    world: World,
    child: Option<Child>,
}

impl Mounting {
    fn new() -> Option<Mounting> {
        if fs::OpenOptions::new().read(true).write(true).open("/dev/fuse").is_err() {
            eprintln!("SKIPPED: /dev/fuse cannot be opened, so nothing was tested");
            return None;
        }
        let world = World::formatted();
        fs::create_dir(world.path("dir")).unwrap();
        Some(Mounting { world, child: None })
    }

    fn dir(&self) -> PathBuf {
        self.world.path("dir")
    }

    fn is_mounted(&self) -> bool {
        let place = self.dir().canonicalize().unwrap();
        fs::read_to_string("/proc/mounts").unwrap().contains(place.to_str().unwrap())
    }

    fn wait_until_mounted(&self, wanted: bool) {
        wait_for("a change of the mount", None, || self.is_mounted() == wanted);
    }

    fn unmount(&self) -> bool {
        let status = Command::new("umount").arg(self.dir()).stderr(Stdio::null()).status();
        if status.is_ok_and(|status| status.success()) {
            return true;
        }
        let status =
            Command::new("fusermount3").args(["-u", "-z"]).arg(self.dir()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }

    fn in_foreground(&mut self) {
        let child =
            self.world.command().args(["mount", "image", "dir"]).stderr(Stdio::piped()).spawn().unwrap();
        self.child = Some(child);
        self.wait_until_mounted(true);
    }
}

impl Drop for Mounting {
    fn drop(&mut self) {
        if self.is_mounted() {
            self.unmount();
        }
        if let Some(mut child) = self.child.take() {
            let _ = child.wait();
        }
    }
}

#[test]
fn in_the_foreground_until_unmounted() {
    let Some(mut mounting) = Mounting::new() else { return };
    mounting.in_foreground();
    fs::write(mounting.dir().join("file"), b"through the kernel").unwrap();
    mounting.world.say("ls image").bad(1, &["in use", "unmount"]);
    assert!(mounting.unmount());
    let ended = mounting.child.take().unwrap().wait_with_output().unwrap();
    assert_eq!((ended.status.code(), ended.stderr.len()), (Some(0), 0));
    assert_eq!(mounting.world.say("cat image file").good(), "through the kernel");
    mounting.world.say("fsck image").good();
}

#[test]
fn a_signal_ends_it_cleanly() {
    let Some(mut mounting) = Mounting::new() else { return };
    mounting.in_foreground();
    fs::write(mounting.dir().join("file"), b"kept").unwrap();
    let child = mounting.child.take().unwrap();
    let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    assert!(!mounting.is_mounted());
    assert_eq!(mounting.world.say("cat image file").good(), "kept");
}

#[test]
fn in_the_background_it_returns_mounted() {
    let Some(mounting) = Mounting::new() else { return };
    assert_eq!(mounting.world.say("mount --daemon image dir").good(), "");
    assert!(mounting.is_mounted());
    fs::create_dir(mounting.dir().join("made")).unwrap();
    assert!(mounting.unmount());
    assert_eq!(mounting.world.say("ls image").good(), "made\n");
}

#[test]
fn a_read_only_mount_leaves_the_image_alone() {
    let Some(mounting) = Mounting::new() else { return };
    let before = fs::read(mounting.world.path("image")).unwrap();
    mounting.world.say("mount --daemon -o ro,noatime image dir").good();
    assert!(fs::write(mounting.dir().join("file"), b"").is_err());
    assert_eq!(mounting.world.say("ls image").good(), "", "readers share an image");
    assert!(mounting.unmount());
    mounting.world.say("fsck image").good();
    assert!(fs::read(mounting.world.path("image")).unwrap() == before);
}

#[test]
fn mount_8_is_answered_in_its_words() {
    let Some(mounting) = Mounting::new() else { return };
    let helper = mounting.world.path("mount.pumice");
    symlink(env!("CARGO_BIN_EXE_pumice"), &helper).unwrap();
    let call = |words: &[&str]| {
        crate::common::finish(Command::new(&helper).args(words).current_dir(mounting.world.path(".")))
    };
    call(&["image", "dir", "-o", "rw,nofail,x-test"]).good();
    assert!(mounting.is_mounted());
    assert!(mounting.unmount());
    call(&["missing", "dir"]).bad(32, &["missing"]);
    call(&["image", "dir", "-o", "sideways"]).bad(1, &["sideways"]);
    call(&["image", "dir", "-f"]).good();
    assert!(!mounting.is_mounted());
}

/// mount(8) looks for its helpers below /usr/sbin only, where a namespace of its own shows it ours. At a remount it passes
/// back the options that the kernel shows.
#[test]
fn mount_8_mounts_and_remounts() {
    const SCRIPT: &str = "set -eu
        mount -t overlay overlay -o lowerdir=/usr/sbin,upperdir=$PWD/up,workdir=$PWD/work /usr/sbin
        trap 'umount dir 2>/dev/null || true' EXIT
        for type in fuse.pumice pumice; do
            mount -t $type -o allow_other,noatime image dir
            touch dir/first-$type
            mount -o remount,ro dir
            if touch dir/read-only 2>/dev/null; then echo 'not read-only'; exit 1; fi
            mount -o remount,rw dir
            touch dir/then-$type
            umount dir
        done";
    let Some(mounting) = Mounting::new() else { return };
    if !can_overlay() {
        return;
    }
    let world = &mounting.world;
    for dir in ["up", "work"] {
        fs::create_dir(world.path(dir)).unwrap();
    }
    for name in ["mount.pumice", "mount.fuse.pumice"] {
        symlink(env!("CARGO_BIN_EXE_pumice"), world.path("up").join(name)).unwrap();
    }
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", SCRIPT]).current_dir(world.path("."));
    crate::common::finish(&mut command).good();
    let names = ["first-fuse.pumice", "first-pumice", "then-fuse.pumice", "then-pumice"];
    assert_eq!(world.say("ls image").good().lines().collect::<Vec<_>>(), names);
}

#[test]
fn places_that_cannot_be_mounted_on_are_named() {
    let Some(mounting) = Mounting::new() else { return };
    let world = &mounting.world;
    world.say("mount image nowhere").bad(1, &["nowhere", "no such directory"]);
    world.say("mount image image").bad(1, &["image", "not a directory"]);
    world.say("mount missing dir").bad(1, &["missing"]);
    world.say("mount --daemon missing dir").bad(1, &["missing"]);
    world.say("mount -o sideways image dir").bad(2, &["sideways", "allow_other"]);
    world.say("mount -o cache=1k image dir").bad(2, &["1024", "256KiB"]);
    world.say("mount -o compress_algorithm=lz5 image dir").bad(2, &["unknown algorithm `lz5`"]);
    world.say("mount -o compress_log_size=9 image dir").bad(2, &["`9`", "2 to 8"]);
}

/// Each option of Linux 6.12's F2FS, with a value that it takes there: obeyed or accepted here, or refused by its name.
const LINUX: &str = "background_gc=on background_gc=off !background_gc=sync !disable_roll_forward norecovery discard nodiscard \
    no_heap heap user_xattr !nouser_xattr acl !noacl active_logs=6 !active_logs=3 disable_ext_identify inline_xattr \
    !noinline_xattr !inline_xattr_size=40 inline_data !noinline_data inline_dentry !noinline_dentry flush_merge noflush_merge \
    barrier nobarrier fastboot extent_cache noextent_cache age_extent_cache data_flush !reserve_root=9 !resuid=1 !resgid=1 \
    mode=adaptive mode=lfs !mode=fragment:block !fault_injection=7 !fault_type=1 lazytime nolazytime quota noquota usrquota \
    grpquota prjquota !usrjquota=a !grpjquota=a !prjjquota=a usrjquota= grpjquota= prjjquota= jqfmt=vfsv1 !jqfmt=x \
    alloc_mode=default alloc_mode=reuse fsync_mode=posix fsync_mode=strict !fsync_mode=x fsync_mode=nobarrier !test_dummy_encryption \
    !test_dummy_encryption=v2 inlinecrypt checkpoint=enable !checkpoint=disable !checkpoint=disable:9 !checkpoint=disable:9% \
    checkpoint_merge nocheckpoint_merge compress_algorithm=lz4 compress_log_size=4 compress_extension=txt \
    nocompress_extension=jpg compress_chksum compress_mode=fs !compress_mode=user compress_cache atgc gc_merge nogc_merge \
    discard_unit=block discard_unit=segment discard_unit=section !discard_unit=x memory=normal memory=low errors=remount-ro \
    !errors=continue !errors=panic !compress_cash !heap=1 !discard_unit !in_place=x in_place=force";

/// Nothing is mounted for an option that is not obeyed: the command ends before it, and says which it was.
#[test]
fn options_of_linux_are_obeyed_or_refused_by_name() {
    let world = World::new();
    world.say("mkfs -t f2fs --size 64M -O extra_attr,project_quota,quota_ino card").good();
    fs::create_dir(world.path("dir")).unwrap();
    let help = world.say("mount --help").good();
    for option in LINUX.split_whitespace() {
        let (is_refused, option) = option.strip_prefix('!').map_or((false, option), |option| (true, option));
        let said = world.say(&format!("mount --dry-run -o {option} card dir"));
        let name = option.split('=').next().unwrap();
        if is_refused {
            said.bad(2, &[name]);
        } else {
            said.good();
        }
        assert!(help.contains(name) || name == "compress_cash", "{name} is not in the help");
    }
    // mount(8) has a code of its own for it.
    let line = "dir -o rw,noinline_data";
    let mut helper = Command::new(env!("CARGO_BIN_EXE_pumice"));
    std::os::unix::process::CommandExt::arg0(&mut helper, "mount.pumice");
    let said = helper.arg("card").args(line.split(' ')).current_dir(world.path(".")).output().unwrap();
    assert_eq!(said.status.code(), Some(1), "{said:?}");
    // The last of two that contradict each other counts.
    world.say("mount --dry-run -o nodiscard,discard,atgc,background_gc=off card dir").good();
}

#[test]
fn fstab_may_say_what_it_says_of_other_file_systems() {
    let Some(mounting) = Mounting::new() else { return };
    mounting.world.say("mkdir image made").good();
    let words = "defaults,relatime,strictatime,nodiratime,lazytime,discard,nofail,x-systemd.automount,uid=1000,gid=100,umask=027,fsname=a,b";
    mounting.world.say(&format!("mount --daemon -o {words} image dir")).good();
    let made = fs::metadata(mounting.dir().join("made")).unwrap();
    assert_eq!((made.uid(), made.gid(), made.mode() & 0o7777), (1000, 100, 0o750));
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let dir = mounting.dir().canonicalize().unwrap();
    let line = mounts.lines().find(|line| line.contains(dir.to_str().unwrap())).unwrap();
    assert!(line.starts_with("a,b "), "{line}");
    assert!(mounting.unmount());
    let own = mounting.world.say("ls -l image").good();
    assert!(own.starts_with("drwxr-xr-x"), "shown, and not changed: {own}");
    for (word, says) in [("uid=x", "uid=x"), ("umask=999", "umask=999"), ("fsnam=a", "fsnam=a")] {
        mounting.world.say(&format!("mount -o {word} image dir")).bad(2, &[says]);
    }
}

#[test]
fn a_remount_changes_what_may_be_done() {
    let Some(mounting) = Mounting::new() else { return };
    mounting.world.say("mount -o remount,ro image dir").bad(1, &["dir: no mount of pumice"]);
    mounting.world.say("mount --daemon image dir").good();
    let file = mounting.dir().join("file");
    fs::write(&file, b"one").unwrap();
    if !crate::common::is_root() {
        return;
    }
    mounting.world.say("mount -o remount,ro image dir").good();
    assert_eq!(fs::write(&file, b"two").unwrap_err().kind(), std::io::ErrorKind::ReadOnlyFilesystem);
    mounting.world.say("mount -o remount,rw image dir").good();
    fs::write(&file, b"three").unwrap();
    assert!(mounting.unmount());
    assert_eq!(mounting.world.say("cat image file").good(), "three");
}

#[test]
fn a_mount_that_is_watched_goes_when_its_process_dies() {
    let Some(mut mounting) = Mounting::new() else { return };
    if !crate::common::is_root()
        || Command::new("fusermount3").arg("-V").stdout(Stdio::null()).status().is_err()
    {
        eprintln!("SKIPPED: fusermount3 is not installed, or may not mount for everybody");
        return;
    }
    let mut command = mounting.world.command();
    mounting.child = Some(command.args(["mount", "-o", "auto_unmount", "image", "dir"]).spawn().unwrap());
    mounting.wait_until_mounted(true);
    // Linux would open directories without asking from then on, also of a mount that nobody serves.
    assert_eq!(fs::read_dir(mounting.dir()).unwrap().count(), 0);
    mounting.child.as_mut().unwrap().kill().unwrap();
    mounting.wait_until_mounted(false);
}
