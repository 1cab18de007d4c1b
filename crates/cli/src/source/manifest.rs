//! A manifest that overrides attributes, in the words of mtree(5): a path and `key=value`, as makefs(8) takes it. A
//! missing entry is made, if the line has its kind: devices without being root.

use std::{collections::BTreeMap, fs, io, path::Path};

use pumice_f2fs::{
    InodeFlags,
    mkfs::{Attributes, EntryId, Tree},
};
use pumice_vfs::{FileKind, Timestamp};

use crate::failure::{Failure, Outcome};

/// Words by key.
type Words = BTreeMap<String, String>;

/// Changes a tree as a manifest says.
pub(crate) fn apply(path: &Path, tree: &mut Tree) -> Outcome {
    let text = read(path)?;
    let mut usual = Words::new();
    for (number, line) in (1..).zip(text.lines()) {
        let failed = |what: String| Failure::new(format!("{}: line {number}: {what}", path.display()));
        let mut words = line.split_whitespace();
        match words.next() {
            None => {}
            Some(word) if word.starts_with('#') => {}
            Some("/set") => usual.extend(keys(words).map_err(failed)?),
            Some("/unset") => words.for_each(|key| drop(usual.remove(key))),
            Some(name) => {
                let mut all = usual.clone();
                all.extend(keys(words).map_err(failed)?);
                entry(tree, &unescaped(name).map_err(failed)?, &all).map_err(failed)?;
            }
        }
    }
    Ok(())
}

/// The text of a file.
pub(super) fn read(path: &Path) -> Outcome<String> {
    let failed = |error: io::Error| Failure::host(path, &error);
    // Opening a pipe would wait for its other end.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(Failure::new(format!("{}: not a regular file", path.display())));
    }
    fs::read_to_string(path).map_err(failed)
}

fn keys<'a>(words: impl Iterator<Item = &'a str>) -> Result<Words, String> {
    let pair = |word: &str| {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        match key {
            "type" | "mode" | "uid" | "gid" | "time" | "device" | "link" | "flags" => {
                Ok((key.to_owned(), value.to_owned()))
            }
            // Words that a tree has anyway, or that say how to look at the host.
            "nlink" | "size" | "optional" | "nochange" => Ok((String::new(), String::new())),
            _ => Err(format!("unknown key `{key}` (want type, mode, uid, gid, time, device, link or flags)")),
        }
    };
    words.map(pair).collect()
}

/// Octal escapes stand for bytes that a word cannot have.
fn unescaped(name: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut rest = name.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let digits =
            more.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.map(|digits| u8::from_str_radix(digits, 8)) {
            Some(Ok(byte)) => {
                bytes.push(byte);
                rest = more.get(3..).unwrap_or_default();
            }
            Some(Err(_)) => return Err(format!("invalid escape in `{name}` (want three octal digits)")),
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    Ok(bytes)
}

fn entry(tree: &mut Tree, path: &[u8], words: &Words) -> Result<(), String> {
    let parts: Vec<&[u8]> =
        path.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".").collect();
    let mut dir = EntryId::ROOT;
    let Some((name, above)) = parts.split_last() else { return change(tree, EntryId::ROOT, words) };
    for part in above {
        dir = tree.find(dir, part).ok_or("its directory is not in the tree")?;
    }
    let found = if let Some(found) = tree.find(dir, name) {
        found
    } else {
        let kind = words.get("type").ok_or("not in the tree; to make it name its kind, such as type=char")?;
        let what =
            Attributes { kind: kind_of(kind)?, ..Attributes::directory(0o755, 0, 0, Timestamp::default()) };
        tree.add(dir, name, what).map_err(|error| error.to_string())?
    };
    change(tree, found, words)
}

fn kind_of(word: &str) -> Result<FileKind, String> {
    Ok(match word {
        "file" => FileKind::File,
        "dir" => FileKind::Dir,
        "link" => FileKind::Symlink,
        "char" => FileKind::CharDevice,
        "block" => FileKind::BlockDevice,
        "fifo" => FileKind::Fifo,
        "socket" => FileKind::Socket,
        _ => {
            return Err(format!("unknown type `{word}` (want file, dir, link, char, block, fifo or socket)"));
        }
    })
}

