//! A tree on a chip that was hurt, compared with the right one: told losses, and silently older, wrong or missing data.

use std::collections::BTreeSet;

use pumice_vfs::conformance::list;
use pumice_vfs::{Errno, FileKind, FileSystem, FsError, Ino};

use crate::campaign::Found;
use crate::cut::image::{Image, Node, comparable, difference};

/// Bytes that are read at once: losses are told in such pieces.
const PIECE: usize = 512;

/// Compares everything and adds the faults to `found`, each thing once.
pub(crate) fn examine(fs: &dyn FileSystem, want: &Image, found: &mut Found) {
    let mut pending = vec![(String::new(), Ino::ROOT, Ino::ROOT)];
    while let Some((path, ino, there)) = pending.pop() {
        let Some(node) = want.0.get(&ino) else { continue };
        let verdict = inode(fs, node, there);
        told(found, &path, verdict);
        if node.attr.kind == FileKind::Dir {
            pending.extend(entries(fs, node, there, &path, found));
        }
    }
}

/// The fault of a thing.
enum Wrong {
    Named(String),
    Silent(String),
}

fn told(found: &mut Found, path: &str, verdict: Result<(), Wrong>) {
    let (list, what) = match verdict {
        Ok(()) => return,
        Err(Wrong::Named(what)) => (&mut found.named, what),
        Err(Wrong::Silent(what)) => (&mut found.silent, what),
    };
    let line = format!("{path}: {what}");
    if !list.contains(&line) {
        list.push(line);
    }
}

/// An I/O error is a loss by name; any other error is none.
fn failed(what: &str) -> impl Fn(FsError) -> Wrong + '_ {
    move |error| match error.errno() {
        Errno::Io => Wrong::Named(what.to_owned()),
        _ => Wrong::Silent(format!("{what}: {error}")),
    }
}

/// Compares an inode without its names: attributes first, then its content.
fn inode(fs: &dyn FileSystem, want: &Node, ino: Ino) -> Result<(), Wrong> {
    let mut attr = comparable(ino, fs.attr(ino).map_err(failed("attributes"))?);
    if attr.kind == FileKind::Dir && list(fs, ino).is_err() {
        // A directory that says that it lacks names may have the times of before they came.
        (attr.mtime, attr.ctime) = (want.attr.mtime, want.attr.ctime);
    }
    if attr != want.attr {
        return Err(Wrong::Silent(difference(&attr, &want.attr)));
    }
    for (name, value) in &want.xattrs {
        let there = fs.xattr(ino, name).map_err(failed("an extended attribute"))?;
        if there != *value {
            return Err(Wrong::Silent("an extended attribute is another".into()));
        }
    }
    match want.attr.kind {
        FileKind::File => content(fs, want, ino),
        FileKind::Symlink if fs.readlink(ino).map_err(failed("the link"))? != want.content => {
            Err(Wrong::Silent("another link".into()))
        }
        _ => Ok(()),
    }
}

fn content(fs: &dyn FileSystem, want: &Node, ino: Ino) -> Result<(), Wrong> {
    let mut lost = None;
    for (number, piece) in (0..).zip(want.content.chunks(PIECE)) {
        let mut bytes = vec![0; piece.len()];
        match fs.read(ino, number * PIECE as u64, &mut bytes) {
            Ok(_) if bytes == piece => {}
            Ok(_) => return Err(Wrong::Silent(format!("other bytes at {}", number * PIECE as u64))),
            Err(error) => lost = Some(failed("bytes")(error)),
        }
    }
    lost.map_or(Ok(()), Err)
}

/// Compares the names of a directory, by list and by look-up; returns the entries that can be reached.
fn entries(
    fs: &dyn FileSystem,
    want: &Node,
    dir: Ino,
    path: &str,
    found: &mut Found,
) -> Vec<(String, Ino, Ino)> {
    let listed = list(fs, dir).map_err(failed("the list of names"));
    let names: Option<BTreeSet<Vec<u8>>> =
        listed.as_ref().ok().map(|listed| listed.iter().map(|(name, ..)| name.clone()).collect());
    told(found, path, listed.map(drop));
    for name in names.iter().flatten().filter(|name| !want.entries.contains_key(*name)) {
        told(found, path, Err(Wrong::Silent(format!("has {}", name.escape_ascii()))));
    }
    let mut reached = Vec::new();
    for (name, ino) in &want.entries {
        let below = format!("{path}/{}", name.escape_ascii());
        if names.as_ref().is_some_and(|names| !names.contains(name)) {
            told(found, &below, Err(Wrong::Silent("is not listed".into())));
        }
        match fs.lookup(dir, name) {
            Ok(attr) => reached.push((below, *ino, attr.ino)),
            Err(error) => told(found, &below, Err(failed("the name")(error))),
        }
    }
    reached
}
