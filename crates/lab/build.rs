//! Hashes the sources that decide the figures of runs, so that a record can name them, and a change elsewhere voids none.
//!
//! For each kind of run it hashes the crates that take part, their dependencies from `Cargo.lock`, and the laboratory's
//! own part; for each file of experiments, that file. A crate from a registry has no neighbours: there its version
//! stands for its sources.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Kinds of runs: the crates that take part, and the laboratory's rooms and files that do.
const KINDS: [(&str, &[&str], &[&str]); 8] = [
    ("SIMULATOR", &["cleaning", "media"], &["run", "module", "trace", "workload"]),
    ("SCALEFFS", &["scaleffs"], &["on_chip", "files", "measured", "medium.rs"]),
    ("CFFS", &["cffs"], &["on_chip", "files", "measured", "medium.rs"]),
    ("RCFFS", &["rcffs"], &["on_chip", "files", "measured", "medium.rs"]),
    ("NANDFS", &["nandfs"], &["on_chip", "files", "measured", "medium.rs"]),
    ("DISK", &["f2fs"], &["on_disk", "files", "measured", "disk.rs", "requests.rs", "medium.rs"]),
    ("SERVER", &["ftl", "cleaning"], &["on_server.rs", "measured", "medium.rs"]),
    (
        "STACK",
        &["f2fs", "ftl"],
        &["on_stack.rs", "on_disk", "files", "measured", "disk.rs", "requests.rs", "trace", "medium.rs"],
    ),
];

/// The words by which a file defines experiments.
const DEFINES: &str = ": Experiment<'static> = Experiment {";

/// The beginning of the line with an experiment's name.
const NAMES: &str = "    name: \"";

/// The file of rules that experiments of several files share.
const SHARED: &str = "scheme";

fn main() -> Outcome<()> {
    let lab = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("no CARGO_MANIFEST_DIR")?);
    let mut all = Crates { beside: lab.join(".."), versions: versions(&lab)?, known: BTreeMap::new() };
    // The laboratory's own draw random numbers and run modules.
    let (outside, _) = all.dependencies(&lab)?;
    for (kind, crates, own) in KINDS {
        let mut names = BTreeSet::new();
        for name in crates {
            all.reach(name, &mut names)?;
        }
        let mut digest = Sha256::new();
        for name in &names {
            let known = all.known.get(name).ok_or("a crate that was not read")?;
            digest.update(format!("{name} {}\n", known.hash));
        }
        for part in own {
            hash(&lab.join("src").join(part), &mut digest)?;
        }
        digest.update(&outside);
        println!("cargo:rustc-env=SOURCES_OF_{kind}={}", short(digest));
    }
    println!("cargo:rustc-env=SOURCES_OF_EXPERIMENTS={}", experiments(&lab.join("src/experiment"))?);
    Ok(())
}

/// `FILE=HASH` of each file of experiments, with the rules that they share. An experiment's first word is its file, so
/// that one without a file is a user's.
fn experiments(dir: &Path) -> Outcome<String> {
    println!("cargo:rerun-if-changed={}", dir.display());
    let shared = fs::read(dir.join(SHARED).with_extension("rs"))?;
    let mut found = Vec::new();
    for path in entries(dir)? {
        if let Some(stem) = path.file_stem().and_then(|stem| stem.to_str())
            && path.extension().is_some_and(|kind| kind == "rs")
        {
            let text = fs::read(&path)?;
            let source = String::from_utf8_lossy(&text);
            if source.contains(DEFINES) {
                let mut names =
                    source.lines().filter_map(|line| line.strip_prefix(NAMES)?.strip_suffix("\","));
                if let Some(name) = names.find(|name| name.split('-').next() != Some(stem)) {
                    return Err(
                        format!("{name} stands in {stem}.rs, not in the file of its first word").into()
                    );
                }
                let digest = Sha256::new().chain_update(text).chain_update(&shared);
                found.push(format!("{stem}={}", short(digest)));
            }
        }
    }
    Ok(found.join(";"))
}

/// Crates of the workspace, by name without `pumice-`.
struct Crates {
    beside: PathBuf,
    /// The versions of all dependencies, by name.
    versions: BTreeMap<String, String>,
    known: BTreeMap<String, Crate>,
}

struct Crate {
    hash: String,
    needs: Vec<String>,
}

