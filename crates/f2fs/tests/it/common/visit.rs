//! Looks at everything that can be reached, and bears every error.

use std::collections::HashSet;

use pumice_f2fs::{F2fs, layout::BlockAddr};
use pumice_vfs::{Attr, FileKind, FileSystem, Ino, Seek};

/// Entries that are looked at, at most: a damaged volume may claim more.
const ENTRIES_MAX: usize = 20_000;

/// Returns a count of the reads without an error.
pub(crate) fn visit(fs: &F2fs) -> usize {
    let Ok(root) = fs.attr(Ino::ROOT) else { return 0 };
    let mut seen = HashSet::from([root.ino]);
    let mut todo = vec![root];
    let mut good = 0;
    while let Some(attr) = todo.pop() {
        good += one(fs, &attr);
        if attr.kind != FileKind::Dir || seen.len() > ENTRIES_MAX {
            continue;
        }
        let mut names = Vec::new();
        let listed = fs.readdir(attr.ino, 0, &mut |entry| {
            names.push((entry.name.to_vec(), entry.ino));
            names.len() < ENTRIES_MAX
        });
        good += usize::from(listed.is_ok());
        for (name, ino) in names {
            let found = fs.lookup(attr.ino, &name);
            good += usize::from(found.is_ok());
            if let Ok(child) = fs.attr(ino)
                && seen.insert(ino)
            {
                todo.push(child);
            }
        }
    }
    for addr in [0, 512, 1024, 1537, 2561, 3585, 4100, 4700, 5300, u32::MAX] {
        good += usize::from(fs.nodes().owner(BlockAddr(addr)).is_ok());
    }
    good
}

fn one(fs: &F2fs, attr: &Attr) -> usize {
    let mut good = 0;
    if let Ok(names) = fs.list_xattr(attr.ino) {
        good += names.iter().filter(|name| fs.xattr(attr.ino, name).is_ok()).count() + 1;
    }
    match attr.kind {
        FileKind::Symlink => good += usize::from(fs.readlink(attr.ino).is_ok()),
        FileKind::File => good += content(fs, attr),
        _ => {}
    }
    good
}

/// The beginning, the end, and the data between the first holes.
fn content(fs: &F2fs, attr: &Attr) -> usize {
    let mut buffer = vec![0; 64 << 10];
    let mut good = 0;
    for at in [0, attr.size / 2 + 1, attr.size.saturating_sub(5000)] {
        good += usize::from(fs.read(attr.ino, at, &mut buffer).is_ok());
    }
    let mut at = 0;
    for _ in 0..20 {
        let Ok(start) = fs.seek(attr.ino, at, Seek::Data) else { break };
        assert!(start >= at && start < attr.size, "data at {start} of {}, asked from {at}", attr.size);
        let Ok(end) = fs.seek(attr.ino, start, Seek::Hole) else { break };
        assert!(end > start && end <= attr.size, "a hole at {end} of {}, asked from {start}", attr.size);
        good += 1;
        at = end;
    }
    good
}
