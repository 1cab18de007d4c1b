//! The rules of the house that a compiler does not check.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Lines a source file may have.
const LINES: usize = 800;

/// Which crates of the house each may stand on. An arrow that is not here is a question to be asked.
const ARROWS: &[(&str, &[&str])] = &[
    ("media", &[]),
    ("ecc", &[]),
    ("cleaning", &[]),
    ("vfs", &[]),
    ("nandfs", &["media", "cleaning", "vfs"]),
    ("ftl", &["media", "cleaning"]),
    ("f2fs", &["media", "vfs"]),
    ("fuse", &["vfs"]),
    ("lab", &["cleaning", "media"]),
    ("cli", &["media", "cleaning", "vfs", "nandfs", "ftl", "f2fs", "fuse", "lab"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files under `dir` with an ending, but for what cargo builds.
fn files(dir: &Path, ending: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" {
                found.extend(files(&path, ending));
            }
        } else if name.ends_with(ending) {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
    found
}

fn sources() -> Vec<(PathBuf, String)> {
    let mut all = files(&root().join("crates"), ".rs");
    all.extend(files(&root().join("xtask"), ".rs"));
    assert!(all.len() > 50, "sources are looked for in the wrong place");
    all
}

#[track_caller]
fn none(offences: &[String]) {
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

#[test]
fn files_are_short() {
    let long = |(path, text): &(PathBuf, String)| {
        let lines = text.lines().count();
        (lines > LINES).then(|| format!("{}: {lines} lines, {LINES} at most", path.display()))
    };
    none(&sources().iter().filter_map(long).collect::<Vec<_>>());
}

#[test]
fn no_marks_are_left() {
    // Written so that this file does not find itself.
    let marks = ["TO\u{44}O", "FIX\u{4d}E", "XX\u{58}", "dbg\u{21}(", "todo\u{21}(", "unimplemented\u{21}("];
    let mut all = sources();
    all.extend(files(&root(), ".md"));
    let mut found = Vec::new();
    for (path, text) in all {
        for (number, line) in text.lines().enumerate() {
            if marks.iter().any(|mark| line.contains(mark)) {
                found.push(format!("{}:{}: {}", path.display(), number + 1, line.trim()));
            }
        }
    }
    none(&found);
}

#[test]
fn only_the_command_prints() {
    let library = |path: &Path| {
        let path = path.to_string_lossy();
        path.contains("/src/") && !path.contains("/crates/cli/")
    };
    let prints = |line: &str| line.contains("println!(") || line.contains("print!(");
    let mut found = Vec::new();
    for (path, text) in sources().iter().filter(|(path, _)| library(path)) {
        for (number, line) in text.lines().enumerate().filter(|(_, line)| prints(line)) {
            found.push(format!("{}:{}: {}", path.display(), number + 1, line.trim()));
        }
    }
    none(&found);
}

/// The crates of the house that a manifest depends on, leaving out what only its tests need.
fn depends_on(manifest: &str) -> BTreeSet<String> {
    let mut inside = false;
    let mut names = BTreeSet::new();
    for line in manifest.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            inside = section.trim_end_matches(']').ends_with("dependencies") && !section.starts_with("dev-");
        } else if let Some(rest) = line.strip_prefix("pumice-").filter(|_| inside) {
            let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '-').unwrap();
            names.insert(rest[..end].to_owned());
        }
    }
    names
}

#[test]
fn arrows_between_crates_run_one_way() {
    let mut crates = BTreeSet::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let manifest = fs::read_to_string(path.join("Cargo.toml")).unwrap();
        let allowed = ARROWS.iter().find(|(crate_name, _)| *crate_name == name);
        let (_, allowed) = allowed.unwrap_or_else(|| panic!("{name} is a new room: give it its arrows here"));
        for needed in depends_on(&manifest) {
            assert!(allowed.contains(&needed.as_str()), "{name} must not stand on {needed}");
        }
        crates.insert(name);
    }
    for (name, _) in ARROWS {
        assert!(crates.contains(*name), "{name} is not there any more");
    }
}

/// Each can be found, and begins with a program that runs.
#[test]
fn every_crate_introduces_itself() {
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let path = entry.unwrap().path();
        let manifest = fs::read_to_string(path.join("Cargo.toml")).unwrap();
        for field in
            ["description = ", "keywords = ", "categories = ", "readme.workspace", "version.workspace"]
        {
            assert!(manifest.lines().any(|line| line.starts_with(field)), "{}: no {field}", path.display());
        }
        if let Ok(library) = fs::read_to_string(path.join("src/lib.rs")) {
            let front = library.lines().take_while(|line| line.starts_with("//!"));
            assert!(front.filter(|line| *line == "//! ```").count() >= 2, "{}: no program", path.display());
        }
    }
}

#[test]
fn manifests_are_read_right() {
    let manifest = "[dependencies]\npumice-media.workspace = true\n[dev-dependencies]\npumice-vfs = 1\n\
                    [target.'cfg(unix)'.dependencies]\npumice-fuse = { path = \"x\" }\n[features]\npumice-no = []\n";
    assert_eq!(depends_on(manifest), ["fuse", "media"].map(String::from).into());
}

/// Crates whose rooms (files and directories right below `src`) import each other one way.
const ONE_WAY: &[&str] = &["f2fs"];

/// The rooms of its own crate that a source imports from.
fn imports(text: &str) -> BTreeSet<String> {
    let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let word = |text: &str| -> String {
        text.trim_start().chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect()
    };
    let mut rooms = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let Some(list) = rest.strip_prefix('{') else {
            rooms.insert(word(rest));
            continue;
        };
        let mut depth = 1;
        let mut at_name = true;
        for (at, letter) in list.char_indices() {
            depth += i32::from(letter == '{') - i32::from(letter == '}');
            if depth == 0 {
                break;
            }
            if at_name && letter.is_alphanumeric() {
                rooms.insert(word(&list[at..]));
                at_name = false;
            }
            at_name |= depth == 1 && letter == ',';
        }
    }
    rooms
}

#[test]
fn rooms_import_one_way() {
    for name in ONE_WAY {
        let src = root().join("crates").join(name).join("src");
        let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (path, text) in files(&src, ".rs") {
            let first = path.strip_prefix(&src).unwrap().components().next().unwrap();
            let room = first.as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned();
            arrows.entry(room).or_default().extend(imports(&text));
        }
        arrows.remove("lib");
        // Who stands on nobody that is left goes, until nobody is left.
        while !arrows.is_empty() {
            let stands = |room: &String, on: &BTreeSet<String>| {
                on.iter().any(|other| other != room && arrows.contains_key(other))
            };
            let done: Vec<_> =
                arrows.iter().filter(|(room, on)| !stands(room, on)).map(|(room, _)| room.clone()).collect();
            assert!(!done.is_empty(), "{name}: a circle among {:?}", arrows.keys().collect::<Vec<_>>());
            arrows.retain(|room, _| !done.contains(room));
        }
    }
}

#[test]
fn imports_are_read_right() {
    let text = "use crate::{\n    a::{b, C},\n    d,\n};\nuse crate::e::F;\n// crate::g\npub(crate) fn h() -> crate::i::J {}\n";
    assert_eq!(imports(text), ["a", "d", "e", "i"].map(String::from).into());
}
