//! Reading, writing and cutting regular files.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::bench::{Bench, ROOT, fails, ok};
use super::{Named, Outcome};
use crate::conformance::compare::same;
use crate::conformance::op::made_up;
use crate::{Errno, FileKind, SetAttr};

pub(super) const CHECKS: &[Named] = &[
    ("written bytes are read, in any portions", portions),
    ("a read ends with the file", end_of_file),
    ("writes of any alignment", alignments),
    ("overwriting keeps the bytes around", overwrite),
    ("a gap reads as zeros", gap),
    ("a cut tail does not come back", cut_tail),
    ("writes set mtime and ctime", times),
    ("no data, no change", empty_write),
    ("only regular files have content", other_kinds),
    ("far offsets work or are too big", far),
    ("no file is longer than a signed offset reaches", too_far),
    ("a megabyte outlives a remount", megabyte),
];

fn portions(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    let data = made_up(2, 30_000);
    for (number, part) in (0u64..).zip(data.chunks(777)) {
        bench.write(ino, number * 777, part)?;
    }
    bench.holds(ino, &data)?;
    for step in [1000, 4096, 12_345] {
        for (number, part) in (0u64..).zip(data.chunks(step)) {
            let mut buffer = vec![0; part.len()];
            let count = ok("read", bench.fs().read(ino, number * step as u64, &mut buffer))?;
            same("bytes read", &count, &part.len())?;
            same("whether they are right", &(buffer == part), &true)?;
        }
    }
    Ok(())
}

fn end_of_file(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    let read = |offset, len| {
        let mut buffer = vec![0xa5; len];
        let count = ok("read", bench.fs().read(ino, offset, &mut buffer))?;
        buffer.truncate(count);
        Ok::<Vec<u8>, alloc::string::String>(buffer)
    };
    same("bytes", &read(0, 10)?, &Vec::new())?;
    bench.write(ino, 0, b"0123456789")?;
    same("bytes", &read(0, 100)?, &b"0123456789".to_vec())?;
    same("bytes", &read(7, 100)?, &b"789".to_vec())?;
    same("bytes", &read(7, 2)?, &b"78".to_vec())?;
    same("bytes", &read(7, 0)?, &Vec::new())?;
    for offset in [10, 11, 1 << 40, u64::MAX] {
        same("bytes", &read(offset, 5)?, &Vec::new())?;
    }
    Ok(())
}

fn alignments(bench: &mut Bench<'_>) -> Outcome {
    for (number, offset) in (0u8..).zip([0, 1, 4095, 4096, 4097, 16_383, 65_535]) {
        for (times, len) in (0u8..).zip([1, 2, 4095, 4096, 4097, 8192, 20_000]) {
            let ino = bench.file(ROOT, &format!("{offset} {len}"))?;
            let data = made_up(number * 8 + times, len);
            bench.write(ino, offset, &data)?;
            let zeros = vec![0; usize::try_from(offset).unwrap_or(0)];
            bench.holds(ino, &[zeros, data].concat()).map_err(|what| format!("{len} at {offset}: {what}"))?;
            bench.unlink(ROOT, &format!("{offset} {len}"))?;
        }
    }
    Ok(())
}

fn overwrite(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    let mut want = made_up(3, 40_000);
    bench.write(ino, 0, &want)?;
    for (seed, start) in (0u8..).zip([0, 1, 4090, 8192, 12_289, 39_000]) {
        let data = made_up(seed, 1000);
        bench.write(ino, start as u64, &data)?;
        want[start..start + 1000].copy_from_slice(&data);
        bench.holds(ino, &want)?;
        bench.remount()?;
        bench.holds(ino, &want)?;
    }
    Ok(())
}

fn gap(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    bench.write(ino, 10, b"a")?;
    bench.write(ino, 20_000, b"b")?;
    let mut want = vec![0; 20_001];
    (want[10], want[20_000]) = (b'a', b'b');
    bench.holds(ino, &want)?;
    bench.truncate(ino, 30_000)?;
    want.resize(30_000, 0);
    bench.holds(ino, &want)?;
    bench.remount()?;
    bench.holds(ino, &want)
}

