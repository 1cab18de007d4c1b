//! A whole tree at one moment, in memory, to be compared with others.

use std::collections::BTreeMap;
use std::sync::Arc;

use pumice_vfs::conformance::list;
use pumice_vfs::{Attr, FileKind, FileSystem, Ino, Result, Timestamp};

/// One inode.
#[derive(Clone, PartialEq, Eq)]
pub struct Node {
    /// The attributes, without those that may differ: inode number, generation, space taken, sizes of directories.
    pub attr: Attr,
    /// The content of a file; the target of a link.
    pub content: Vec<u8>,
    pub xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The names in a directory.
    pub entries: BTreeMap<Vec<u8>, Ino>,
}

/// The number of equal inodes before a difference, and the difference.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Mismatch(pub usize, pub String);

/// All inodes that have a name, by number.
#[derive(Clone, Default)]
pub struct Image(pub BTreeMap<Ino, Arc<Node>>);

impl Image {
    /// Reads everything; inodes with the attributes that they have in `before` are taken from there.
    pub fn take(fs: &dyn FileSystem, before: &Image) -> Result<Image> {
        let mut image = Image::default();
        let mut pending = vec![Ino::ROOT];
        while let Some(ino) = pending.pop() {
            if image.0.contains_key(&ino) {
                continue;
            }
            let attr = comparable(ino, fs.attr(ino)?);
            let node = match before.0.get(&ino).filter(|node| node.attr == attr) {
                Some(node) => Arc::clone(node),
                None => Arc::new(Node::read(fs, ino, attr)?),
            };
            pending.extend(node.entries.values());
            image.0.insert(ino, node);
        }
        Ok(image)
    }

    /// The names of an inode.
    pub fn names_of(&self, ino: Ino) -> Vec<(Ino, Vec<u8>)> {
        let dirs = self.0.iter().flat_map(|(dir, node)| node.entries.iter().map(|entry| (*dir, entry)));
        dirs.filter(|(_, (_, to))| **to == ino).map(|(dir, (name, _))| (dir, name.clone())).collect()
    }

    /// An inode to be changed.
    pub fn edit(&mut self, ino: Ino) -> Option<&mut Node> {
        self.0.get_mut(&ino).map(Arc::make_mut)
    }

    /// Compares two trees, links included; numbers of inodes may differ.
    pub fn compare(&self, found: &Image) -> std::result::Result<(), Mismatch> {
        let mut met: BTreeMap<Ino, Ino> = BTreeMap::new();
        let mut back: BTreeMap<Ino, Ino> = BTreeMap::new();
        let mut pending = vec![(String::new(), Ino::ROOT, Ino::ROOT)];
        while let Some((path, want, have)) = pending.pop() {
            match (met.insert(want, have), back.insert(have, want)) {
                (None, None) => {}
                (Some(old), Some(_)) if old == have => continue,
                _ => return Err(Mismatch(met.len(), format!("{path}: linked to another inode"))),
            }
            let (Some(want), Some(have)) = (self.0.get(&want), found.0.get(&have)) else {
                return Err(Mismatch(met.len(), format!("{path}: not in the image")));
            };
            want.compare(have).map_err(|what| Mismatch(met.len(), format!("{path}: {what}")))?;
            let both = want.entries.iter().zip(have.entries.values());
            pending.extend(both.map(|((name, a), b)| (format!("{path}/{}", name.escape_ascii()), *a, *b)));
        }
        Ok(())
    }
}

impl Node {
    fn read(fs: &dyn FileSystem, ino: Ino, attr: Attr) -> Result<Node> {
        let mut node = Node { attr, content: Vec::new(), xattrs: BTreeMap::new(), entries: BTreeMap::new() };
        for name in fs.list_xattr(ino)? {
            let value = fs.xattr(ino, &name)?;
            node.xattrs.insert(name, value);
        }
        match attr.kind {
            FileKind::File => node.content = content(fs, ino, attr.size)?,
            FileKind::Symlink => node.content = fs.readlink(ino)?,
            FileKind::Dir => {
                node.entries = list(fs, ino)?.into_iter().map(|(name, ino, _)| (name, ino)).collect();
            }
            _ => {}
        }
        Ok(node)
    }

    fn compare(&self, found: &Node) -> std::result::Result<(), String> {
        if !self.entries.keys().eq(found.entries.keys()) {
            let names = |node: &Node| -> Vec<String> {
                node.entries.keys().map(|name| name.escape_ascii().to_string()).collect()
            };
            return Err(format!("names {:?}, want {:?}", names(found), names(self)));
        }
        if self.attr != found.attr {
            return Err(difference(&found.attr, &self.attr));
        }
        if self.xattrs != found.xattrs {
            return Err(format!("attributes {:?}, want {:?}", found.xattrs.keys(), self.xattrs.keys()));
        }
        if self.content == found.content {
            return Ok(());
        }
        Err(format!(
            "content differs at {:?}, {} bytes, want {}",
            self.content.iter().zip(&found.content).position(|(a, b)| a != b),
            found.content.len(),
            self.content.len()
        ))
    }
}

/// The fields that differ.
pub fn difference(found: &Attr, want: &Attr) -> String {
    let fields = |attr: &Attr| -> Vec<String> {
        format!("{attr:#?}").replace("{\n        ", "").split("\n    ").map(str::to_string).collect()
    };
    let pairs = fields(found).into_iter().zip(fields(want)).filter(|(a, b)| a != b);
    let lines = pairs.map(|(a, b)| format!("{} want {}", a.replace('\n', ""), b.replace('\n', "")));
    lines.collect::<Vec<_>>().join(" ")
}

/// The attributes of an inode that can be compared from mount to mount.
pub fn comparable(ino: Ino, attr: Attr) -> Attr {
    let size = if attr.kind == FileKind::Dir { 0 } else { attr.size };
    // The root is as old as its file system.
    let btime = if ino == Ino::ROOT { Timestamp::default() } else { attr.btime };
    Attr { ino: Ino(0), generation: 0, allocated: 0, size, btime, ..attr }
}

/// Holes of sparse files are remembered as zeros up to here; behind it only other bytes are.
const SPARSE: u64 = 4 << 20;

/// The bytes of a file; of a long sparse one the data and where it lies.
fn content(fs: &dyn FileSystem, ino: Ino, size: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if size <= SPARSE {
        bytes.resize(usize::try_from(size).unwrap_or(0), 0);
        fs.read(ino, 0, &mut bytes)?;
        return Ok(bytes);
    }
    let mut at = 0;
    while let Ok(start) = fs.seek(ino, at, pumice_vfs::Seek::Data) {
        at = fs.seek(ino, start, pumice_vfs::Seek::Hole)?;
        let mut part = vec![0; usize::try_from(at - start).unwrap_or(0)];
        fs.read(ino, start, &mut part)?;
        // Zeros at either end count as a hole: how far data reaches is the file system's choice.
        for (offset, byte) in (start..).zip(part).filter(|(_, byte)| *byte != 0) {
            bytes.extend_from_slice(&offset.to_le_bytes());
            bytes.push(byte);
        }
    }
    Ok(bytes)
}
