//! A tar archive as a tree for a new volume. Its files are read where they stand in it.

use std::{
    collections::BTreeMap,
    fs::File,
    io,
    os::unix::fs::{FileExt, MetadataExt},
    path::Path,
};

use pumice_f2fs::mkfs::{Attributes, Content, EntryId, FormatError, Source, Tree};
use pumice_vfs::{FileKind, Timestamp};
use tar::{EntryType, Header};

use super::{
    acl::{self, List},
    members::{Member, Members, is_sound, number},
    sparse::{self, Piece},
};
use crate::{
    failure::{Failure, Outcome},
    interrupt::Interrupt,
    recognise::recognise,
    text,
};

/// Mode of directories that have no entry in the archive.
const DIR_PERM: u32 = 0o755;
/// The prefix of the names of extended attributes in an archive.
const XATTR: &[u8] = b"SCHILY.xattr.";
/// Bytes that the key of a record cannot hold as they are, and what GNU tar writes for them.
const ESCAPES: [(u8, &[u8]); 2] = [(b'%', b"%25"), (b'=', b"%3D")];
/// Access control lists: keys in an archive, names of the extended attributes.
const ACLS: [(List, &[u8], &[u8]); 2] = [
    (List::Access, b"SCHILY.acl.access", b"system.posix_acl_access"),
    (List::Default, b"SCHILY.acl.default", b"system.posix_acl_default"),
];

/// An archive after its table was read.
pub(crate) struct Archive {
    file: File,
    /// The places of each file's data.
    pieces: BTreeMap<EntryId, Vec<Piece>>,
    interrupt: Interrupt,
}

/// Reads the names in an archive: the tree, and where to read it from.
pub(crate) fn walk(path: &Path, interrupt: &Interrupt) -> Outcome<(Tree, Archive)> {
    let failed = |error: io::Error| Failure::host(path, &error);
    let file = File::open(path).map_err(failed)?;
    let root = Timestamp { seconds: file.metadata().map_err(failed)?.mtime(), nanos: 0 };
    must_be_tar(path, &file)?;
    let mut walk = Walk {
        tree: Tree::new(Attributes::directory(DIR_PERM, 0, 0, root)),
        file: &file,
        pieces: BTreeMap::new(),
    };
    let mut members = Members::of(&file);
    while let Some(member) =
        members.next().map_err(|why| Failure::new(format!("{}: {why}", path.display())))?
    {
        interrupt.check()?;
        walk.take(&member).map_err(|why| {
            Failure::new(format!("{}: {}: {why}", path.display(), text::name(&member.path)))
        })?;
    }
    let Walk { tree, pieces, .. } = walk;
    Ok((tree, Archive { file, pieces, interrupt: interrupt.clone() }))
}

/// Refuses a file that does not begin as an archive does: with a right checksum in the header, or, for an empty one,
/// with zeros and no other known kind.
fn must_be_tar(path: &Path, file: &File) -> Outcome {
    let mut header = Header::new_old();
    let is_whole = file.read_exact_at(header.as_mut_bytes(), 0).is_ok();
    let what = recognise(path);
    let is_empty = header.as_bytes().iter().all(|byte| *byte == 0)
        && what.as_ref().is_some_and(|what| what.contains("begins with zeros"));
    if is_whole && (is_sound(&header) || is_empty) {
        return Ok(());
    }
    let what = what.map(|what| format!("; it is {what}")).unwrap_or_default();
    Err(Failure::new(format!("{}: not a tar archive{what}", path.display())))
}

struct Walk<'a> {
    tree: Tree,
    file: &'a File,
    pieces: BTreeMap<EntryId, Vec<Piece>>,
}

