//! `pumice ls`: what a directory holds.

use std::{ffi::OsString, os::unix::ffi::OsStrExt};

use pumice_vfs::{Attr, FileKind, FileSystem};
use serde_json::{Value, json};

use crate::{
    context::Context,
    document,
    failure::{Failure, Outcome},
    image::{Access, with_volume},
    options::Reader,
    output::{self, Output},
    path, text,
    tree::walk::{Step, walk},
    verbs::Image,
};

/// List files and directories of an image
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Image,
    /// What to list
    #[arg(default_value = "/", value_name = "PATH")]
    paths: Vec<OsString>,
    /// One line for each with mode, links, owner, size and time
    #[arg(short, long)]
    long: bool,
    /// List all directories below, too
    #[arg(short = 'R', long)]
    recursive: bool,
    /// List directories themselves, not what they hold
    #[arg(short, long, conflicts_with = "recursive")]
    directory: bool,
    #[command(flatten)]
    reader: Reader,
}

/// One thing listed.
struct Entry {
    path: Vec<u8>,
    name: Vec<u8>,
    attr: Attr,
    /// Where a symbolic link leads.
    target: Option<Vec<u8>>,
}

/// A directory with what it holds, or things that were named themselves.
struct Listing {
    dir: Option<Vec<u8>>,
    entries: Vec<Entry>,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        let listings = with_volume(&self.image.image, Access::Read, context, |fs| self.collect(fs))?;
        if self.reader.json {
            let all: Vec<Value> =
                listings.iter().flat_map(|listing| &listing.entries).map(Entry::json).collect();
            return output::document("ls", json!({ "entries": all }));
        }
        self.print(&listings)
    }

    fn collect(&self, fs: &dyn FileSystem) -> Outcome<Vec<Listing>> {
        let mut files = Listing { dir: None, entries: Vec::new() };
        let mut dirs = Vec::new();
        for path in &self.paths {
            let found = if self.directory { path::find(fs, path)? } else { path::find_target(fs, path)? };
            let bytes = path.as_bytes();
            if found.kind == FileKind::Dir && !self.directory {
                self.list(fs, bytes, found, &mut dirs)?;
            } else {
                let found = path::find(fs, path)?;
                files.entries.push(entry(fs, bytes.to_vec(), bytes.to_vec(), found)?);
            }
        }
        if !files.entries.is_empty() {
            dirs.insert(0, files);
        }
        Ok(dirs)
    }

    fn list(&self, fs: &dyn FileSystem, path: &[u8], dir: Attr, listings: &mut Vec<Listing>) -> Outcome {
        if !self.recursive {
            listings.push(content(fs, path, &dir)?);
            return Ok(());
        }
        walk(fs, path, dir, &mut |step, place| {
            if matches!(step, Step::Enter) && place.attr.kind == FileKind::Dir {
                listings.push(content(fs, &place.path, &place.attr)?);
            }
            Ok(())
        })
    }

    fn print(&self, listings: &[Listing]) -> Outcome {
        let mut output = Output::new();
        for (count, listing) in listings.iter().enumerate() {
            if let Some(dir) = listing.dir.as_ref().filter(|_| listings.len() > 1) {
                let gap = if count > 0 { "\n" } else { "" };
                output.line(format!("{gap}{}:", text::name(dir)))?;
            }
            if self.long {
                print_long(&listing.entries, &mut output)?;
            } else {
                listing.entries.iter().try_for_each(|entry| output.line(text::name(&entry.name)))?;
            }
        }
        output.finish()
    }
}

fn content(fs: &dyn FileSystem, path: &[u8], dir: &Attr) -> Outcome<Listing> {
    let mut entries = Vec::new();
    for (name, ino) in path::entries(fs, dir.ino).map_err(|error| Failure::inside(path, &error))? {
        let full = path::join(path, &name);
        let attr = fs.attr(ino).map_err(|error| Failure::inside(&full, &error))?;
        entries.push(entry(fs, full, name, attr)?);
    }
    Ok(Listing { dir: Some(path.to_vec()), entries })
}

fn entry(fs: &dyn FileSystem, path: Vec<u8>, name: Vec<u8>, attr: Attr) -> Outcome<Entry> {
    let target = match attr.kind {
        FileKind::Symlink => Some(fs.readlink(attr.ino).map_err(|error| Failure::inside(&path, &error))?),
        _ => None,
    };
    Ok(Entry { path, name, attr, target })
}

impl Entry {
    fn json(&self) -> Value {
        let mut map = serde_json::Map::new();
        document::put_bytes(&mut map, "path", &self.path);
        map.extend(document::attr(&self.attr));
        if let Some(target) = &self.target {
            document::put_bytes(&mut map, "target", target);
        }
        Value::Object(map)
    }

    /// Size, or the numbers of a device.
    fn size(&self) -> String {
        match self.attr.kind {
            FileKind::CharDevice | FileKind::BlockDevice => {
                let (major, minor) = text::device(self.attr.rdev);
                format!("{major}, {minor}")
            }
            _ => self.attr.size.to_string(),
        }
    }
}

fn print_long(entries: &[Entry], output: &mut Output) -> Outcome {
    let width =
        |column: fn(&Entry) -> String| entries.iter().map(|entry| column(entry).len()).max().unwrap_or(0);
    let links = width(|entry| entry.attr.nlink.to_string());
    let uid = width(|entry| entry.attr.uid.to_string());
    let gid = width(|entry| entry.attr.gid.to_string());
    let size = width(Entry::size);
    for entry in entries {
        let attr = &entry.attr;
        let arrow =
            entry.target.as_ref().map(|target| format!(" -> {}", text::name(target))).unwrap_or_default();
        output.line(format!(
            "{} {:>links$} {:>uid$} {:>gid$} {:>size$} {} {}{arrow}",
            text::mode(attr),
            attr.nlink,
            attr.uid,
            attr.gid,
            entry.size(),
            text::short_time(attr.mtime),
            text::name(&entry.name),
        ))?;
    }
    Ok(())
}
