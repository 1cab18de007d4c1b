//! A directory of the host as a tree for a new volume.

use std::{
    collections::HashMap,
    fs::{self, File},
    io,
    os::unix::{
        ffi::OsStrExt,
        fs::{FileExt, MetadataExt},
    },
    path::{Path, PathBuf},
};

use pumice_f2fs::{
    InodeFlags,
    mkfs::{Attributes, Content, EntryId, Source, Tree},
};
use pumice_vfs::FileKind;

use crate::{
    failure::{Failure, Outcome},
    interrupt::Interrupt,
    tree::{
        host,
        push::{children, next_data},
    },
};

/// Flags of files and directories that are kept.
const FLAGS: InodeFlags = InodeFlags(
    InodeFlags::SYNC.0
        | InodeFlags::IMMUTABLE.0
        | InodeFlags::APPEND.0
        | InodeFlags::NODUMP.0
        | InodeFlags::NOATIME.0
        | InodeFlags::DIRSYNC.0,
);
/// Bytes that one unit of `st_blocks` stands for.
const SECTOR_BYTES: u64 = 512;

/// A directory that was walked, to be read from.
pub(crate) struct Directory {
    /// The path of each entry.
    paths: Vec<PathBuf>,
    interrupt: Interrupt,
}

/// Walks a directory: the tree in it, and where to read it from.
pub(crate) fn walk(root: &Path, interrupt: &Interrupt) -> Outcome<(Tree, Directory)> {
    let found = fs::metadata(root).map_err(|error| Failure::host(root, &error))?;
    let mut walk = Walk {
        tree: Tree::new(attributes(root, &found)?),
        paths: vec![root.to_path_buf()],
        links: HashMap::new(),
    };
    let mut open = vec![EntryId::ROOT];
    while let Some(dir) = open.pop() {
        interrupt.check()?;
        walk.directory(dir, &mut open)?;
    }
    Ok((walk.tree, Directory { paths: walk.paths, interrupt: interrupt.clone() }))
}

struct Walk {
    tree: Tree,
    paths: Vec<PathBuf>,
    /// Entries of host files with several names, by device and inode there.
    links: HashMap<(u64, u64), EntryId>,
}

impl Walk {
    /// The entries of a directory; directories in it are to be walked, too.
    fn directory(&mut self, dir: EntryId, open: &mut Vec<EntryId>) -> Outcome {
        let path = self.paths.get(dir.index()).cloned().unwrap_or_default();
        for name in children(&path)? {
            let path = path.join(&name);
            let found = fs::symlink_metadata(&path).map_err(|error| Failure::host(&path, &error))?;
            let refused = |error: pumice_f2fs::mkfs::FormatError| Failure::new(error.to_string());
            let linked = (found.nlink() > 1 && !found.is_dir()).then(|| (found.dev(), found.ino()));
            if let Some(first) = linked.and_then(|key| self.links.get(&key)) {
                self.tree.link(dir, name.as_bytes(), *first).map_err(refused)?;
                continue;
            }
            let made = self.tree.add(dir, name.as_bytes(), attributes(&path, &found)?).map_err(refused)?;
            self.paths.push(path);
            if let Some(key) = linked {
                self.links.insert(key, made);
            }
            if found.is_dir() {
                open.push(made);
            }
        }
        Ok(())
    }
}

fn attributes(path: &Path, found: &fs::Metadata) -> Outcome<Attributes> {
    let failed = |error| Failure::host(path, &error);
    let kind = host::kind(found);
    let (_, mtime) = host::times(found);
    let target = match kind {
        FileKind::Symlink => fs::read_link(path).map_err(failed)?,
        _ => PathBuf::new(),
    };
    let is_device = matches!(kind, FileKind::CharDevice | FileKind::BlockDevice);
    Ok(Attributes {
        kind,
        perm: found.mode() & 0o7777,
        uid: found.uid(),
        gid: found.gid(),
        rdev: if is_device { host::rdev(found) } else { 0 },
        mtime,
        size: if kind == FileKind::File { found.len() } else { 0 },
        sparse: kind == FileKind::File && has_holes(path, found).map_err(failed)?,
        target: host::bytes(&target).to_vec(),
        xattrs: host::xattrs(path).map_err(failed)?.into_iter().collect(),
        flags: flags(path, kind)?,
        is_sealed: false,
    })
}

/// True if a file has holes, and is not only compressed by the host.
fn has_holes(path: &Path, found: &fs::Metadata) -> io::Result<bool> {
    let size = found.len();
    Ok(found.blocks() * SECTOR_BYTES < size && next_data(&File::open(path)?, 0, size)? != Some((0, size)))
}

/// Flags that a file of the host has, and F2FS as well. How the host stores a file is no flag of that kind.
fn flags(path: &Path, kind: FileKind) -> Outcome<InodeFlags> {
    let known = match kind {
        FileKind::File => FLAGS,
        FileKind::Dir => FLAGS.with(InodeFlags::CASEFOLD),
        _ => return Ok(InodeFlags(0)),
    };
    let found = host::flags(path).map_err(|error| Failure::host(path, &error))?;
    Ok(InodeFlags(found & known.0))
}

impl Source for Directory {
    fn open(&self, file: EntryId) -> io::Result<Box<dyn Content + '_>> {
        self.interrupt.check_io()?;
        let path = self.paths.get(file.index()).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(HostFile { file: File::open(path)? }))
    }
}

struct HostFile {
    file: File,
}

impl Content for HostFile {
    fn read(&mut self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, at)
    }

    fn next_data(&mut self, from: u64) -> io::Result<Option<(u64, u64)>> {
        next_data(&self.file, from, u64::MAX)
    }
}
