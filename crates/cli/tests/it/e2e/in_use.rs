//! Images and disks that somebody else has.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
};

use super::mounting::{Bench, run};

/// A loop device over a file; it goes when dropped.
struct Loop(String);

impl Loop {
    fn over(file: &Path) -> Loop {
        Loop(run(Command::new("losetup").args(["--find", "--show"]).arg(file)).trim().to_owned())
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).status();
    }
}

/// A mount of the kernel's own; it goes when dropped.
struct Mount<'a>(&'a Path);

impl Drop for Mount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

/// A disk that the kernel has mounted is not formatted, not even by force, and not written to.
#[test]
fn a_mounted_disk_is_left_alone() {
    let Some(bench) = Bench::of_f2fs("64M") else { return };
    let disk = bench.path("disk");
    fs::write(&disk, []).unwrap();
    fs::File::options().write(true).open(&disk).unwrap().set_len(64 << 20).unwrap();
    run(Command::new("mkfs.ext4").arg("-q").arg(&disk));
    let place = bench.path("mnt");
    let device = Loop::over(&disk);
    run(Command::new("mount").arg(&device.0).arg(&place));
    let mount = Mount(&place);
    fs::write(place.join("file"), "kept").unwrap();
    let refused = bench.fails(&["mkfs", "-t", "f2fs", "--force", &device.0]);
    assert_eq!(
        refused,
        format!(
            "pumice: {} is in use; unmount it first, or wait until the other command is done\n",
            device.0
        )
    );
    drop(mount);
    run(Command::new("e2fsck").args(["-f", "-n"]).arg(&disk));
    // When nobody has it any more it is formatted, and from then on a mount of ours has it.
    bench.pumice(&["mkfs", "-t", "f2fs", "--force", &device.0]);
    bench.pumice(&["mkdir", &device.0, "dir"]);
}

fn begun(bench: &Bench, words: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pumice"));
    command.args(words).current_dir(bench.path("")).stdin(Stdio::null()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// A process that serves no mount has an image for as long as it takes to write back, which a busy disk makes long.
#[test]
fn an_image_that_is_written_back_is_waited_for() {
    for bench in [Bench::new("16M"), Bench::of_f2fs("64M")] {
        let Some(bench) = bench else { return };
        let mut holder = Command::new("flock");
        let holder =
            holder.args(["--exclusive", "image", "sleep", "4"]).current_dir(bench.path("")).spawn().unwrap();
        crate::common::patience::wait_for("a lock", None, || {
            let image = fs::File::open(bench.path("image")).unwrap();
            image.try_lock().is_err()
        });
        assert_eq!(bench.pumice(&["ls", "image"]), "");
        assert!(holder.wait_with_output().unwrap().status.success());
    }
}

/// Commands wait for each other, and for a mount that goes; of one that stays they tell the process.
#[test]
fn an_f2fs_image_in_use_is_waited_for_and_named() {
    let Some(mut bench) = Bench::of_f2fs("64M") else { return };
    for round in 0..2 {
        bench.mount();
        fs::write(bench.inside("file"), format!("{round}")).unwrap();
        let process = bench.process();
        for words in [&["map", "image", "file"][..], &["ls", "image"], &["mkdir", "image", "dir"]] {
            let said = bench.fails(words);
            let place = if said.contains("/image") {
                bench.path("image").display().to_string()
            } else {
                "image".into()
            };
            let wanted = format!(
                "{place} is in use by process {process}; unmount it first, or wait until the other command is done"
            );
            assert_eq!(said, format!("pumice: {wanted}\n"), "{words:?}");
        }
        crate::common::patience::unmount(&bench.path("mnt"));
        assert_eq!(bench.pumice(&["cat", "image", "file"]), format!("{round}"));
        bench.unmounted();
        let names = ["a", "b", "c"].map(|name| format!("{name}{round}"));
        let all: Vec<Child> = names.iter().map(|name| begun(&bench, &["mkdir", "image", name])).collect();
        for child in all {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}
