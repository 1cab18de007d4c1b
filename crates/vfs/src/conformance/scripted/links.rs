//! Further names of an inode.

use super::bench::{Bench, ROOT, fails, ok};
use super::{Named, Outcome};
use crate::conformance::compare::same;
use crate::{Errno, FileKind};

pub(super) const CHECKS: &[Named] = &[
    ("link adds a name and counts it", counts),
    ("link works for every kind but directories", kinds),
    ("link refuses taken names and missing inodes", refusals),
    ("link and unlink set times", times),
    ("content goes with the last name only", last_name),
];

fn counts(bench: &mut Bench<'_>) -> Outcome {
    let dir = bench.dir(ROOT, "dir")?;
    let file = bench.file(ROOT, "one")?;
    let attr = ok("link", bench.fs().link(file, dir, b"two"))?;
    same("inode, nlink", &(attr.ino, attr.nlink), &(file, 2))?;
    same("inode", &bench.find(dir, "two")?, &file)?;
    bench.remount()?;
    bench.nlink(file, 2)?;
    bench.unlink(ROOT, "one")?;
    bench.nlink(file, 1)?;
    same("inode", &bench.find(dir, "two")?, &file)
}

fn kinds(bench: &mut Bench<'_>) -> Outcome {
    for kind in [FileKind::File, FileKind::Symlink, FileKind::Fifo, FileKind::Socket, FileKind::CharDevice] {
        let ino = bench.make(kind, ROOT, "one")?;
        ok("link", bench.fs().link(ino, ROOT, b"two"))?;
        bench.nlink(ino, 2)?;
        bench.unlink(ROOT, "one")?;
        bench.unlink(ROOT, "two")?;
        fails("attr", bench.fs().attr(ino), &[Errno::Stale])?;
    }
    let dir = bench.dir(ROOT, "dir")?;
    fails("link", bench.fs().link(dir, ROOT, b"two"), &[Errno::Perm])?;
    fails("link", bench.fs().link(ROOT, dir, b"two"), &[Errno::Perm])
}

fn refusals(bench: &mut Bench<'_>) -> Outcome {
    let file = bench.file(ROOT, "file")?;
    bench.dir(ROOT, "dir")?;
    for name in [b"file".as_slice(), b"dir"] {
        fails("link", bench.fs().link(file, ROOT, name), &[Errno::Exists])?;
    }
    ok("hold", bench.fs().hold(file))?;
    bench.unlink(ROOT, "file")?;
    fails("link", bench.fs().link(file, ROOT, b"again"), &[Errno::NoEntry])?;
    ok("release", bench.fs().release(file))
}

fn times(bench: &mut Bench<'_>) -> Outcome {
    let dir = bench.dir(ROOT, "dir")?;
    let file = bench.file(ROOT, "file")?;
    bench.tick();
    ok("link", bench.fs().link(file, dir, b"two"))?;
    bench.changed(file, false, true)?;
    bench.changed(dir, true, true)?;
    bench.changed(ROOT, false, false)?;
    bench.tick();
    bench.unlink(dir, "two")?;
    bench.changed(file, false, true)?;
    bench.changed(dir, true, true)
}

fn last_name(bench: &mut Bench<'_>) -> Outcome {
    let file = bench.file(ROOT, "one")?;
    bench.write(file, 0, b"still here")?;
    ok("link", bench.fs().link(file, ROOT, b"two"))?;
    bench.unlink(ROOT, "one")?;
    bench.remount()?;
    bench.holds(file, b"still here")?;
    bench.unlink(ROOT, "two")?;
    fails("attr", bench.fs().attr(file), &[Errno::Stale])?;
    bench.remount()?;
    fails("attr", bench.fs().attr(file), &[Errno::Stale])
}
