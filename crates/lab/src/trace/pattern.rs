//! A format of the user's own: a regular expression with named groups.

use std::fmt;

use regex::{Captures, Regex};

use super::{
    Access, Op, Problem, TraceError,
    fields::{decimal, number, sectors},
    format::{Meaning, Parser},
};

/// A regular expression that says where the fields of a line are.
///
/// Groups: `op`; `offset` (bytes) or `sector` (512 bytes); `bytes` or `sectors`; and, if wanted, `time` (seconds) and
/// `volume` (a number). An op that begins with `r` or `R` is a read, with `w` or `W` a write, with `t`, `d` or `u`, large
/// or small, a trim (trim, discard, unmap). Lines that do not match are passed over.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Regex,
    offset: Amount,
    size: Amount,
}

/// A group that counts bytes, or sectors of 512.
#[derive(Clone, Copy, Debug)]
struct Amount {
    group: &'static str,
    read: fn(&'static str, &str) -> Result<u64, Problem>,
}

impl fmt::Display for Pattern {
    /// The regular expression.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.regex.as_str())
    }
}

impl Pattern {
    /// Checks `text` and its groups.
    pub fn new(text: &str) -> Result<Pattern, TraceError> {
        let regex = Regex::new(text).map_err(|error| TraceError::Pattern(cause(&error.to_string())))?;
        let has = |name: &str| regex.capture_names().flatten().any(|known| known == name);
        let amount = |bytes, in_sectors| match (has(bytes), has(in_sectors)) {
            (true, false) => Ok(Amount { group: bytes, read: number }),
            (false, true) => Ok(Amount { group: in_sectors, read: sectors }),
            _ => Err(TraceError::Pattern(format!("want one group of `{bytes}` and `{in_sectors}`"))),
        };
        let (offset, size) = (amount("offset", "sector")?, amount("bytes", "sectors")?);
        if !has("op") {
            return Err(TraceError::Pattern("want a group `op`".to_owned()));
        }
        Ok(Pattern { regex, offset, size })
    }

    /// A parser for a fresh file.
    pub(super) fn parser(&self) -> Parser {
        let pattern = self.clone();
        Box::new(move |line| pattern.line(line))
    }

    fn line(&self, line: &str) -> Meaning {
        let Some(found) = self.regex.captures(line) else { return Ok(None) };
        let op = op(text(&found, "op"))?;
        let (offset, bytes) = (self.offset.of(&found)?, self.size.of(&found)?);
        let time = Some(text(&found, "time")).filter(|text| !text.is_empty());
        let time_ns = time.map_or(Some(0), |time| decimal(time, 1_000_000_000));
        let time_ns = time_ns.ok_or_else(|| Problem::field("time", text(&found, "time"), "seconds"))?;
        let volume = Some(text(&found, "volume")).filter(|text| !text.is_empty());
        let volume = volume.map_or(Ok(0), |volume| number("volume", volume))?;
        Ok(Some(Access { time_ns, op, volume, offset, bytes }))
    }
}

impl Amount {
    /// The value of the group, in bytes.
    fn of(self, found: &Captures<'_>) -> Result<u64, Problem> {
        (self.read)(self.group, text(found, self.group))
    }
}

/// The text that a group matched; empty if it took no part.
fn text<'a>(found: &Captures<'a>, name: &str) -> &'a str {
    found.name(name).map_or("", |group| group.as_str())
}

fn op(text: &str) -> Result<Op, Problem> {
    match text.bytes().next().map(|byte| byte.to_ascii_lowercase()) {
        Some(b'r') => Ok(Op::Read),
        Some(b'w') => Ok(Op::Write),
        Some(b't' | b'd' | b'u') => Ok(Op::Trim),
        _ => Err(Problem::field("op", text, "a word for read, write or trim")),
    }
}

/// The last line of the library's message: the cause, without its drawing of the place.
fn cause(text: &str) -> String {
    text.lines().last().unwrap_or(text).trim_start_matches("error: ").to_owned()
}
