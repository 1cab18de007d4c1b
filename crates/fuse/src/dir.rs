//! Directories as the kernel reads them.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, time::Duration};

use fuser::{INodeNo, ReplyDirectory, ReplyDirectoryPlus};
use pumice_vfs::{Attr, Errno, FileKind, FileSystem, Ino, Result};

use crate::{
    attr::{file_attr, file_type, generation},
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
    walk(fs, dir, offset, &mut |entry| {
        Ok(!reply.add(
            INodeNo(entry.ino.0),
            entry.offset,
            file_type(entry.kind),
            OsStr::from_bytes(&entry.name),
        ))
    })
}

/// The same with attributes. The kernel counts each entry as a lookup, except `.` and `..`.
pub(crate) fn list_plus<F: FileSystem + ?Sized>(
    fs: &F,
    refs: &Refs,
    dir: Ino,
    offset: u64,
    ttl: Duration,
    reply: &mut ReplyDirectoryPlus,
) -> Result<()> {
    walk(fs, dir, offset, &mut |entry| {
        let counted = entry.offset > DOT_DOT;
        let Some(attr) = attr_of(fs, refs, entry.ino, counted)? else { return Ok(true) };
        let name = OsStr::from_bytes(&entry.name);
        let full =
            reply.add(INodeNo(entry.ino.0), entry.offset, name, &ttl, &file_attr(&attr), generation(&attr));
        if full && counted {
            refs.give_back(fs, entry.ino, 1)?;
        }
        Ok(!full)
    })
}

/// Attributes of an entry; `None` if it has gone since it was listed.
fn attr_of<F: FileSystem + ?Sized>(fs: &F, refs: &Refs, ino: Ino, counted: bool) -> Result<Option<Attr>> {
    let taken = if counted { refs.take(fs, ino) } else { Ok(()) };
    match taken.and_then(|()| fs.attr(ino)) {
        Ok(attr) => Ok(Some(attr)),
        Err(error) if error.errno() == Errno::Stale => Ok(None),
        Err(error) => Err(error),
    }
}

/// Hands out entries until `add` says no.
fn walk<F: FileSystem + ?Sized>(
    fs: &F,
    dir: Ino,
    offset: u64,
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
        let batch = next_batch(fs, dir, cookie)?;
        for entry in &batch {
            if !add(entry)? {
                return Ok(());
            }
            cookie = entry.offset - DOT_DOT;
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

fn next_batch<F: FileSystem + ?Sized>(fs: &F, dir: Ino, cookie: u64) -> Result<Vec<Entry>> {
    let mut batch = Vec::with_capacity(BATCH);
    fs.readdir(dir, cookie, &mut |entry| {
        batch.push(Entry {
            name: entry.name.to_vec(),
            ino: entry.ino,
            kind: entry.kind,
            offset: entry.cookie.saturating_add(DOT_DOT),
        });
        batch.len() < BATCH
    })?;
    Ok(batch)
}
