//! Attributes and times.

use super::bench::{Bench, ROOT, fails, ok};
use super::{Named, Outcome};
use crate::conformance::compare::same;
use crate::{Errno, FileKind, SetAttr, Timestamp};

pub(super) const CHECKS: &[Named] = &[
    ("set_attr changes the attributes it names and nothing else", one_by_one),
    ("attributes outlive a remount", stay),
    ("times reach from before 1970 to after 2106, to the nanosecond", far_times),
    ("set_attr without a change changes nothing", no_change),
    ("set_attr sets ctime, unless it is given", change_time),
    ("a length is for regular files", length_of_others),
    ("a length sets mtime, the same one too", length_times),
    ("reading sets no time", reading),
    ("space makes sense", space),
    ("sync, fsync and maintain work", syncing),
];

const NONE: SetAttr =
    SetAttr { perm: None, uid: None, gid: None, size: None, atime: None, mtime: None, ctime: None };

fn at(seconds: i64, nanos: u32) -> Timestamp {
    Timestamp { seconds, nanos }
}

fn one_by_one(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    let mut want = bench.attr(ino)?;
    let changes = [
        SetAttr { perm: Some(0o7531), ..NONE },
        SetAttr { uid: Some(123_456), ..NONE },
        SetAttr { gid: Some(654_321), ..NONE },
        SetAttr { atime: Some(at(5, 6)), ..NONE },
        SetAttr { mtime: Some(at(7, 8)), ..NONE },
        SetAttr { ctime: Some(at(9, 10)), ..NONE },
    ];
    for change in changes {
        let now = bench.tick();
        want.perm = change.perm.unwrap_or(want.perm);
        want.uid = change.uid.unwrap_or(want.uid);
        want.gid = change.gid.unwrap_or(want.gid);
        want.atime = change.atime.unwrap_or(want.atime);
        want.mtime = change.mtime.unwrap_or(want.mtime);
        want.ctime = change.ctime.unwrap_or(now);
        let returned = bench.set(ino, change)?;
        if !bench.has_times() {
            (want.atime, want.mtime, want.ctime) = (returned.atime, returned.mtime, returned.ctime);
        }
        same("attributes", &returned, &want)?;
        same("attributes", &bench.attr(ino)?, &want)?;
    }
    bench.changed(ROOT, false, false)
}

fn stay(bench: &mut Bench<'_>) -> Outcome {
    for kind in [FileKind::File, FileKind::Dir, FileKind::Symlink, FileKind::Fifo, FileKind::CharDevice] {
        let ino = bench.make(kind, ROOT, "node")?;
        let change =
            SetAttr { perm: Some(0o4321), uid: Some(77), gid: Some(88), mtime: Some(at(1, 2)), ..NONE };
        let want = bench.set(ino, change)?;
        bench.remount()?;
        same("attributes", &bench.attr(ino)?, &want)?;
        ok("rename", bench.rename((ROOT, "node"), (ROOT, "moved away"), crate::RenameMode::Replace))?;
        if kind == FileKind::Dir {
            bench.rmdir(ROOT, "moved away")
        } else {
            bench.unlink(ROOT, "moved away")
        }?;
    }
    Ok(())
}

fn far_times(bench: &mut Bench<'_>) -> Outcome {
    if !bench.has_times() {
        return Ok(());
    }
    let ino = bench.file(ROOT, "file")?;
    for seconds in [-2_000_000_000, -1, 0, i64::from(i32::MAX) + 1, i64::from(u32::MAX) + 1, 8_000_000_000] {
        let time = at(seconds, 999_999_999);
        bench.set(ino, SetAttr { atime: Some(time), mtime: Some(time), ctime: Some(time), ..NONE })?;
        bench.remount()?;
        let attr = bench.attr(ino)?;
        same("times", &[attr.atime, attr.mtime, attr.ctime], &[time; 3])?;
    }
    Ok(())
}

fn no_change(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    let want = bench.attr(ino)?;
    bench.tick();
    same("attributes", &bench.set(ino, NONE)?, &want)?;
    same("attributes", &bench.attr(ino)?, &want)
}

fn change_time(bench: &mut Bench<'_>) -> Outcome {
    for kind in [FileKind::File, FileKind::Dir, FileKind::Symlink] {
        let ino = bench.make(kind, ROOT, &alloc::format!("{kind:?}"))?;
        bench.tick();
        bench.set(ino, SetAttr { perm: Some(0o700), ..NONE })?;
        bench.changed(ino, false, true)?;
        bench.tick();
        bench.set(ino, SetAttr { perm: Some(0o700), ctime: Some(at(3, 4)), ..NONE })?;
        bench.changed(ino, false, false)?;
    }
    Ok(())
}

fn length_of_others(bench: &mut Bench<'_>) -> Outcome {
    let length = SetAttr { size: Some(0), perm: Some(0), ..NONE };
    let dir = bench.dir(ROOT, "dir")?;
    let before = bench.attr(dir)?;
    fails("set_attr", bench.fs().set_attr(dir, &length), &[Errno::IsDir])?;
    same("attributes", &bench.attr(dir)?, &before)?;
    for kind in [FileKind::Symlink, FileKind::Fifo, FileKind::Socket, FileKind::CharDevice] {
        let ino = bench.make(kind, ROOT, &alloc::format!("{kind:?}"))?;
        let before = bench.attr(ino)?;
        fails("set_attr", bench.fs().set_attr(ino, &length), &[Errno::Invalid])?;
        same("attributes", &bench.attr(ino)?, &before)?;
    }
    Ok(())
}

fn length_times(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    for size in [100, 100, 5000, 3, 0, 0] {
        bench.tick();
        same("size", &bench.truncate(ino, size)?.size, &size)?;
        bench.changed(ino, true, true)?;
    }
    bench.tick();
    bench.set(ino, SetAttr { size: Some(1), mtime: Some(at(1, 1)), ..NONE })?;
    bench.changed(ino, false, true)
}

fn reading(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    bench.write(ino, 0, b"content")?;
    bench.set_xattr(ino, "user.a", b"value")?;
    let before = bench.attr(ino)?;
    bench.tick();
    bench.holds(ino, b"content")?;
    ok("xattr", bench.fs().xattr(ino, b"user.a"))?;
    ok("seek", bench.fs().seek(ino, 0, crate::Seek::Data))?;
    same("attributes", &bench.attr(ino)?, &before)
}

fn space(bench: &mut Bench<'_>) -> Outcome {
    let info = ok("space", bench.fs().space())?;
    let sound = info.block_bytes > 0
        && (1..=255).contains(&info.name_max)
        && (1..=info.total_bytes).contains(&info.free_bytes)
        && (1..=info.inodes).contains(&info.free_inodes);
    same("whether it does", &sound, &true)
}

fn syncing(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    bench.write(ino, 0, b"content")?;
    ok("fsync", bench.fs().fsync(ino, true))?;
    ok("fsync", bench.fs().fsync(ino, false))?;
    ok("fsync", bench.fs().fsync(ROOT, false))?;
    ok("sync", bench.fs().sync())?;
    // A file system with nothing to do must come to an end of it.
    for _ in 0..100_000 {
        if !ok("maintain", bench.fs().maintain())? {
            return bench.holds(ino, b"content");
        }
    }
    Err("maintain does not come to an end".into())
}
