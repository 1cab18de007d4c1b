//! Puts an operation to a file system, and holds two answers together.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::Leeway;
use super::compare::{compare_attr, same};
use super::op::{Op, Pick, made_up};
use crate::{Attr, FileKind, FileSystem, Ino, Result};

#[derive(Debug)]
pub(super) enum Answer {
    Nothing,
    Attr(Attr),
    Ino(Ino),
    Bytes(Vec<u8>),
    /// Sorted.
    Names(Vec<Vec<u8>>),
    /// Sorted by name.
    Entries(Vec<(Vec<u8>, FileKind, Ino)>),
}

/// Makes the call of `op`. Operations that are no single call are not for here and do nothing.
pub(super) fn perform(fs: &dyn FileSystem, op: &Op, find: &dyn Fn(Pick) -> Ino) -> Result<Answer> {
    let nothing = |()| Answer::Nothing;
    match op {
        Op::Attr { node } => fs.attr(find(*node)).map(Answer::Attr),
        Op::SetAttr { node, change } => fs.set_attr(find(*node), change).map(Answer::Attr),
        Op::Lookup { dir, name } => fs.lookup(find(*dir), &name.bytes()).map(Answer::Attr),
        Op::Parent { dir } => fs.parent(find(*dir)).map(Answer::Ino),
        Op::Readlink { node } => fs.readlink(find(*node)).map(Answer::Bytes),
        Op::Create { dir, name, node } => {
            node.with(|node| fs.create(find(*dir), &name.bytes(), node)).map(Answer::Attr)
        }
        Op::Link { node, dir, name } => fs.link(find(*node), find(*dir), &name.bytes()).map(Answer::Attr),
        Op::Unlink { dir, name } => fs.unlink(find(*dir), &name.bytes()).map(nothing),
        Op::Rmdir { dir, name } => fs.rmdir(find(*dir), &name.bytes()).map(nothing),
        Op::Rename { dir, name, to_dir, to_name, mode } => {
            fs.rename(find(*dir), &name.bytes(), find(*to_dir), &to_name.bytes(), *mode).map(nothing)
        }
        Op::Hold { node } => fs.hold(find(*node)).map(nothing),
        Op::Read { file, offset, len } => read(fs, find(*file), *offset, *len).map(Answer::Bytes),
        Op::Write { file, offset, len, seed } => {
            fs.write(find(*file), *offset, &made_up(*seed, *len)).map(nothing)
        }
        Op::Allocate { file, mode, offset, length } => {
            fs.allocate(find(*file), *mode, *offset, *length).map(nothing)
        }
        Op::Fsync { node, data_only } => fs.fsync(find(*node), *data_only).map(nothing),
        Op::Sync => fs.sync().map(nothing),
        Op::Readdir { dir, at_once } => entries(fs, find(*dir), *at_once).map(Answer::Entries),
        Op::Xattr { node, name } => fs.xattr(find(*node), &name.bytes()).map(Answer::Bytes),
        Op::SetXattr { node, name, len, seed, mode } => {
            fs.set_xattr(find(*node), &name.bytes(), &made_up(*seed, *len), *mode).map(nothing)
        }
        Op::ListXattr { node } => fs.list_xattr(find(*node)).map(|mut names| {
            names.sort();
            Answer::Names(names)
        }),
        Op::RemoveXattr { node, name } => fs.remove_xattr(find(*node), &name.bytes()).map(nothing),
        Op::Space
        | Op::Release { .. }
        | Op::Seek { .. }
        | Op::StreamOpen { .. }
        | Op::StreamStep { .. }
        | Op::Maintain
        | Op::Remount => Ok(Answer::Nothing),
    }
}

/// Compares the model's answer with the subject's; `to_subject` maps inode numbers of the model.
pub(super) fn compare_answers(
    model: &Answer,
    subject: &Answer,
    to_subject: &dyn Fn(Ino) -> Option<Ino>,
    leeway: Leeway,
) -> core::result::Result<(), String> {
    match (model, subject) {
        (Answer::Nothing, Answer::Nothing) => Ok(()),
        (Answer::Attr(model), Answer::Attr(subject)) => {
            same("inode", &to_subject(model.ino), &Some(subject.ino))?;
            compare_attr(model, subject, leeway)
        }
        (Answer::Ino(model), Answer::Ino(subject)) => same("inode", &to_subject(*model), &Some(*subject)),
        (Answer::Bytes(model), Answer::Bytes(subject)) => compare_bytes(model, subject),
        (Answer::Names(model), Answer::Names(subject)) => same("names", model, subject),
        (Answer::Entries(model), Answer::Entries(subject)) => {
            let mapped: Vec<_> = model
                .iter()
                .map(|(name, kind, ino)| (name, kind, to_subject(*ino).unwrap_or(Ino(0))))
                .collect();
            same("entries", &mapped, &subject.iter().map(|(name, kind, ino)| (name, kind, *ino)).collect())
        }
        _ => Err(format!("answers of different kinds: {model:?} and {subject:?}")),
    }
}

fn compare_bytes(model: &[u8], subject: &[u8]) -> core::result::Result<(), String> {
    same("length", &model.len(), &subject.len())?;
    match model.iter().zip(subject).position(|(model, subject)| model != subject) {
        Some(at) => Err(format!("byte {at}: {} and {}", model[at], subject[at])),
        None => Ok(()),
    }
}

fn read(fs: &dyn FileSystem, ino: Ino, offset: u64, len: u32) -> Result<Vec<u8>> {
    let mut bytes = vec![0xa5; usize::try_from(len).unwrap_or(0)];
    let count = fs.read(ino, offset, &mut bytes)?;
    bytes.truncate(count);
    Ok(bytes)
}

/// All entries, asked for `at_once` at a time (0 counts as 1). Gives up on a directory that does not end.
fn entries(fs: &dyn FileSystem, dir: Ino, at_once: u8) -> Result<Vec<(Vec<u8>, FileKind, Ino)>> {
    const ENDLESS: usize = 100_000;
    let mut found = Vec::new();
    let mut cookie = 0;
    loop {
        let before = found.len();
        let mut refused = false;
        fs.readdir(dir, cookie, &mut |entry| {
            refused = found.len() - before == usize::from(at_once.max(1));
            if !refused {
                found.push((entry.name.to_vec(), entry.kind, entry.ino));
                cookie = entry.cookie;
            }
            !refused
        })?;
        if !refused || found.len() > ENDLESS {
            found.sort_by(|(left, ..), (right, ..)| left.cmp(right));
            return Ok(found);
        }
    }
}
