//! The content of a file as a stream of bytes of a length known before: its ranges of data, with a map of them in front
//! if there are holes. Unreadable parts are zeros in it.

use std::{
    fmt::Write as _,
    io::{self, Read},
};

use pumice_vfs::{Attr, Errno, FsError, Ino, Seek};

use super::CHUNK;
use crate::image::Shared;

/// Ranges of a file at most: a file with more loses its smallest holes.
const RANGES_MAX: usize = 1 << 16;
/// Bytes that are tried at a time where a larger piece cannot be read.
const SMALL: usize = 4096;
/// Pieces of a file that may be bad before the rest is given up.
const BAD_MAX: u32 = 1 << 16;

/// The ranges of a file's data, in its order.
#[derive(Default)]
struct Ranges {
    list: Vec<(u64, u64)>,
    /// Holes smaller than this are filled.
    grain: u64,
}

impl Ranges {
    fn push(&mut self, start: u64, end: u64) {
        match self.list.last_mut() {
            Some(last) if start <= last.1.saturating_add(self.grain) => last.1 = end,
            _ => self.list.push((start, end)),
        }
        while self.list.len() > RANGES_MAX {
            self.grain = (self.grain * 2).max(SMALL as u64);
            for (start, end) in std::mem::take(&mut self.list) {
                self.push(start, end);
            }
        }
    }

    fn bytes(&self) -> u64 {
        self.list.iter().map(|(start, end)| end - start).sum()
    }
}

/// The bytes of a file, read one after the other.
pub(crate) struct Data<'a> {
    fs: &'a Shared,
    ino: Ino,
    size: u64,
    ranges: Ranges,
    /// Bytes of data, without the holes that are filled.
    full: u64,
    /// The range being read, and where in it.
    range: usize,
    at: u64,
    map: io::Cursor<Vec<u8>>,
    /// A piece that was read, and how much of it was handed out.
    piece: Vec<u8>,
    used: usize,
    good: u64,
    damage: Damage,
}

/// The parts of a file that cannot be read.
#[derive(Clone, Default)]
struct Damage {
    bytes: u64,
    pieces: u32,
    /// The place of the first of it, and the cause.
    first: Option<(u64, FsError)>,
}

impl Damage {
    fn add(&mut self, at: u64, end: u64, error: FsError) {
        self.bytes = self.bytes.saturating_add(end - at);
        self.pieces = self.pieces.saturating_add(1);
        self.first.get_or_insert((at, error));
    }
}

