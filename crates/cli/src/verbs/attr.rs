//! `pumice attr`: shows and changes extended attributes, inode flags and projects.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
};

use clap::builder::{OsStringValueParser, TypedValueParser};
use pumice_vfs::{Errno, FileSystem, FlagChange, Flags, FsError, Ino, XattrMode, flag};
use serde_json::{Map, Value, json};

use crate::{
    context::Context,
    document,
    failure::{Failure, Outcome},
    image::{Access, with_volume},
    losses::Losses,
    options::{Reader, Writer},
    output::{self, Output},
    path, text,
    tree::xattrs,
    verbs::Writable,
};

/// Show or change extended attributes, flags and project of files in an image
///
/// Without a change it lists them. Flags are those of chattr(1); F2FS alone has flags and projects.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Writable,
    /// Files
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,
    #[command(flatten)]
    change: Change,
    #[command(flatten)]
    reader: Reader,
    #[command(flatten)]
    writer: Writer,
}

/// The changes, in the order in which they are made.
#[derive(clap::Args, Debug)]
#[group(id = "changes", multiple = true, conflicts_with = "json")]
struct Change {
    /// Set an extended attribute: to text, or to bytes as 0x and hexadecimal digits; `user.comment=text`
    #[arg(short, long, value_name = "NAME=VALUE", value_parser = OsStringValueParser::new().try_map(assignment))]
    set: Vec<(Vec<u8>, Vec<u8>)>,
    /// Remove an extended attribute
    #[arg(short, long, value_name = "NAME")]
    remove: Vec<OsString>,
    /// Set, clear or replace flags: +i, -i, +c-m, =dA
    #[arg(short, long, value_name = "+-=FLAGS", allow_hyphen_values = true, value_parser = flags)]
    flags: Option<Wanted>,
    /// Set the project
    #[arg(short, long, value_name = "ID")]
    project: Option<u32>,
}

/// Flags to be set, and those of all others that may change.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    bits: u32,
    mask: u32,
}

/// Flags that chattr(1) sets.
const SETTABLE: u32 = flag::SYNC
    | flag::DIRSYNC
    | flag::IMMUTABLE
    | flag::APPEND
    | flag::NODUMP
    | flag::NOATIME
    | flag::COMPRESSED
    | flag::CASEFOLD
    | flag::PROJECT_INHERIT
    | flag::NOT_COMPRESSED;

fn assignment(text: OsString) -> Result<(Vec<u8>, Vec<u8>), String> {
    let bytes = text.into_vec();
    let wrong = |why: &str| format!("invalid attribute `{}` ({why})", text::name(&bytes));
    let mut parts = bytes.splitn(2, |byte| *byte == b'=');
    let (Some(name), Some(value)) = (parts.next(), parts.next()) else {
        return Err(wrong("want NAME=VALUE"));
    };
    let value = match value.strip_prefix(b"0x") {
        Some(digits) => {
            unhexed(digits).ok_or_else(|| wrong("want an even number of hexadecimal digits behind 0x"))?
        }
        None => value.to_vec(),
    };
    Ok((name.to_vec(), value))
}

fn unhexed(digits: &[u8]) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_chunks::<2>();
    let digit = |letter: u8| char::from(letter).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let byte = |[high, low]: &[u8; 2]| Some(digit(*high)? << 4 | digit(*low)?);
    pairs.iter().map(byte).collect::<Option<Vec<u8>>>().filter(|_| rest.is_empty())
}

fn flags(text: &str) -> Result<Wanted, String> {
    let known = || flag::LETTERS.iter().filter(|(_, bit)| SETTABLE & bit != 0);
    let (mut wanted, mut sign) = (Wanted { bits: 0, mask: 0 }, None);
    for letter in text.chars() {
        if let '+' | '-' | '=' = letter {
            sign = Some(letter);
            if letter == '=' {
                wanted = Wanted { bits: 0, mask: SETTABLE };
            }
            continue;
        }
        let bit = known().find(|(shown, _)| *shown == letter).map(|(_, bit)| *bit);
        let (Some(bit), Some(sign)) = (bit, sign) else {
            let letters: String = known().map(|(letter, _)| *letter).collect();
            return Err(format!("invalid flags `{text}` (want +, - or =, and letters of {letters})"));
        };
        wanted.mask |= bit;
        wanted.bits = if sign == '-' { wanted.bits & !bit } else { wanted.bits | bit };
    }
    match sign {
        Some(_) => Ok(wanted),
        None => Err(format!("invalid flags `{text}` (want +, - or =, and letters)")),
    }
}

