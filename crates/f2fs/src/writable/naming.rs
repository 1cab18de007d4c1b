//! Names in a directory: their hash, which are the same, and how they are shown.

use std::borrow::Cow;

use pumice_vfs::{Errno, check_name};

use crate::{
    crypt::NoKeyName,
    error::{Error, Result},
    fold::fold_or_bytes,
    hash::name_hash,
    layout::{Dentry, Features, Inode, SuperBlock},
};

/// A name that is looked for or put into a directory.
pub(super) struct Name<'a> {
    /// As it is stored.
    pub(super) bytes: &'a [u8],
    pub(super) hash: u32,
    form: Form,
}

/// The names that are the same.
enum Form {
    /// Those with the same bytes.
    Stored,
    /// Case does not count in the directory: those with this folded form.
    Folded(Vec<u8>),
    /// An encrypted name without its key: the one that is shown so, if that can be.
    NoKey(Option<NoKeyName>),
}

impl<'a> Name<'a> {
    /// A name in directory `dir`.
    pub(super) fn new(sb: &SuperBlock, dir: &Inode, bytes: &'a [u8]) -> Result<Name<'a>> {
        const STRICT: u16 = 1;
        if bytes == b"." || bytes == b".." {
            return Ok(Name::stored(bytes));
        }
        if dir.is_encrypted() {
            let name = NoKeyName::decode(bytes);
            return Ok(Name {
                bytes,
                hash: name.as_ref().map_or(0, |name| name.hash),
                form: Form::NoKey(name),
            });
        }
        if !dir.is_casefolded() || !sb.features().has(Features::CASEFOLD) {
            return Ok(Name::stored(bytes));
        }
        let strict = sb.raw().s_encoding_flags.get() & STRICT != 0;
        let folded = fold_or_bytes(bytes, strict).map_err(|_| Error::Errno(Errno::Invalid))?;
        Ok(Name { bytes, hash: name_hash(&folded), form: Form::Folded(folded) })
    }

    /// A name by the bytes that stand in the directory.
    pub(super) fn stored(bytes: &'a [u8]) -> Name<'a> {
        Name { bytes, hash: name_hash(bytes), form: Form::Stored }
    }

    /// True if an entry has this name.
    pub(super) fn is(&self, dentry: &Dentry<'_>) -> bool {
        dentry.hash == self.hash
            && match &self.form {
                Form::Stored => dentry.name == self.bytes,
                Form::Folded(folded) => fold_or_bytes(dentry.name, false).is_ok_and(|name| name == *folded),
                Form::NoKey(name) => name.as_ref().is_some_and(|name| name.matches(dentry.name)),
            }
    }
}

/// The name of an entry as it is shown; `None` if nothing can be called so.
pub(super) fn shown<'a>(dir: &Inode, dentry: &Dentry<'a>) -> Option<Cow<'a, [u8]>> {
    if dir.is_encrypted() {
        return NoKeyName::new(dentry.hash, dentry.name).ok().map(|name| name.encode().into());
    }
    check_name(dentry.name).ok().map(|()| dentry.name.into())
}

/// Checks that names can be made in a directory: those that are encrypted need their key.
pub(super) fn may_name(dir: &Inode) -> Result<()> {
    if dir.is_encrypted() { Err(Error::Errno(Errno::NoKey)) } else { Ok(()) }
}
