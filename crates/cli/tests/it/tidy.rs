//! The rules of the house that a compiler does not check.

mod ceilings;
mod circles;
mod parts;
mod types;
mod words;

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    thread,
};

use ceilings::{CALLING, CIRCLES, DOCUMENTS, FIELDS, HEADS, LONG, RELATIVES, WIDE, WORDS};
use parts::Parts;
use words::Count;

/// Lines a source file may have.
const LINES: usize = 800;

/// The crates of the house that each may stand on. An arrow that is not here is a question to be asked.
const ARROWS: &[(&str, &[&str])] = &[
    ("media", &[]),
    ("ecc", &[]),
    ("cleaning", &[]),
    ("vfs", &[]),
    ("flashlog", &["media", "ecc"]),
    ("nandfs", &["media", "cleaning", "vfs", "flashlog"]),
    ("ftl", &["media", "cleaning", "flashlog"]),
    ("f2fs", &["media", "cleaning", "vfs"]),
    ("common", &["media", "vfs"]),
    ("scaleffs", &["common", "media", "vfs", "flashlog"]),
    ("cffs", &["common", "media", "vfs"]),
    ("rcffs", &["common", "ecc", "media", "vfs"]),
    ("fuse", &["vfs"]),
    ("lab", &["cleaning", "media", "vfs", "nandfs", "ftl", "scaleffs", "cffs", "rcffs", "f2fs"]),
    (
        "cli",
        &[
            "media", "ecc", "cleaning", "vfs", "flashlog", "nandfs", "scaleffs", "cffs", "rcffs", "ftl",
            "f2fs", "fuse", "lab",
        ],
    ),
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

/// The directories of all crates; the papers' own file systems have one of their own.
fn crates() -> Vec<PathBuf> {
    let below = |directory: &str| {
        let entries = fs::read_dir(root().join(directory)).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
    };
    let mut all = below("crates");
    all.retain(|path| !path.ends_with("papers"));
    all.extend(below("crates/papers"));
    all
}

/// A crate's name, and its sources: paths below `src`, with their texts.
type Sources = (String, Vec<(String, String)>);

/// The sources of each crate, those of tests and tools, too.
fn all_crates() -> impl Iterator<Item = Sources> {
    let tools = files(&root().join("xtask"), "Cargo.toml");
    let tools = tools.into_iter().map(|(path, _)| path.parent().unwrap().to_owned());
    sources_of(crates().into_iter().chain(tools))
}

fn sources_of(crates: impl Iterator<Item = PathBuf>) -> impl Iterator<Item = Sources> {
    crates.map(|path| {
        let source = path.join("src");
        let below = |path: &Path| path.strip_prefix(&source).unwrap().to_string_lossy().into_owned();
        let texts = files(&source, ".rs").into_iter().map(|(path, text)| (below(&path), text)).collect();
        (path.file_name().unwrap().to_string_lossy().into_owned(), texts)
    })
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
    let is_library = |path: &Path| !path.ends_with("cli");
    let mut found = Vec::new();
    for (name, texts) in sources_of(crates().into_iter().filter(|path| is_library(path))) {
        found.extend(prints(&texts).map(|line| format!("{name}: {line}")));
    }
    none(&found);
}

/// The lines of code that print, with their files.
fn prints(texts: &[(String, String)]) -> impl Iterator<Item = String> {
    let code = circles::Crate::read(texts).into_code();
    code.flat_map(|(path, text)| {
        let lines = text.lines().filter(|line| line.contains("println!(") || line.contains("print!("));
        lines.map(|line| format!("{path}: {}", line.trim())).collect::<Vec<_>>()
    })
}

#[test]
fn what_prints_is_found() {
    let of = |text: &str| prints(&[("a.rs".to_owned(), text.to_owned())]).count();
    assert_eq!(of("fn a() { println!(\"a\"); }\nfn b() {\n    std::eprint!(\"b\");\n}"), 2);
    assert_eq!(
        of("//! println!()\nfn a() {} // print!()\n#[cfg(test)]\nmod tests { fn b() { println!() } }"),
        0
    );
}

/// The crates of the house that a manifest depends on, leaving out those for its tests.
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
    let mut names = BTreeSet::new();
    for path in crates() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let manifest = fs::read_to_string(path.join("Cargo.toml")).unwrap();
        let allowed = ARROWS.iter().find(|(crate_name, _)| *crate_name == name);
        let (_, allowed) = allowed.unwrap_or_else(|| panic!("{name} is a new room: give it its arrows here"));
        for needed in depends_on(&manifest) {
            assert!(allowed.contains(&needed.as_str()), "{name} must not stand on {needed}");
        }
        names.insert(name);
    }
    for (name, _) in ARROWS {
        assert!(names.contains(*name), "{name} is not there any more");
    }
}

