//! Members of a tar archive in POSIX's and GNU's formats, each with what the extension headers in front of it say.
//!
//! `tar`'s own iterator takes a newline for the end of an extension record, and values may hold newlines.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom},
};

use tar::{EntryType, GnuHeader, Header};

/// Bytes of a header, to which data are padded.
pub(super) const RECORD: u64 = 512;
/// Byte of a record that continues GNU's map of holes, not zero if another follows.
pub(super) const MORE_AT: usize = 504;
/// Bytes of extension headers of one member; more is a mistake.
const EXTENSION_MAX: u64 = 16 << 20;

/// Records of an extension header: keys and values.
pub(super) type Words = Vec<Word>;
type Word = (Vec<u8>, Vec<u8>);

pub(super) struct Member {
    pub(super) header: Header,
    pub(super) words: Words,
    pub(super) path: Vec<u8>,
    /// Target of a link.
    pub(super) link: Option<Vec<u8>>,
    /// Byte of the archive behind the header.
    pub(super) start: u64,
    /// Bytes of the archive that hold the data, those of a map in extension records not counted.
    pub(super) stored: u64,
}

/// Extension headers that wait for their member.
#[derive(Default)]
struct Extensions {
    words: Words,
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
}

pub(super) struct Members<'a> {
    archive: BufReader<&'a File>,
    /// Byte of the next header.
    next: u64,
}

impl<'a> Members<'a> {
    pub(super) fn of(file: &'a File) -> Members<'a> {
        Members { archive: BufReader::new(file), next: 0 }
    }

    /// The next member; `None` at the end of the archive.
    ///
    /// # Errors
    /// Failed reads, a wrong checksum, a malformed or huge extension header, one without a member behind it.
    pub(super) fn next(&mut self) -> Result<Option<Member>, String> {
        let mut found = Extensions::default();
        let mut any = false;
        loop {
            let Some(header) = self.header()? else {
                return if any {
                    Err("an extension header has no member behind it".to_owned())
                } else {
                    Ok(None)
                };
            };
            match header.entry_type() {
                EntryType::XHeader => found.words.extend(words(&self.extension(&header)?)?),
                EntryType::GNULongName => found.path = Some(name(self.extension(&header)?)),
                EntryType::GNULongLink => found.link = Some(name(self.extension(&header)?)),
                EntryType::XGlobalHeader => drop(self.extension(&header)?),
                _ => return self.member(header, found).map(Some),
            }
            any |= header.entry_type() != EntryType::XGlobalHeader;
        }
    }

    /// The header at hand; `None` for zeros or at the end of the file.
    fn header(&mut self) -> Result<Option<Header>, String> {
        let mut header = Header::new_old();
        self.archive.seek(SeekFrom::Start(self.next)).map_err(in_words)?;
        match self.archive.read_exact(header.as_mut_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return if self.archive.stream_position().is_ok_and(|at| at == self.next) {
                    Ok(None)
                } else {
                    Err("the archive is cut short in a header".to_owned())
                };
            }
            read => read.map_err(in_words)?,
        }
        if header.as_bytes().iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        if !is_sound(&header) {
            return Err(format!("the header at byte {} has a wrong checksum", self.next));
        }
        self.next += RECORD;
        Ok(Some(header))
    }

    fn extension(&mut self, header: &Header) -> Result<Vec<u8>, String> {
        let length = header.entry_size().map_err(in_words)?;
        if length > EXTENSION_MAX {
            return Err(format!("an extension header has {length} bytes"));
        }
        let mut bytes = Vec::new();
        let read = self.archive.by_ref().take(length).read_to_end(&mut bytes).map_err(in_words)?;
        if read as u64 != length {
            return Err("the archive is cut short in an extension header".to_owned());
        }
        self.pass(length)?;
        Ok(bytes)
    }

    fn member(&mut self, header: Header, found: Extensions) -> Result<Member, String> {
        let Extensions { words, path, link } = found;
        let latest: BTreeMap<_, _> = words.iter().map(|(key, value)| (key.as_slice(), value)).collect();
        let word = |key: &[u8]| latest.get(key).map(|value| (*value).clone());
        let stored = match latest.get(&b"size"[..]) {
            Some(size) => number(size)?,
            None => header.entry_size().map_err(in_words)?,
        };
        let path = word(b"path").or(path).unwrap_or_else(|| header.path_bytes().into_owned());
        let link = word(b"linkpath").or(link).or_else(|| header.link_name_bytes().map(Cow::into_owned));
        let start = self.next;
        if header.as_gnu().is_some_and(GnuHeader::is_extended) && header.entry_type() == EntryType::GNUSparse
        {
            self.pass_map()?;
        }
        self.pass(stored)?;
        Ok(Member { header, words, path, link, start, stored })
    }

    /// Passes the records that continue GNU's map of holes; their bytes are not in the member's size.
    fn pass_map(&mut self) -> Result<(), String> {
        let mut record = [0; 512];
        loop {
            self.archive.read_exact(&mut record).map_err(in_words)?;
            self.next += RECORD;
            if record.get(MORE_AT) == Some(&0) {
                return Ok(());
            }
        }
    }

    fn pass(&mut self, length: u64) -> Result<(), String> {
        let padded = length.checked_next_multiple_of(RECORD);
        self.next = padded
            .and_then(|padded| self.next.checked_add(padded))
            .ok_or("the size of a member is too large")?;
        Ok(())
    }
}

/// True if the checksum of a header is right.
pub(super) fn is_sound(header: &Header) -> bool {
    let sum = header.as_bytes().iter().enumerate().map(|(at, byte)| match at {
        148..156 => u32::from(b' '),
        _ => u32::from(*byte),
    });
    header.cksum().is_ok_and(|wanted| wanted == sum.sum::<u32>())
}

/// Cuts an extension header into its records: a decimal length that counts the whole record, a blank, a key, `=`, a
/// value of any bytes, a newline.
fn words(mut rest: &[u8]) -> Result<Words, String> {
    let mut words = Words::new();
    while !rest.is_empty() {
        let (record, behind) = first(rest).ok_or("an extension header is malformed")?;
        words.push(record);
        rest = behind;
    }
    Ok(words)
}

fn first(rest: &[u8]) -> Option<(Word, &[u8])> {
    let blank = rest.iter().position(|byte| *byte == b' ')?;
    let length: usize = str::from_utf8(rest.get(..blank)?).ok()?.parse().ok()?;
    let (record, behind) = rest.split_at_checked(length)?;
    let record = record.get(blank + 1..)?.strip_suffix(b"\n")?;
    let equals = record.iter().position(|byte| *byte == b'=')?;
    Some(((record.get(..equals)?.to_vec(), record.get(equals + 1..)?.to_vec()), behind))
}

/// A name of GNU's, without the zero at its end.
fn name(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.last() == Some(&0) {
        bytes.pop();
    }
    bytes
}

/// A decimal number of an extended header.
pub(super) fn number<N: std::str::FromStr>(value: &[u8]) -> Result<N, String> {
    let number = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| format!("`{}` is no number that fits", value.escape_ascii()))
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn in_words(error: io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the archive is cut short".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_cut_by_their_length() {
        let one = |key: &str, value: &str| (key.as_bytes().to_vec(), value.as_bytes().to_vec());
        assert_eq!(words(b"12 user=a\nb\n9 a=bcde\n"), Ok(vec![one("user", "a\nb"), one("a", "bcde")]));
        for bad in ["12 user=ab", "x", "9 abcdef\n", "12 user=a\nbc", "0 a=b\n", "99999999999999999999 a=b\n"]
        {
            assert!(words(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }
}