impl Crates {
    /// Adds a crate and all that it needs to `names`.
    fn reach(&mut self, name: &str, names: &mut BTreeSet<String>) -> Outcome<()> {
        if !names.insert(name.to_owned()) {
            return Ok(());
        }
        let needs = if let Some(known) = self.known.get(name) {
            known.needs.clone()
        } else {
            let read = self.read(name)?;
            let needs = read.needs.clone();
            self.known.insert(name.to_owned(), read);
            needs
        };
        needs.iter().try_for_each(|need| self.reach(need, names))
    }

    fn read(&self, name: &str) -> Outcome<Crate> {
        let dirs = [self.beside.join(name), self.beside.join("papers").join(name)];
        let Some(dir) = dirs.iter().find(|dir| dir.join("Cargo.toml").is_file()) else {
            let version = env::var("CARGO_PKG_VERSION")?;
            return Ok(Crate { hash: version, needs: Vec::new() });
        };
        let (outside, needs) = self.dependencies(dir)?;
        let mut digest = Sha256::new().chain_update(outside);
        hash(&dir.join("src"), &mut digest)?;
        Ok(Crate { hash: short(digest), needs })
    }

    /// The dependencies of a crate: those outside of the house with their versions, a line each, and the crates of the
    /// house.
    fn dependencies(&self, dir: &Path) -> Outcome<(String, Vec<String>)> {
        let manifest = dir.join("Cargo.toml");
        println!("cargo:rerun-if-changed={}", manifest.display());
        let (mut outside, mut needs) = (String::new(), Vec::new());
        for dependency in dependencies(&fs::read_to_string(manifest)?) {
            if let Some(need) = dependency.strip_prefix("pumice-") {
                needs.push(need.to_owned());
            } else {
                let version = match self.versions.get(&dependency) {
                    Some(version) => version,
                    // A crate that a registry built has no lock file beside it.
                    None if self.versions.is_empty() => "",
                    None => {
                        return Err(format!("{dependency} of {} is not in Cargo.lock", dir.display()).into());
                    }
                };
                outside.extend([dependency.as_str(), " ", version, "\n"]);
            }
        }
        Ok((outside, needs))
    }
}

/// The names under `[dependencies]`.
fn dependencies(manifest: &str) -> Vec<String> {
    let section = manifest.split("\n[").find_map(|part| part.strip_prefix("dependencies]\n"));
    let name = |line: &str| line.split(['.', ' ', '=']).next().map(str::to_owned);
    let lines = section.unwrap_or_default().lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).filter_map(name).collect()
}

/// The versions of each package in the workspace's lock file.
fn versions(lab: &Path) -> Outcome<BTreeMap<String, String>> {
    let path = lab.join("../../Cargo.lock");
    println!("cargo:rerun-if-changed={}", path.display());
    let mut versions: BTreeMap<String, String> = BTreeMap::new();
    let text = if path.is_file() { fs::read_to_string(path)? } else { String::new() };
    for package in text.split("[[package]]") {
        let field = |key: &str| package.lines().find_map(|line| line.strip_prefix(key)).map(str::to_owned);
        if let (Some(name), Some(version)) = (field("name = "), field("version = ")) {
            *versions.entry(name.trim_matches('"').to_owned()).or_default() += &version;
        }
    }
    Ok(versions)
}

/// Adds a file, or all Rust files below a directory but those of tests.
fn hash(path: &Path, digest: &mut Sha256) -> Outcome<()> {
    println!("cargo:rerun-if-changed={}", path.display());
    if path.is_file() {
        let bytes = fs::read(path)?;
        digest.update(format!("{}\n", bytes.len()));
        digest.update(bytes);
        return Ok(());
    }
    for path in entries(path)? {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let name = stem.ok_or_else(|| format!("{}: its name is no text", path.display()))?;
        let is_source = path.is_dir() || path.extension().is_some_and(|kind| kind == "rs");
        if is_source && name != "tests" {
            digest.update(format!("{name}\n"));
            hash(&path, digest)?;
        }
    }
    Ok(())
}

/// The entries of a directory by name.
fn entries(dir: &Path) -> Outcome<Vec<PathBuf>> {
    let entries = fs::read_dir(dir)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = entries.collect::<Result<Vec<_>, _>>()?;
    paths.sort();
    Ok(paths)
}

/// The first 16 digits of a hash, in hexadecimal.
fn short(digest: Sha256) -> String {
    let bytes = digest.finalize();
    bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}
