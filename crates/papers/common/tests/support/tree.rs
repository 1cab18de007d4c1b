//! A judge of trees that were found after a power cut, for papers that promise names at once and files one by one.

use std::collections::BTreeMap;

use pumice_vfs::Ino;

use super::cut::{Verdict, Workload};
use super::image::{Image, Node};

/// The names must be those after the last call that returned, or after the one that was cut. Each inode must be one
/// that `sound` accepts, after that call: its number in the model, the node found, and whether it is a directory.
pub(crate) fn judge_names(
    workload: &Workload,
    found: &Image,
    done: usize,
    sound: &dyn Fn(usize, Ino, &Node) -> bool,
) -> Verdict {
    let cut = (done + 1).min(workload.steps.len());
    let mut wrong = Vec::new();
    for after in [done, cut] {
        match judge_tree(workload, found, after, sound) {
            Ok(()) => return Ok(()),
            Err(what) => wrong.push(format!("as after call {after}: {what}")),
        }
    }
    Err(wrong.join("\n"))
}

fn judge_tree(
    workload: &Workload,
    found: &Image,
    after: usize,
    sound: &dyn Fn(usize, Ino, &Node) -> bool,
) -> Verdict {
    let want = &workload.images[after];
    let mut met: BTreeMap<Ino, Ino> = BTreeMap::new();
    let mut pending = vec![(String::new(), Ino::ROOT, Ino::ROOT)];
    while let Some((path, ino, other)) = pending.pop() {
        match met.insert(ino, other) {
            Some(before) if before == other => continue,
            Some(_) => return Err(format!("{path}: linked to another inode")),
            None => {}
        }
        let (node, have) = (&want.0[&ino], &found.0[&other]);
        let (names, there) = (node.entries.keys(), have.entries.keys());
        if !names.clone().eq(there.clone()) {
            return Err(format!("{path}: names {there:?}, want {names:?}"));
        }
        if !sound(after, ino, have) || node.attr.nlink != have.attr.nlink {
            return Err(format!("{path}: as at no call, {:?}, last {:?}", have.attr, node.attr));
        }
        let below = node.entries.iter().zip(have.entries.values());
        pending.extend(below.map(|((name, a), b)| (format!("{path}/{}", name.escape_ascii()), *a, *b)));
    }
    Ok(())
}

/// True of two files that are the same.
pub(crate) fn same(a: &Node, b: &Node) -> bool {
    a.attr == b.attr && a.content == b.content && a.xattrs == b.xattrs
}
