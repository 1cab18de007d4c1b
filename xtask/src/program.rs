//! Programs for a guest: our own, linked statically, and this machine's with their libraries.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{Failure, output};

/// Needs nothing of the guest but its kernel.
const TARGET: &str = "x86_64-unknown-linux-musl";

/// Where administrators' programs are, whatever the `PATH` of whoever runs this.
const SYSTEM: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Finds a program of this machine.
pub fn installed(name: &str) -> Result<PathBuf, Failure> {
    let path = env::var_os("PATH").unwrap_or_default();
    let dirs = env::split_paths(&path).chain(SYSTEM.map(PathBuf::from));
    let found = dirs.map(|dir| dir.join(name)).find(|path| path.is_file());
    found.ok_or_else(|| format!("no {name} here; run scripts/setup.sh test as root").into())
}

/// Fails where nothing can be built for a guest.
pub(crate) fn needs_target() -> Result<(), Failure> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let place = output(Command::new(rustc).args(["--print", "target-libdir", "--target", TARGET]))?;
    match Path::new(String::from_utf8_lossy(&place).trim()).is_dir() {
        true => Ok(()),
        false => Err(format!("no core library of {TARGET}; run rustup target add {TARGET}").into()),
    }
}

/// Builds a binary of this workspace for a guest, if it is not up to date, and returns its place. Nothing is downloaded:
/// `scripts/setup.sh` has done that.
pub fn built(package: &str, binary: &str) -> Result<PathBuf, Failure> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
    let mut build = Command::new(cargo);
    build.args(["build", "--offline", "--locked", "--target", TARGET, "--package", package, "--bin", binary]);
    // Debugging information would only fill the guest's memory.
    build.args(["--config", "profile.dev.strip=true"]);
    build.arg("--message-format=json-render-diagnostics").arg("--manifest-path").arg(manifest);
    let messages = output(&mut build)?;
    let messages = String::from_utf8_lossy(&messages);
    let place = messages.lines().rev().find_map(executable);
    place.ok_or_else(|| format!("cargo does not say where it built {binary}").into())
}

/// The field `executable` of a message of cargo.
fn executable(message: &str) -> Option<PathBuf> {
    let (_, rest) = message.split_once("\"executable\":\"")?;
    rest.split_once('"').map(|(path, _)| PathBuf::from(path))
}

/// The libraries that a program is linked with, its loader included; none if it is linked statically.
pub(crate) fn libraries(program: &Path) -> Result<Vec<PathBuf>, Failure> {
    let listed = Command::new("ldd").arg(program).output();
    let listed = listed.map_err(crate::about("ldd"))?;
    let text = String::from_utf8_lossy(&listed.stdout);
    Ok(text.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from).collect())
}
