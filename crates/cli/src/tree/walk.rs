//! A walk over a tree inside an image, without recursion: a damaged image may be deep.

use pumice_vfs::{Attr, FileKind, FileSystem, Ino};

use crate::{
    failure::{Failure, Outcome},
    path,
};

/// Where the walk is.
#[derive(Debug)]
pub(crate) enum Step {
    /// At an entry; for a directory its content follows.
    Enter,
    /// Behind the content of a directory.
    Leave,
}

/// An entry on the way.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Path from where the walk began, in its words.
    pub(crate) path: Vec<u8>,
    /// Last name of the path.
    pub(crate) name: Vec<u8>,
    /// The directory it is in; of the start, itself.
    pub(crate) parent: Ino,
    /// Its attributes.
    pub(crate) attr: Attr,
    /// Directories between the start and the entry.
    pub(crate) depth: usize,
    /// True if no entry of the same directory follows.
    pub(crate) last: bool,
}

/// A directory whose entries are being walked, those to come last first.
struct Level {
    place: Place,
    todo: Vec<(Vec<u8>, Ino)>,
}

/// Visits `start` and all below it, by name, directories before and after their content.
pub(crate) fn walk(
    fs: &dyn FileSystem,
    path: &[u8],
    start: Attr,
    visit: &mut dyn FnMut(Step, &Place) -> Outcome,
) -> Outcome {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default().to_vec();
    let place = Place { path: path.to_vec(), name, parent: start.ino, attr: start, depth: 0, last: true };
    let mut levels = Vec::new();
    enter(fs, place, &mut levels, visit)?;
    while let Some(level) = levels.last_mut() {
        let Some((name, ino)) = level.todo.pop() else {
            let done = level.place.clone();
            levels.pop();
            visit(Step::Leave, &done)?;
            continue;
        };
        let place = below(fs, level, name, ino)?;
        if levels.iter().any(|level| level.place.attr.ino == ino) {
            return Err(damaged(&place));
        }
        enter(fs, place, &mut levels, visit)?;
    }
    Ok(())
}

fn enter(
    fs: &dyn FileSystem,
    place: Place,
    levels: &mut Vec<Level>,
    visit: &mut dyn FnMut(Step, &Place) -> Outcome,
) -> Outcome {
    visit(Step::Enter, &place)?;
    if place.attr.kind == FileKind::Dir {
        let mut todo =
            path::entries(fs, place.attr.ino).map_err(|error| Failure::inside(&place.path, &error))?;
        todo.reverse();
        levels.push(Level { place, todo });
    }
    Ok(())
}

fn below(fs: &dyn FileSystem, level: &Level, name: Vec<u8>, ino: Ino) -> Outcome<Place> {
    let path = path::join(&level.place.path, &name);
    let attr = fs.attr(ino).map_err(|error| Failure::inside(&path, &error))?;
    Ok(Place {
        path,
        name,
        parent: level.place.attr.ino,
        attr,
        depth: level.place.depth + 1,
        last: level.todo.is_empty(),
    })
}

fn damaged(place: &Place) -> Failure {
    Failure::new(format!(
        "{}: the directory is inside itself (inode {}); the image is damaged, run `pumice fsck`",
        crate::text::name(&place.path),
        place.attr.ino.0
    ))
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
        let walked = walk(&fs, b"", root, &mut |step, place| {
            seen.push(format!("{step:?} {} {}", crate::text::name(&place.path), place.last));
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
