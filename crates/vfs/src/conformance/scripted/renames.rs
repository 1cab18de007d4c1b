//! Moving names: every kind over every kind, in every mode.

use alloc::format;
use alloc::string::String;

use super::bench::{Bench, ROOT, Told, fails, ok};
use super::{Named, Outcome};
use crate::RenameMode::{self, Exchange, NoReplace, Replace};
use crate::conformance::compare::same;
use crate::{Errno, FileKind, Ino};

pub(super) const CHECKS: &[Named] = &[
    ("rename moves any kind, within a directory and between", moves),
    ("rename over something there: the matrix", matrix),
    ("rename without replacing", no_replace),
    ("exchange of any two kinds", exchange),
    ("rename leaves a whiteout, or is refused", whiteout),
    ("rename of a missing name", missing),
    ("a directory cannot go below itself", below_itself),
    ("two names of one inode are left alone", same_inode),
    ("rename sets times", times),
    ("rename keeps the tree below a directory", subtree),
    ("a replaced file is gone, a replaced link lives on", replaced),
];

const WHITEOUT: RenameMode = RenameMode::Whiteout { uid: 5, gid: 6 };

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    File,
    Link,
    Empty,
    Full,
}

const WHATS: [What; 4] = [What::File, What::Link, What::Empty, What::Full];

impl What {
    fn is_dir(self) -> bool {
        matches!(self, What::Empty | What::Full)
    }

    fn make(self, bench: &Bench<'_>, dir: Ino, name: &str) -> Told<Ino> {
        match self {
            What::File => bench.file(dir, name),
            What::Link => bench.make(FileKind::Symlink, dir, name),
            What::Empty => bench.dir(dir, name),
            What::Full => {
                let ino = bench.dir(dir, name)?;
                bench.dir(ino, "inside")?;
                Ok(ino)
            }
        }
    }
}

/// Two directories, `from` and `to`, in a directory of their own.
fn ground(bench: &Bench<'_>, name: &str) -> Told<(Ino, Ino)> {
    let top = bench.dir(ROOT, name)?;
    Ok((bench.dir(top, "from")?, bench.dir(top, "to")?))
}

/// Checks that `nlink` and `..` of `dir` agree with its entries.
fn sound(bench: &Bench<'_>, dir: Ino) -> Outcome {
    let mut subdirs = 0;
    for (_, ino, kind) in ok("readdir", crate::conformance::list(bench.fs(), dir))? {
        if kind == FileKind::Dir {
            subdirs += 1;
            same("..", &bench.find(ino, "..")?, &dir)?;
        }
    }
    bench.nlink(dir, 2 + subdirs)
}

