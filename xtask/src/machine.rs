//! The parts of the machine: QEMU, busybox, and an unpacked kernel package.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use pumice_knobs::NO_GUESTS;

use crate::{Failure, about, installed};

/// The place where `scripts/setup.sh` unpacks the kernel's package, from the target directory.
const LINUX: &str = "tools/linux";

/// A kernel that can be booted, and the programs that boot it.
#[derive(Clone, Debug)]
pub struct Machine {
    pub(crate) qemu: PathBuf,
    pub(crate) busybox: PathBuf,
    pub(crate) kernel: PathBuf,
    /// The directory of the kernel's modules, named by its version.
    pub(crate) modules: PathBuf,
    pub(crate) version: String,
}

impl Machine {
    /// Looks for the parts; the failure says which one is missing.
    pub fn find() -> Result<Machine, Failure> {
        let qemu = installed("qemu-system-x86_64")?;
        let busybox = installed("busybox")?;
        let root = linux()?;
        let modules = only_entry(&root.join("lib/modules"))?;
        let version = modules.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let kernel = root.join("vmlinux");
        if !kernel.exists() {
            return Err(format!("no kernel at {}; run scripts/setup.sh test", kernel.display()).into());
        }
        Ok(Machine { qemu, busybox, kernel, modules, version })
    }

    /// The kernel's version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The machine for a test; `None`, with one line on stderr, where there is none or none is wanted.
    pub fn for_test() -> Option<Machine> {
        let found = match NO_GUESTS.is_set() {
            true => Err(format!("{}=1", NO_GUESTS.name).into()),
            false => Machine::find(),
        };
        found.inspect_err(skip).ok()
    }
}

/// Says past the test runner, which would keep it to itself, that a test did nothing.
fn skip(why: &Failure) {
    use std::io::Write;
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    // A closed stderr is no reason to fail.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {name}: {why}; NOTHING WAS TESTED");
}

/// The unpacked kernel, in the target directory that this program stands in.
fn linux() -> Result<PathBuf, Failure> {
    let program = env::current_exe().map_err(about("this program"))?;
    let found = program.ancestors().map(|dir| dir.join(LINUX)).find(|path| path.exists());
    found.ok_or_else(|| "no kernel is unpacked; run scripts/setup.sh test".into())
}

fn only_entry(dir: &Path) -> Result<PathBuf, Failure> {
    let mut entries = fs::read_dir(dir).map_err(about(dir.display()))?;
    let entry = entries.next().ok_or_else(|| format!("{}: empty", dir.display()))?;
    Ok(entry.map_err(about(dir.display()))?.path())
}
