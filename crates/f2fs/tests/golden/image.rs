//! The volumes: found, decompressed, mounted.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, OnceLock},
};

use pumice_f2fs::{F2fs, MountOptions, OpenOptions, Volume, crypt::Keyring};
use pumice_media::FileDisk;
use pumice_vfs::Timestamp;

use crate::manifest::{self, Record};

/// A volume, decompressed.
pub(crate) struct Golden {
    folder: PathBuf,
    name: String,
    image: PathBuf,
}

pub(crate) fn folder() -> PathBuf {
    std::env::var_os("PUMICE_GOLDEN")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/golden"), PathBuf::from)
}

fn unpacked() -> &'static Path {
    static DIR: OnceLock<tempfile::TempDir> = OnceLock::new();
    DIR.get_or_init(|| tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()).path()
}

/// Decompresses a file, whose window may be larger than usual.
fn decompress(from: &Path) -> Vec<u8> {
    let output =
        Command::new("zstd").args(["-dcq", "--long=27"]).arg(from).output().expect("zstd is installed");
    assert!(output.status.success(), "{}: {}", from.display(), String::from_utf8_lossy(&output.stderr));
    output.stdout
}

impl Golden {
    /// A volume by its name; `None`, and a loud line, if it is not there.
    pub(crate) fn find(name: &str) -> Option<Golden> {
        static UNPACKING: Mutex<()> = Mutex::new(());
        let folder = folder();
        let packed = folder.join(format!("{name}.img.zst"));
        if !packed.exists() {
            eprintln!("SKIPPED: {name}: no volume at {}", packed.display());
            return None;
        }
        let image = unpacked().join(format!("{name}.img"));
        let _one_at_a_time = UNPACKING.lock().unwrap();
        if !image.exists() {
            let status = Command::new("zstd")
                .args(["-dq", "--long=27", "--sparse", "-o"])
                .args([&image, &packed])
                .status()
                .expect("zstd is installed");
            assert!(status.success());
        }
        Some(Golden { folder, name: name.into(), image })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.image
    }

    pub(crate) fn mount(&self, keys: Keyring, now: Timestamp) -> F2fs {
        let disk = FileDisk::open(&self.image, 512, true).unwrap();
        F2fs::mount(vec![Box::new(disk)], MountOptions { cache_bytes: 8 << 20, keys, recover: Some(now) })
            .unwrap()
    }

    /// The volume at its checkpoint.
    pub(crate) fn open(&self) -> Volume {
        let disk = FileDisk::open(&self.image, 512, true).unwrap();
        let options = OpenOptions { cache_bytes: 8 << 20, keys: Keyring::default() };
        Volume::open(vec![Box::new(disk)], options).unwrap()
    }

    pub(crate) fn manifest(&self, which: &str) -> BTreeMap<String, Record> {
        let bytes = decompress(&self.folder.join(format!("{}.{which}.zst", self.name)));
        manifest::parse(&String::from_utf8(bytes).unwrap())
    }
}
