//! Programs for a guest: our own and this machine's, with their libraries.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{Failure, output};

/// The place of administrators' programs, whatever the caller's `PATH`.
const SYSTEM: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Finds a program of this machine.
pub fn installed(name: &str) -> Result<PathBuf, Failure> {
    let path = env::var_os("PATH").unwrap_or_default();
    let dirs = env::split_paths(&path).chain(SYSTEM.map(PathBuf::from));
    let found = dirs.map(|dir| dir.join(name)).find(|path| path.is_file());
    found.ok_or_else(|| format!("no {name} here; run scripts/setup.sh test as root").into())
}

/// Builds a binary of this workspace, if it is not up to date, and returns its place. Nothing is downloaded, and after
/// `make test` has built everything, nothing is left to build: the profile is that of tests, and because a test is
/// named, too, the features of dependencies are those of tests.
pub fn built(binary: &str) -> Result<PathBuf, Failure> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
    let mut build = Command::new(cargo);
    build.args(["build", "--offline", "--locked", "--workspace", "--profile", "test", "--bin", binary]);
    build.args(["--test", "guests"]);
    build.arg("--message-format=json-render-diagnostics").arg("--manifest-path").arg(manifest);
    let messages = output(&mut build)?;
    let messages = String::from_utf8_lossy(&messages);
    let place = messages.lines().filter_map(executable).find(|place| place.ends_with(binary));
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
