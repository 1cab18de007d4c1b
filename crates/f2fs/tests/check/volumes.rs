//! Where volumes come from.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// A volume that Linux wrote, decompressed; `None`, and a loud line, if it is not there. They are not part of the
/// repository: `PUMICE_GOLDEN` names their folder, otherwise it is `../shared/golden` beside the checkout.
pub(crate) fn golden(name: &str) -> Option<Vec<u8>> {
    let folder = std::env::var_os("PUMICE_GOLDEN")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/golden"), PathBuf::from);
    let packed = folder.join(format!("{name}.img.zst"));
    if !packed.exists() {
        eprintln!("SKIPPED: {name}: no volume at {}", packed.display());
        return None;
    }
    let output =
        Command::new("zstd").args(["-dcq", "--long=27"]).arg(&packed).output().expect("zstd is installed");
    assert!(output.status.success(), "{}: {}", packed.display(), String::from_utf8_lossy(&output.stderr));
    Some(output.stdout)
}
