//! Circles of files within a crate: files that import each other, directly or by way of others.
//!
//! An import is a path that begins with `crate::` or `super::`, wherever it stands; what a module passes on with `pub use`
//! counts as an import of the file that has it. That a file declares its submodules and calls them is no import, and
//! unit tests at the end of a file may import what they like.

use std::collections::{BTreeMap, BTreeSet};

/// A module within its crate: `[]` is the root.
type Module = Vec<String>;

/// The files of a crate by the module that each is, without comments and unit tests.
struct Crate {
    texts: BTreeMap<Module, String>,
    /// What a module passes on, by the name it gives it: the path that stands there.
    exports: BTreeMap<(Module, String), Vec<String>>,
}

/// Who imports whom, by name.
type Arrows = BTreeMap<String, BTreeSet<String>>;

/// The circles of a crate, each in order: among its files, and among its rooms (what lies right below `src`, a
/// directory with all in it). `files` are paths below `src`, with their texts.
pub(crate) fn circles(files: &[(String, String)]) -> BTreeSet<Vec<String>> {
    let names: BTreeMap<Module, &str> = files.iter().map(|(path, _)| (module(path), path.as_str())).collect();
    let code = Crate::read(files);
    let (mut by_file, mut by_room) = (Arrows::new(), Arrows::new());
    for (module, text) in &code.texts {
        let imports = code.imports(module, text);
        let file = by_file.entry(names[module].to_owned()).or_default();
        file.extend(imports.iter().map(|other| names[other].to_owned()));
        // The root has no room of its own.
        if !module.is_empty() {
            let own = room(names[module]);
            let others = imports.iter().filter(|other| !other.is_empty()).map(|other| room(names[other]));
            let others: BTreeSet<String> = others.filter(|other| *other != own).collect();
            by_room.entry(own).or_default().extend(others);
        }
    }
    among(&by_file).chain(among(&by_room)).collect()
}

/// The room of a file: the directory below `src` that it lies in, or itself.
fn room(path: &str) -> String {
    path.split_once('/').map_or(path, |(room, _)| room).to_owned()
}

/// All circles.
fn among(arrows: &Arrows) -> impl Iterator<Item = Vec<String>> + '_ {
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
    let end = text.find("\n#[cfg(test)]\nmod ").unwrap_or(text.len());
    let lines = text[..end].lines().map(|line| line.split("//").next().unwrap_or(""));
    lines.collect::<Vec<_>>().join("\n")
}

impl Crate {
    fn read(files: &[(String, String)]) -> Crate {
        let texts: BTreeMap<Module, String> =
            files.iter().map(|(path, text)| (module(path), code(text))).collect();
        let mut exports = BTreeMap::new();
        for (module, text) in &texts {
            for (start, _) in text.match_indices("use ").filter(|(at, _)| is_passed_on(text, *at)) {
                for (name, path) in paths(&text[start + 4..]) {
                    exports.insert((module.clone(), name), path);
                }
            }
        }
        Crate { texts, exports }
    }

    /// The modules whose files a file imports.
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

    /// The module in whose file the thing at a path of the crate stands.
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

/// Whether the `use` at a place passes on what it names.
fn is_passed_on(text: &str, at: usize) -> bool {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    text[line..at].trim_start().starts_with("pub")
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

/// Reads one tree; returns what stands behind it.
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
    let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len());
    let (word, mut rest) = text.split_at(end);
    if word.is_empty() {
        return text.strip_prefix('*').unwrap_or(text);
    }
    above.push(word.to_owned());
    if let Some(next) = rest.strip_prefix("::").filter(|next| !next.starts_with('<')) {
        rest = tree(next, above, found);
    } else {
        let mut name = word;
        if let Some(next) = rest.strip_prefix(" as ") {
            let end =
                next.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(next.len());
            (name, rest) = next.split_at(end);
        }
        found.push((name.to_owned(), above.clone()));
    }
    above.pop();
    rest
}