impl Change {
    fn is_given(&self) -> bool {
        !self.set.is_empty() || !self.remove.is_empty() || self.flags.is_some() || self.project.is_some()
    }

    /// Changes a file.
    fn make(&self, fs: &dyn FileSystem, ino: Ino) -> Result<(), FsError> {
        for (name, value) in &self.set {
            fs.set_xattr(ino, name, value, XattrMode::Either)?;
        }
        for name in &self.remove {
            fs.remove_xattr(ino, name.as_bytes())?;
        }
        if self.flags.is_none() && self.project.is_none() {
            return Ok(());
        }
        let Wanted { bits, mask } = self.flags.unwrap_or(Wanted { bits: 0, mask: 0 });
        fs.set_flags(ino, &FlagChange { bits, mask, project: self.project })
    }

    /// A line for each.
    fn lines(&self, path: &OsStr) -> Vec<String> {
        let path = text::name(path.as_bytes());
        let set = self.set.iter().map(|(name, _)| format!("would set {} of {path}", text::name(name)));
        let remove =
            self.remove.iter().map(|name| format!("would remove {} of {path}", text::name(name.as_bytes())));
        let flags = self.flags.iter().map(|wanted| {
            let [on, off] = [wanted.bits, wanted.mask & !wanted.bits].map(letters);
            format!("would set flags {on} and clear {off} of {path}")
        });
        let project =
            self.project.iter().map(|project| format!("would set the project of {path} to {project}"));
        set.chain(remove).chain(flags).chain(project).collect()
    }
}

/// Flags by their letters; `-` if there are none.
fn letters(bits: u32) -> String {
    let letters: String =
        flag::LETTERS.iter().filter(|(_, bit)| bits & bit != 0).map(|(letter, _)| *letter).collect();
    if letters.is_empty() { "-".into() } else { letters }
}

struct Found {
    path: Vec<u8>,
    /// Of file systems that have such.
    flags: Option<Flags>,
    xattrs: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        if self.change.is_given() {
            let access = Access::write_unless(self.writer.dry_run);
            return with_volume(&self.image.image, access, context, |fs| self.change(fs));
        }
        let losses = Losses::default();
        with_volume(&self.image.image, Access::Read, context, |fs| self.show(fs, &losses))?;
        losses.end()
    }

    fn change(&self, fs: &dyn FileSystem) -> Outcome {
        let mut output = Output::new();
        for path in &self.paths {
            let file = path::find(fs, path)?;
            if self.writer.dry_run {
                self.change.lines(path).into_iter().try_for_each(|line| output.line(line))?;
            } else {
                let changed = self.change.make(fs, file.ino);
                changed.map_err(|error| Failure::inside(path.as_bytes(), &error))?;
            }
        }
        output.finish()
    }

    fn show(&self, fs: &dyn FileSystem, losses: &Losses) -> Outcome {
        let mut found = Vec::new();
        for path in &self.paths {
            let file = losses.pass_named(path::find(fs, path), self.paths.len())?;
            found.extend(file.map(|file| look(fs, path.as_bytes(), file.ino, losses)));
        }
        if self.reader.json {
            let files: Vec<Value> = found.iter().map(Found::json).collect();
            return output::document("attr", json!({ "files": files, "missing": losses.count() }));
        }
        let mut output = Output::new();
        found.iter().try_for_each(|found| found.print(&mut output))?;
        output.finish()
    }
}

fn look(fs: &dyn FileSystem, path: &[u8], ino: Ino, losses: &Losses) -> Found {
    let flags = match fs.flags(ino) {
        Err(error) if error.errno() == Errno::NotSupported => None,
        found => losses.pass(found.map_err(|error| Failure::inside(path, &error))),
    };
    let xattrs = losses.pass(xattrs(fs, path, ino)).unwrap_or_default();
    Found { path: path.to_vec(), flags, xattrs }
}

impl Found {
    fn print(&self, output: &mut Output) -> Outcome {
        output.line(text::name(&self.path))?;
        if let Some(flags) = self.flags {
            output.line(format!("    flags: {}", letters(flags.bits)))?;
            output.line(format!("  project: {}", flags.project))?;
        }
        for (name, value) in &self.xattrs {
            output.line(format!("    xattr: {} = {}", text::name(name), text::name(value)))?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let mut map = Map::new();
        document::put_bytes(&mut map, "path", &self.path);
        if let Some(flags) = self.flags {
            map.insert("flags".into(), letters(flags.bits).trim_start_matches('-').into());
            map.insert("project".into(), flags.project.into());
        }
        map.insert("xattrs".into(), document::xattrs(&self.xattrs));
        Value::Object(map)
    }
}
