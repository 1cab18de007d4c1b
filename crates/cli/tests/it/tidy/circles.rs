//! Circles of files within a crate: files that import each other, directly or by way of others.
//!
//! An import is a path that begins with `crate::` or `super::`, wherever it stands; a name passed on with `pub use`
//! counts as an import of the file that has it. That a file declares its submodules and calls them is no import, and
//! unit tests at the end of a file may import anything.

use std::collections::{BTreeMap, BTreeSet};

/// A module within its crate: `[]` is the root.
type Module = Vec<String>;

/// The files of a crate by the module that each is, without comments and unit tests.
pub(crate) struct Crate {
    paths: BTreeMap<Module, String>,
    texts: BTreeMap<Module, String>,
    /// The paths that a module passes on, by the names it gives them.
    exports: BTreeMap<(Module, String), Vec<String>>,
}

/// The imports of each file, by name.
pub(crate) type Arrows = BTreeMap<String, BTreeSet<String>>;

/// The circles of a crate, each in order: among its files, and among its rooms. A room lies right below `src`: a file
/// and the directory of its name with all in it. `files` are paths below `src`, with their texts.
pub(crate) fn circles(files: &[(String, String)]) -> BTreeSet<Vec<String>> {
    let code = Crate::read(files);
    let names = &code.paths;
    let (mut by_file, mut by_room) = (Arrows::new(), Arrows::new());
    for (module, text) in &code.texts {
        let imports = code.imports(module, text);
        let file = by_file.entry(names[module].clone()).or_default();
        file.extend(imports.iter().map(|other| names[other].clone()));
        // The root has no room of its own.
        if !module.is_empty() {
            let own = code.room(module);
            let others = imports.iter().filter(|other| !other.is_empty()).map(|other| code.room(other));
            let others: BTreeSet<String> = others.filter(|other| *other != own).collect();
            by_room.entry(own).or_default().extend(others);
        }
    }
    among(&by_file).chain(among(&by_room)).collect()
}

/// All circles.
pub(crate) fn among(arrows: &Arrows) -> impl Iterator<Item = Vec<String>> + '_ {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        arrows.keys().map(|start| (start, reachable(start, arrows))).collect();
    let circles = arrows.keys().map(move |start| -> Vec<String> {
        reached[start]
            .iter()
            .filter(|other| reached[**other].contains(start))
            .map(|other| (*other).clone())
            .collect()
    });
    circles.filter(|circle| circle.len() > 1)
}

/// Everyone to whom imports lead.
fn reachable<'a>(start: &String, arrows: &'a Arrows) -> BTreeSet<&'a String> {
    let mut seen = BTreeSet::new();
    let mut pending = vec![start];
    while let Some(from) = pending.pop() {
        for next in &arrows[from] {
            if seen.insert(next) {
                pending.push(next);
            }
        }
    }
    seen
}

/// The module that a file is.
fn module(path: &str) -> Module {
    let mut parts: Module = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| last == "mod") || ["lib", "main"].contains(&parts.join("/").as_str()) {
        parts.pop();
    }
    parts
}

/// A file without comments and without the unit tests at its end.
fn code(text: &str) -> String {
    let end = tests(text).find(|(_, _, rest)| rest.starts_with(" {")).map_or(text.len(), |(at, ..)| at);
    let lines = text[..end].lines().map(|line| line.split("//").next().unwrap_or(""));
    lines.collect::<Vec<_>>().join("\n")
}

/// The modules of unit tests in a file: the beginning of each, its name, and the text behind it.
fn tests(text: &str) -> impl Iterator<Item = (usize, &str, &str)> {
    let start = "\n#[cfg(test)]\nmod ";
    text.match_indices(start).map(move |(at, _)| {
        let (name, rest) = word(&text[at + start.len()..]);
        (at, name, rest)
    })
}

/// The word at the start of a text, and the rest.
fn word(text: &str) -> (&str, &str) {
    let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len());
    text.split_at(end)
}

impl Crate {
    pub(crate) fn read(files: &[(String, String)]) -> Crate {
        let declared = files.iter().flat_map(|(path, text)| {
            let files = tests(text).filter(|(_, _, rest)| rest.starts_with(';'));
            files.map(|(_, name, _)| [module(path), vec![name.to_owned()]].concat())
        });
        let declared: Vec<Module> = declared.collect();
        let is_test = |module: &Module| declared.iter().any(|test| module.starts_with(test));
        let files = files.iter().map(|(path, text)| (module(path), path, text));
        let files: Vec<_> = files.filter(|(module, ..)| !is_test(module)).collect();
        let names = files.iter().map(|(module, path, _)| (module.clone(), (*path).clone())).collect();
        let texts: BTreeMap<Module, String> =
            files.into_iter().map(|(module, _, text)| (module, code(text))).collect();
        let mut exports = BTreeMap::new();
        for (module, text) in &texts {
            for (start, _) in text.match_indices("use ").filter(|(at, _)| is_passed_on(text, *at)) {
                for (name, path) in paths(&text[start + 4..]) {
                    exports.insert((module.clone(), name), path);
                }
            }
        }
        Crate { paths: names, texts, exports }
    }

