//! Making inodes of every kind, and names good and bad.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::bench::{Bench, ROOT, fails, ok};
use super::{Named, Outcome};
use crate::conformance::compare::same;
use crate::conformance::tools::plain;
use crate::{Attr, Errno, FileKind, Ino, NewNode};

pub(super) const CHECKS: &[Named] = &[
    ("the root is a directory and its own parent", root),
    ("create makes every kind with its attributes", kinds),
    ("inodes of every kind outlive a remount", kinds_stay),
    ("create refuses a taken name", taken),
    ("create refuses bad names", bad_names),
    ("names of 255 bytes work, of 256 not", long_names),
    ("names are bytes", byte_names),
    ("targets of 1 to 4095 bytes work", targets),
    ("readlink refuses all but links", readlink_others),
    ("an unused inode number is stale", stale),
    ("a file is no directory", not_a_directory),
    ("inodes are numbered apart", numbers),
];

const KINDS: [FileKind; 7] = [
    FileKind::File,
    FileKind::Dir,
    FileKind::Symlink,
    FileKind::Fifo,
    FileKind::Socket,
    FileKind::CharDevice,
    FileKind::BlockDevice,
];

fn root(bench: &mut Bench<'_>) -> Outcome {
    let attr = bench.attr(ROOT)?;
    same("kind, nlink", &(attr.kind, attr.nlink), &(FileKind::Dir, 2))?;
    same("parent", &ok("parent", bench.fs().parent(ROOT))?, &ROOT)?;
    same("..", &bench.find(ROOT, "..")?, &ROOT)?;
    same(".", &bench.find(ROOT, ".")?, &ROOT)?;
    same("names", &bench.names(ROOT)?, &Vec::new())
}

fn make_all(bench: &Bench<'_>) -> Result<Vec<Attr>, alloc::string::String> {
    let mut made = Vec::new();
    for (number, kind) in (0u32..).zip(KINDS) {
        let is_device = matches!(kind, FileKind::CharDevice | FileKind::BlockDevice);
        let node = NewNode {
            kind,
            perm: 0o7000 + number,
            uid: 70_000 + number,
            gid: 4_000_000_000 + number,
            rdev: if is_device { 0xfff0_12ff } else { 0 },
            target: if kind == FileKind::Symlink { b"some/where" } else { b"" },
        };
        let attr = ok("create", bench.fs().create(ROOT, format!("{kind:?}").as_bytes(), &node))?;
        let now = bench.tick();
        same("kind", &attr.kind, &kind)?;
        same("perm, owner", &(attr.perm, attr.uid, attr.gid), &(node.perm, node.uid, node.gid))?;
        same("rdev", &attr.rdev, &node.rdev)?;
        same("nlink", &attr.nlink, &if kind == FileKind::Dir { 2 } else { 1 })?;
        if kind != FileKind::Dir {
            same("size", &attr.size, &(node.target.len() as u64))?;
        }
        if bench.has_times() && attr.mtime >= now {
            return Err("mtime is in the future".into());
        }
        made.push(attr);
    }
    Ok(made)
}

fn kinds(bench: &mut Bench<'_>) -> Outcome {
    let now = bench.tick();
    let first = ok("create", bench.fs().create(ROOT, b"first", &plain(FileKind::File)))?;
    if bench.has_times() {
        same("times", &[first.atime, first.mtime, first.ctime], &[now; 3])?;
        bench.changed(ROOT, true, true)?;
    }
    if bench.has_btime() {
        same("btime", &first.btime, &now)?;
    }
    make_all(bench).map(drop)
}

fn kinds_stay(bench: &mut Bench<'_>) -> Outcome {
    let made = make_all(bench)?;
    bench.remount()?;
    for (attr, kind) in made.iter().zip(KINDS) {
        let found = ok("lookup", bench.fs().lookup(ROOT, format!("{kind:?}").as_bytes()))?;
        same(
            "attributes",
            &Attr { size: 0, allocated: 0, ..*attr },
            &Attr { size: 0, allocated: 0, ..found },
        )?;
    }
    let link = bench.find(ROOT, "Symlink")?;
    same("target", &ok("readlink", bench.fs().readlink(link))?, &b"some/where".to_vec())
}

