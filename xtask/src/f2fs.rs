//! F2FS volumes that the kernel makes, and its view of F2FS volumes.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

use crate::{Failure, Guest, Machine, Report, about, built, installed, output};

/// Volumes that can be made, each by a script on an empty disk.
const RECIPES: [(&str, &str); 14] = [
    ("basic", include_str!("../f2fs/basic.sh")),
    ("features", include_str!("../f2fs/features.sh")),
    ("compress", include_str!("../f2fs/compress.sh")),
    ("casefold", include_str!("../f2fs/casefold.sh")),
    ("encrypt", include_str!("../f2fs/encrypt.sh")),
    ("verity", include_str!("../f2fs/verity.sh")),
    ("quota", include_str!("../f2fs/quota.sh")),
    ("xattrs", include_str!("../f2fs/xattrs.sh")),
    ("full", include_str!("../f2fs/full.sh")),
    ("zoned", include_str!("../f2fs/zoned.sh")),
    ("fragmented", include_str!("../f2fs/fragmented.sh")),
    ("crash-fsync", include_str!("../f2fs/crash-fsync.sh")),
    ("crash-orphan", include_str!("../f2fs/crash-orphan.sh")),
    ("crash-middle", include_str!("../f2fs/crash-middle.sh")),
];

const JUDGE: &str = include_str!("../f2fs/judge.sh");
const PRELUDE: &str = include_str!("../f2fs/prelude.sh");

/// Size of a volume, in bytes. A zoned one of 64 MiB would have no room for its reserve.
fn volume_bytes(name: &str) -> u64 {
    if name == "zoned" { 128 << 20 } else { 64 << 20 }
}

/// This machine's programs that recipes use.
const PROGRAMS: [&str; 11] = [
    "mkfs.f2fs",
    "f2fs_io",
    "fsverity",
    "setfattr",
    "setfacl",
    "chattr",
    "fallocate",
    "losetup",
    "setpriv",
    "sync",
    "touch",
];

/// A volume made by the kernel, and the kernel's view of each file of it.
pub struct Volume {
    /// The raw volume.
    pub image: PathBuf,
    /// One JSON object a line, as `guest-manifest` writes it.
    pub manifest: String,
    /// The same with the key given, for volumes with encrypted files.
    pub manifest_with_key: Option<String>,
}

/// The names of all recipes.
pub fn recipes() -> impl Iterator<Item = &'static str> {
    RECIPES.iter().map(|(name, _)| *name)
}

/// Mounts a volume in the kernel on /mnt and runs a script there as root; the first command that fails ends it. Its
/// changes are in `image` afterwards, because the volume is unmounted in the end. Returns the output of the script.
pub fn mount_in_kernel(machine: &Machine, image: &Path, script: &str) -> Result<String, Failure> {
    let mut guest = guest(machine)?;
    guest.add_disk(image);
    let script =
        format!("set -e\nmount -t f2fs -o noatime /dev/vda /mnt\ncd /mnt\n{script}\ncd /\numount /mnt\n");
    guest.run(&script)?.good()
}

/// The kernel's verdict on a volume.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It mounts it.
    Mounted,
    /// It mounts it, and looking at every inode does not come to an end.
    Stuck,
    /// It refuses to.
    Refused,
    /// It goes down.
    Down,
}

/// The time that looking at every inode of a volume may take: it is a matter of a second.
const WALK_SECONDS: u32 = 60;

/// Has the kernel mount volumes of `bytes` bytes each, which stand one behind the other in `disk`, look at every inode,
/// and unmount them. Its changes are in `disk` afterwards.
pub fn judge(machine: &Machine, disk: &Path, bytes: u64, count: u64) -> Result<Vec<Verdict>, Failure> {
    let mut guest = guest(machine)?;
    guest.add_disk(disk);
    let mut verdicts = Vec::new();
    while (verdicts.len() as u64) < count {
        let first = verdicts.len();
        let head = format!("first={first}\ncount={count}\nbytes={bytes}\nseconds={WALK_SECONDS}");
        let report = guest.run(&format!("{head}\n{JUDGE}"))?;
        let said =
            |word: &str, number: usize| report.output.lines().any(|line| line == format!("{word} {number}"));
        if !said("begin", first) {
            return Err(report.to_string().into());
        }
        let begun = (first..).take_while(|number| said("begin", *number));
        verdicts.extend(begun.map(|number| match (said("end", number), said("mounted", number)) {
            (false, _) => Verdict::Down,
            (true, true) if said("stuck", number) => Verdict::Stuck,
            (true, true) => Verdict::Mounted,
            (true, false) => Verdict::Refused,
        }));
    }
    Ok(verdicts)
}

/// The files that a script left in the guest's /host, and the kernel's output to its console.
pub struct Run {
    guest: Guest,
    /// The kernel's console.
    pub console: String,
}

