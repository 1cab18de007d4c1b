//! Directories: making, removing, reading.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::bench::{Bench, ROOT, fails, ok};
use super::{Named, Outcome};
use crate::conformance::compare::same;
use crate::{Errno, FileKind, Ino};

pub(super) const CHECKS: &[Named] = &[
    ("directories count their subdirectories", nlink),
    (". and .. and parent lead where they should", dots),
    ("rmdir removes only empty directories", rmdir),
    ("rmdir of a file, unlink of a directory", wrong_kind),
    ("a change of names sets the directory's times", times),
    ("readdir gives every entry once, in any portions", portions),
    ("readdir tells inode and kind", kinds),
    ("readdir keeps the other entries while some go", removal),
    ("readdir keeps the other entries while some come", insertion),
    ("readdir may be called back into", callback),
    ("a thousand names in a directory, and out again", many),
    ("directories nest 60 deep", deep),
];

fn nlink(bench: &mut Bench<'_>) -> Outcome {
    let top = bench.dir(ROOT, "top")?;
    bench.nlink(ROOT, 3)?;
    bench.dir(top, "a")?;
    bench.dir(top, "b")?;
    bench.file(top, "file")?;
    bench.nlink(top, 4)?;
    bench.rmdir(top, "a")?;
    bench.nlink(top, 3)?;
    bench.remount()?;
    bench.nlink(top, 3)?;
    bench.nlink(ROOT, 3)
}

fn dots(bench: &mut Bench<'_>) -> Outcome {
    let top = bench.dir(ROOT, "top")?;
    let below = bench.dir(top, "below")?;
    for round in 0..2 {
        same(".", &bench.find(below, ".")?, &below)?;
        same("..", &bench.find(below, "..")?, &top)?;
        same("parent", &ok("parent", bench.fs().parent(below))?, &top)?;
        same("parent of parent", &ok("parent", bench.fs().parent(top))?, &ROOT)?;
        if round == 0 {
            bench.remount()?;
        }
    }
    Ok(())
}

fn rmdir(bench: &mut Bench<'_>) -> Outcome {
    let top = bench.dir(ROOT, "top")?;
    bench.file(top, "file")?;
    fails("rmdir", bench.fs().rmdir(ROOT, b"top"), &[Errno::NotEmpty])?;
    fails("rmdir", bench.fs().rmdir(ROOT, b"missing"), &[Errno::NoEntry])?;
    bench.unlink(top, "file")?;
    bench.rmdir(ROOT, "top")?;
    fails("attr", bench.fs().attr(top), &[Errno::Stale])?;
    fails("lookup", bench.fs().lookup(ROOT, b"top"), &[Errno::NoEntry])
}

fn wrong_kind(bench: &mut Bench<'_>) -> Outcome {
    bench.dir(ROOT, "dir")?;
    fails("unlink", bench.fs().unlink(ROOT, b"dir"), &[Errno::IsDir])?;
    fails("unlink", bench.fs().unlink(ROOT, b"missing"), &[Errno::NoEntry])?;
    for kind in [FileKind::File, FileKind::Symlink, FileKind::Socket] {
        bench.make(kind, ROOT, "node")?;
        fails("rmdir", bench.fs().rmdir(ROOT, b"node"), &[Errno::NotDir])?;
        bench.unlink(ROOT, "node")?;
    }
    same("names", &bench.names(ROOT)?, &vec![b"dir".to_vec()])
}

fn times(bench: &mut Bench<'_>) -> Outcome {
    let top = bench.dir(ROOT, "top")?;
    bench.tick();
    bench.changed(top, false, false)?;
    bench.dir(top, "dir")?;
    bench.changed(top, true, true)?;
    bench.tick();
    bench.rmdir(top, "dir")?;
    bench.changed(top, true, true)?;
    bench.file(top, "file")?;
    bench.tick();
    bench.unlink(top, "file")?;
    bench.changed(top, true, true)?;
    bench.tick();
    bench.names(top)?;
    fails("unlink", bench.fs().unlink(top, b"file"), &[Errno::NoEntry])?;
    bench.changed(top, false, false)?;
    bench.changed(ROOT, false, false)
}

/// Files named by number.
fn fill(bench: &Bench<'_>, dir: Ino, count: usize) -> Outcome {
    (0..count).try_for_each(|number| bench.file(dir, &format!("file {number}")).map(drop))
}

/// The next names behind `cookie`, up to `count`; `cookie` goes along.
fn portion(
    bench: &Bench<'_>,
    dir: Ino,
    cookie: &mut u64,
    count: usize,
) -> Result<Vec<Vec<u8>>, alloc::string::String> {
    let mut names = Vec::new();
    let mut zero = false;
    let listing = bench.fs().readdir(dir, *cookie, &mut |entry| {
        if names.len() == count {
            return false;
        }
        names.push(entry.name.to_vec());
        zero |= entry.cookie == 0;
        *cookie = entry.cookie;
        true
    });
    ok("readdir", listing)?;
    if zero { Err("cookie 0".into()) } else { Ok(names) }
}

