//! A walk over a tree inside an image, without recursion: a damaged image may be deep.
//!
//! Unreadable entries are told and passed over. Memory is bounded but for the depth of the tree, and each directory is
//! entered once, whatever a damaged image says.

use pumice_vfs::{Attr, Errno, FileKind, FileSystem, FsError, Ino};

use super::{
    inode_set::InodeSet,
    names::{BATCH, Names},
};
use crate::{
    failure::{Failure, Outcome},
    losses::Losses,
};

/// Bytes a path may have: 16 times the host's limit for one call. Deeper trees are cut.
const PATH_MAX: usize = 1 << 16;
/// Names kept in memory for all directories on the way together.
const KEPT_MAX: usize = 2 * BATCH;

/// The step of the walk.
#[derive(Debug)]
pub(crate) enum Step {
    /// An entry; the content of a directory follows it.
    Enter,
    /// The end of a directory's content.
    Leave,
}

/// An entry on the way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// Path from where the walk began, in its words.
    pub(crate) path: &'a [u8],
    /// Last name of the path.
    pub(crate) name: &'a [u8],
    /// The directory it is in; of the start, itself.
    pub(crate) parent: Ino,
    /// Its attributes.
    pub(crate) attr: &'a Attr,
    /// Directories between the start and the entry.
    pub(crate) depth: usize,
    /// True if no entry of the same directory follows.
    pub(crate) last: bool,
}

/// The function that is called at each step. A failure ends the walk.
pub(crate) type Visit<'a> = dyn FnMut(Step, &Place<'_>) -> Outcome + 'a;

/// A directory on the way of the walk.
struct Level {
    attr: Attr,
    parent: Ino,
    /// The length of its path, and the beginning of its name there.
    path_end: usize,
    name_at: usize,
    last: bool,
    names: Names,
    /// The next entry that can be read.
    ready: Option<(Vec<u8>, Attr)>,
}

struct Walk<'a> {
    fs: &'a dyn FileSystem,
    losses: &'a Losses,
    /// The visitor of a directory looks at its entries himself: only directories are visited, and only those missing
    /// parts are told which he cannot know.
    directories_only: bool,
    levels: Vec<Level>,
    /// Path of the entry that the walk is at.
    path: Vec<u8>,
    entered: InodeSet,
    /// Names that all levels keep.
    kept: usize,
}

/// Visits `start` and all below it, by name, directories before and after their content.
pub(crate) fn walk(
    fs: &dyn FileSystem,
    path: &[u8],
    start: &Attr,
    losses: &Losses,
    visit: &mut Visit<'_>,
) -> Outcome {
    Walk::new(fs, path, losses, false).run(start, visit)
}

/// The same for directories only: the visitor looks at their entries, and tells which are missing.
pub(crate) fn walk_directories(
    fs: &dyn FileSystem,
    path: &[u8],
    start: &Attr,
    losses: &Losses,
    visit: &mut Visit<'_>,
) -> Outcome {
    Walk::new(fs, path, losses, true).run(start, visit)
}

