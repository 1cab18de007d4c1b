//! Answers the kernel's requests to read directories.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, time::Duration};

use fuser::{FileAttr, Generation, INodeNo, ReplyDirectory, ReplyDirectoryPlus};
use pumice_vfs::{Attr, Errno, FileKind, FileSystem, Ino, Result};

use crate::{
    attr::{View, absent, file_type, generation},
    refs::Refs,
};

/// Entries taken from the file system at a time. The reply is filled between two calls, not within one, so
/// that attributes can be asked for.
const BATCH: usize = 128;

/// `.` and `..` come first, under these offsets; a cookie of the file system is shifted behind them.
const DOT: u64 = 1;
const DOT_DOT: u64 = 2;

struct Entry {
    name: Vec<u8>,
    ino: Ino,
    kind: FileKind,
    offset: u64,
}

/// Fills `reply` with the entries behind `offset`.
pub(crate) fn list<F: FileSystem + ?Sized>(
    fs: &F,
    dir: Ino,
    offset: u64,
    reply: &mut ReplyDirectory,
) -> Result<()> {
    walk(fs, dir, offset, &|_| {}, &mut |entry| {
        Ok(!reply.add(
            INodeNo(entry.ino.0),
            entry.offset,
            file_type(entry.kind),
            OsStr::from_bytes(&entry.name),
        ))
    })
}

/// The same with attributes; returns the offset of the last entry. The kernel counts each entry as a lookup, except `.`
/// and `..`.
pub(crate) fn list_plus<F: FileSystem + ?Sized>(
    fs: &F,
    refs: &Refs,
    dir: Ino,
    offset: u64,
    view: &View,
    reply: &mut ReplyDirectoryPlus,
) -> Result<u64> {
    let mut last = offset;
    walk(fs, dir, offset, &|batch| expect(fs, batch), &mut |entry| {
        let counted = entry.offset > DOT_DOT;
        let (attr, generation, ttl) = match attr_of(fs, refs, entry.ino, counted) {
            Ok(attr) => (view.file_attr(&attr), generation(&attr), view.ttl),
            // Gone since it was listed.
            Err(error) if error.errno() == Errno::Stale => return Ok(true),
            // A later call for more than its name gets the error.
            Err(_) => (unknown(entry), Generation(0), Duration::ZERO),
        };
        let name = OsStr::from_bytes(&entry.name);
        let full = reply.add(INodeNo(entry.ino.0), entry.offset, name, &ttl, &attr, generation);
        if full && counted {
            refs.give_back(fs, entry.ino, 1)?;
        }
        if !full {
            last = entry.offset;
        }
        Ok(!full)
    })?;
    Ok(last)
}

/// Reads the inodes of the entries behind `offset` ahead, while the kernel processes the last reply.
pub(crate) fn prepare<F: FileSystem + ?Sized>(fs: &F, dir: Ino, offset: u64) {
    let mut batch = Vec::with_capacity(BATCH);
    // A failure now is a failure again at the next call.
    let _ = next_batch(fs, dir, offset.saturating_sub(DOT_DOT), &mut batch);
    expect(fs, &batch);
}

fn expect<F: FileSystem + ?Sized>(fs: &F, batch: &[Entry]) {
    let inos: Vec<Ino> = batch.iter().map(|entry| entry.ino).collect();
    fs.expect(&inos);
}

/// Attributes of an entry with an unreadable inode: those in the directory.
fn unknown(entry: &Entry) -> FileAttr {
    FileAttr { ino: INodeNo(entry.ino.0), kind: file_type(entry.kind), nlink: 1, ..absent() }
}

/// Attributes of an entry; counts the kernel's reference to it.
fn attr_of<F: FileSystem + ?Sized>(fs: &F, refs: &Refs, ino: Ino, counted: bool) -> Result<Attr> {
    if counted {
        refs.take(fs, ino)?;
    }
    fs.attr(ino)
}

/// Passes entries to `add` until it returns true. Each batch is passed to `look` first.
fn walk<F: FileSystem + ?Sized>(
    fs: &F,
    dir: Ino,
    offset: u64,
    look: &dyn Fn(&[Entry]),
    add: &mut dyn FnMut(&Entry) -> Result<bool>,
) -> Result<()> {
    if offset < DOT_DOT {
        for entry in dots(fs, dir)?.iter().filter(|entry| entry.offset > offset) {
            if !add(entry)? {
                return Ok(());
            }
        }
    }
    let mut cookie = offset.saturating_sub(DOT_DOT);
    loop {
        let mut batch = Vec::with_capacity(BATCH);
        let read = next_batch(fs, dir, cookie, &mut batch);
        look(&batch);
        for entry in &batch {
            if !add(entry)? {
                return Ok(());
            }
            cookie = entry.offset - DOT_DOT;
        }
        match read {
            // Some of the directory is damaged: the rest of it is shown, as ext4 does, and the log says so.
            Err(error) if error.errno() == Errno::Io && (cookie > 0 || !batch.is_empty()) => {
                log::error!("directory {}: {error}", dir.0);
            }
            read => read?,
        }
        if batch.len() < BATCH {
            return Ok(());
        }
    }
}

fn dots<F: FileSystem + ?Sized>(fs: &F, dir: Ino) -> Result<[Entry; 2]> {
    let entry = |name: &[u8], ino, offset| Entry { name: name.to_vec(), ino, kind: FileKind::Dir, offset };
    Ok([entry(b".", dir, DOT), entry(b"..", fs.parent(dir)?, DOT_DOT)])
}

fn next_batch<F: FileSystem + ?Sized>(fs: &F, dir: Ino, cookie: u64, batch: &mut Vec<Entry>) -> Result<()> {
    fs.readdir(dir, cookie, &mut |entry| {
        batch.push(Entry {
            name: entry.name.to_vec(),
            ino: entry.ino,
            kind: entry.kind,
            offset: entry.cookie.saturating_add(DOT_DOT),
        });
        batch.len() < BATCH
    })
}
