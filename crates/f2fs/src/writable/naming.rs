//! Names in a directory: their hash, and which are the same.

use pumice_vfs::Errno;

use crate::{
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
    /// Case does not count in the directory: the name without it.
    folded: Option<Vec<u8>>,
}

impl<'a> Name<'a> {
    /// A name in directory `dir`.
    pub(super) fn new(sb: &SuperBlock, dir: &Inode, bytes: &'a [u8]) -> Result<Name<'a>> {
        const STRICT: u16 = 1;
        let folds = dir.is_casefolded() && sb.features().has(Features::CASEFOLD);
        if !folds || bytes == b"." || bytes == b".." {
            return Ok(Name { bytes, hash: name_hash(bytes), folded: None });
        }
        let strict = sb.raw().s_encoding_flags.get() & STRICT != 0;
        let folded = fold_or_bytes(bytes, strict).map_err(|_| Error::Errno(Errno::Invalid))?;
        Ok(Name { bytes, hash: name_hash(&folded), folded: Some(folded) })
    }

    /// True if an entry has this name.
    pub(super) fn is(&self, dentry: &Dentry<'_>) -> bool {
        dentry.hash == self.hash
            && match &self.folded {
                None => dentry.name == self.bytes,
                Some(folded) => fold_or_bytes(dentry.name, false).is_ok_and(|name| name == *folded),
            }
    }
}
