//! A walk over a tree, without recursion: a damaged file system may be deep.
//!
//! Unreadable entries are told and passed over. Memory is bounded but for the depth of the tree, and each directory is
//! entered once, whatever a damaged file system says.

mod inode_set;
mod names;

use alloc::{format, vec::Vec};

pub use names::{Named, Names};

use self::{inode_set::InodeSet, names::BATCH};
use crate::{Attr, Errno, FileKind, FileSystem, FsError, Ino, path};

/// Bytes a path may have: 16 times the host's limit for one call. Deeper trees are cut.
const PATH_MAX: usize = 1 << 16;
/// Names kept in memory for all directories on the way together.
const KEPT_MAX: usize = 2 * BATCH;

/// An entry on the way.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Path from where the walk began, in its words.
    pub path: &'a [u8],
    /// Last name of the path.
    pub name: &'a [u8],
    /// The directory it is in; of the start, itself.
    pub parent: Ino,
    /// Its attributes.
    pub attr: &'a Attr,
    /// Directories between the start and the entry.
    pub depth: usize,
    /// True if no entry of the same directory follows.
    pub last: bool,
}

/// A step of the walk.
#[derive(Debug)]
pub enum Step<'a> {
    /// An entry; the content of a directory follows it.
    Enter(Place<'a>),
    /// The end of a directory's content.
    Leave(Place<'a>),
    /// Something below a path that cannot be read, or must not be followed; the walk goes on behind it.
    Lost {
        /// The path.
        path: &'a [u8],
        /// The reason.
        error: FsError,
    },
}

/// The function that is called at each step. Its error ends the walk.
pub type Visit<'a, E> = dyn FnMut(Step<'_>) -> Result<(), E> + 'a;

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

/// Visits `start`, which is found at `path`, and all below it, by name, directories before and after their content.
///
/// Memory: about 32,768 names, a word for 64 inode numbers of directories, and the depth of the tree.
///
/// # Errors
/// Those of `visit`.
pub fn walk<E>(fs: &dyn FileSystem, path: &[u8], start: &Attr, visit: &mut Visit<'_, E>) -> Result<(), E> {
    Walk::new(fs, path, false).run(start, visit)
}

/// The same for directories only: the visitor looks at their entries, and tells which are missing.
///
/// # Errors
/// Those of `visit`.
pub fn walk_directories<E>(
    fs: &dyn FileSystem,
    path: &[u8],
    start: &Attr,
    visit: &mut Visit<'_, E>,
) -> Result<(), E> {
    Walk::new(fs, path, true).run(start, visit)
}

impl<'a> Walk<'a> {
    fn new(fs: &'a dyn FileSystem, path: &[u8], directories_only: bool) -> Walk<'a> {
        Walk {
            fs,
            directories_only,
            levels: Vec::new(),
            path: path.to_vec(),
            entered: InodeSet::default(),
            kept: 0,
        }
    }

    fn run<E>(mut self, start: &Attr, visit: &mut Visit<'_, E>) -> Result<(), E> {
        let name_at = self.path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
        self.enter(*start, start.ino, name_at, true, visit)?;
        while !self.levels.is_empty() {
            self.step(visit)?;
        }
        Ok(())
    }

    /// Goes to the next entry of the innermost directory, or out of it.
    fn step<E>(&mut self, visit: &mut Visit<'_, E>) -> Result<(), E> {
        let Some(level) = self.levels.last_mut() else { return Ok(()) };
        let parent = level.attr.ino;
        self.path.truncate(level.path_end);
        let Some((name, attr)) = level.ready.take() else { return self.leave(visit) };
        let is_last = !self.make_ready(visit)?;
        if !self.path.is_empty() && !self.path.ends_with(b"/") {
            self.path.push(b'/');
        }
        let name_at = self.path.len();
        self.path.extend_from_slice(&name);
        if let Some(error) = self.refused(&attr) {
            return visit(Step::Lost { path: &self.path, error });
        }
        self.enter(attr, parent, name_at, is_last, visit)
    }

    fn enter<E>(
        &mut self,
        attr: Attr,
        parent: Ino,
        name_at: usize,
        last: bool,
        visit: &mut Visit<'_, E>,
    ) -> Result<(), E> {
        let name = self.path.get(name_at..).unwrap_or_default();
        let depth = self.levels.len();
        visit(Step::Enter(Place { path: &self.path, name, parent, attr: &attr, depth, last }))?;
        if attr.kind == FileKind::Dir {
            self.entered.insert(attr.ino);
            let (path_end, names) = (self.path.len(), Names::of(attr.ino));
            self.levels.push(Level { attr, parent, path_end, name_at, last, names, ready: None });
            self.make_ready(visit)?;
        }
        Ok(())
    }

    fn leave<E>(&mut self, visit: &mut Visit<'_, E>) -> Result<(), E> {
        let Some(Level { attr, parent, name_at, last, .. }) = self.levels.pop() else { return Ok(()) };
        let name = self.path.get(name_at..).unwrap_or_default();
        let depth = self.levels.len();
        visit(Step::Leave(Place { path: &self.path, name, parent, attr: &attr, depth, last }))
    }

    /// Looks for the next entry of the innermost directory that can be read; false if there is none.
    fn make_ready<E>(&mut self, visit: &mut Visit<'_, E>) -> Result<bool, E> {
        let Some(level) = self.levels.last_mut() else { return Ok(false) };
        let path = self.path.get(..level.path_end).unwrap_or_default();
        let before = level.names.kept();
        while level.ready.is_none() {
            let Some(next) = level.names.next(self.fs) else { break };
            match next {
                Ok((_, _, kind)) if self.directories_only && kind != FileKind::Dir => {}
                Ok((name, ino, _)) => match self.fs.attr(ino) {
                    Ok(attr) if self.directories_only && attr.kind != FileKind::Dir => {}
                    Ok(attr) => level.ready = Some((name, attr)),
                    Err(_) if self.directories_only => {}
                    Err(error) => visit(Step::Lost { path: &path::join(path, &name), error })?,
                },
                Err(_) if self.directories_only => {}
                Err(error) => visit(Step::Lost { path, error })?,
            }
        }
        let is_ready = level.ready.is_some();
        self.kept = self.kept + level.names.kept() - before;
        self.make_room();
        Ok(is_ready)
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

    /// The reason not to follow an entry: its path is longer than any should be, or it is a directory that has another
    /// place or is inside itself.
    fn refused(&self, attr: &Attr) -> Option<FsError> {
        if self.path.len() > PATH_MAX {
            let why = format!("the path has {} bytes, {PATH_MAX} at most", self.path.len());
            return Some(FsError::new(Errno::NameTooLong, why));
        }
        if attr.kind != FileKind::Dir || !self.entered.contains(attr.ino) {
            return None;
        }
        let is_inside = self.levels.iter().any(|level| level.attr.ino == attr.ino);
        let why = if is_inside { "the directory is inside itself" } else { "the directory is in two places" };
        Some(FsError::new(Errno::Io, format!("{why} (inode {}); the volume is damaged", attr.ino.0)))
    }
}
