//! The formats by name, and how one is recognised.

use super::{
    Format, TraceError, alibaba, blkparse, cloudphysics, disksim, fio, fiu, midas, msr, spc, tencent, wiscsee,
};

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
        found.ok_or_else(|| TraceError::UnknownName { name: name.to_owned(), known: Self::names() })
    }

    /// The format of a file that begins with `lines`: the first that reads all of them and finds an access.
    pub(super) fn detect<'a, L>(lines: impl Fn() -> L) -> Result<Format, TraceError>
    where
        L: Iterator<Item = &'a str>,
    {
        let found = Self::TABLE.into_iter().find(|format| format.reads(lines()));
        found.ok_or_else(|| TraceError::Unknown { known: Self::names() })
    }

    /// All names, for a message.
    fn names() -> String {
        Self::TABLE.map(|format| format.name).join(", ")
    }
}