    /// The files that are more than unit tests, each with its code.
    pub(crate) fn into_code(self) -> impl Iterator<Item = (String, String)> {
        let Crate { paths, mut texts, .. } = self;
        paths.into_iter().filter_map(move |(module, path)| Some((path, texts.remove(&module)?)))
    }

    /// Whether a file is more than unit tests.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.paths.contains_key(&module(path))
    }

    /// The imports of a file with `use`, by their names there: the file where each should be, and its name in it.
    pub(crate) fn names(&self, path: &str) -> BTreeMap<String, (String, String)> {
        let module = module(path);
        let text = &self.texts[&module];
        let uses = text.match_indices("use ").filter(|(at, _)| is_line_of_use(text, *at));
        let named = uses.flat_map(|(at, _)| paths(&text[at + 4..]));
        let home = |path: &[String]| self.paths[&self.file_of(&absolute(&module, path), 0)].clone();
        named.map(|(name, path)| (name, (home(&path), path.last().unwrap().clone()))).collect()
    }

    /// The files that a file imports.
    pub(crate) fn imported(&self, path: &str) -> BTreeSet<String> {
        let module = module(path);
        let modules = self.imports(&module, &self.texts[&module]);
        modules.iter().map(|module| self.paths[module].clone()).collect()
    }

    /// The room of a file: the directory below `src` that it lies in, or that has its name; or itself.
    fn room(&self, module: &Module) -> String {
        let inside = |name: &str| {
            self.paths.values().any(|path| path.split_once('/').is_some_and(|(room, _)| room == name))
        };
        let name = &module[0];
        if inside(name) { name.clone() } else { self.paths[module].clone() }
    }

    /// The modules in the files that a file imports.
    fn imports(&self, module: &Module, text: &str) -> BTreeSet<Module> {
        let starts = ["crate::", "super::"].into_iter().flat_map(|word| text.match_indices(word));
        let starts = starts.filter(|(at, _)| {
            let before = text[..*at].chars().next_back();
            before.is_none_or(|letter| !letter.is_alphanumeric() && !"_$:".contains(letter))
        });
        let named = starts.flat_map(|(at, _)| paths(&text[at..]));
        let files = named.map(|(_, path)| self.file_of(&absolute(module, &path), 0));
        files.filter(|file| file != module && self.texts.contains_key(file)).collect()
    }

    /// The module with the file of the thing at a path of the crate.
    fn file_of(&self, path: &[String], depth: u32) -> Module {
        let known = (0..=path.len()).rev().find(|end| self.texts.contains_key(&path[..*end]));
        let (module, rest) = path.split_at(known.unwrap_or(0));
        let passed_on = rest.first().and_then(|name| self.exports.get(&(module.to_vec(), name.clone())));
        match passed_on {
            // A name may be passed on from module to module; no chain is longer.
            Some(path) if depth < 8 => self.file_of(&absolute(module, path), depth + 1),
            _ => module.to_vec(),
        }
    }
}

/// Whether the `use` at a place passes on its names.
fn is_passed_on(text: &str, at: usize) -> bool {
    before(text, at).starts_with("pub")
}

/// Whether a line begins with the `use` at a place.
fn is_line_of_use(text: &str, at: usize) -> bool {
    before(text, at).is_empty() || is_passed_on(text, at)
}

/// The text in a line before a place.
fn before(text: &str, at: usize) -> &str {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    text[line..at].trim_start()
}

/// A path of the crate from one that stands in a module.
fn absolute(module: &[String], path: &[String]) -> Vec<String> {
    let mut place = module.to_vec();
    let mut path = path;
    while let Some((first, rest)) = path.split_first() {
        match first.as_str() {
            "crate" => place.clear(),
            "super" => drop(place.pop()),
            "self" => {}
            _ => break,
        }
        path = rest;
    }
    place.extend_from_slice(path);
    place
}

/// All paths of a tree such as `a::{b, c::{d, e as f}}` at the start of `text`, each with the name that it gets.
fn paths(text: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    tree(text, &mut Vec::new(), &mut found);
    found
}

/// Reads one tree; returns the text behind it.
fn tree<'a>(text: &'a str, above: &mut Vec<String>, found: &mut Vec<(String, Vec<String>)>) -> &'a str {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        loop {
            rest = tree(rest, above, found).trim_start();
            match rest.strip_prefix(',') {
                Some(next) => rest = next,
                None => return rest.strip_prefix('}').unwrap_or(rest),
            }
        }
    }
    let (word, mut rest) = word(text);
    if word.is_empty() {
        return text.strip_prefix('*').unwrap_or(text);
    }
    above.push(word.to_owned());
    if let Some(next) = rest.strip_prefix("::").filter(|next| !next.starts_with('<')) {
        rest = tree(next, above, found);
    } else {
        let mut name = word;
        if let Some(next) = rest.strip_prefix(" as ") {
            (name, rest) = self::word(next);
        }
        found.push((name.to_owned(), above.clone()));
    }
    above.pop();
    rest
}