impl Run {
    /// A file that the script left in /host.
    pub fn file(&self, name: &str) -> Result<String, Failure> {
        let path = self.guest.shared().join(name);
        fs::read_to_string(&path).map_err(about(path.display()))
    }
}

/// Runs a script in the kernel as root, with these volumes as /dev/vda, /dev/vdb and so on; the first command that
/// fails ends it. Its changes are in the images afterwards.
pub fn run_in_kernel(machine: &Machine, images: &[PathBuf], script: &str) -> Result<Run, Failure> {
    let mut guest = guest(machine)?;
    for image in images {
        guest.add_disk(image);
    }
    let report = guest.run(&format!("set -e\n{script}\n"))?;
    if report.status != Some(0) {
        return Err(report.to_string().into());
    }
    Ok(Run { guest, console: report.console })
}

/// Makes the volume of a recipe in `dir`, as `NAME.img`, and its manifests.
pub fn make(machine: &Machine, name: &str, dir: &Path) -> Result<Volume, Failure> {
    let recipe = RECIPES.iter().find(|(known, _)| *known == name).map(|(_, script)| script);
    let recipe = recipe
        .ok_or_else(|| format!("no recipe {name}; there are {}", recipes().collect::<Vec<_>>().join(", ")))?;
    let image = dir.join(format!("{name}.img"));
    let made = File::create(&image).and_then(|file| file.set_len(volume_bytes(name)));
    made.map_err(about(image.display()))?;
    let mut guest = guest(machine)?;
    guest.add_disk(&image);
    let report = guest.run(&format!("{PRELUDE}\n{recipe}"))?;
    if !went_as_planned(&report, name) {
        return Err(format!("{name}: {report}").into());
    }
    let key = fs::read_to_string(guest.shared().join("key")).ok();
    // A volume that cannot be mounted from a plain disk was described by the recipe.
    let described = fs::read_to_string(guest.shared().join("manifest"));
    let manifest = described.or_else(|_| self::manifest(machine, &image, None))?;
    let manifest_with_key = key.map(|key| self::manifest(machine, &image, Some(key.trim()))).transpose()?;
    Ok(Volume { image, manifest, manifest_with_key })
}

/// The power goes in some recipes; then there is no status.
fn went_as_planned(report: &Report, name: &str) -> bool {
    let cut = name.starts_with("crash-");
    report.status == if cut { None } else { Some(0) }
}

/// The kernel's view of a volume; it works on a copy, because mounting one changes it.
fn manifest(machine: &Machine, image: &Path, key: Option<&str>) -> Result<String, Failure> {
    let copy = image.with_extension("copy");
    output(Command::new("cp").arg("--sparse=always").arg(image).arg(&copy))?;
    let give = key.map_or(String::new(), |key| {
        format!(
            "guest-control key /mnt {key} >/dev/null; guest-control key /mnt {key} {DESCRIPTOR} >/dev/null\n"
        )
    });
    let manifest = mount_in_kernel(machine, &copy, &format!("{give}guest-manifest /mnt"));
    fs::remove_file(&copy).map_err(about(copy.display()))?;
    manifest
}

/// The name that tools give to the recipe's key in policies of version 1.
const DESCRIPTOR: &str = "04334e23057a6e2d";

/// A guest with the programs of F2FS.
pub fn guest(machine: &Machine) -> Result<Guest, Failure> {
    let guest = Guest::new(machine)?;
    for name in PROGRAMS {
        guest.add_program(&installed(name)?)?;
    }
    for name in ["guest-manifest", "guest-control"] {
        guest.add_program(&built(name)?)?;
    }
    Ok(guest)
}

/// Makes volumes and leaves each in `dir` as NAME.img.zst with NAME.manifest.jsonl.zst.
pub fn keep(machine: &Machine, names: &[&str], dir: &Path) -> Result<(), Failure> {
    fs::create_dir_all(dir).map_err(about(dir.display()))?;
    for name in names {
        let volume = make(machine, name, dir)?;
        compress(&volume.image)?;
        let text = dir.join(format!("{name}.manifest.jsonl"));
        fs::write(&text, volume.manifest).map_err(about(text.display()))?;
        compress(&text)?;
        if let Some(manifest) = volume.manifest_with_key {
            let text = dir.join(format!("{name}.with-key.manifest"));
            fs::write(&text, manifest).map_err(about(text.display()))?;
            compress(&text)?;
        }
    }
    Ok(())
}

/// Replaces a file by its compressed form.
pub(crate) fn compress(path: &Path) -> Result<(), Failure> {
    let mut zstd = Command::new(installed("zstd")?);
    output(zstd.args(["-q", "-f", "-19", "--long=27", "--rm"]).arg(path)).map(drop)
}