fn taken(bench: &mut Bench<'_>) -> Outcome {
    bench.file(ROOT, "file")?;
    bench.dir(ROOT, "dir")?;
    for name in [b"file".as_slice(), b"dir"] {
        for kind in [FileKind::File, FileKind::Dir] {
            fails("create", bench.fs().create(ROOT, name, &plain(kind)), &[Errno::Exists])?;
        }
    }
    same("number of names", &bench.names(ROOT)?.len(), &2)
}

fn bad_names(bench: &mut Bench<'_>) -> Outcome {
    let fs = bench.fs();
    let file = bench.file(ROOT, "file")?;
    for name in [b"".as_slice(), b".", b"..", b"a/b", b"/", b"a\0", b"\0"] {
        fails("create", fs.create(ROOT, name, &plain(FileKind::File)), &[Errno::Invalid])?;
        fails("create", fs.create(ROOT, name, &plain(FileKind::Dir)), &[Errno::Invalid])?;
        fails("link", fs.link(file, ROOT, name), &[Errno::Invalid])?;
        let rename = fs.rename(ROOT, b"file", ROOT, name, crate::RenameMode::Replace);
        fails("rename", rename, &[Errno::Invalid])?;
        fails("rmdir", fs.rmdir(ROOT, name), &[Errno::Invalid, Errno::NoEntry])?;
        fails("unlink", fs.unlink(ROOT, name), &[Errno::Invalid, Errno::NoEntry])?;
    }
    same("names", &bench.names(ROOT)?, &vec![b"file".to_vec()])
}

fn long_names(bench: &mut Bench<'_>) -> Outcome {
    let (good, bad) = (vec![0xfe; 255], vec![b'a'; 256]);
    let fs = bench.fs();
    let ino = ok("create", fs.create(ROOT, &good, &plain(FileKind::File)))?.ino;
    fails("create", fs.create(ROOT, &bad, &plain(FileKind::File)), &[Errno::NameTooLong])?;
    fails("link", fs.link(ino, ROOT, &bad), &[Errno::NameTooLong])?;
    fails("rename", fs.rename(ROOT, &good, ROOT, &bad, crate::RenameMode::Replace), &[Errno::NameTooLong])?;
    fails("lookup", fs.lookup(ROOT, &bad), &[Errno::NameTooLong, Errno::NoEntry])?;
    fails("unlink", fs.unlink(ROOT, &bad), &[Errno::NameTooLong, Errno::NoEntry])?;
    bench.remount()?;
    same("names", &bench.names(ROOT)?, &vec![good.clone()])?;
    same("inode", &ok("lookup", bench.fs().lookup(ROOT, &good))?.ino, &ino)?;
    ok("unlink", bench.fs().unlink(ROOT, &good))
}

fn byte_names(bench: &mut Bench<'_>) -> Outcome {
    let mut names: Vec<Vec<u8>> =
        (1..=255).filter(|byte| *byte != b'/' && *byte != b'.').map(|byte| vec![byte]).collect();
    names.extend([b"...".to_vec(), b" . ".to_vec(), b"A\xcc\x8a".to_vec(), b"\xc3\x85".to_vec()]);
    for name in &names {
        ok("create", bench.fs().create(ROOT, name, &plain(FileKind::File)))?;
    }
    names.sort();
    bench.remount()?;
    same("names", &bench.names(ROOT)?, &names)
}

fn link(target: &[u8]) -> NewNode<'_> {
    NewNode { target, ..plain(FileKind::Symlink) }
}

fn targets(bench: &mut Bench<'_>) -> Outcome {
    let fs = bench.fs();
    let lengths = [1, 59, 60, 255, 256, 1000, 3000, 4094, 4095];
    for len in lengths {
        let target = vec![b'/'; len];
        let attr = ok("create", fs.create(ROOT, format!("{len}").as_bytes(), &link(&target)))?;
        same("size", &attr.size, &(len as u64))?;
    }
    let refusals = [Errno::Invalid, Errno::NameTooLong];
    fails("create", fs.create(ROOT, b"long", &link(&[b'x'; 4096])), &refusals)?;
    fails("create", fs.create(ROOT, b"empty", &link(b"")), &refusals)?;
    fails("create", fs.create(ROOT, b"nul", &link(b"a\0b")), &refusals)?;
    bench.remount()?;
    for len in lengths {
        let ino = bench.find(ROOT, &format!("{len}"))?;
        same("target", &ok("readlink", bench.fs().readlink(ino))?, &vec![b'/'; len])?;
    }
    same("number of names", &bench.names(ROOT)?.len(), &lengths.len())
}

