//! `pumice find`: lists the names in a tree.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
};

use pumice_vfs::{Attr, FileKind, FileSystem};
use serde_json::{Map, Value};

use crate::{
    context::Context,
    document,
    failure::Outcome,
    image::{Access, with_volume},
    losses::Losses,
    options::Reader,
    output::{Entries, Output},
    path, text,
    tree::walk::{Place, Step, walk},
    verbs::Image,
};

/// Find files below a directory of an image by name and type
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Image,
    /// Directory to search
    #[arg(default_value = "/")]
    path: OsString,
    /// Only names that match: `*` is any text, `?` any character
    #[arg(long, value_name = "PATTERN")]
    name: Option<OsString>,
    /// Only entries of this type
    #[arg(long = "type", value_name = "KIND")]
    kind: Option<Kind>,
    #[command(flatten)]
    reader: Reader,
}

/// The letters of find(1).
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum Kind {
    #[value(name = "f")]
    File,
    #[value(name = "d")]
    Dir,
    #[value(name = "l")]
    Link,
    #[value(name = "p")]
    Fifo,
    #[value(name = "s")]
    Socket,
    #[value(name = "c")]
    CharDevice,
    #[value(name = "b")]
    BlockDevice,
}

impl Kind {
    fn is(self, kind: FileKind) -> bool {
        kind == match self {
            Kind::File => FileKind::File,
            Kind::Dir => FileKind::Dir,
            Kind::Link => FileKind::Symlink,
            Kind::Fifo => FileKind::Fifo,
            Kind::Socket => FileKind::Socket,
            Kind::CharDevice => FileKind::CharDevice,
            Kind::BlockDevice => FileKind::BlockDevice,
        }
    }
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        with_volume(&self.image.image, Access::Read, context, |fs| {
            let start = path::find_target(fs, &self.path)?;
            let losses = Losses::default();
            if self.reader.json {
                let mut entries = Entries::new("find");
                self.visit(fs, &start, &losses, &mut |place| entries.add(&entry(place)))?;
                entries.finish(losses.count())?;
            } else {
                let mut output = Output::new();
                self.visit(fs, &start, &losses, &mut |place| output.line(text::name(place.path)))?;
                output.finish()?;
            }
            losses.end()
        })
    }

    fn visit(
        &self,
        fs: &dyn FileSystem,
        start: &Attr,
        losses: &Losses,
        each: &mut dyn FnMut(&Place<'_>) -> Outcome,
    ) -> Outcome {
        walk(fs, self.path.as_bytes(), start, losses, &mut |step, place| match step {
            Step::Enter if self.matches(place) => each(place),
            _ => Ok(()),
        })
    }

    fn matches(&self, place: &Place<'_>) -> bool {
        let name = self.name.as_deref().map(OsStr::as_bytes);
        name.is_none_or(|pattern| glob(pattern, place.name))
            && self.kind.is_none_or(|kind| kind.is(place.attr.kind))
    }
}

fn entry(place: &Place<'_>) -> Map<String, Value> {
    let mut map = Map::new();
    document::put_bytes(&mut map, "path", place.path);
    map.extend(document::attr(place.attr));
    map
}

/// Whether a name matches a pattern with `*` and `?`. Goes back to the last `*` only, so it takes no longer than
/// the product of both lengths.
pub(crate) fn glob(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                back = Some((p, n));
                p += 1;
            }
            Some(letter) if *letter == b'?' || Some(letter) == name.get(n) => (p, n) = (p + 1, n + 1),
            _ => match &mut back {
                Some((star, from)) => {
                    *from += 1;
                    (p, n) = (*star + 1, *from);
                }
                None => return false,
            },
        }
    }
    pattern.get(p..).is_none_or(|rest| rest.iter().all(|letter| *letter == b'*'))
}

#[cfg(test)]
mod tests {
    use super::glob;

    #[test]
    fn patterns_match_as_in_a_shell() {
        for (pattern, name, wanted) in [
            ("*.rs", "lib.rs", true),
            ("*.rs", "lib.rsx", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxaxx", false),
            ("", "", true),
            ("*", "", true),
            ("", "a", false),
        ] {
            assert_eq!(glob(pattern.as_bytes(), name.as_bytes()), wanted, "{pattern} on {name}");
        }
    }
}
