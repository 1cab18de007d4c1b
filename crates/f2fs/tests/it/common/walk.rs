//! A mounted volume, walked as the manifest's maker walked the kernel's mount.

use std::{collections::BTreeMap, fmt::Write};

use pumice_f2fs::F2fs;
use pumice_vfs::{Attr, Errno, FileKind, FileSystem, Ino, Seek, Timestamp};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::manifest::{Record, escape};

/// Files above this have their blocks hashed, not their bytes.
const LARGE: u64 = 256 << 20;
const CHUNK: usize = 1 << 20;

pub(crate) fn records(fs: &F2fs) -> BTreeMap<String, Record> {
    let mut all = BTreeMap::new();
    for (path, attr) in entries(fs) {
        let record = record(fs, &path, &attr);
        assert!(all.insert(path, record).is_none(), "a name is there twice");
    }
    all
}

/// All regular files, once for each name.
pub(crate) fn files(fs: &F2fs) -> impl Iterator<Item = Attr> {
    entries(fs).into_iter().map(|(_, attr)| attr).filter(|attr| attr.kind == FileKind::File)
}

fn entries(fs: &F2fs) -> Vec<(String, Attr)> {
    let mut all = Vec::new();
    let mut todo = vec![(".".to_owned(), fs.attr(Ino::ROOT).unwrap())];
    while let Some((path, attr)) = todo.pop() {
        if attr.kind == FileKind::Dir {
            for (name, child) in children(fs, attr.ino) {
                let name = escape(&name);
                todo.push((if path == "." { name } else { format!("{path}/{name}") }, child));
            }
        }
        all.push((path, attr));
    }
    all
}

/// Every name, looked up too.
fn children(fs: &F2fs, dir: Ino) -> Vec<(Vec<u8>, Attr)> {
    let mut names = Vec::new();
    fs.readdir(dir, 0, &mut |entry| {
        names.push((entry.name.to_vec(), entry.ino, entry.kind));
        true
    })
    .unwrap();
    names
        .into_iter()
        .map(|(name, ino, kind)| {
            let attr =
                fs.lookup(dir, &name).unwrap_or_else(|error| panic!("{} in {dir:?}: {error}", escape(&name)));
            assert_eq!((attr.ino, attr.kind), (ino, kind), "{}", escape(&name));
            (name, attr)
        })
        .collect()
}

fn record(fs: &F2fs, path: &str, attr: &Attr) -> Record {
    let (inode, _) = fs.inode(attr.ino).unwrap();
    let mut record = Record(Map::new());
    record.set("path", path);
    record.set("type", kind(attr.kind));
    record.set("mode", format!("{:04o}", attr.perm));
    record.set("uid", attr.uid);
    record.set("gid", attr.gid);
    record.set("nlink", attr.nlink);
    record.set("ino", fs.nid(attr.ino).unwrap().0);
    record.set("size", attr.size);
    record.set("blocks", attr.allocated.div_ceil(512));
    record.set("atime", time(attr.atime));
    record.set("mtime", time(attr.mtime));
    record.set("ctime", time(attr.ctime));
    if let Some(extra) = inode.extra.filter(|extra| extra.has_crtime() && has_birth(fs)) {
        record.set("btime", time(extra.crtime));
    }
    if matches!(attr.kind, FileKind::File | FileKind::Dir) {
        record.set("flags", format!("{:#x}", inode.shown_flags()));
        record.set("projid", inode.extra.map_or(0, |extra| extra.project));
    }
    match attr.kind {
        FileKind::File => content(fs, attr, &mut record),
        FileKind::Symlink => record.set("target", escape(&fs.readlink(attr.ino).unwrap())),
        FileKind::CharDevice | FileKind::BlockDevice => {
            let (major, minor) =
                ((attr.rdev >> 8) & 0xfff, (attr.rdev & 0xff) | ((attr.rdev >> 12) & 0xf_ff00));
            record.set("rdev", format!("{major}:{minor}"));
        }
        _ => {}
    }
    let xattrs = xattrs(fs, attr.ino);
    if !xattrs.is_empty() {
        record.set("xattrs", Value::Object(xattrs));
    }
    record
}

fn has_birth(fs: &F2fs) -> bool {
    fs.volume().features().has(pumice_f2fs::layout::Features::INODE_CRTIME)
}

fn kind(kind: FileKind) -> &'static str {
    match kind {
        FileKind::File => "file",
        FileKind::Dir => "dir",
        FileKind::Symlink => "symlink",
        FileKind::Fifo => "fifo",
        FileKind::Socket => "sock",
        FileKind::CharDevice => "chr",
        FileKind::BlockDevice => "blk",
    }
}

fn time(time: Timestamp) -> String {
    format!("{}.{:09}", time.seconds, time.nanos)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn xattrs(fs: &F2fs, ino: Ino) -> Map<String, Value> {
    let names = fs.list_xattr(ino).unwrap();
    names.into_iter().map(|name| (escape(&name), Value::from(hex(&fs.xattr(ino, &name).unwrap())))).collect()
}

fn content(fs: &F2fs, attr: &Attr, record: &mut Record) {
    if attr.size > LARGE {
        return record.set("sha256_nzblocks", hex(&blocks_hash(fs, attr)));
    }
    let mut hash = Sha256::new();
    let mut buffer = vec![0; CHUNK];
    let mut at = 0;
    loop {
        let got = match fs.read(attr.ino, at, &mut buffer) {
            Ok(got) => got,
            Err(error) if error.errno() == Errno::NoKey => {
                // The kernel does not even open such a file, so nobody could ask for these.
                record.0.remove("flags");
                record.0.remove("projid");
                return;
            }
            Err(error) => return record.set("read_error", error.to_string()),
        };
        if got == 0 {
            break;
        }
        hash.update(&buffer[..got]);
        at += got as u64;
    }
    record.set("sha256", hex(&hash.finalize()));
}

/// A hash over index and bytes of every block of 4 KiB that is not all zeros.
fn blocks_hash(fs: &F2fs, attr: &Attr) -> Vec<u8> {
    let mut hash = Sha256::new();
    let mut at = 0;
    while let Ok(start) = fs.seek(attr.ino, at, Seek::Data) {
        let end = fs.seek(attr.ino, start, Seek::Hole).unwrap();
        assert!(end > start);
        let mut index = start / 4096;
        while index * 4096 < end {
            let mut block = [0; 4096];
            fs.read(attr.ino, index * 4096, &mut block).unwrap();
            if block != [0; 4096] {
                hash.update(index.to_le_bytes());
                hash.update(block);
            }
            index += 1;
        }
        at = end;
    }
    hash.finalize().to_vec()
}