fn portions(bench: &mut Bench<'_>) -> Outcome {
    fill(bench, ROOT, 100)?;
    let want = bench.names(ROOT)?;
    same("number of names", &want.len(), &100)?;
    for size in [1, 2, 7, 99, 100, 101] {
        let (mut found, mut cookie) = (Vec::new(), 0);
        loop {
            let names = portion(bench, ROOT, &mut cookie, size)?;
            if names.is_empty() || found.len() > 100 {
                break;
            }
            found.extend(names);
        }
        found.sort();
        same("names", &found, &want)?;
    }
    Ok(())
}

fn kinds(bench: &mut Bench<'_>) -> Outcome {
    let want = [FileKind::File, FileKind::Dir, FileKind::Symlink, FileKind::Fifo, FileKind::BlockDevice];
    for kind in want {
        bench.make(kind, ROOT, &format!("{kind:?}"))?;
    }
    for (name, ino, kind) in ok("readdir", crate::conformance::list(bench.fs(), ROOT))? {
        let found = ok("lookup", bench.fs().lookup(ROOT, &name))?;
        same("inode and kind", &(ino, kind), &(found.ino, found.kind))?;
        same("name", &name, &format!("{kind:?}").into_bytes())?;
    }
    same("number of names", &bench.names(ROOT)?.len(), &want.len())
}

fn removal(bench: &mut Bench<'_>) -> Outcome {
    fill(bench, ROOT, 200)?;
    let mut cookie = 0;
    let mut found: Vec<Vec<u8>> = Vec::new();
    let mut gone = BTreeSet::new();
    loop {
        let names = portion(bench, ROOT, &mut cookie, 10)?;
        if names.is_empty() {
            break;
        }
        // The names just handed out go, even that of the cookie, and one more.
        let one_more = format!("file {}", found.len() * 3).into_bytes();
        for name in names.iter().chain([&one_more]) {
            if gone.insert(name.clone()) {
                let unlinked = bench.fs().unlink(ROOT, name);
                same(
                    "whether it was there",
                    &unlinked.is_ok(),
                    &(*name != one_more || found.len() * 3 < 200),
                )?;
            }
        }
        found.extend(names);
    }
    let once: BTreeSet<_> = found.iter().cloned().collect();
    same("names, and different names, handed out", &found.len(), &once.len())?;
    let all: BTreeSet<_> = once.union(&gone).cloned().collect();
    let missed = (0..200).map(|n| format!("file {n}")).find(|name| !all.contains(name.as_bytes()));
    same("a name that was left out", &missed, &None)?;
    let want: Vec<Vec<u8>> = Vec::new();
    same("names left", &bench.names(ROOT)?, &want)
}

fn insertion(bench: &mut Bench<'_>) -> Outcome {
    fill(bench, ROOT, 100)?;
    let mut cookie = 0;
    let mut found: Vec<Vec<u8>> = Vec::new();
    for round in 0..100 {
        let names = portion(bench, ROOT, &mut cookie, 7)?;
        if names.is_empty() {
            break;
        }
        found.extend(names);
        for number in 0..if round < 10 { 20 } else { 0 } {
            bench.file(ROOT, &format!("new {round} {number}"))?;
        }
    }
    for name in (0..100).map(|number| format!("file {number}").into_bytes()) {
        let times = found.iter().filter(|found| **found == name).count();
        same(&format!("how often {} comes", name.escape_ascii()), &times, &1)?;
    }
    Ok(())
}

fn callback(bench: &mut Bench<'_>) -> Outcome {
    fill(bench, ROOT, 5)?;
    let fs = bench.fs();
    let mut sound = true;
    let listing = fs.readdir(ROOT, 0, &mut |entry| {
        sound &= fs.attr(entry.ino).is_ok_and(|attr| attr.ino == entry.ino);
        sound
    });
    ok("readdir", listing)?;
    same("attr works from within readdir", &sound, &true)
}

fn many(bench: &mut Bench<'_>) -> Outcome {
    fill(bench, ROOT, 1000)?;
    bench.remount()?;
    same("number of names", &bench.names(ROOT)?.len(), &1000)?;
    for number in (0..1000).filter(|number| number % 3 != 0) {
        bench.unlink(ROOT, &format!("file {number}"))?;
    }
    bench.remount()?;
    same("number of names", &bench.names(ROOT)?.len(), &334)?;
    for number in 0..1000 {
        let found = bench.fs().lookup(ROOT, format!("file {number}").as_bytes());
        same("whether it is there", &found.is_ok(), &(number % 3 == 0))?;
    }
    Ok(())
}

fn deep(bench: &mut Bench<'_>) -> Outcome {
    let mut at = ROOT;
    for _ in 0..60 {
        at = bench.dir(at, "below")?;
    }
    bench.file(at, "file")?;
    bench.remount()?;
    let path = "/below".repeat(60) + "/file";
    ok("resolve", crate::conformance::resolve(bench.fs(), &path)).map(drop)
}
