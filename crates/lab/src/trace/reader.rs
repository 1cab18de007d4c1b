//! A trace as a stream of accesses.

use std::io::{BufRead, Cursor, Read};

use super::{
    Access, Format, Pattern, Problem, TraceError,
    format::{Meaning, Parser},
};

/// Bytes a line may have; records of all formats are far shorter.
const LINE: usize = 1 << 16;

/// Bytes that are looked at to recognise a format.
const LOOK: u64 = 1 << 15;

/// Reads accesses one after another; holds one line at a time.
///
/// Empty lines, lines that begin with `#` and a first line of column names are passed over. After an error it ends.
pub struct TraceReader {
    text: Box<dyn BufRead + Send>,
    parser: Parser,
    format: &'static str,
    line: u64,
    buffer: Vec<u8>,
    ended: bool,
}

impl TraceReader {
    /// Reads `text` as `format`.
    pub fn new(text: Box<dyn BufRead + Send>, format: Format) -> Self {
        Self::with(text, (format.parser)(), format.name)
    }

    /// Reads `text` by a pattern of the user's.
    pub fn by_pattern(text: Box<dyn BufRead + Send>, pattern: &Pattern) -> Self {
        Self::with(text, pattern.parser(), "pattern")
    }

    /// Reads `text` in the format that its first lines are in.
    pub fn detect(mut text: Box<dyn BufRead + Send>) -> Result<Self, TraceError> {
        let mut head = Vec::new();
        text.by_ref().take(LOOK).read_to_end(&mut head)?;
        let seen = String::from_utf8_lossy(&head);
        // The last line may be cut.
        let whole = seen.rsplit_once('\n').map_or(&*seen, |(whole, _)| whole);
        let format = Format::detect(|| whole.lines().enumerate().filter(is_record).map(|(_, line)| line))?;
        Ok(Self::new(Box::new(Cursor::new(head).chain(text)), format))
    }

    fn with(text: Box<dyn BufRead + Send>, parser: Parser, format: &'static str) -> Self {
        Self { text, parser, format, line: 0, buffer: Vec::new(), ended: false }
    }

    /// The name of the format read.
    pub fn format(&self) -> &'static str {
        self.format
    }

    /// Lines read so far.
    pub fn lines(&self) -> u64 {
        self.line
    }

    /// Reads a line into the buffer; false at the end.
    fn read_line(&mut self) -> Result<bool, TraceError> {
        self.buffer.clear();
        let mut text = self.text.by_ref().take(LINE as u64 + 1);
        let read = text.read_until(b'\n', &mut self.buffer)?;
        if read == 0 {
            return Ok(false);
        }
        self.line += 1;
        if read > LINE {
            return Err(TraceError::Long { line: self.line, most: LINE });
        }
        Ok(true)
    }

    /// The meaning of the next line; `None` at the end.
    fn next_meaning(&mut self) -> Result<Option<Meaning>, TraceError> {
        if !self.read_line()? {
            return Ok(None);
        }
        let buffer = std::mem::take(&mut self.buffer);
        let meaning = self.meaning(&String::from_utf8_lossy(&buffer));
        self.buffer = buffer;
        Ok(Some(meaning))
    }

    fn meaning(&mut self, line: &str) -> Meaning {
        let first = usize::from(self.line != 1);
        if is_record(&(first, line)) { (self.parser)(line.trim_end()) } else { Ok(None) }
    }

    fn wrong(&self, problem: Problem) -> TraceError {
        TraceError::Line { line: self.line, format: self.format, problem }
    }
}

impl Iterator for TraceReader {
    type Item = Result<Access, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            let meaning = self.next_meaning();
            self.ended = !matches!(meaning, Ok(Some(Ok(_))));
            match meaning {
                Ok(Some(Ok(None))) => {}
                Ok(Some(Ok(Some(access)))) => return Some(Ok(access)),
                Ok(Some(Err(problem))) => return Some(Err(self.wrong(problem))),
                Ok(None) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
        None
    }
}

/// False for a line, with its number from 0, that is empty, a comment, or at the beginning column names between commas.
fn is_record((at, line): &(usize, &str)) -> bool {
    let word = |field: &str| field.trim().starts_with(|letter: char| letter.is_ascii_alphabetic());
    let names = *at == 0 && line.contains(',') && line.split(',').all(word);
    !line.trim().is_empty() && !line.starts_with('#') && !names
}
