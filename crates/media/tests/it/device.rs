//! Disks on device nodes.

use std::process::Command;

use pumice_media::FileDisk;

use crate::common::frees_what_is_discarded;

/// A loop device, which goes when dropped.
struct Loop(String);

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).status();
    }
}

/// A device node discards, too, if it frees the room behind it: here that of a file.
#[test]
fn a_device_discards() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("disk");
    drop(FileDisk::create(&path, 4096, 64, false).unwrap());
    let made = Command::new("losetup").args(["--find", "--show"]).arg(&path).output();
    let Some(made) = made.ok().filter(|made| made.status.success()) else {
        eprintln!("SKIPPED: no loop device can be made, so discards of devices were not tested");
        return;
    };
    let device = Loop(String::from_utf8(made.stdout).unwrap().trim().to_owned());
    frees_what_is_discarded(FileDisk::open(&device.0, 4096, false).unwrap(), &path);
}
