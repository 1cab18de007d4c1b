//! Holes and reserved space.

use alloc::format;
use alloc::vec;

use super::bench::{Bench, ROOT, fails, ok};
use super::{Named, Outcome};
use crate::SpaceMode::{PunchHole, Reserve, Zero};
use crate::conformance::compare::same;
use crate::conformance::op::made_up;
use crate::conformance::regions::data_regions;
use crate::{Errno, Seek};

pub(super) const CHECKS: &[Named] = &[
    ("a punched range reads as zeros, the rest stays", punch),
    ("a zeroed range reads as zeros, the rest stays", zero),
    ("zeroing behind the end grows the file, or not", zero_grows),
    ("reserving keeps the bytes and grows the file, or not", reserve),
    ("reserved space counts as allocated and can be given back", counted),
    ("bytes reserved behind the end read as zeros", behind_the_end),
    ("ranges must make sense", bad_ranges),
    ("allocate sets mtime and ctime", times),
    ("seek covers all data", seek_data),
    ("seek at the end and behind it", seek_end),
    ("seek in a file that is one hole", seek_hole),
];

/// Ranges that begin and end on, before and behind the edges of blocks, some of them behind 30,000.
const RANGES: [(usize, usize); 9] = [
    (0, 1),
    (0, 4096),
    (4095, 4098),
    (4096, 12_288),
    (5000, 5001),
    (5000, 20_000),
    (8192, 30_000),
    (29_999, 30_000),
    (0, 30_000),
];

fn punch(bench: &mut Bench<'_>) -> Outcome {
    for (start, end) in RANGES {
        let ino = bench.file(ROOT, "file")?;
        let mut want = made_up(2, 30_000);
        bench.write(ino, 0, &want)?;
        bench.allocate(ino, PunchHole, start as u64, (end - start) as u64)?;
        want[start..end].fill(0);
        bench.holds(ino, &want).map_err(|what| format!("{start}..{end}: {what}"))?;
        bench.remount()?;
        bench.holds(ino, &want).map_err(|what| format!("{start}..{end}, remounted: {what}"))?;
        bench.unlink(ROOT, "file")?;
    }
    let ino = bench.file(ROOT, "short")?;
    bench.write(ino, 0, b"data")?;
    bench.allocate(ino, PunchHole, 2, 1 << 30)?;
    bench.holds(ino, b"da\0\0")?;
    bench.allocate(ino, PunchHole, 100, 100)?;
    bench.holds(ino, b"da\0\0")
}

fn zero(bench: &mut Bench<'_>) -> Outcome {
    for keep_size in [true, false] {
        for (start, end) in RANGES {
            let ino = bench.file(ROOT, "file")?;
            let mut want = made_up(3, 30_000);
            bench.write(ino, 0, &want)?;
            bench.allocate(ino, Zero { keep_size }, start as u64, (end - start) as u64)?;
            want[start..end].fill(0);
            bench.holds(ino, &want).map_err(|what| format!("{start}..{end}: {what}"))?;
            bench.unlink(ROOT, "file")?;
        }
    }
    Ok(())
}

fn zero_grows(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    bench.write(ino, 0, &[1; 100])?;
    bench.allocate(ino, Zero { keep_size: true }, 50, 10_000)?;
    bench.holds(ino, &[[1; 50], [0; 50]].concat())?;
    bench.allocate(ino, Zero { keep_size: false }, 75, 10_000)?;
    bench.remount()?;
    bench.holds(ino, &[vec![1; 50], vec![0; 10_025]].concat())
}

fn reserve(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    bench.write(ino, 5000, &[1; 100])?;
    bench.allocate(ino, Reserve { keep_size: true }, 0, 20_000)?;
    bench.holds(ino, &[vec![0; 5000], vec![1; 100]].concat())?;
    bench.allocate(ino, Reserve { keep_size: false }, 1000, 19_000)?;
    let want = [vec![0; 5000], vec![1; 100], vec![0; 14_900]].concat();
    bench.holds(ino, &want)?;
    bench.remount()?;
    bench.holds(ino, &want)
}

