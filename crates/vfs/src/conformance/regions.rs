//! The answers of `seek` about a file, and their truth.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::tools::CHUNK_BYTES;
use crate::{Errno, FileSystem, Ino, Result, Seek};

/// Only the ends of longer holes are read.
const HOLE_READ_BYTES: u64 = 1 << 20;

/// Compares the content of two files of `size` bytes: everything that either calls data, and that holes read as zeros.
pub(super) fn compare_content(
    (a, ino_a): (&dyn FileSystem, Ino),
    (b, ino_b): (&dyn FileSystem, Ino),
    size: u64,
) -> core::result::Result<(), String> {
    let regions_a = data_regions(a, ino_a, size)?;
    let regions_b = data_regions(b, ino_b, size)?;
    check_holes(a, ino_a, &regions_a, size)?;
    check_holes(b, ino_b, &regions_b, size)?;
    for region in union(regions_a, regions_b) {
        for chunk in chunks(region) {
            let (left, right) = (read_range(a, ino_a, &chunk)?, read_range(b, ino_b, &chunk)?);
            if let Some(at) = left.iter().zip(&right).position(|(left, right)| left != right) {
                return Err(format!("byte {}: {} and {}", chunk.start + at as u64, left[at], right[at]));
            }
        }
    }
    Ok(())
}

/// The regions that a file system calls data, checked to come in order and to cover no hole.
pub(super) fn data_regions(
    fs: &dyn FileSystem,
    ino: Ino,
    size: u64,
) -> core::result::Result<Vec<Range<u64>>, String> {
    let mut regions = Vec::new();
    let mut at = 0;
    while at < size {
        let start = match fs.seek(ino, at, Seek::Data) {
            Ok(start) => start,
            Err(error) if error.errno() == Errno::NoAddress => break,
            Err(error) => return Err(format!("seek for data from {at}: {error}")),
        };
        let end = fs
            .seek(ino, start, Seek::Hole)
            .map_err(|error| format!("seek for a hole from {start}: {error}"))?;
        if start < at || end <= start || end > size {
            return Err(format!("seek from {at} of {size} finds data at {start} and a hole at {end}"));
        }
        regions.push(start..end);
        at = end;
    }
    Ok(regions)
}

/// Checks one answer of `seek` against the model, which has the same content: skipped bytes must be zeros.
pub(super) fn check_seek(
    answer: &Result<u64>,
    what: Seek,
    offset: u64,
    (model, ino): (&dyn FileSystem, Ino),
) -> core::result::Result<(), String> {
    let size = model.attr(ino).map_err(|error| format!("{error}"))?.size;
    let (from, to) = match (answer, what) {
        (Ok(at), Seek::Data) if (offset..size).contains(at) => (offset, *at),
        (Ok(at), Seek::Hole) if offset < size && (offset..=size).contains(at) => (*at, (*at + 1).min(size)),
        (Err(error), _) if error.errno() == Errno::NoAddress && offset >= size => return Ok(()),
        (Err(error), Seek::Data) if error.errno() == Errno::NoAddress => (offset, size),
        _ => return Err(format!("seek for {what:?} from {offset} of {size}: {answer:?}")),
    };
    for region in data_regions(model, ino, size)? {
        let part = region.start.max(from)..region.end.min(to);
        if !chunks(part).all(|chunk| read_range(model, ino, &chunk).is_ok_and(|bytes| is_zero(&bytes))) {
            return Err(format!(
                "seek for {what:?} from {offset}: {answer:?}, but {from}..{to} is not all zeros"
            ));
        }
    }
    Ok(())
}

fn check_holes(
    fs: &dyn FileSystem,
    ino: Ino,
    regions: &[Range<u64>],
    size: u64,
) -> core::result::Result<(), String> {
    let starts = core::iter::once(0).chain(regions.iter().map(|region| region.end));
    let ends = regions.iter().map(|region| region.start).chain(core::iter::once(size));
    for (start, end) in starts.zip(ends) {
        let parts = if end.saturating_sub(start) <= HOLE_READ_BYTES {
            [start..end, end..end]
        } else {
            [start..start + CHUNK_BYTES as u64, end - CHUNK_BYTES as u64..end]
        };
        for chunk in parts.into_iter().flat_map(chunks) {
            if !is_zero(&read_range(fs, ino, &chunk)?) {
                return Err(format!("the hole {start}..{end} does not read as zeros"));
            }
        }
    }
    Ok(())
}

fn union(mut regions: Vec<Range<u64>>, others: Vec<Range<u64>>) -> Vec<Range<u64>> {
    regions.extend(others);
    regions.sort_by_key(|region| region.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for region in regions {
        match merged.last_mut() {
            Some(last) if region.start <= last.end => last.end = last.end.max(region.end),
            _ => merged.push(region),
        }
    }
    merged
}

fn chunks(range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    range.clone().step_by(CHUNK_BYTES).map(move |start| start..range.end.min(start + CHUNK_BYTES as u64))
}

fn read_range(fs: &dyn FileSystem, ino: Ino, range: &Range<u64>) -> core::result::Result<Vec<u8>, String> {
    let len = usize::try_from(range.end - range.start).unwrap_or(CHUNK_BYTES);
    let mut bytes = vec![0xa5; len];
    match fs.read(ino, range.start, &mut bytes) {
        Ok(count) if count == len => Ok(bytes),
        Ok(count) => Err(format!("reading {range:?} gives {count} bytes")),
        Err(error) => Err(format!("reading {range:?}: {error}")),
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}
