//! The list of extended attributes of an inode, and the one that says how it is compressed (SPEC, "Extended attributes").

use alloc::vec::Vec;

use crate::codec::{Put, Reader, len32};
use crate::pack::Compression;

/// The attribute with the compression of a file's written blocks; new files and directories inherit it from their
/// directory.
pub(crate) const COMPRESSION: &[u8] = b"user.pumice.compression";

pub(crate) type Attribute<'a> = (&'a [u8], &'a [u8]);

/// The attributes of a list; `None` if it is damaged.
pub(crate) fn decode(bytes: &[u8]) -> Option<Vec<Attribute<'_>>> {
    let mut reader = Reader(bytes);
    let mut list = Vec::new();
    while !reader.0.is_empty() {
        let name_len = usize::from(reader.u8()?);
        let value_len = reader.u32()? as usize;
        list.push((reader.bytes(name_len)?, reader.bytes(value_len)?));
    }
    Some(list)
}

/// The inverse of [`decode`].
pub(crate) fn encode(list: &[Attribute<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in list {
        let [len, ..] = len32(name.len()).to_le_bytes();
        debug_assert!(usize::from(len) == name.len(), "names are checked where they come in");
        out.put_u8(len);
        out.put_u32(len32(value.len()));
        out.put(name);
        out.put(value);
    }
    out
}

/// The compression that a list names, if it does.
pub(crate) fn compression(list: &[u8]) -> Option<Compression> {
    let (_, value) = decode(list)?.into_iter().find(|(name, _)| *name == COMPRESSION)?;
    value_of(value)
}

/// The method that a value of the attribute names.
pub(crate) fn value_of(value: &[u8]) -> Option<Compression> {
    core::str::from_utf8(value).ok()?.parse().ok()
}
