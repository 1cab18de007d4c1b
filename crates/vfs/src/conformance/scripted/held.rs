//! Inodes that are held while their last name goes.

use alloc::vec::Vec;

use super::bench::{Bench, ROOT, fails, ok};
use super::{Named, Outcome};
use crate::conformance::compare::same;
use crate::conformance::tools::plain;
use crate::{Errno, FileKind, RenameMode};

pub(super) const CHECKS: &[Named] = &[
    ("a held file lives on without a name", file),
    ("holds are counted", counted),
    ("a file replaced by rename lives on while held", replaced),
    ("a held directory that was removed is empty and closed", directory),
    ("a hold does not outlive a remount", remounted),
    ("a name made again is another inode", name_again),
];

fn file(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    bench.write(ino, 0, b"content")?;
    ok("hold", bench.fs().hold(ino))?;
    bench.tick();
    bench.unlink(ROOT, "file")?;
    bench.nlink(ino, 0)?;
    bench.changed(ino, false, true)?;
    bench.holds(ino, b"content")?;
    bench.write(ino, 7, b" and more")?;
    bench.set_xattr(ino, "user.a", b"value")?;
    ok("fsync", bench.fs().fsync(ino, false))?;
    bench.holds(ino, b"content and more")?;
    ok("release", bench.fs().release(ino))?;
    fails("attr", bench.fs().attr(ino), &[Errno::Stale])
}

fn counted(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    for _ in 0..3 {
        ok("hold", bench.fs().hold(ino))?;
    }
    ok("release", bench.fs().release(ino))?;
    bench.unlink(ROOT, "file")?;
    ok("release", bench.fs().release(ino))?;
    bench.nlink(ino, 0)?;
    ok("release", bench.fs().release(ino))?;
    fails("attr", bench.fs().attr(ino), &[Errno::Stale])?;
    let other = bench.file(ROOT, "other")?;
    ok("hold", bench.fs().hold(other))?;
    ok("release", bench.fs().release(other))?;
    bench.nlink(other, 1)
}

fn replaced(bench: &mut Bench<'_>) -> Outcome {
    let old = bench.file(ROOT, "old")?;
    bench.write(old, 0, b"old")?;
    bench.file(ROOT, "new")?;
    ok("hold", bench.fs().hold(old))?;
    ok("rename", bench.rename((ROOT, "new"), (ROOT, "old"), RenameMode::Replace))?;
    bench.nlink(old, 0)?;
    bench.holds(old, b"old")?;
    ok("release", bench.fs().release(old))?;
    fails("attr", bench.fs().attr(old), &[Errno::Stale])
}

fn directory(bench: &mut Bench<'_>) -> Outcome {
    let dir = bench.dir(ROOT, "dir")?;
    let file = bench.file(ROOT, "file")?;
    ok("hold", bench.fs().hold(dir))?;
    bench.rmdir(ROOT, "dir")?;
    let fs = bench.fs();
    bench.nlink(dir, 0)?;
    same("names", &bench.names(dir)?, &Vec::new())?;
    fails("lookup", fs.lookup(dir, b"a"), &[Errno::NoEntry])?;
    fails("create", fs.create(dir, b"a", &plain(FileKind::File)), &[Errno::NoEntry])?;
    fails("create", fs.create(dir, b"a", &plain(FileKind::Dir)), &[Errno::NoEntry])?;
    fails("link", fs.link(file, dir, b"a"), &[Errno::NoEntry])?;
    fails("rename", bench.rename((ROOT, "file"), (dir, "a"), RenameMode::Replace), &[Errno::NoEntry])?;
    ok("release", fs.release(dir))?;
    fails("attr", fs.attr(dir), &[Errno::Stale])
}

fn remounted(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    bench.write(ino, 0, &[1; 10_000])?;
    ok("hold", bench.fs().hold(ino))?;
    bench.unlink(ROOT, "file")?;
    bench.remount()?;
    fails("attr", bench.fs().attr(ino), &[Errno::Stale])?;
    same("names", &bench.names(ROOT)?, &Vec::new())
}

fn name_again(bench: &mut Bench<'_>) -> Outcome {
    let old = bench.file(ROOT, "file")?;
    bench.write(old, 0, b"old")?;
    ok("hold", bench.fs().hold(old))?;
    bench.unlink(ROOT, "file")?;
    let new = bench.file(ROOT, "file")?;
    same("whether they are one inode", &(new == old), &false)?;
    bench.write(new, 0, b"new")?;
    bench.holds(old, b"old")?;
    bench.holds(new, b"new")?;
    ok("release", bench.fs().release(old))?;
    bench.holds(new, b"new")
}
