//! An image and its mount, in a directory of their own that is cleared away however a test ends.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use rustix::mount::UnmountFlags;
use tempfile::TempDir;

use crate::common::patience::{unmount, wait_for};

/// The place of the benches, wherever the checkout is: paths in a mount have to be short, because the address of a
/// socket holds 108 bytes.
const GROUND: &str = "/tmp";

/// A directory with the file `image` and the directory `mnt` in it.
pub(crate) struct Bench {
    place: TempDir,
    child: Option<Child>,
}

impl Bench {
    /// A bench with an empty file system on a chip of `size`. `None`, with a line on stderr, if this process cannot
    /// mount.
    pub(crate) fn new(size: &str) -> Option<Bench> {
        Bench::with(&["mkfs", "--chip", "slc-2k-2g", "--size", size])
    }

    /// A bench with an empty logical disk that `pumice ftl create` makes with these words.
    pub(crate) fn of_disk(words: &[&str]) -> Option<Bench> {
        Bench::with(&[&["ftl", "create"], words].concat())
    }

    /// A bench with an empty F2FS volume of `size`.
    pub(crate) fn of_f2fs(size: &str) -> Option<Bench> {
        Bench::with(&["mkfs", "-t", "f2fs", "-O", "extra_attr,inode_crtime", "--size", size])
    }

    /// A bench with the image that `pumice` makes with these words.
    pub(crate) fn with(words: &[&str]) -> Option<Bench> {
        if !can_mount() {
            return None;
        }
        let place = tempfile::tempdir_in(GROUND).unwrap();
        // Other users have to get through it.
        fs::set_permissions(place.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        fs::create_dir(place.path().join("mnt")).unwrap();
        let bench = Bench { place, child: None };
        bench.pumice(&[words, &["image"]].concat());
        Some(bench)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// A path in the mount.
    pub(crate) fn inside(&self, name: &str) -> PathBuf {
        self.path("mnt").join(name)
    }

    /// Runs `pumice` in the directory; it must end well.
    pub(crate) fn pumice(&self, words: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pumice"));
        run(command.args(words).current_dir(self.place.path()))
    }

    /// Runs `pumice` in the directory; it must fail, and its complaint is returned.
    pub(crate) fn fails(&self, words: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pumice"));
        let output =
            command.args(words).current_dir(self.place.path()).stdin(Stdio::null()).output().unwrap();
        assert!(!output.status.success(), "{words:?}: {}", said(&output));
        String::from_utf8(output.stderr).unwrap()
    }

    /// The process that serves the mount.
    pub(crate) fn process(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Mounts the image in a process of its own.
    pub(crate) fn mount(&mut self) {
        self.mount_with(&["mount", "-o", "allow_other,suid,dev"]);
    }

    /// The same, to be read.
    pub(crate) fn mount_read_only(&mut self) {
        self.mount_with(&["mount", "-o", "ro"]);
    }

    /// Mounts the image's logical disk as a file.
    pub(crate) fn mount_disk(&mut self) {
        self.mount_with(&["ftl", "mount"]);
    }

    fn mount_with(&mut self, words: &[&str]) {
        assert!(self.child.is_none(), "mounted already");
        let child = Command::new(env!("CARGO_BIN_EXE_pumice"))
            .args(words)
            .args(["image", "mnt"])
            .current_dir(self.place.path())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        self.child = Some(child);
        let place = self.path("mnt");
        wait_for("the mount", self.child.as_mut(), || is_mounted(&place));
    }

    /// Unmounts and waits until everything is written.
    pub(crate) fn unmount(&mut self) {
        unmount(&self.path("mnt"));
        self.unmounted();
    }

    /// Waits until everything is written after an unmount.
    pub(crate) fn unmounted(&mut self) {
        let status = self.child.take().unwrap().wait().unwrap();
        assert!(status.success(), "the mount ended with {status}");
    }

    /// Cuts the power: kills the mount where it stands.
    pub(crate) fn kill(&mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        rustix::mount::unmount(self.path("mnt"), UnmountFlags::DETACH).unwrap();
    }

    /// A check that must find nothing.
    pub(crate) fn check(&self) {
        self.pumice(&["fsck", "-n", "image"]);
    }
}

fn is_mounted(place: &Path) -> bool {
    let text = fs::read_to_string("/proc/self/mounts").unwrap();
    text.lines().any(|line| line.split(' ').nth(1) == place.to_str())
}

impl Drop for Bench {
    fn drop(&mut self) {
        if is_mounted(&self.path("mnt")) {
            // It may be in use by a test that failed.
            let _ = rustix::mount::unmount(self.path("mnt"), UnmountFlags::DETACH);
        }
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn can_mount() -> bool {
    let fuse = fs::OpenOptions::new().read(true).write(true).open("/dev/fuse").is_ok();
    let able = fuse && rustix::process::geteuid().is_root();
    if !able {
        let name = std::thread::current().name().unwrap_or("a test").to_owned();
        // Past the test runner, which would keep it to itself.
        let _ = writeln!(std::io::stderr(), "SKIPPED: {name}: needs root and /dev/fuse; NOTHING WAS TESTED");
    }
    able
}

/// Runs a command that must end well, and returns its output.
#[track_caller]
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", said(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn said(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{}\n{out}\n{err}", output.status)
}

/// A test program that `scripts/setup.sh` has built next to the target directory's other content.
pub(crate) fn tool(name: &str) -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_pumice"));
    let found = program.ancestors().map(|dir| dir.join("tools/bin").join(name)).find(|path| path.exists());
    found.unwrap_or_else(|| panic!("{name} is missing: run scripts/setup.sh test"))
}
