//! The first file system of a guest: busybox, kernel modules, programs, and the script that starts it.

use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    process::{Command, Stdio},
};

use tempfile::TempDir;

use crate::{Failure, Machine, about, installed, output, program};

/// Subtrees of the kernel's modules that guests may ask for.
const MODULES: [&str; 24] = [
    "arch/x86/crypto",
    "crypto",
    "drivers/block/null_blk",
    "drivers/block/loop.ko",
    "drivers/block/virtio_blk.ko",
    "drivers/mtd",
    "drivers/virtio",
    "fs/9p",
    "fs/btrfs",
    "fs/configfs",
    "fs/ext4",
    "fs/f2fs",
    "fs/fat",
    "fs/fscache",
    "fs/fuse",
    "fs/jbd2",
    "fs/jffs2",
    "fs/mbcache.ko",
    "fs/netfs",
    "fs/nilfs2",
    "fs/nls",
    "fs/quota",
    "lib",
    "net/9p",
];

/// Mounts the usual file systems and the directory shared with the host, runs the host's script, and ends.
const INIT: &str = "\
#!/bin/busybox sh
/bin/busybox mkdir -p /busybox /proc /sys /dev /host /tmp /mnt
/bin/busybox --install -s /busybox
export PATH=/usr/sbin:/usr/bin:/sbin:/bin:/busybox HOME=/
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mount -t tmpfs none /tmp
modprobe -a virtio_pci 9pnet_virtio 9p virtio_blk
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 host /host
cd /tmp
/bin/sh /host/script >/host/output 2>&1
echo $? >/host/status
poweroff -f
";

/// A directory that becomes the guest's first file system.
pub(crate) struct Initramfs {
    stage: TempDir,
}

impl Initramfs {
    /// An image with the programs that every guest has.
    pub(crate) fn new(machine: &Machine) -> Result<Initramfs, Failure> {
        let stage = tempfile::tempdir().map_err(about("a temporary directory"))?;
        let tree = Initramfs { stage };
        tree.add(&machine.busybox, "bin/busybox")?;
        // Busybox's own shell prefers its own tools to better ones in the path.
        tree.add_program(&installed("sh")?, "bin/sh")?;
        tree.write("init", INIT)?;
        tree.link("../bin/busybox", "sbin/modprobe")?;
        tree.add_modules(machine)?;
        Ok(tree)
    }

    /// Copies a program, and the libraries it is linked with to where it looks for them.
    pub(crate) fn add_program(&self, program: &Path, to: &str) -> Result<(), Failure> {
        self.add(program, to)?;
        // Debugging information would only fill the guest's memory.
        output(Command::new(installed("strip")?).arg("--strip-debug").arg(self.stage.path().join(to)))?;
        for library in program::libraries(program)? {
            let to = library.to_string_lossy().into_owned();
            self.add(&library, to.trim_start_matches('/'))?;
        }
        Ok(())
    }

    fn add(&self, from: &Path, to: &str) -> Result<(), Failure> {
        let to = self.stage.path().join(to);
        make_parent(&to)?;
        fs::copy(from, &to).map(drop).map_err(about(from.display()))
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.stage.path().join(name);
        let written = fs::write(&path, text);
        written
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)))
            .map_err(about(name))
    }

    fn link(&self, target: &str, name: &str) -> Result<(), Failure> {
        let path = self.stage.path().join(name);
        make_parent(&path)?;
        symlink(target, path).map_err(about(name))
    }

    fn add_modules(&self, machine: &Machine) -> Result<(), Failure> {
        let to = self.stage.path().join("lib/modules").join(&machine.version);
        for name in MODULES {
            let to = to.join("kernel").join(name);
            make_parent(&to)?;
            output(Command::new("cp").arg("-r").arg(machine.modules.join("kernel").join(name)).arg(to))?;
        }
        for name in ["modules.builtin", "modules.order"] {
            fs::copy(machine.modules.join(name), to.join(name)).map_err(about(name))?;
        }
        let mut depmod = Command::new(&machine.busybox);
        output(depmod.arg("depmod").arg("-b").arg(self.stage.path()).arg(&machine.version)).map(drop)
    }

    /// Packs everything into the archive that the kernel reads.
    pub(crate) fn pack(&self, busybox: &Path, archive: &Path) -> Result<(), Failure> {
        let names = output(Command::new("find").arg(".").current_dir(self.stage.path()))?;
        let to = File::create(archive).map_err(about(archive.display()))?;
        let mut cpio = Command::new(busybox);
        cpio.args(["cpio", "--quiet", "-o", "-H", "newc"]).current_dir(self.stage.path());
        let mut cpio = cpio.stdin(Stdio::piped()).stdout(to).spawn().map_err(about("cpio"))?;
        if let Some(mut stdin) = cpio.stdin.take() {
            stdin.write_all(&names).map_err(about("cpio"))?;
        }
        let status = cpio.wait().map_err(about("cpio"))?;
        if status.success() { Ok(()) } else { Err(format!("cpio: {status}").into()) }
    }
}

fn make_parent(path: &Path) -> Result<(), Failure> {
    let dir = path.parent().unwrap_or(path);
    fs::create_dir_all(dir).map_err(about(dir.display()))
}
