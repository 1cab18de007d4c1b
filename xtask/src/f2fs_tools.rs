//! F2FS volumes that f2fs-tools make and fill on this machine: with blocks that a kernel of 4 KiB pages does not mount,
//! and with features newer than Debian's kernel and tools. `mkfs.f2fs` and `sload.f2fs` newer than 1.16 are needed on
//! `PATH`.

use std::{
    fs::{self, File, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, SystemTime},
};

use crate::{Failure, about, built, f2fs::compress, installed, output};

/// The recipe of a volume.
struct Recipe {
    name: &'static str,
    mib: u64,
    block: u32,
    features: &'static str,
    /// The name of the file that stands for a second device, if there is one.
    alias: Option<&'static str>,
}

/// Volumes without `flexible_inline_xattr`: with it `sload.f2fs` writes large files to the wrong addresses.
const RECIPES: [Recipe; 4] = [
    Recipe { name: "blocks-8k", mib: 128, block: 8192, features: "", alias: None },
    Recipe { name: "blocks-16k", mib: 512, block: 16384, features: "", alias: None },
    Recipe {
        name: "packed-ssa",
        mib: 512,
        block: 16384,
        features: "packed_ssa,extra_attr,inode_checksum,sb_checksum,inode_crtime",
        alias: None,
    },
    Recipe { name: "device-alias", mib: 64, block: 4096, features: "", alias: Some("alias") },
];

const TREE: &str = include_str!("../f2fs/blocks.sh");

/// All times in the volumes, in seconds.
const TIME: u64 = 1_612_325_106;
const UUID: &str = "5ca1ab1e-0000-4000-8000-00000000f2f5";
const DEVICE_BYTES: u64 = 4 << 20;

/// Makes the volumes and leaves each in `dir` as NAME.img.zst, with its contents in NAME.tree.jsonl.zst. A second
/// device is NAME.device.zst.
pub fn keep(dir: &Path) -> Result<(), Failure> {
    fs::create_dir_all(dir).map_err(about(dir.display()))?;
    let dir = dir.canonicalize().map_err(about(dir.display()))?;
    for recipe in &RECIPES {
        recipe.keep(&dir)?;
    }
    Ok(())
}

impl Recipe {
    fn keep(&self, dir: &Path) -> Result<(), Failure> {
        let image = sized(dir, &format!("{}.img", self.name), self.mib << 20)?;
        let tree = tempfile::tempdir_in(dir).map_err(about(dir.display()))?;
        output(Command::new("sh").current_dir(&tree).args(["-c", TREE, "sh", &self.block.to_string()]))?;
        self.fill(dir, tree.path())?;
        if let Some(alias) = self.alias {
            let device = dir.join(format!("{}.device", self.name));
            stand_for(&device, &tree.path().join(alias))?;
            compress(&device)?;
        }
        let mut tell = Command::new(built("guest-manifest")?);
        let text = dir.join(format!("{}.tree.jsonl", self.name));
        fs::write(&text, output(tell.arg(tree.path()))?).map_err(about(text.display()))?;
        compress(&text)?;
        compress(&image)
    }

    /// Formats and fills.
    fn fill(&self, dir: &Path, tree: &Path) -> Result<(), Failure> {
        let image = format!("{}.img", self.name);
        let mut format = Command::new(installed("mkfs.f2fs")?);
        format.current_dir(dir).args(["-q", "-f", "-r", "-U", UUID, "-T", &TIME.to_string()]);
        format.args(["-b", &self.block.to_string()]);
        if !self.features.is_empty() {
            format.args(["-O", self.features]);
        }
        if let Some(alias) = self.alias {
            sized(dir, &format!("{}.device", self.name), DEVICE_BYTES)?;
            format.args(["-c", &format!("{}.device@{alias}", self.name)]);
        }
        output(format.arg(&image))?;
        let mut load = Command::new(installed("sload.f2fs")?);
        load.current_dir(dir).arg("-f").arg(tree).args(["-T", &TIME.to_string()]).arg(&image);
        // It ends with a check, repairs its own checksums of inodes, and calls that a failure: the next check decides.
        load.output().map_err(about("sload.f2fs"))?;
        output(Command::new(installed("fsck.f2fs")?).current_dir(dir).args(["--dry-run", &image])).map(drop)
    }
}

/// An empty file of some bytes.
fn sized(dir: &Path, name: &str, bytes: u64) -> Result<PathBuf, Failure> {
    let path = dir.join(name);
    File::create(&path).and_then(|file| file.set_len(bytes)).map_err(about(path.display()))?;
    Ok(path)
}

/// Writes to a device, and makes a file as the one in the volume that stands for it.
fn stand_for(device: &Path, alias: &Path) -> Result<(), Failure> {
    let content: Vec<u8> = (0..DEVICE_BYTES / 8).flat_map(|word| (word / 512).to_le_bytes()).collect();
    fs::write(device, &content).map_err(about(device.display()))?;
    fs::write(alias, &content).map_err(about(alias.display()))?;
    fs::set_permissions(alias, Permissions::from_mode(0o700)).map_err(about(alias.display()))?;
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(TIME);
    let set = |path: &Path| File::open(path).and_then(|file| file.set_modified(time));
    [alias, alias.parent().unwrap_or(alias)].into_iter().try_for_each(set).map_err(about(alias.display()))
}