impl<'a> Data<'a> {
    /// The data of an inode. An error means that none of it can be read.
    pub(crate) fn of(fs: &'a Shared, attr: &Attr) -> Result<Data<'a>, FsError> {
        let mut data = Data {
            fs,
            ino: attr.ino,
            size: attr.size,
            ranges: Ranges::default(),
            full: 0,
            range: 0,
            at: 0,
            map: io::Cursor::default(),
            piece: Vec::new(),
            used: 0,
            good: 0,
            damage: Damage::default(),
        };
        data.find_ranges();
        data.find_good()?;
        Ok(data)
    }

    /// Finds all ranges of data; none where they cannot be found out.
    fn find_ranges(&mut self) {
        let mut at = 0;
        while at < self.size {
            let found = match self.fs.seek(self.ino, at, Seek::Data) {
                Ok(start) if start >= self.size => return,
                Ok(start) => {
                    at = start.max(at);
                    self.fs.seek(self.ino, at, Seek::Hole)
                }
                Err(error) if error.errno() == Errno::NoAddress => return,
                Err(error) => Err(error),
            };
            match found {
                Ok(end) => {
                    let end = end.clamp(at + 1, self.size);
                    self.ranges.push(at, end);
                    self.full = self.full.saturating_add(end - at);
                    at = end;
                }
                Err(error) => {
                    let end = self.behind(at, self.size, &error);
                    self.damage.add(at, end, error);
                    if end == self.size {
                        // Its true length is unknown.
                        self.size = at;
                        return;
                    }
                    at = end;
                }
            }
        }
    }

    /// The length of the file: it ends where damage begins that reaches to its end.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Reads up to the first piece that can be read, and goes back to the beginning; an error if there is none.
    fn find_good(&mut self) -> Result<(), FsError> {
        let known = self.damage.clone();
        self.next_piece();
        if self.damage.pieces == known.pieces && known.pieces == 0 {
            return Ok(());
        }
        while self.good == 0 && !self.piece.is_empty() {
            self.next_piece();
        }
        if self.good == 0
            && let Some((_, error)) = self.damage.first.take()
        {
            return Err(error);
        }
        (self.range, self.at, self.good, self.damage) = (0, 0, 0, known);
        self.piece.clear();
        self.used = 0;
        Ok(())
    }

    /// The place to go on behind an unreadable part.
    fn behind(&self, at: u64, end: u64, error: &FsError) -> u64 {
        if error.errno() == Errno::NoKey || self.damage.pieces >= BAD_MAX {
            return end;
        }
        self.fs.behind_damage(self.ino, at).clamp(at + 1, end)
    }

    /// Bytes of data, without the holes that are filled.
    pub(crate) fn data_bytes(&self) -> u64 {
        self.full
    }

    /// Bytes of all ranges together.
    pub(crate) fn stored(&self) -> u64 {
        self.ranges.bytes()
    }

    /// Puts a map of the ranges in front: their number, then start and length of each, in decimal, filled up to
    /// 512 bytes.
    pub(crate) fn put_map(&mut self) {
        let list = &self.ranges.list;
        let mut map = format!("{}\n", list.len());
        for (start, end) in list {
            // Writing to a string cannot fail.
            let _ = writeln!(map, "{start}\n{}", end - start);
        }
        let mut map = map.into_bytes();
        map.resize(map.len().next_multiple_of(512), 0);
        self.map = io::Cursor::new(map);
    }

    /// Bytes of the map.
    pub(crate) fn map_bytes(&self) -> u64 {
        self.map.get_ref().len() as u64
    }

    /// The missing parts so far, in words, if there are any.
    pub(crate) fn missing(&self) -> Option<String> {
        let (at, error) = self.damage.first.as_ref()?;
        let bytes = self.damage.bytes;
        Some(format!("{bytes} bytes cannot be read and are missing here, first at byte {at}: {error}"))
    }

    /// Reads the next piece of the ranges; it is empty at their end.
    fn next_piece(&mut self) {
        self.used = 0;
        while let Some((start, end)) = self.ranges.list.get(self.range).copied() {
            self.at = self.at.max(start);
            if self.at < end {
                return self.read_piece(end);
            }
            self.range += 1;
        }
        self.piece.clear();
    }

    fn read_piece(&mut self, end: u64) {
        let (at, left) = (self.at, end - self.at);
        let want = usize::try_from(left).map_or(CHUNK, |left| left.min(CHUNK));
        self.piece.resize(want, 0);
        let mut read = self.try_read(at);
        if read.is_err() && want > SMALL {
            self.piece.truncate(SMALL - usize::try_from(at % SMALL as u64).unwrap_or(0));
            read = self.try_read(at);
        }
        let got = match read {
            // The file is shorter than it said.
            Ok(0) => self.piece.len() as u64,
            Ok(got) => {
                self.piece.truncate(got);
                self.good += got as u64;
                got as u64
            }
            Err(error) => self.pass_over(end, error),
        };
        self.at = at + got;
    }

    fn try_read(&mut self, at: u64) -> Result<usize, FsError> {
        if self.damage.pieces >= BAD_MAX {
            return Err(Errno::Io.into());
        }
        self.piece.fill(0);
        self.fs.read(self.ino, at, &mut self.piece)
    }

    /// Bytes of zeros that replace an unreadable part.
    fn pass_over(&mut self, end: u64, error: FsError) -> u64 {
        let behind = self.behind(self.at, end, &error).min(self.at + CHUNK as u64);
        let bytes = behind - self.at;
        self.piece.clear();
        self.piece.resize(usize::try_from(bytes).unwrap_or(0), 0);
        self.damage.add(self.at, behind, error);
        bytes
    }
}

impl Read for Data<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.map.read(buffer)?;
        if got > 0 {
            return Ok(got);
        }
        if self.used == self.piece.len() {
            self.next_piece();
        }
        let rest = self.piece.get(self.used..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        let (now, from) = (buffer.get_mut(..length), rest.get(..length));
        if let (Some(now), Some(from)) = (now, from) {
            now.copy_from_slice(from);
        }
        self.used += length;
        Ok(length)
    }
}