impl Walk<'_> {
    fn take(&mut self, member: &Member) -> Result<(), String> {
        let kind = match member.header.entry_type() {
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => FileKind::File,
            EntryType::Directory => FileKind::Dir,
            EntryType::Symlink => FileKind::Symlink,
            EntryType::Char => FileKind::CharDevice,
            EntryType::Block => FileKind::BlockDevice,
            EntryType::Fifo => FileKind::Fifo,
            EntryType::Link => return self.link(member),
            other => {
                return Err(format!("an entry of type {:?} cannot be kept", char::from(other.as_byte())));
            }
        };
        let sparse = match kind {
            FileKind::File => sparse::find(member, self.file)?,
            _ => None,
        };
        let named = sparse.as_ref().and_then(|sparse| sparse.name.clone());
        let path = named.as_ref().unwrap_or(&member.path);
        let mut what = attributes(member, kind)?;
        let (size, pieces) = match sparse {
            Some(sparse) => (sparse.size, sparse.pieces),
            None => (member.stored, vec![Piece { at: 0, length: member.stored, stored: member.start }]),
        };
        if kind == FileKind::File {
            what.size = size;
            what.sparse = pieces.iter().map(|piece| piece.length).sum::<u64>() < size;
        }
        let made = self.place(path, what)?;
        if kind == FileKind::File {
            self.pieces.insert(made, pieces);
        }
        Ok(())
    }

    /// Puts an entry at its path. A later one takes the place of an earlier one; a directory keeps its entries.
    fn place(&mut self, path: &[u8], what: Attributes) -> Result<EntryId, String> {
        let (dir, Some(name)) = self.parent(path, what.mtime)? else {
            return self.change(EntryId::ROOT, what);
        };
        let found = self.tree.find(dir, name);
        let is_dir = |what: Option<&Attributes>| what.is_some_and(|what| what.kind == FileKind::Dir);
        if let Some(found) =
            found.filter(|found| what.kind == FileKind::Dir && is_dir(self.tree.attributes(*found)))
        {
            return self.change(found, what);
        }
        self.tree.remove(dir, name);
        self.tree.add(dir, name, what).map_err(in_words)
    }

    fn change(&mut self, entry: EntryId, what: Attributes) -> Result<EntryId, String> {
        match self.tree.attributes_mut(entry) {
            Some(old) if old.kind == what.kind => *old = what,
            _ => return Err("the root must be a directory".to_owned()),
        }
        Ok(entry)
    }

    fn link(&mut self, member: &Member) -> Result<(), String> {
        let target = member.link.as_ref().ok_or("it is a link to nothing")?;
        let missing = || format!("it is a link to {}, which is not in front of it", text::name(target));
        let mut first = EntryId::ROOT;
        for part in parts(target)? {
            first = self.tree.find(first, part).ok_or_else(missing)?;
        }
        let (dir, Some(name)) = self.parent(&member.path, Timestamp::default())? else {
            return Err(missing());
        };
        self.tree.remove(dir, name);
        self.tree.link(dir, name, first).map_err(in_words)
    }

    /// The directory that a path is in, made if the archive has not spoken of it, and the last name.
    fn parent<'p>(&mut self, path: &'p [u8], time: Timestamp) -> Result<(EntryId, Option<&'p [u8]>), String> {
        let parts = parts(path)?;
        let Some((name, above)) = parts.split_last() else { return Ok((EntryId::ROOT, None)) };
        let mut dir = EntryId::ROOT;
        for part in above {
            dir = match self.tree.find(dir, part) {
                Some(found) => found,
                None => {
                    self.tree.add(dir, part, Attributes::directory(DIR_PERM, 0, 0, time)).map_err(in_words)?
                }
            };
        }
        Ok((dir, Some(name)))
    }
}

/// The names of a path; none for the root.
fn parts(path: &[u8]) -> Result<Vec<&[u8]>, String> {
    let parts: Vec<&[u8]> =
        path.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".").collect();
    if parts.contains(&&b".."[..]) {
        return Err("a path with `..` in it is not followed".to_owned());
    }
    Ok(parts)
}

fn in_words(error: FormatError) -> String {
    match error {
        FormatError::Tree { what, .. } => what,
        error => error.to_string(),
    }
}

