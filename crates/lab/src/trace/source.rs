//! Opening a trace: plain, gzip or Zstandard, told by its first bytes.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

use super::{Format, Pattern, TraceError, TraceReader, zst::Frames};

/// First bytes of a gzip member (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// First bytes of a Zstandard frame (RFC 8878).
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The format in which a trace is read.
#[derive(Clone, Debug, Default)]
pub enum Reading {
    /// The format that its first lines are in.
    #[default]
    Detect,
    /// As this format.
    As(Format),
    /// A pattern of the user's.
    Pattern(Pattern),
}

/// Opens the trace at `path`.
pub fn open(path: &Path, reading: &Reading) -> Result<TraceReader, TraceError> {
    let text = decompressed(BufReader::with_capacity(1 << 16, open_file(path)?))?;
    match reading {
        Reading::Detect => TraceReader::detect(text),
        Reading::As(format) => Ok(TraceReader::new(text, *format)),
        Reading::Pattern(pattern) => Ok(TraceReader::by_pattern(text, pattern)),
    }
}

/// All of the text of a file.
pub(crate) fn text(path: &Path) -> Result<String, TraceError> {
    let mut text = String::new();
    decompressed(BufReader::with_capacity(1 << 16, open_file(path)?))?.read_to_string(&mut text)?;
    Ok(text)
}

/// Opens a regular file. A trace is read more than once, so it cannot come from a pipe, and opening one would wait.
fn open_file(path: &Path) -> io::Result<File> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    File::open(path)
}

/// The text behind `file`.
fn decompressed(mut file: BufReader<File>) -> io::Result<Box<dyn BufRead + Send>> {
    let head = file.fill_buf()?;
    if head.starts_with(&GZIP) {
        let text = flate2::bufread::MultiGzDecoder::new(file);
        Ok(Box::new(BufReader::with_capacity(1 << 16, text)))
    } else if head.starts_with(&ZSTD) {
        Ok(Box::new(BufReader::with_capacity(1 << 16, Frames::new(file))))
    } else {
        Ok(Box::new(file))
    }
}