/// Each can be found, and begins with a program that runs.
#[test]
fn every_crate_introduces_itself() {
    for path in crates() {
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

#[test]
fn files_do_not_import_each_other_in_circles() {
    let known: BTreeSet<(String, Vec<String>)> = CIRCLES
        .iter()
        .map(|(name, circle)| ((*name).to_owned(), circle.iter().map(|file| (*file).to_owned()).collect()))
        .collect();
    let mut found = BTreeSet::new();
    for (name, texts) in all_crates() {
        found.extend(circles::circles(&texts).into_iter().map(|circle| (name.clone(), circle)));
    }
    let new = found.difference(&known).map(|(name, circle)| format!("{name}: a circle of {circle:?}"));
    let gone = known.difference(&found).map(|(name, circle)| {
        format!("{name}: {circle:?} is no circle as it stands in the list: shorten the list")
    });
    none(&new.chain(gone).collect::<Vec<_>>());
}

#[test]
fn circles_are_found() {
    let of = |files: &[(&str, &str)]| {
        let files: Vec<_> =
            files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        circles::circles(&files)
    };
    let both =
        |a: &str, b: &str| -> BTreeSet<Vec<String>> { [vec![format!("{a}.rs"), format!("{b}.rs")]].into() };
    let none = BTreeSet::new();
    assert_eq!(of(&[("a.rs", "use crate::b::B;"), ("b.rs", "use crate::a::A;")]), both("a", "b"));
    assert_eq!(
        of(&[("a.rs", "use crate::{b::B, c::{C, D}};"), ("b.rs", "fn b() { crate::a::a() }")]),
        both("a", "b")
    );
    assert_eq!(of(&[("a.rs", "use crate::b::B;"), ("b.rs", "// use crate::a::A;")]), none);
    assert_eq!(
        of(&[("a.rs", "use crate::b::B;"), ("b.rs", "\n#[cfg(test)]\nmod tests { use crate::a::A; }")]),
        none
    );
    assert_eq!(
        of(&[
            ("a.rs", "//! A.\n#[cfg(test)]\nmod tests;\nuse crate::b::B;"),
            ("a/tests.rs", "use crate::b::B;"),
            ("b.rs", "\n#[cfg(test)]\nmod tests;\nuse crate::a::A;"),
            ("b/tests.rs", "use super::*;")
        ]),
        both("a", "b")
    );
    // A name that the root passes on belongs to the file that has it.
    let root = ("lib.rs", "mod a;\nmod b;\npub use a::{A, X as Y};\npub use b::B;");
    assert_eq!(of(&[root, ("a.rs", "use crate::B;"), ("b.rs", "use crate::Y;")]), both("a", "b"));
    assert_eq!(of(&[root, ("a.rs", "use crate::B;"), ("b.rs", "use crate::B;")]), none);
    // A module and its submodules: only the way up is an import.
    assert_eq!(of(&[("a/mod.rs", "mod b;\nfn a() { b::b() }"), ("a/b.rs", "use super::A;")]), none);
    let above = of(&[("a/mod.rs", "use crate::a::b::B;"), ("a/b.rs", "use super::A;")]);
    assert_eq!(above, [["a/b.rs", "a/mod.rs"].map(str::to_owned).to_vec()].into());
    let far = of(&[
        ("a.rs", "use crate::b::B;"),
        ("b.rs", "use crate::c::C;"),
        ("c.rs", "pub(crate) use crate::a::A;"),
    ]);
    assert!(far.contains(["a.rs", "b.rs", "c.rs"].map(str::to_owned).as_slice()));
    // Rooms may be in a circle where no file is.
    let rooms = of(&[("a/b.rs", "use crate::c::D;"), ("c.rs", "use crate::a::e::E;"), ("a/e.rs", "")]);
    assert_eq!(rooms, [["a", "c.rs"].map(str::to_owned).to_vec()].into());
}

/// The fault of a figure that may only fall; a figure without a ceiling must be 0.
fn over(what: &str, figure: usize, ceiling: usize) -> Option<String> {
    match figure.cmp(&ceiling) {
        Ordering::Greater => Some(format!("{what}: {figure} files, {ceiling} at most")),
        Ordering::Less => Some(format!("{what}: {figure} files, the ceiling is {ceiling}: lower it")),
        Ordering::Equal => None,
    }
}

#[test]
fn files_share_few_parts() {
    let (mut circles, mut wide) = (BTreeMap::new(), BTreeMap::new());
    thread::scope(|scope| {
        let read = all_crates().map(|(name, texts)| (name, scope.spawn(move || Parts::read(&texts))));
        for (name, parts) in read.collect::<Vec<_>>() {
            let parts = parts.join().unwrap();
            circles.insert(name.clone(), parts.largest_circle());
            for (of, files) in parts.wide(FIELDS) {
                *wide.entry(format!("{name}: {of}")).or_default() += files;
            }
        }
    });
    let mut known: BTreeMap<String, usize> =
        WIDE.iter().map(|(name, of, files)| (format!("{name}: {of}"), *files)).collect();
    let mut offences = Vec::new();
    for (name, largest) in circles {
        let ceiling = CALLING.iter().find(|(of, _)| *of == name).map_or(0, |(_, files)| *files);
        offences.extend(over(&format!("{name}: the largest circle of calls and imports"), largest, ceiling));
    }
    for (of, files) in wide {
        match known.remove(&of) {
            Some(ceiling) => offences.extend(over(&format!("{of}: who touches its fields"), files, ceiling)),
            None => offences
                .push(format!("{of} has more than {FIELDS} fields, {files} files touch them: divide it")),
        }
    }
    offences.extend(
        known.into_keys().map(|of| format!("{of} has no more than {FIELDS} fields: shorten the list")),
    );
    none(&offences);
}

#[test]
fn parts_that_are_shared_are_found() {
    let of = |files: &[(&str, &str)]| {
        let files: Vec<_> =
            files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        Parts::read(&files)
    };
    let calls = |a: &str, b: &str| {
        let first = format!("pub struct T<N> {{ n: N }}\nimpl<N> T<N> {{ fn a(&self) {{ {a} }} }}");
        let second = format!("use crate::a::T;\nimpl<M> T<M> {{ fn b(&self) {{ {b} }} }}");
        of(&[("a.rs", &first), ("b.rs", &second)]).largest_circle()
    };
    assert_eq!(calls("self.b()", ""), 2);
    assert_eq!(calls("(0..9).for_each(|_| self.b())", ""), 2);
    assert_eq!(calls("assert!(Self::b(self), \"no\")", ""), 2);
    assert_eq!(calls("T::b(self)", ""), 2);
    assert_eq!(calls("self.a()", "self.b()"), 0);
    assert_eq!(calls("let other = U; other.b()", "self.a()"), 0);
    let touch = |text: &str| {
        let all = of(&[
            ("a.rs", "pub struct T { x: u8, y: Option<Box<U>> }\npub struct U { z: u8 }"),
            ("b.rs", text),
        ]);
        all.wide(0).map(|(name, files)| (name.to_owned(), files)).collect::<Vec<_>>()
    };
    let are = |t, u| vec![("T".to_owned(), t), ("U".to_owned(), u)];
    assert_eq!(touch("use crate::a::T;\nimpl T { fn f(&mut self) { self.x = 1 } }"), are(1, 0));
    assert_eq!(touch("use crate::a::T;\nfn f(t: &mut [T]) -> u8 { t[1].y.as_ref().unwrap().z }"), are(1, 1));
    assert_eq!(touch("use crate::a::T;\nfn f(t: &T) { if let Some(u) = &t.y { g(u.z) } }"), are(1, 1));
    assert_eq!(touch("use crate::a::T;\nfn f(t: &[T]) { t.iter().map(|t| t.x).sum() }"), are(1, 0));
    assert_eq!(touch("use crate::a::U as V;\nfn f() -> V { V { z: 1 } }"), are(0, 1));
    assert_eq!(touch("use crate::a::T;\nfn f(T { x, .. }: &T) -> u8 { *x }"), are(1, 0));
    assert_eq!(touch("struct T { x: u8 }\nfn f(t: &T) -> u8 { t.x }").len(), 3);
    assert_eq!(touch("use other::T;\nfn f(t: &T) -> u8 { t.x }"), are(0, 0));
    assert_eq!(touch("#[cfg(test)]\nmod tests { use crate::a::U; fn f(u: &U) -> u8 { u.z } }"), are(0, 0));
}

/// The fault of a share or a count of words. Between the goal and the ceiling there is some room, as others write, too.
fn over_with_room(of: &str, figure: usize, ceiling: usize, goal: usize) -> Option<String> {
    let room = ceiling.div_ceil(4);
    if figure > ceiling {
        return Some(format!("{of}: {figure}, {ceiling} at most"));
    }
    let is_low = figure + room < ceiling && goal < ceiling;
    is_low.then(|| format!("{of}: {figure}, the ceiling is {ceiling}: lower it"))
}

fn long_ones(path: &Path, count: &Count) -> Vec<String> {
    let line = |(line, words): &(usize, usize)| format!("{}:{line}: {words} words", path.display());
    count.long.iter().map(line).collect()
}

#[test]
fn comments_begin_with_their_subject() {
    let mut counts: BTreeMap<String, (Count, Vec<String>)> = BTreeMap::new();
    let mut names: Vec<_> = crates();
    names.push(root().join("xtask"));
    for path in names {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let (all, long) = counts.entry(name).or_default();
        for (path, text) in files(&path, ".rs") {
            let count = Count::of_source(&text);
            long.extend(long_ones(&path, &count));
            *all += count;
        }
    }
    let mut offences = Vec::new();
    for (name, (count, long)) in &counts {
        let (heads, relatives) = count.shares();
        let ceilings = WORDS.iter().find(|(of, ..)| of == name);
        let (_, most_heads, most_relatives, most_long) =
            ceilings.unwrap_or_else(|| panic!("{name} has no ceilings of words"));
        let of = |what: &str| format!("{name}: {what}");
        let thousand = "in a thousand doc comments, those that begin with a relative or a preposition";
        offences.extend(over_with_room(&of(thousand), heads, *most_heads, HEADS));
        let thousand = "in a thousand clauses of doc comments, those with what, who, whose";
        offences.extend(over_with_room(&of(thousand), relatives, *most_relatives, RELATIVES));
        let long = format!("sentences of more than {} words:\n{}", words::LONGEST, long.join("\n"));
        offences.extend(over_with_room(&of(&long), count.long.len(), *most_long, 0));
    }
    none(&offences);
}

#[test]
fn documents_are_short() {
    let mut all = files(&root().join("docs"), ".md");
    all.push((root().join("README.md"), fs::read_to_string(root().join("README.md")).unwrap()));
    let words: usize = all.iter().map(|(_, text)| text.split_whitespace().count()).sum();
    assert!(words <= DOCUMENTS, "{words} words in README and docs, {DOCUMENTS} at most");
}

#[test]
fn sentences_of_documents_are_short() {
    let mut all = files(&root().join("docs"), ".md");
    for name in ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"] {
        let path = root().join(name);
        let text = fs::read_to_string(&path).unwrap();
        all.push((path, text));
    }
    let mut offences = Vec::new();
    for (path, text) in all {
        let count = Count::of_document(&text);
        let name = path.file_name().unwrap().to_string_lossy();
        let ceiling = LONG.iter().find(|(of, _)| *of == name).map_or(0, |(_, most)| *most);
        let long = format!("{name}: long sentences:\n{}", long_ones(&path, &count).join("\n"));
        offences.extend(over_with_room(&long, count.long.len(), ceiling, 0));
    }
    none(&offences);
}
