//! The fields of a line, taken one after another.

use std::str::{Split, SplitAsciiWhitespace};

use super::{Op, Problem};

/// Bytes of a sector, in every format that counts in sectors.
const SECTOR: u64 = 512;

/// The fields of a line not yet taken.
pub(super) enum Fields<'a> {
    /// Fields between commas.
    Comma(Split<'a, char>),
    /// Fields between blanks.
    Blank(SplitAsciiWhitespace<'a>),
}

impl<'a> Fields<'a> {
    /// The fields of a line with commas.
    pub(super) fn comma(line: &'a str) -> Self {
        Self::Comma(line.split(','))
    }

    /// The fields of a line with blanks.
    pub(super) fn blank(line: &'a str) -> Self {
        Self::Blank(line.split_ascii_whitespace())
    }

    /// The next field, empty or not.
    fn next(&mut self) -> Option<&'a str> {
        match self {
            Self::Comma(rest) => rest.next().map(str::trim),
            Self::Blank(rest) => rest.next(),
        }
    }

    /// The next field as text.
    pub(super) fn text(&mut self, field: &'static str) -> Result<&'a str, Problem> {
        self.next().filter(|text| !text.is_empty()).ok_or(Problem::Missing(field))
    }

    /// Passes over a field that is not used.
    pub(super) fn skip(&mut self, field: &'static str) -> Result<(), Problem> {
        self.next().map(drop).ok_or(Problem::Missing(field))
    }

    /// The next field as a whole number.
    pub(super) fn number(&mut self, field: &'static str) -> Result<u64, Problem> {
        number(field, self.text(field)?)
    }

    /// The next field as bytes, counted in sectors of 512.
    pub(super) fn sectors(&mut self, field: &'static str) -> Result<u64, Problem> {
        sectors(field, self.text(field)?)
    }

    /// The next field as a time in nanoseconds, given in units of `unit_ns`, with or without a fraction.
    pub(super) fn time(&mut self, field: &'static str, unit_ns: u64) -> Result<u64, Problem> {
        let text = self.text(field)?;
        decimal(text, unit_ns).ok_or_else(|| Problem::field(field, text, "a time"))
    }

    /// The next field as one of two words.
    pub(super) fn op(&mut self, field: &'static str, read: &str, write: &str) -> Result<Op, Problem> {
        match self.text(field)? {
            text if text.eq_ignore_ascii_case(read) => Ok(Op::Read),
            text if text.eq_ignore_ascii_case(write) => Ok(Op::Write),
            text => Err(Problem::field(field, text, "a read or a write")),
        }
    }

    /// Nothing may be left but an empty field after a last comma.
    pub(super) fn end(mut self) -> Result<(), Problem> {
        match self.next().filter(|text| !text.is_empty()) {
            None => Ok(()),
            Some(_) => Err(Problem::Line("fewer fields")),
        }
    }
}

/// A whole number.
pub(super) fn number(field: &'static str, text: &str) -> Result<u64, Problem> {
    text.parse().map_err(|_| Problem::field(field, text, "a whole number"))
}

/// Bytes, counted in sectors of 512.
pub(super) fn sectors(field: &'static str, text: &str) -> Result<u64, Problem> {
    number(field, text)?.checked_mul(SECTOR).ok_or_else(|| Problem::field(field, text, "fewer sectors"))
}

/// `text`, a decimal fraction, in units of `unit`, rounded down; `None` if it is none or too large.
pub(super) fn decimal(text: &str, unit: u64) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) {
        return None;
    }
    let mut scale = unit;
    let mut fraction = 0;
    for digit in part.bytes() {
        scale /= 10;
        fraction += u64::from(digit - b'0') * scale;
    }
    whole.parse::<u64>().ok()?.checked_mul(unit)?.checked_add(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_exact() {
        assert_eq!(decimal("1538323199.123456789", 1_000_000_000), Some(1_538_323_199_123_456_789));
        assert_eq!(decimal("12.5", 1_000_000), Some(12_500_000));
        assert_eq!(decimal("7", 100), Some(700));
        assert_eq!(decimal("0.00000000009", 1_000_000_000), Some(0));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["", ".", ".5", "-1", "1e9", "1.2.3", "99999999999999999999", "18446744073709551615"] {
            assert_eq!(decimal(text, 10), None, "{text}");
        }
    }
}