/// A check in two directories, of a kind in the first and a kind in the second.
type PairCheck = fn(&Bench<'_>, (Ino, Ino), (What, What)) -> Outcome;

/// Runs a check for every pair of kinds, in directories of their own, and names the pair if it fails.
fn each_pair(bench: &mut Bench<'_>, check: PairCheck) -> Outcome {
    for source in WHATS {
        for target in WHATS {
            let name = format!("{source:?} and {target:?}");
            let (from, to) = ground(bench, &name)?;
            let outcome = check(bench, (from, to), (source, target))
                .and_then(|()| sound(bench, from))
                .and_then(|()| sound(bench, to));
            outcome.map_err(|what| format!("{name}: {what}"))?;
        }
    }
    bench.remount()
}

fn moves(bench: &mut Bench<'_>) -> Outcome {
    for what in WHATS {
        let (from, to) = ground(bench, &format!("{what:?}"))?;
        let ino = what.make(bench, from, "a")?;
        ok("rename", bench.rename((from, "a"), (from, "b"), Replace))?;
        fails("lookup", bench.fs().lookup(from, b"a"), &[Errno::NoEntry])?;
        same("inode", &bench.find(from, "b")?, &ino)?;
        ok("rename", bench.rename((from, "b"), (to, "c"), NoReplace))?;
        same("names left", &bench.names(from)?.len(), &0)?;
        bench.remount()?;
        same("inode", &bench.find(to, "c")?, &ino)?;
        sound(bench, from)?;
        sound(bench, to)?;
    }
    Ok(())
}

fn matrix(bench: &mut Bench<'_>) -> Outcome {
    each_pair(bench, |bench, (from, to), (source, target)| {
        let moving = source.make(bench, from, "a")?;
        let standing = target.make(bench, to, "b")?;
        let rename = bench.rename((from, "a"), (to, "b"), Replace);
        let want = match (source.is_dir(), target.is_dir()) {
            (true, false) => Some(Errno::NotDir),
            (false, true) => Some(Errno::IsDir),
            (true, true) if target == What::Full => Some(Errno::NotEmpty),
            _ => None,
        };
        if let Some(errno) = want {
            fails("rename", rename, &[errno])?;
            same("inode", &bench.find(from, "a")?, &moving)?;
            return same("inode", &bench.find(to, "b")?, &standing);
        }
        ok("rename", rename)?;
        same("inode", &bench.find(to, "b")?, &moving)?;
        fails("lookup", bench.fs().lookup(from, b"a"), &[Errno::NoEntry])?;
        fails("attr", bench.fs().attr(standing), &[Errno::Stale])
    })
}

fn no_replace(bench: &mut Bench<'_>) -> Outcome {
    each_pair(bench, |bench, (from, to), (source, target)| {
        let moving = source.make(bench, from, "a")?;
        let standing = target.make(bench, to, "b")?;
        let acceptable: &[Errno] = &[Errno::Exists];
        fails(
            "rename",
            bench.rename((from, "a"), (to, "b"), NoReplace),
            acceptable_for(source, target, acceptable),
        )?;
        fails("rename", bench.rename((from, "a"), (from, "a"), NoReplace), acceptable)?;
        same("inode", &bench.find(from, "a")?, &moving)?;
        same("inode", &bench.find(to, "b")?, &standing)
    })
}

/// The acceptable errors; if kinds do not fit either, that may be found first.
fn acceptable_for(source: What, target: What, otherwise: &[Errno]) -> &[Errno] {
    match (source.is_dir(), target.is_dir()) {
        (true, false) => &[Errno::Exists, Errno::NotDir],
        (false, true) => &[Errno::Exists, Errno::IsDir],
        (true, true) => &[Errno::Exists, Errno::NotEmpty],
        (false, false) => otherwise,
    }
}

fn exchange(bench: &mut Bench<'_>) -> Outcome {
    each_pair(bench, |bench, (from, to), (source, target)| {
        let one = source.make(bench, from, "a")?;
        let two = target.make(bench, to, "b")?;
        bench.tick();
        ok("rename", bench.rename((from, "a"), (to, "b"), Exchange))?;
        same("inode", &bench.find(from, "a")?, &two)?;
        same("inode", &bench.find(to, "b")?, &one)?;
        bench.changed(one, false, true)?;
        bench.changed(two, false, true)?;
        bench.changed(from, true, true)?;
        bench.changed(to, true, true)?;
        let three = source.make(bench, from, "c")?;
        ok("rename", bench.rename((from, "a"), (from, "c"), Exchange))?;
        same("inode", &bench.find(from, "a")?, &three)
    })
}

fn whiteout(bench: &mut Bench<'_>) -> Outcome {
    let probe = bench.file(ROOT, "probe")?;
    match bench.rename((ROOT, "probe"), (ROOT, "probed"), WHITEOUT) {
        Err(error) if error.errno() == Errno::Invalid => {
            return same("inode", &bench.find(ROOT, "probe")?, &probe);
        }
        done => ok("rename", done)?,
    }
    each_pair(bench, |bench, (from, to), (source, target)| {
        let moving = source.make(bench, from, "a")?;
        let has_target =
            (source.is_dir(), target) == (true, What::Empty) || !source.is_dir() && !target.is_dir();
        if has_target {
            target.make(bench, to, "b")?;
        }
        bench.tick();
        ok("rename", bench.rename((from, "a"), (to, "b"), WHITEOUT))?;
        same("inode", &bench.find(to, "b")?, &moving)?;
        bench.changed(moving, false, true)?;
        bench.changed(from, true, true)?;
        bench.changed(to, true, true)?;
        let white = bench.find(from, "a")?;
        let attr = ok("attr", bench.fs().attr(white))?;
        let shown = (attr.kind, attr.perm, attr.rdev, attr.nlink, attr.uid, attr.gid);
        same("whiteout", &shown, &(FileKind::CharDevice, 0, 0, 1, 5, 6))?;
        sound(bench, from)?;
        sound(bench, to)?;
        // A whiteout is moved, replaced and removed as anything else.
        ok("rename", bench.rename((from, "a"), (from, "c"), WHITEOUT))?;
        same("inode", &bench.find(from, "c")?, &white)?;
        ok("rename", bench.rename((from, "c"), (from, "a"), Replace))?;
        ok("unlink", bench.fs().unlink(from, b"a"))
    })
}

fn missing(bench: &mut Bench<'_>) -> Outcome {
    bench.file(ROOT, "there")?;
    for mode in [Replace, NoReplace, Exchange] {
        fails("rename", bench.rename((ROOT, "missing"), (ROOT, "new"), mode), &[Errno::NoEntry])?;
    }
    fails("rename", bench.rename((ROOT, "missing"), (ROOT, "there"), Replace), &[Errno::NoEntry])?;
    fails("rename", bench.rename((ROOT, "there"), (ROOT, "missing"), Exchange), &[Errno::NoEntry])?;
    bench.find(ROOT, "there").map(drop)
}

fn below_itself(bench: &mut Bench<'_>) -> Outcome {
    let top = bench.dir(ROOT, "top")?;
    let below = bench.dir(top, "below")?;
    let deep = bench.dir(below, "deep")?;
    for (dir, name) in [(top, "new"), (below, "new"), (deep, "new")] {
        for mode in [Replace, NoReplace] {
            fails("rename", bench.rename((ROOT, "top"), (dir, name), mode), &[Errno::Invalid])?;
        }
    }
    fails("exchange", bench.rename((ROOT, "top"), (below, "deep"), Exchange), &[Errno::Invalid])?;
    fails("exchange", bench.rename((below, "deep"), (ROOT, "top"), Exchange), &[Errno::Invalid])?;
    fails("rename", bench.rename((below, "deep"), (ROOT, "top"), Replace), &[Errno::NotEmpty])?;
    bench.file(deep, "file")?;
    fails("rename", bench.rename((deep, "file"), (ROOT, "top"), Replace), &[Errno::IsDir, Errno::NotEmpty])?;
    same("..", &bench.find(deep, "..")?, &below)?;
    ok("rename", bench.rename((below, "deep"), (ROOT, "deep"), Replace))?;
    ok("rename", bench.rename((ROOT, "top"), (deep, "top"), Replace))?;
    sound(bench, ROOT)?;
    sound(bench, deep)?;
    sound(bench, below)
}

fn same_inode(bench: &mut Bench<'_>) -> Outcome {
    let dir = bench.dir(ROOT, "dir")?;
    let file = bench.file(ROOT, "one")?;
    ok("link", bench.fs().link(file, dir, b"two"))?;
    bench.tick();
    for mode in [Replace, Exchange] {
        ok("rename", bench.rename((ROOT, "one"), (dir, "two"), mode))?;
        ok("rename", bench.rename((ROOT, "one"), (ROOT, "one"), mode))?;
        ok("rename", bench.rename((ROOT, "dir"), (ROOT, "dir"), mode))?;
    }
    fails("rename", bench.rename((ROOT, "one"), (dir, "two"), NoReplace), &[Errno::Exists])?;
    same("inode", &bench.find(ROOT, "one")?, &file)?;
    same("inode", &bench.find(dir, "two")?, &file)?;
    bench.nlink(file, 2)?;
    [ROOT, dir, file].into_iter().try_for_each(|ino| bench.changed(ino, false, false))
}

fn times(bench: &mut Bench<'_>) -> Outcome {
    let (from, to) = ground(bench, "top")?;
    for what in WHATS {
        let moving = what.make(bench, from, "a")?;
        bench.tick();
        ok("rename", bench.rename((from, "a"), (to, &format!("{what:?}")), Replace))?;
        bench.changed(moving, false, true)?;
        bench.changed(from, true, true)?;
        bench.changed(to, true, true)?;
        bench.changed(ROOT, false, false)?;
    }
    bench.tick();
    let refused = bench.rename((to, "File"), (to, "Empty"), Replace);
    fails("rename", refused, &[Errno::IsDir])?;
    bench.changed(to, false, false)
}

fn subtree(bench: &mut Bench<'_>) -> Outcome {
    let (from, to) = ground(bench, "top")?;
    let dir = bench.dir(from, "dir")?;
    let below = bench.dir(dir, "below")?;
    let file = bench.file(below, "file")?;
    bench.write(file, 0, b"content")?;
    ok("rename", bench.rename((from, "dir"), (to, "moved"), Replace))?;
    bench.remount()?;
    let content = ok("read_file", crate::conformance::read_file(bench.fs(), "/top/to/moved/below/file"))?;
    same("content", &String::from_utf8_lossy(&content).as_ref(), &"content")?;
    same("parent", &ok("parent", bench.fs().parent(dir))?, &to)
}

fn replaced(bench: &mut Bench<'_>) -> Outcome {
    let one = bench.file(ROOT, "one")?;
    bench.write(one, 0, b"one")?;
    let two = bench.file(ROOT, "two")?;
    bench.write(two, 0, b"two, longer")?;
    ok("link", bench.fs().link(two, ROOT, b"two again"))?;
    bench.tick();
    ok("rename", bench.rename((ROOT, "one"), (ROOT, "two"), Replace))?;
    bench.nlink(two, 1)?;
    bench.changed(two, false, true)?;
    bench.holds(two, b"two, longer")?;
    ok("rename", bench.rename((ROOT, "two"), (ROOT, "two again"), Replace))?;
    fails("attr", bench.fs().attr(two), &[Errno::Stale])?;
    bench.remount()?;
    bench.holds(bench.find(ROOT, "two again")?, b"one")
}
