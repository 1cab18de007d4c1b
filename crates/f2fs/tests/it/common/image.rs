//! The volumes: found, decompressed, opened. Those of this repository are in `tests/images`; others that Linux wrote are
//! looked for in the folder that `PUMICE_GOLDEN` names, otherwise in `../shared/golden` beside the checkout.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, OnceLock},
};

use pumice_f2fs::{F2fs, MountOptions, Nodes, Volume, crypt::Keyring};
use pumice_knobs::GOLDEN;
use pumice_media::{FileDisk, ReadAt};
use pumice_vfs::Timestamp;

/// The well-known volumes that are not in this repository.
pub(crate) const VOLUMES: [&str; 10] = [
    "g01-basic",
    "g02-allfeat",
    "g03-inline",
    "g05-deep",
    "g06-compress",
    "g08-crash-rollfwd",
    "g09-crash-orphan",
    "g11-quota",
    "g12-casefold",
    "g13-encrypt",
];

/// This repository's own volume of the kind of each.
const KINDS: [(&str, &str); 10] = [
    ("g01-basic", "basic"),
    ("g02-allfeat", "features"),
    ("g03-inline", "xattrs"),
    ("g05-deep", "fragmented"),
    ("g06-compress", "compress"),
    ("g08-crash-rollfwd", "crash-fsync"),
    ("g09-crash-orphan", "crash-orphan"),
    ("g11-quota", "quota"),
    ("g12-casefold", "casefold"),
    ("g13-encrypt", "encrypt"),
];

/// A volume, decompressed.
pub(crate) struct Golden {
    folder: PathBuf,
    name: String,
    /// Its devices, in the order of the super block.
    devices: Vec<PathBuf>,
}

/// The place of volumes that are not in this repository.
fn others() -> PathBuf {
    GOLDEN
        .text()
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/golden"), PathBuf::from)
}

fn own() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/images")
}

/// The beginnings of all names in a folder that end so, sorted.
fn names(folder: &Path, ending: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter_map(|name| name.strip_suffix(ending).map(str::to_owned)).collect();
    names.sort();
    names
}

/// Decompresses a file, which may have a larger window than usual, to a place of this program's own; once.
fn unpacked(packed: &Path) -> PathBuf {
    static DIR: OnceLock<tempfile::TempDir> = OnceLock::new();
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let dir = DIR.get_or_init(|| tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()).path();
    let to = dir.join(packed.file_stem().unwrap());
    let _locked = ONE_AT_A_TIME.lock().unwrap();
    if !to.exists() {
        let mut zstd = Command::new("zstd");
        zstd.args(["-dq", "--long=27", "--sparse", "-o"]).args([&to, packed]);
        assert!(zstd.status().expect("zstd is installed").success(), "{}", packed.display());
    }
    to
}

impl Golden {
    /// A well-known volume, or this repository's own of the same kind where it is not at hand; otherwise this
    /// repository's own of that name. For tests that need a kind and no certain files.
    pub(crate) fn of_kind(name: &str) -> Golden {
        let own = KINDS.iter().find(|(known, _)| *known == name).map_or(name, |(_, own)| own);
        Golden::packed_in(others(), name).unwrap_or_else(|| Golden::own(own))
    }

    /// A volume of this repository.
    pub(crate) fn own(name: &str) -> Golden {
        Golden::packed_in(own(), name).unwrap_or_else(|| panic!("no volume {name} in {}", own().display()))
    }

    /// The names of this repository's volumes.
    pub(crate) fn own_names() -> Vec<String> {
        names(&own(), ".img.zst")
    }

    /// The names of all other volumes that have a manifest.
    pub(crate) fn other_names() -> Vec<String> {
        names(&others(), ".manifest.jsonl.zst")
    }

    /// An image as it is.
    pub(crate) fn at(image: &Path) -> Golden {
        Golden { folder: PathBuf::new(), name: "fresh".into(), devices: vec![image.into()] }
    }

    fn packed_in(folder: PathBuf, name: &str) -> Option<Golden> {
        let packed = ["img", "device"].map(|kind| folder.join(format!("{name}.{kind}.zst")));
        let devices: Vec<_> = packed.iter().filter(|path| path.exists()).map(|path| unpacked(path)).collect();
        (!devices.is_empty()).then(|| Golden { folder, name: name.into(), devices })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The content of its first device, which is the only one of nearly all.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        fs::read(&self.devices[0]).unwrap()
    }

    pub(crate) fn disks(&self) -> Vec<Box<dyn ReadAt>> {
        let open = |path: &PathBuf| Box::new(FileDisk::open(path, 512, true).unwrap()) as Box<dyn ReadAt>;
        self.devices.iter().map(open).collect()
    }

    pub(crate) fn mount(&self, keys: Keyring, now: Timestamp) -> F2fs {
        F2fs::mount(self.disks(), MountOptions { cache_bytes: 8 << 20, keys, recover: Some(now) }).unwrap()
    }

    /// The volume at its checkpoint.
    pub(crate) fn open(&self) -> Nodes {
        Nodes::new(Volume::open(self.disks(), 8 << 20).unwrap())
    }

    /// A text that stands beside the volume; `None` if there is none of this kind.
    pub(crate) fn text(&self, kind: &str) -> Option<String> {
        let packed = self.folder.join(format!("{}.{kind}.zst", self.name));
        packed.exists().then(|| fs::read_to_string(unpacked(&packed)).unwrap())
    }
}