fn readlink_others(bench: &mut Bench<'_>) -> Outcome {
    fails("readlink", bench.fs().readlink(ROOT), &[Errno::Invalid])?;
    fails("readlink", bench.fs().readlink(bench.file(ROOT, "file")?), &[Errno::Invalid])
}

fn stale(bench: &mut Bench<'_>) -> Outcome {
    let gone = bench.file(ROOT, "file")?;
    bench.unlink(ROOT, "file")?;
    let fs = bench.fs();
    let want = &[Errno::Stale];
    for ino in [gone, Ino(0), Ino(u64::MAX), Ino(1 << 40)] {
        fails("attr", fs.attr(ino), want)?;
        fails("set_attr", fs.set_attr(ino, &crate::SetAttr { perm: Some(0), ..Default::default() }), want)?;
        fails("lookup", fs.lookup(ino, b"a"), want)?;
        fails("parent", fs.parent(ino), want)?;
        fails("readlink", fs.readlink(ino), want)?;
        fails("create", fs.create(ino, b"a", &plain(FileKind::File)), want)?;
        fails("link", fs.link(ino, ROOT, b"a"), want)?;
        fails("unlink", fs.unlink(ino, b"a"), want)?;
        fails("rmdir", fs.rmdir(ino, b"a"), want)?;
        fails("rename", fs.rename(ino, b"a", ROOT, b"b", crate::RenameMode::Replace), want)?;
        fails("hold", fs.hold(ino), want)?;
        fails("release", fs.release(ino), want)?;
        fails("read", fs.read(ino, 0, &mut [0; 8]), want)?;
        fails("write", fs.write(ino, 0, b"a"), want)?;
        fails("allocate", fs.allocate(ino, crate::SpaceMode::PunchHole, 0, 1), want)?;
        fails("seek", fs.seek(ino, 0, crate::Seek::Data), want)?;
        fails("fsync", fs.fsync(ino, false), want)?;
        fails("readdir", fs.readdir(ino, 0, &mut |_| true), want)?;
        fails("xattr", fs.xattr(ino, b"user.a"), want)?;
        fails("set_xattr", fs.set_xattr(ino, b"user.a", b"", crate::XattrMode::Either), want)?;
        fails("list_xattr", fs.list_xattr(ino), want)?;
        fails("remove_xattr", fs.remove_xattr(ino, b"user.a"), want)?;
    }
    Ok(())
}

fn not_a_directory(bench: &mut Bench<'_>) -> Outcome {
    bench.file(ROOT, "other")?;
    let fs = bench.fs();
    let want = &[Errno::NotDir];
    for kind in [FileKind::File, FileKind::Symlink, FileKind::Fifo] {
        let ino = bench.make(kind, ROOT, &format!("{kind:?}"))?;
        fails("lookup", fs.lookup(ino, b"a"), want)?;
        fails("parent", fs.parent(ino), want)?;
        fails("create", fs.create(ino, b"a", &plain(FileKind::File)), want)?;
        fails("link", fs.link(ino, ino, b"a"), want)?;
        fails("unlink", fs.unlink(ino, b"a"), want)?;
        fails("rmdir", fs.rmdir(ino, b"a"), want)?;
        fails("rename", fs.rename(ino, b"a", ROOT, b"b", crate::RenameMode::Replace), want)?;
        fails("rename", fs.rename(ROOT, b"other", ino, b"b", crate::RenameMode::Replace), want)?;
        fails("readdir", fs.readdir(ino, 0, &mut |_| true), want)?;
    }
    Ok(())
}

fn numbers(bench: &mut Bench<'_>) -> Outcome {
    let mut seen = vec![(ROOT, bench.attr(ROOT)?.generation)];
    for round in 0..40 {
        let ino = bench.file(ROOT, "file")?;
        let id = (ino, bench.attr(ino)?.generation);
        if ino == Ino(0) || seen.contains(&id) {
            return Err(format!("round {round}: inode and generation {id:?} again"));
        }
        seen.push(id);
        bench.unlink(ROOT, "file")?;
    }
    Ok(())
}