fn attributes(member: &Member, kind: FileKind) -> Result<Attributes, String> {
    let failed = |error: io::Error| error.to_string();
    let header = &member.header;
    let id = |number: u64| u32::try_from(number).map_err(|_| format!("the owner {number} is too large"));
    let device = |found: io::Result<Option<u32>>| found.map_err(failed).map(Option::unwrap_or_default);
    // Times before 1970 are negative numbers in bytes.
    let seconds = header.mtime().map_err(failed)?.cast_signed();
    let mut what = Attributes {
        kind,
        uid: id(header.uid().map_err(failed)?)?,
        gid: id(header.gid().map_err(failed)?)?,
        ..Attributes::directory(
            header.mode().map_err(failed)? & 0o7777,
            0,
            0,
            Timestamp { seconds, nanos: 0 },
        )
    };
    if matches!(kind, FileKind::CharDevice | FileKind::BlockDevice) {
        let (major, minor) = (device(header.device_major())?, device(header.device_minor())?);
        what.rdev = (minor & 0xff) | ((major & 0xfff) << 8) | ((minor & 0xf_ff00) << 12);
    }
    if kind == FileKind::Symlink {
        what.target = member.link.clone().ok_or("it is a link to nothing")?;
    }
    for (key, value) in &member.words {
        match key.strip_prefix(XATTR) {
            Some(name) => drop(what.xattrs.insert(decoded(name), value.clone())),
            None if key == b"mtime" => what.mtime = time(value).ok_or("its time is no number")?,
            None if key == b"uid" => what.uid = number(value)?,
            None if key == b"gid" => what.gid = number(value)?,
            None => {}
        }
    }
    for (of, key, name) in ACLS {
        let list = member.words.iter().rev().find(|(found, _)| found == key);
        // Where the bytes stand beside the words, they are exact.
        if let Some((_, list)) = list.filter(|_| !what.xattrs.contains_key(name))
            && let Some(list) = acl::from_words(of, list)?
        {
            what.xattrs.insert(name.to_vec(), list);
        }
    }
    Ok(what)
}

/// A name of an attribute as the key of a record has it.
pub(crate) fn encoded(name: &[u8]) -> Vec<u8> {
    let escaped =
        |byte: &u8| ESCAPES.iter().find(|(found, _)| found == byte).map(|(_, escape)| escape.to_vec());
    name.iter().flat_map(|byte| escaped(byte).unwrap_or_else(|| vec![*byte])).collect()
}

/// A name without the escapes that a key of a record needs.
fn decoded(name: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((first, behind)) = rest.split_first() {
        let escaped = ESCAPES.iter().find_map(|(byte, escape)| Some((byte, rest.strip_prefix(*escape)?)));
        let (byte, behind) = escaped.unwrap_or((first, behind));
        plain.push(*byte);
        rest = behind;
    }
    plain
}

/// Seconds with a fraction, before 1970 as well.
pub(super) fn time(value: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(value).ok()?;
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let mut seconds: i64 = whole.parse().ok()?;
    let mut nanos: u32 = format!("{part:0<9}").get(..9)?.parse().ok()?;
    if text.starts_with('-') && nanos > 0 {
        seconds = seconds.checked_sub(1)?;
        nanos = 1_000_000_000 - nanos;
    }
    Some(Timestamp { seconds, nanos })
}

impl Source for Archive {
    fn open(&self, file: EntryId) -> io::Result<Box<dyn Content + '_>> {
        self.interrupt.check_io()?;
        let pieces = self.pieces.get(&file).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(Stored { file: &self.file, pieces }))
    }
}

/// A file in an archive.
struct Stored<'a> {
    file: &'a File,
    pieces: &'a [Piece],
}

impl Content for Stored<'_> {
    fn read(&mut self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        let end = at + buffer.len() as u64;
        buffer.fill(0);
        for piece in self.pieces {
            let (from, to) = (piece.at.max(at), (piece.at + piece.length).min(end));
            if from >= to {
                continue;
            }
            let place = |offset: u64| usize::try_from(offset - at).unwrap_or(usize::MAX);
            if let Some(part) = buffer.get_mut(place(from)..place(to)) {
                self.file.read_exact_at(part, piece.stored + (from - piece.at))?;
            }
        }
        Ok(())
    }

    fn next_data(&mut self, from: u64) -> io::Result<Option<(u64, u64)>> {
        let next = self.pieces.iter().find(|piece| piece.at + piece.length > from && piece.length > 0);
        Ok(next.map(|piece| (piece.at.max(from), piece.at + piece.length)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_fractions_and_may_be_before_1970() {
        let at = |seconds, nanos| Some(Timestamp { seconds, nanos });
        assert_eq!(time(b"12"), at(12, 0));
        assert_eq!(time(b"12.5"), at(12, 500_000_000));
        assert_eq!(time(b"-1.25"), at(-2, 750_000_000));
        assert_eq!(time(b"x"), None);
    }
}
