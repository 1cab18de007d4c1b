//! All errors that an operation deserves. The model returns the first it finds; the subject may find another one first.

use alloc::vec::Vec;

use super::op::{Name, Op, Pick};
use crate::{Errno, FileKind, FileSystem, Ino, RenameMode, XattrMode, check_name};

/// The errors that apply to `op`, as far as more than one can. `find` finds inodes of the model.
pub(super) fn excuses(op: &Op, model: &dyn FileSystem, find: &dyn Fn(Pick) -> Ino) -> Vec<Errno> {
    let state = State { model };
    match op {
        Op::Create { dir, name, .. } => state.making(find(*dir), *name),
        Op::Link { node, dir, name } => {
            let mut errors = state.making(find(*dir), *name);
            errors.extend(state.is_dir(find(*node)).then_some(Errno::Perm));
            errors.extend(state.is_nameless(find(*node)).then_some(Errno::NoEntry));
            errors
        }
        Op::Unlink { dir, name } | Op::Rmdir { dir, name } | Op::Lookup { dir, name } => {
            let mut errors: Vec<Errno> = bad_name(*name).into_iter().collect();
            errors.push(if state.is_dir(find(*dir)) { Errno::NoEntry } else { Errno::NotDir });
            errors
        }
        Op::Rename { dir, name, to_dir, to_name, mode } => {
            state.moving((find(*dir), *name), (find(*to_dir), *to_name), *mode)
        }
        Op::SetXattr { node, name, len, mode, .. } => {
            let there = model.xattr(find(*node), &name.bytes()).is_ok();
            let mut errors = Vec::new();
            errors.extend((name.0 > 5).then_some(Errno::NotSupported));
            errors.extend((*len > 65_536).then_some(Errno::Range));
            errors.extend((*mode == XattrMode::Create && there).then_some(Errno::Exists));
            errors.extend((*mode == XattrMode::Replace && !there).then_some(Errno::NoData));
            errors
        }
        Op::Xattr { name, .. } | Op::RemoveXattr { name, .. } if name.0 > 5 => {
            Vec::from([Errno::NotSupported, Errno::NoData])
        }
        _ => Vec::new(),
    }
}

struct State<'a> {
    model: &'a dyn FileSystem,
}

impl State<'_> {
    fn making(&self, dir: Ino, name: Name) -> Vec<Errno> {
        let mut errors: Vec<Errno> = bad_name(name).into_iter().collect();
        errors.extend((!self.is_dir(dir)).then_some(Errno::NotDir));
        errors.extend(self.is_nameless(dir).then_some(Errno::NoEntry));
        errors.extend(self.entry(dir, name).map(|_| Errno::Exists));
        errors
    }

    fn moving(&self, source: (Ino, Name), target: (Ino, Name), mode: RenameMode) -> Vec<Errno> {
        let mut errors = Vec::new();
        for (dir, name) in [source, target] {
            errors.extend(bad_name(name));
            errors.extend((!self.is_dir(dir)).then_some(Errno::NotDir));
            errors.extend(self.is_nameless(dir).then_some(Errno::NoEntry));
        }
        let (from, to) = (self.entry(source.0, source.1), self.entry(target.0, target.1));
        let missing = from.is_none() || (mode == RenameMode::Exchange && to.is_none());
        errors.extend(missing.then_some(Errno::NoEntry));
        errors.extend((mode == RenameMode::NoReplace && to.is_some()).then_some(Errno::Exists));
        errors.extend(from.is_some_and(|from| self.is_within(target.0, from)).then_some(Errno::Invalid));
        if mode == RenameMode::Exchange {
            errors.extend(to.is_some_and(|to| self.is_within(source.0, to)).then_some(Errno::Invalid));
        } else if let (Some(from), Some(to)) = (from, to) {
            errors.extend(self.replacing(from, to));
        }
        errors
    }

    fn replacing(&self, from: Ino, to: Ino) -> Option<Errno> {
        let mut empty = true;
        match (self.is_dir(from), self.is_dir(to)) {
            (true, false) => Some(Errno::NotDir),
            (false, true) => Some(Errno::IsDir),
            (true, true) => {
                let readable = self.model.readdir(to, 0, &mut |_| {
                    empty = false;
                    false
                });
                (readable.is_ok() && !empty).then_some(Errno::NotEmpty)
            }
            (false, false) => None,
        }
    }

    /// The inode behind a name other than `.` and `..`.
    fn entry(&self, dir: Ino, name: Name) -> Option<Ino> {
        check_name(&name.bytes()).ok()?;
        Some(self.model.lookup(dir, &name.bytes()).ok()?.ino)
    }

    fn is_dir(&self, ino: Ino) -> bool {
        self.model.attr(ino).is_ok_and(|attr| attr.kind == FileKind::Dir)
    }

    fn is_nameless(&self, ino: Ino) -> bool {
        self.model.attr(ino).is_ok_and(|attr| attr.nlink == 0)
    }

    fn is_within(&self, dir: Ino, top: Ino) -> bool {
        let mut at = dir;
        while at != top {
            match self.model.parent(at) {
                Ok(parent) if parent != at => at = parent,
                _ => return false,
            }
        }
        true
    }
}

fn bad_name(name: Name) -> Option<Errno> {
    check_name(&name.bytes()).err().map(|error| error.errno())
}
