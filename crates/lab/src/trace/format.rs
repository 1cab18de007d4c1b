//! The parts of a trace format.

use super::{Access, Problem};

/// The access of a line; `None` if it is of the format and no access.
pub(super) type Meaning = Result<Option<Access>, Problem>;

/// Reads one line after another, and may remember earlier ones.
pub(super) type Parser = Box<dyn FnMut(&str) -> Meaning + Send>;

/// A trace format.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name on a command line.
    pub name: &'static str,
    /// Its fields, in order.
    pub fields: &'static str,
    /// A parser for a fresh file.
    pub(super) parser: fn() -> Parser,
}

impl Format {
    /// True if every line can be read and some are accesses.
    pub(super) fn reads<'a>(&self, lines: impl Iterator<Item = &'a str>) -> bool {
        let mut parser = (self.parser)();
        let mut accesses = 0_u32;
        for line in lines {
            match parser(line) {
                Ok(access) => accesses += u32::from(access.is_some()),
                Err(_) => return false,
            }
        }
        accesses > 0
    }
}