impl<'a> Walk<'a> {
    fn new(fs: &'a dyn FileSystem, path: &[u8], losses: &'a Losses, directories_only: bool) -> Walk<'a> {
        Walk {
            fs,
            losses,
            directories_only,
            levels: Vec::new(),
            path: path.to_vec(),
            entered: InodeSet::default(),
            kept: 0,
        }
    }

    fn run(mut self, start: &Attr, visit: &mut Visit<'_>) -> Outcome {
        let name_at = self.path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
        self.enter(*start, start.ino, name_at, true, visit)?;
        while !self.levels.is_empty() {
            self.step(visit)?;
        }
        Ok(())
    }

    /// Goes to the next entry of the innermost directory, or out of it.
    fn step(&mut self, visit: &mut Visit<'_>) -> Outcome {
        let Some(level) = self.levels.last_mut() else { return Ok(()) };
        let parent = level.attr.ino;
        self.path.truncate(level.path_end);
        let Some((name, attr)) = level.ready.take() else { return self.leave(visit) };
        let is_last = !self.make_ready();
        if !self.path.is_empty() && !self.path.ends_with(b"/") {
            self.path.push(b'/');
        }
        let name_at = self.path.len();
        self.path.extend_from_slice(&name);
        if self.is_too_long() || (attr.kind == FileKind::Dir && self.entered_before(&attr)) {
            return Ok(());
        }
        self.enter(attr, parent, name_at, is_last, visit)
    }

    fn enter(
        &mut self,
        attr: Attr,
        parent: Ino,
        name_at: usize,
        last: bool,
        visit: &mut Visit<'_>,
    ) -> Outcome {
        let name = self.path.get(name_at..).unwrap_or_default();
        let depth = self.levels.len();
        visit(Step::Enter, &Place { path: &self.path, name, parent, attr: &attr, depth, last })?;
        if attr.kind == FileKind::Dir {
            self.entered.insert(attr.ino);
            let (path_end, names) = (self.path.len(), Names::of(attr.ino));
            self.levels.push(Level { attr, parent, path_end, name_at, last, names, ready: None });
            self.make_ready();
        }
        Ok(())
    }

    fn leave(&mut self, visit: &mut Visit<'_>) -> Outcome {
        let Some(Level { attr, parent, name_at, last, .. }) = self.levels.pop() else { return Ok(()) };
        let name = self.path.get(name_at..).unwrap_or_default();
        let depth = self.levels.len();
        visit(Step::Leave, &Place { path: &self.path, name, parent, attr: &attr, depth, last })
    }

    /// Looks for the next entry of the innermost directory that can be read; false if there is none.
    fn make_ready(&mut self) -> bool {
        let Some(level) = self.levels.last_mut() else { return false };
        let path = self.path.get(..level.path_end).unwrap_or_default();
        let before = level.names.kept();
        while level.ready.is_none() {
            let Some(next) = level.names.next(self.fs) else { break };
            let found = match next {
                Ok((_, _, kind)) if self.directories_only && kind != FileKind::Dir => continue,
                Ok((name, ino, _)) => attr_of(self.fs, path, &name, ino).map(|attr| (name, attr)),
                Err(error) => Err(Failure::inside(path, &error)),
            };
            match found {
                Ok((_, attr)) if self.directories_only && attr.kind != FileKind::Dir => {}
                Ok(ready) => level.ready = Some(ready),
                Err(_) if self.directories_only => {}
                Err(failure) => self.losses.add(&failure),
            }
        }
        let is_ready = level.ready.is_some();
        self.kept = self.kept + level.names.kept() - before;
        self.make_room();
        is_ready
    }

    /// Has the outer directories forget their names, once there are too many.
    fn make_room(&mut self) {
        if self.kept <= KEPT_MAX {
            return;
        }
        let inner = self.levels.len().saturating_sub(1);
        for level in self.levels.iter_mut().take(inner) {
            self.kept -= level.names.kept();
            level.names.forget();
        }
    }

    /// True for a path that is longer than any should be: that is told.
    fn is_too_long(&self) -> bool {
        let is_too_long = self.path.len() > PATH_MAX;
        if is_too_long {
            let why = format!("the path has {} bytes, {PATH_MAX} at most", self.path.len());
            self.losses.add(&Failure::inside(&self.path, &FsError::new(Errno::NameTooLong, why)));
        }
        is_too_long
    }

    /// True for a directory that has another place, or is inside itself: that is told.
    fn entered_before(&self, attr: &Attr) -> bool {
        let is_inside = self.levels.iter().any(|level| level.attr.ino == attr.ino);
        let why = match (self.entered.contains(attr.ino), is_inside) {
            (false, _) => return false,
            (true, true) => "the directory is inside itself",
            (true, false) => "the directory is in two places",
        };
        self.losses.add(&Failure::new(format!(
            "{}: {why} (inode {}); the image is damaged, run `pumice fsck`",
            crate::text::name(&self.path),
            attr.ino.0
        )));
        true
    }
}

/// The attributes of the entry `name` in the directory at `path`.
fn attr_of(fs: &dyn FileSystem, path: &[u8], name: &[u8], ino: Ino) -> Outcome<Attr> {
    fs.attr(ino).map_err(|error| Failure::inside(&crate::path::join(path, name), &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{dir, file, memory};

    #[test]
    fn directories_are_left_after_their_content() {
        let fs = memory();
        let a = dir(&fs, Ino::ROOT, b"a");
        file(&fs, a, b"2", b"");
        file(&fs, a, b"1", b"");
        file(&fs, Ino::ROOT, b"b", b"");
        let mut seen = Vec::new();
        let root = fs.attr(Ino::ROOT).ok().unwrap_or_else(|| unreachable!());
        let walked = walk(&fs, b"", &root, &Losses::default(), &mut |step, place| {
            seen.push(format!("{step:?} {} {}", crate::text::name(place.path), place.last));
            Ok(())
        });
        assert!(walked.is_ok());
        assert_eq!(
            seen,
            [
                "Enter  true",
                "Enter a false",
                "Enter a/1 false",
                "Enter a/2 true",
                "Leave a false",
                "Enter b true",
                "Leave  true"
            ]
        );
    }
}