fn cut_tail(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    for cut in [0, 1, 100, 4095, 4096, 4097, 9999] {
        bench.write(ino, 0, &[0xff; 10_000])?;
        bench.truncate(ino, cut as u64)?;
        bench.holds(ino, &vec![0xff; cut])?;
        bench.truncate(ino, 12_000)?;
        let want = [vec![0xff; cut], vec![0; 12_000 - cut]].concat();
        bench.holds(ino, &want).map_err(|what| format!("cut to {cut}, grown by length: {what}"))?;
        bench.truncate(ino, cut as u64)?;
        bench.write(ino, 12_000, b"x")?;
        let want = [&want[..], b"x"].concat();
        bench.holds(ino, &want).map_err(|what| format!("cut to {cut}, grown by a write: {what}"))?;
        bench.truncate(ino, 0)?;
    }
    Ok(())
}

fn times(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    for offset in [0, 0, 5000] {
        bench.tick();
        bench.write(ino, offset, b"data")?;
        bench.changed(ino, true, true)?;
    }
    bench.tick();
    bench.changed(ino, false, false)?;
    bench.changed(ROOT, false, false)
}

fn empty_write(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    let before = bench.attr(ino)?;
    bench.tick();
    bench.write(ino, 0, b"")?;
    bench.write(ino, 5000, b"")?;
    same("attributes", &bench.attr(ino)?, &before)
}

fn other_kinds(bench: &mut Bench<'_>) -> Outcome {
    let fs = bench.fs();
    for kind in [FileKind::Dir, FileKind::Symlink, FileKind::Fifo, FileKind::Socket, FileKind::BlockDevice] {
        let ino = bench.make(kind, ROOT, &format!("{kind:?}"))?;
        let want = &[if kind == FileKind::Dir { Errno::IsDir } else { Errno::Invalid }];
        fails("read", fs.read(ino, 0, &mut [0; 4]), want)?;
        fails("write", fs.write(ino, 0, b"data"), want)?;
        fails("allocate", fs.allocate(ino, crate::SpaceMode::Reserve { keep_size: true }, 0, 4096), want)?;
        fails("seek", fs.seek(ino, 0, crate::Seek::Hole), want)?;
    }
    Ok(())
}

fn far(bench: &mut Bench<'_>) -> Outcome {
    for offset in [(1u64 << 31) - 2, (1 << 32) - 2, 1 << 36, 1 << 40, (1 << 44) - 7, 1 << 52] {
        let ino = bench.file(ROOT, "file")?;
        let before = bench.attr(ino)?;
        bench.tick();
        match bench.fs().write(ino, offset, b"far out") {
            Err(error) if error.errno() == Errno::FileTooBig && offset >= 1 << 32 => {
                same("attributes", &bench.attr(ino)?, &before)?;
            }
            written => {
                ok("write", written)?;
                bench.remount()?;
                let mut buffer = [1; 16];
                let count = ok("read", bench.fs().read(ino, offset - 4, &mut buffer))?;
                same("bytes", &&buffer[..count], &&b"\0\0\0\0far out"[..])?;
                same("size", &bench.attr(ino)?.size, &(offset + 7))?;
                let data = ok("seek", bench.fs().seek(ino, 0, crate::Seek::Data))?;
                same("whether data is found", &(data <= offset), &true)?;
            }
        }
        bench.unlink(ROOT, "file")?;
    }
    Ok(())
}

fn too_far(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    bench.write(ino, 0, b"data")?;
    let want = &[Errno::FileTooBig];
    for offset in [i64::MAX.unsigned_abs(), 1 << 63, u64::MAX - 3, u64::MAX] {
        fails("write", bench.fs().write(ino, offset, b"data"), want)?;
    }
    for size in [1 << 63, u64::MAX] {
        fails(
            "set_attr",
            bench.fs().set_attr(ino, &SetAttr { size: Some(size), ..SetAttr::default() }),
            want,
        )?;
    }
    bench.holds(ino, b"data")
}

fn megabyte(bench: &mut Bench<'_>) -> Outcome {
    let ino = bench.file(ROOT, "file")?;
    let data: Vec<u8> = (0..16).flat_map(|seed| made_up(seed, 1 << 16)).collect();
    bench.write(ino, 0, &data)?;
    bench.holds(ino, &data)?;
    bench.remount()?;
    bench.holds(ino, &data)
}
