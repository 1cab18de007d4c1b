//! Extended attributes.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::bench::{Bench, ROOT, fails, ok};
use super::{Named, Outcome};
use crate::XattrMode::{Create, Either, Replace};
use crate::conformance::compare::same;
use crate::conformance::op::made_up;
use crate::{Errno, FileKind};

pub(super) const CHECKS: &[Named] = &[
    ("set, get, list and remove", all_calls),
    ("every kind of inode has them", kinds),
    ("setting by mode", modes),
    ("names and namespaces", names),
    ("values of any size", values),
    ("many on one inode", many),
    ("they set ctime alone", times),
    ("links share them", links),
];

fn all_calls(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    fails("xattr", bench.fs().xattr(ino, b"user.a"), &[Errno::NoData])?;
    fails("remove_xattr", bench.fs().remove_xattr(ino, b"user.a"), &[Errno::NoData])?;
    bench.set_xattr(ino, "user.a", b"one")?;
    bench.set_xattr(ino, "user.b", b"")?;
    bench.set_xattr(ino, "user.a", b"two, longer")?;
    bench.remount()?;
    same("value", &ok("xattr", bench.fs().xattr(ino, b"user.a"))?, &b"two, longer".to_vec())?;
    same("value", &ok("xattr", bench.fs().xattr(ino, b"user.b"))?, &Vec::new())?;
    let mut names = ok("list_xattr", bench.fs().list_xattr(ino))?;
    names.sort();
    same("names", &names, &vec![b"user.a".to_vec(), b"user.b".to_vec()])?;
    ok("remove_xattr", bench.fs().remove_xattr(ino, b"user.a"))?;
    fails("xattr", bench.fs().xattr(ino, b"user.a"), &[Errno::NoData])?;
    same("names", &ok("list_xattr", bench.fs().list_xattr(ino))?, &vec![b"user.b".to_vec()])
}

fn kinds(bench: &mut Bench<'_>) -> Outcome {
    for kind in [FileKind::File, FileKind::Dir, FileKind::Symlink, FileKind::Fifo, FileKind::CharDevice] {
        let ino = bench.make(kind, ROOT, &format!("{kind:?}"))?;
        bench.set_xattr(ino, "trusted.a", b"value")?;
        same("value", &ok("xattr", bench.fs().xattr(ino, b"trusted.a"))?, &b"value".to_vec())?;
    }
    bench.set_xattr(ROOT, "security.a", b"value")?;
    let link = bench.find(ROOT, "Symlink")?;
    same("target", &ok("readlink", bench.fs().readlink(link))?, &b"target".to_vec())
}

fn modes(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    let fs = bench.fs();
    fails("set_xattr", fs.set_xattr(ino, b"user.a", b"1", Replace), &[Errno::NoData])?;
    ok("set_xattr", fs.set_xattr(ino, b"user.a", b"2", Create))?;
    fails("set_xattr", fs.set_xattr(ino, b"user.a", b"3", Create), &[Errno::Exists])?;
    same("value", &ok("xattr", fs.xattr(ino, b"user.a"))?, &b"2".to_vec())?;
    ok("set_xattr", fs.set_xattr(ino, b"user.a", b"4", Replace))?;
    ok("set_xattr", fs.set_xattr(ino, b"user.a", b"5", Either))?;
    ok("set_xattr", fs.set_xattr(ino, b"user.b", b"6", Either))?;
    same("value", &ok("xattr", fs.xattr(ino, b"user.a"))?, &b"5".to_vec())
}

fn names(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    let fs = bench.fs();
    let longest = [b"user.".to_vec(), vec![b'n'; 250]].concat();
    for name in [b"user.x".as_slice(), b"trusted.x", b"security.x", b"user.\xff\n", &longest] {
        ok("set_xattr", fs.set_xattr(ino, name, name, Either))?;
        same("value", &ok("xattr", fs.xattr(ino, name))?, &name.to_vec())?;
    }
    same("number of names", &ok("list_xattr", fs.list_xattr(ino))?.len(), &5)?;
    for name in [b"other.x".as_slice(), b"user", b"USER.x", b"x"] {
        fails("set_xattr", fs.set_xattr(ino, name, b"", Either), &[Errno::NotSupported])?;
    }
    for name in [b"".as_slice(), &[&longest[..], b"n"].concat()] {
        let refusals = &[Errno::Range, Errno::NotSupported];
        fails("set_xattr", fs.set_xattr(ino, name, b"", Either), refusals)?;
    }
    same("number of names", &ok("list_xattr", fs.list_xattr(ino))?.len(), &5)
}

fn values(bench: &mut Bench<'_>) -> Outcome {
    for len in [0, 1, 200, 3000, 4096, 5000, 65_535, 65_536] {
        let ino = bench.file(ROOT, &format!("{len}"))?;
        let value = made_up(2, len);
        match bench.fs().set_xattr(ino, b"user.a", &value, Either) {
            Err(error) if error.errno() == Errno::NoSpace && len > 3000 => {
                fails("xattr", bench.fs().xattr(ino, b"user.a"), &[Errno::NoData])?;
            }
            set => {
                ok("set_xattr", set)?;
                bench.remount()?;
                let read = ok("xattr", bench.fs().xattr(ino, b"user.a"))?;
                same("whether a value is right", &(read == value), &true)?;
            }
        }
    }
    let ino = bench.file(ROOT, "too long")?;
    fails("set_xattr", bench.fs().set_xattr(ino, b"user.a", &vec![0; 65_537], Either), &[Errno::Range])?;
    fails("xattr", bench.fs().xattr(ino, b"user.a"), &[Errno::NoData])
}

fn many(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    for number in 0..60 {
        bench.set_xattr(ino, &format!("user.number {number}"), format!("value {number}").as_bytes())?;
    }
    for number in (0..60).step_by(2) {
        ok("remove_xattr", bench.fs().remove_xattr(ino, format!("user.number {number}").as_bytes()))?;
    }
    bench.remount()?;
    same("number of names", &ok("list_xattr", bench.fs().list_xattr(ino))?.len(), &30)?;
    for number in (1..60).step_by(2) {
        let value = ok("xattr", bench.fs().xattr(ino, format!("user.number {number}").as_bytes()))?;
        same("value", &value, &format!("value {number}").into_bytes())?;
    }
    Ok(())
}

fn times(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    bench.tick();
    bench.set_xattr(ino, "user.a", b"value")?;
    bench.changed(ino, false, true)?;
    bench.tick();
    fails("remove_xattr", bench.fs().remove_xattr(ino, b"user.b"), &[Errno::NoData])?;
    fails("set_xattr", bench.fs().set_xattr(ino, b"user.a", b"", Create), &[Errno::Exists])?;
    bench.changed(ino, false, false)?;
    ok("remove_xattr", bench.fs().remove_xattr(ino, b"user.a"))?;
    bench.changed(ino, false, true)
}

fn links(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "one")?;
    ok("link", bench.fs().link(ino, ROOT, b"two"))?;
    bench.set_xattr(bench.find(ROOT, "two")?, "user.a", b"value")?;
    bench.unlink(ROOT, "two")?;
    let one = bench.find(ROOT, "one")?;
    same("value", &ok("xattr", bench.fs().xattr(one, b"user.a"))?, &b"value".to_vec())
}
