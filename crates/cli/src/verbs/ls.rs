//! `pumice ls`: lists a directory.

use std::{ffi::OsString, os::unix::ffi::OsStrExt};

use pumice_vfs::{Attr, FileKind, FileSystem, Ino, walk::Names};
use serde_json::{Map, Value};

use crate::{
    context::Context,
    document,
    failure::{Failure, Outcome},
    image::{Access, with_volume},
    losses::Losses,
    options::{LongHelp, Reader},
    output::{Entries, Output},
    path, text,
    tree::walk::{Step, walk_directories},
    verbs::Image,
};

/// List files and directories of an image
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Args {
    #[command(flatten)]
    image: Image,
    /// Paths to list
    #[arg(default_value = "/", value_name = "PATH")]
    paths: Vec<OsString>,
    /// One line for each with mode, links, owner, size and time
    #[arg(short, long)]
    long: bool,
    /// List all directories below, too
    #[arg(short = 'R', long)]
    recursive: bool,
    /// List directories themselves, not their entries
    #[arg(short, long, conflicts_with = "recursive")]
    directory: bool,
    /// Sizes with units, in lines with --long
    #[arg(short = 'h', long)]
    human_readable: bool,
    #[command(flatten)]
    reader: Reader,
    #[command(flatten)]
    help: LongHelp,
}

/// One thing listed.
struct Entry {
    path: Vec<u8>,
    name: Vec<u8>,
    attr: Attr,
    /// The target of a symbolic link.
    target: Option<Vec<u8>>,
}

/// Entries of a directory that are in memory at a time. Columns are as wide as these need.
const PAGE: usize = 4096;

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        with_volume(&self.image.image, Access::Read, context, |fs| {
            let losses = Losses::default();
            let mut list = if self.reader.json {
                List::Document(Entries::new("ls"))
            } else {
                List::Text { output: Output::new(), long: self.long(), headed: self.recursive, gap: false }
            };
            self.collect(fs, &losses, &mut list)?;
            list.finish(losses.count())?;
            losses.end()
        })
    }

    /// The form of sizes in long lines, if lines are long.
    fn long(&self) -> Option<fn(u64) -> String> {
        let plain: fn(u64) -> String = |bytes| bytes.to_string();
        self.long.then_some(if self.human_readable { text::size } else { plain })
    }

    /// The entries: files first, then one directory after the other.
    fn collect(&self, fs: &dyn FileSystem, losses: &Losses, list: &mut List) -> Outcome {
        let (mut files, mut dirs) = (Vec::new(), Vec::new());
        for path in &self.paths {
            let found = if self.directory { path::find(fs, path) } else { path::find_target(fs, path) };
            let Some(found) = losses.pass_named(found, self.paths.len())? else { continue };
            if found.kind == FileKind::Dir && !self.directory {
                dirs.push((path.as_bytes(), found));
            } else if let Some(found) = losses.pass_named(path::find(fs, path), self.paths.len())? {
                files.push(entry(fs, losses, path.as_bytes().to_vec(), path.as_bytes().to_vec(), found));
            }
        }
        list.several(self.paths.len() > 1);
        if !files.is_empty() {
            list.add(&files)?;
            list.end_of_directory();
        }
        dirs.into_iter().try_for_each(|(path, dir)| self.list(fs, losses, path, &dir, list))
    }

    fn list(
        &self,
        fs: &dyn FileSystem,
        losses: &Losses,
        path: &[u8],
        dir: &Attr,
        list: &mut List,
    ) -> Outcome {
        if !self.recursive {
            return content(fs, losses, path, dir.ino, list);
        }
        walk_directories(fs, path, dir, losses, &mut |step, place| match step {
            Step::Enter => content(fs, losses, place.path, place.attr.ino, list),
            Step::Leave => Ok(()),
        })
    }
}