fn change(tree: &mut Tree, entry: EntryId, words: &Words) -> Result<(), String> {
    let Some(what) = tree.attributes_mut(entry) else { return Ok(()) };
    for (key, value) in words {
        let wrong = || format!("invalid {key}={value}");
        match key.as_str() {
            "type" if kind_of(value)? != what.kind => {
                return Err(format!("it is in the tree already, and is not of type {value}"));
            }
            "mode" => {
                let perm = u32::from_str_radix(value, 8).ok().filter(|perm| *perm < 0o10000);
                what.perm = perm.ok_or_else(wrong)?;
            }
            "uid" => what.uid = value.parse().map_err(|_| wrong())?,
            "gid" => what.gid = value.parse().map_err(|_| wrong())?,
            "time" => what.mtime = super::archive::time(value.as_bytes()).ok_or_else(wrong)?,
            "device" => what.rdev = device(value).ok_or_else(wrong)?,
            "link" => what.target = unescaped(value)?,
            "flags" => what.flags = flags(value, what.kind)?,
            _ => {}
        }
    }
    Ok(())
}

/// Flags by the names of chflags(1) and of Linux's own; `none` takes all away.
fn flags(value: &str, kind: FileKind) -> Result<InodeFlags, String> {
    let one = |name: &str| match name {
        "none" => Ok(InodeFlags(0)),
        "schg" | "uchg" | "schange" | "uchange" | "immutable" => Ok(InodeFlags::IMMUTABLE),
        "sappnd" | "uappnd" | "sappend" | "uappend" | "append" => Ok(InodeFlags::APPEND),
        "nodump" => Ok(InodeFlags::NODUMP),
        "noatime" => Ok(InodeFlags::NOATIME),
        "sync" => Ok(InodeFlags::SYNC),
        "dirsync" => Ok(InodeFlags::DIRSYNC),
        "casefold" if kind == FileKind::Dir => Ok(InodeFlags::CASEFOLD),
        _ => Err(format!(
            "unknown flag `{name}` (want none, immutable, append, nodump, noatime, sync, dirsync, or casefold of a directory)"
        )),
    };
    value.split(',').try_fold(InodeFlags(0), |all, name| Ok(all.with(one(name)?)))
}

/// `linux,MAJOR,MINOR`, or the two numbers alone.
fn device(value: &str) -> Option<u32> {
    let numbers = value.strip_prefix("linux,").or_else(|| value.strip_prefix("native,")).unwrap_or(value);
    let (major, minor) = numbers.split_once(',')?;
    let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    (major < 1 << 12 && minor < 1 << 20).then_some((minor & 0xff) | (major << 8) | ((minor & 0xf_ff00) << 12))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree {
        let root = Attributes::directory(0o755, 7, 7, Timestamp::default());
        let mut tree = Tree::new(root.clone());
        tree.add(EntryId::ROOT, b"dev dir", root).unwrap();
        tree
    }

    fn applied(text: &str) -> Result<Tree, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        let mut tree = tree();
        apply(file.path(), &mut tree).map(|()| tree).map_err(|failure| failure.to_string())
    }

    #[test]
    fn attributes_change_and_devices_are_made() {
        let text = "#mtree\n/set uid=0 gid=0\n. mode=0700\n./dev\\040dir/tty type=char mode=620 gid=5 device=linux,4,300 time=3.5\n";
        let tree = applied(text).unwrap();
        let folded = applied(". flags=casefold,nodump").unwrap();
        assert_eq!(folded.attributes(EntryId::ROOT).unwrap().flags.0, 0x4000_0040);
        let root = tree.attributes(EntryId::ROOT).unwrap();
        assert_eq!((root.perm, root.uid), (0o700, 0));
        let dir = tree.find(EntryId::ROOT, b"dev dir").unwrap();
        assert_eq!(tree.attributes(dir).unwrap().uid, 7);
        let tty = tree.attributes(tree.find(dir, b"tty").unwrap()).unwrap();
        assert_eq!((tty.kind, tty.perm, tty.uid, tty.gid), (FileKind::CharDevice, 0o620, 0, 5));
        assert_eq!((tty.rdev, tty.mtime.nanos), (0x0010_042c, 500_000_000));
    }

    #[test]
    fn what_makes_no_sense_is_told_with_its_line() {
        for (text, word) in [
            ("\nx mode=1", "line 2"),
            (". mode=9", "mode=9"),
            (". type=file", "not of type file"),
            (". sha256=1", "sha256"),
            (". flags=nodump,x", "unknown flag `x`"),
            ("a/b type=dir", "its directory"),
        ] {
            let said = applied(text).err().unwrap();
            assert!(said.contains(word), "{said}");
        }
    }
}
