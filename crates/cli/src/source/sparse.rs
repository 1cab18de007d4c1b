//! Sparse files in archives, in the four forms that GNU tar has written: a map in the header, or in the extended header
//! (0.0 and 0.1), or in front of the data (1.0).

use std::{fs::File, os::unix::fs::FileExt};

use tar::EntryType;

use super::members::{MORE_AT, Member, RECORD, number};

/// Bytes that stand in an archive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    /// The place in the file.
    pub(super) at: u64,
    pub(super) length: u64,
    /// The place in the archive.
    pub(super) stored: u64,
}

/// A sparse file.
pub(super) struct Sparse {
    pub(super) size: u64,
    pub(super) pieces: Vec<Piece>,
    /// Its name, if the entry's is another.
    pub(super) name: Option<Vec<u8>>,
}

/// Pieces that a map may have: more is a mistake.
const PIECES_MAX: u64 = 1 << 24;
/// Entries of a record that continues a map.
const MORE_ENTRIES: usize = 21;

/// What the archive says of a file with holes; `None` if it is not stored as one.
pub(super) fn find(member: &Member, file: &File) -> Result<Option<Sparse>, String> {
    let (words, start) = (&member.words, member.start);
    let word = |key: &str| {
        let key = format!("GNU.sparse.{key}");
        words.iter().find(|(found, _)| found == key.as_bytes()).map(|(_, value)| value.as_slice())
    };
    if member.header.entry_type() == EntryType::GNUSparse {
        return old(member, file).map(Some);
    }
    let name = word("name").map(<[u8]>::to_vec);
    let (size, stored, map) = if word("major") == Some(b"1") {
        let (map, bytes) = leading(file, start)?;
        (word("realsize"), start + bytes, map)
    } else if let Some(map) = word("map") {
        let numbers = map.split(|byte| *byte == b',').filter(|number| !number.is_empty());
        (word("size"), start, numbers.map(number).collect::<Result<_, _>>()?)
    } else if word("numblocks").is_some() {
        let is_map = |key: &[u8]| key == b"GNU.sparse.offset" || key == b"GNU.sparse.numbytes";
        let numbers = words.iter().filter(|(key, _)| is_map(key)).map(|(_, value)| number(value));
        (word("size"), start, numbers.collect::<Result<_, _>>()?)
    } else {
        return Ok(None);
    };
    let size = number(size.ok_or("its size is missing")?)?;
    Ok(Some(Sparse { size, pieces: pieces(&map, stored)?, name }))
}

/// Offsets and lengths in turn, stored one behind the other.
fn pieces(map: &[u64], mut stored: u64) -> Result<Vec<Piece>, String> {
    let (pairs, rest) = map.as_chunks::<2>();
    if !rest.is_empty() {
        return Err("its map of holes has an odd count of numbers".to_owned());
    }
    let mut pieces = Vec::new();
    for [at, length] in pairs {
        pieces.push(Piece { at: *at, length: *length, stored });
        at.checked_add(*length).ok_or("its map of holes goes too far")?;
        stored = stored.checked_add(*length).ok_or("its map of holes goes too far")?;
    }
    if !pieces.is_sorted_by_key(|piece| piece.at) {
        return Err("its map of holes is not in order".to_owned());
    }
    Ok(pieces)
}

/// The map in front of the data: lines of numbers, of which the first is the count. And the bytes that it takes.
fn leading(file: &File, start: u64) -> Result<(Vec<u64>, u64), String> {
    let mut numbers: Vec<u64> = Vec::new();
    let mut digits = Vec::new();
    let mut at = start;
    loop {
        let mut record = [0; 512];
        file.read_exact_at(&mut record, at).map_err(|error| error.to_string())?;
        at += RECORD;
        for byte in record {
            if byte != b'\n' {
                digits.push(byte);
                continue;
            }
            numbers.push(number(&digits)?);
            digits.clear();
            let count = numbers.first().copied().unwrap_or_default();
            if count > PIECES_MAX {
                return Err(format!("its map of holes has {count} pieces"));
            }
            if numbers.len() as u64 == 1 + 2 * count {
                numbers.remove(0);
                return Ok((numbers, at - start));
            }
        }
    }
}

/// The map in the header, and in records behind it.
fn old(member: &Member, file: &File) -> Result<Sparse, String> {
    let header = member.header.as_gnu().ok_or("it is sparse, and its header is not GNU's")?;
    let mut map = Vec::new();
    for piece in header.sparse.iter().filter(|piece| !piece.is_empty()) {
        let failed = |error: std::io::Error| error.to_string();
        map.extend([piece.offset().map_err(failed)?, piece.length().map_err(failed)?]);
    }
    let mut at = member.start;
    let mut goes_on = header.is_extended();
    while goes_on {
        let mut record = [0; 512];
        file.read_exact_at(&mut record, at).map_err(|error| error.to_string())?;
        at += RECORD;
        for piece in
            record.chunks_exact(12).take(MORE_ENTRIES * 2).filter(|number| number.first() != Some(&0))
        {
            map.push(octal(piece)?);
        }
        goes_on = record.get(MORE_AT).is_some_and(|flag| *flag != 0);
    }
    let size = header.real_size().map_err(|error| error.to_string())?;
    Ok(Sparse { size, pieces: pieces(&map, at)?, name: None })
}

/// Octal digits, or a large number in bytes behind a byte of 0x80.
fn octal(field: &[u8]) -> Result<u64, String> {
    if field.first() == Some(&0x80) {
        return Ok(field.iter().skip(4).fold(0, |number, byte| number << 8 | u64::from(*byte)));
    }
    let text = std::str::from_utf8(field).map(|text| text.trim_matches(['\0', ' ']));
    let number = text.ok().and_then(|text| u64::from_str_radix(text, 8).ok());
    number.ok_or_else(|| "its map of holes has no numbers".to_owned())
}
