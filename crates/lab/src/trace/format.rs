//! The formats by name, and how one is recognised.

use super::{
    Access, Problem, TraceError, alibaba, blkparse, cloudphysics, disksim, fio, fiu, midas, msr, spc,
    tencent, wiscsee,
};

/// What a line means: `None` if it is of the format and no access.
pub(super) type Meaning = Result<Option<Access>, Problem>;

/// Reads one line after another, and may remember what it saw.
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
    /// Every format, the more unmistakable ones first: a file is of the first one that reads its beginning.
    pub const TABLE: [Format; 11] = [
        fio::FORMAT,
        wiscsee::FORMAT,
        blkparse::FORMAT,
        fiu::FORMAT,
        msr::FORMAT,
        alibaba::FORMAT,
        spc::FORMAT,
        cloudphysics::FORMAT,
        tencent::FORMAT,
        midas::FORMAT,
        disksim::FORMAT,
    ];

    /// The format of this name.
    pub fn named(name: &str) -> Result<Format, TraceError> {
        let found = Self::TABLE.into_iter().find(|format| format.name == name);
        found.ok_or_else(|| TraceError::UnknownName(name.to_owned()))
    }

    /// The format of a file that begins with `lines`: the first that reads all of them and finds an access.
    pub(super) fn detect<'a, L>(lines: impl Fn() -> L) -> Result<Format, TraceError>
    where
        L: Iterator<Item = &'a str>,
    {
        Self::TABLE.into_iter().find(|format| format.reads(lines())).ok_or(TraceError::Unknown)
    }

    fn reads<'a>(&self, lines: impl Iterator<Item = &'a str>) -> bool {
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

    /// All names, for a message.
    pub(super) fn names() -> String {
        Self::TABLE.map(|format| format.name).join(", ")
    }
}