fn counted(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    let before = bench.attr(ino)?.allocated;
    bench.allocate(ino, Reserve { keep_size: true }, 0, 1 << 18)?;
    let reserved = bench.attr(ino)?.allocated;
    same("whether reserved space counts", &(reserved >= before + (1 << 18)), &true)?;
    bench.allocate(ino, PunchHole, 0, 1 << 18)?;
    let punched = bench.attr(ino)?.allocated;
    same("whether it can be given back", &(punched <= reserved - (1 << 17)), &true)?;
    bench.allocate(ino, Reserve { keep_size: false }, 0, 1 << 18)?;
    bench.truncate(ino, 0)?;
    let cut = bench.attr(ino)?.allocated;
    same("whether a cut gives it back", &(cut <= reserved - (1 << 17)), &true)
}

fn behind_the_end(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    bench.write(ino, 0, &[1; 6000])?;
    bench.truncate(ino, 100)?;
    bench.allocate(ino, Reserve { keep_size: true }, 0, 30_000)?;
    bench.truncate(ino, 20_000)?;
    bench.holds(ino, &[vec![1; 100], vec![0; 19_900]].concat())
}

fn bad_ranges(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    bench.write(ino, 0, b"data")?;
    let before = bench.attr(ino)?;
    bench.tick();
    for mode in [PunchHole, Reserve { keep_size: false }, Zero { keep_size: true }] {
        fails("allocate", bench.fs().allocate(ino, mode, 0, 0), &[Errno::Invalid])?;
        for (offset, length) in [(u64::MAX, 1), (1, u64::MAX), (i64::MAX.unsigned_abs(), 1)] {
            let refusals = &[Errno::FileTooBig];
            fails("allocate", bench.fs().allocate(ino, mode, offset, length), refusals)?;
        }
    }
    same("attributes", &bench.attr(ino)?, &before)
}

fn times(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    let modes =
        [Reserve { keep_size: true }, Reserve { keep_size: false }, Zero { keep_size: true }, PunchHole];
    for mode in modes {
        bench.tick();
        bench.allocate(ino, mode, 0, 5000)?;
        bench.changed(ino, true, true)?;
    }
    Ok(())
}

fn seek_data(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    let size = 1_000_000;
    let places = [70_000u64, 300_001, 303_000, 999_999];
    for place in places {
        bench.write(ino, place, b"x")?;
    }
    bench.allocate(ino, PunchHole, 303_000, 1)?;
    for round in 0..2 {
        let regions = data_regions(bench.fs(), ino, size)?;
        for place in [70_000, 300_001, 999_999] {
            let covered = regions.iter().any(|region| region.contains(&place));
            same(&format!("whether byte {place} is data"), &covered, &true)?;
            same("data", &ok("seek", bench.fs().seek(ino, place, Seek::Data))?, &place)?;
        }
        if round == 0 {
            bench.remount()?;
        }
    }
    Ok(())
}

fn seek_end(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    for what in [Seek::Data, Seek::Hole] {
        fails("seek", bench.fs().seek(ino, 0, what), &[Errno::NoAddress])?;
    }
    bench.write(ino, 0, &made_up(2, 5000))?;
    same("hole", &ok("seek", bench.fs().seek(ino, 0, Seek::Hole))?, &5000)?;
    same("hole", &ok("seek", bench.fs().seek(ino, 4999, Seek::Hole))?, &5000)?;
    same("data", &ok("seek", bench.fs().seek(ino, 4999, Seek::Data))?, &4999)?;
    for what in [Seek::Data, Seek::Hole] {
        for offset in [5000, 5001, 1 << 40, u64::MAX] {
            fails("seek", bench.fs().seek(ino, offset, what), &[Errno::NoAddress])?;
        }
    }
    Ok(())
}

fn seek_hole(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    bench.truncate(ino, 100_000)?;
    // A file system that calls zeros data may; one that tells holes apart must be consistent about it.
    data_regions(bench.fs(), ino, 100_000)?;
    bench.holds(ino, &vec![0; 100_000])
}