/// Lists the entries of a directory.
fn content(fs: &dyn FileSystem, losses: &Losses, path: &[u8], dir: Ino, list: &mut List) -> Outcome {
    list.directory(path)?;
    let mut names = Names::of(dir);
    let mut page = Vec::new();
    while let Some(next) = names.next(fs) {
        let next = next.map_err(|error| Failure::inside(path, &error));
        let Some((name, ino, _)) = losses.pass(next) else { continue };
        let full = path::join(path, &name);
        let attr = fs.attr(ino).map_err(|error| Failure::inside(&full, &error));
        page.extend(losses.pass(attr).map(|attr| entry(fs, losses, full, name, attr)));
        if page.len() == PAGE {
            list.add(&page)?;
            page.clear();
        }
    }
    list.add(&page)?;
    list.end_of_directory();
    Ok(())
}

fn entry(fs: &dyn FileSystem, losses: &Losses, path: Vec<u8>, name: Vec<u8>, attr: Attr) -> Entry {
    let target = (attr.kind == FileKind::Symlink).then(|| fs.readlink(attr.ino)).transpose();
    // A dangling link is listed too.
    let target = losses.pass(target.map_err(|error| Failure::inside(&path, &error))).flatten();
    Entry { path, name, attr, target }
}

/// The sink of entries as they are found.
enum List {
    Document(Entries),
    Text {
        output: Output,
        /// A line with attributes for each, with sizes in this form.
        long: Option<fn(u64) -> String>,
        /// Directories have their path above them.
        headed: bool,
        /// Something stands above, to be set off by an empty line.
        gap: bool,
    },
}

impl List {
    fn several(&mut self, are_several: bool) {
        if let List::Text { headed, .. } = self {
            *headed |= are_several;
        }
    }

    fn directory(&mut self, path: &[u8]) -> Outcome {
        match self {
            List::Text { output, headed: true, gap, .. } => {
                let gap = if *gap { "\n" } else { "" };
                output.line(format!("{gap}{}:", text::name(path)))
            }
            _ => Ok(()),
        }
    }

    fn end_of_directory(&mut self) {
        if let List::Text { gap, .. } = self {
            *gap = true;
        }
    }

    fn add(&mut self, entries: &[Entry]) -> Outcome {
        match self {
            List::Document(list) => entries.iter().try_for_each(|entry| list.add(&entry.json())),
            List::Text { output, long: Some(size), .. } => print_long(entries, *size, output),
            List::Text { output, .. } => {
                entries.iter().try_for_each(|entry| output.line(text::name(&entry.name)))
            }
        }
    }

    fn finish(self, missing: u64) -> Outcome {
        match self {
            List::Document(list) => list.finish(missing),
            List::Text { output, .. } => output.finish(),
        }
    }
}

impl Entry {
    fn json(&self) -> Map<String, Value> {
        let mut map = Map::new();
        document::put_bytes(&mut map, "path", &self.path);
        map.extend(document::attr(&self.attr));
        if let Some(target) = &self.target {
            document::put_bytes(&mut map, "target", target);
        }
        map
    }

    /// Size, or the numbers of a device.
    fn size(&self, of_file: fn(u64) -> String) -> String {
        match self.attr.kind {
            FileKind::CharDevice | FileKind::BlockDevice => {
                let (major, minor) = text::device(self.attr.rdev);
                format!("{major}, {minor}")
            }
            _ => of_file(self.attr.size),
        }
    }
}

fn print_long(entries: &[Entry], size: fn(u64) -> String, output: &mut Output) -> Outcome {
    let sizes: Vec<String> = entries.iter().map(|entry| entry.size(size)).collect();
    let width =
        |column: fn(&Entry) -> String| entries.iter().map(|entry| column(entry).len()).max().unwrap_or(0);
    let links = width(|entry| entry.attr.nlink.to_string());
    let uid = width(|entry| entry.attr.uid.to_string());
    let gid = width(|entry| entry.attr.gid.to_string());
    let width = sizes.iter().map(String::len).max().unwrap_or(0);
    for (entry, size) in entries.iter().zip(&sizes) {
        let attr = &entry.attr;
        let arrow =
            entry.target.as_ref().map(|target| format!(" -> {}", text::name(target))).unwrap_or_default();
        output.line(format!(
            "{} {:>links$} {:>uid$} {:>gid$} {size:>width$} {} {}{arrow}",
            text::mode(attr),
            attr.nlink,
            attr.uid,
            attr.gid,
            text::short_time(attr.mtime),
            text::name(&entry.name),
        ))?;
    }
    Ok(())
}
