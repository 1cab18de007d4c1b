//! Names as they stand in a directory, and as they are shown: folded, encrypted, both, or neither.

use std::borrow::Cow;

use pumice_vfs::Errno;

use super::secrets::Secret;
use crate::{
    crypt::{CryptError, NoKeyName},
    error::{Error, Result},
    fold::fold_or_bytes,
    hash::{keyed_name_hash, name_hash},
    layout::{Dentry, Features, Inode},
    volume::Volume,
};

/// The form of the names of a directory.
pub(crate) struct Names<'a> {
    inode: &'a Inode,
    /// Names that differ only in case are the same.
    folded: bool,
    /// Names that are not UTF-8 are refused.
    strict: bool,
    /// A name with another hash than that of its folded form is found, too: another version of Unicode folded it.
    lenient: bool,
    cipher: Cipher,
}

enum Cipher {
    Plain,
    /// Encrypted, with the key.
    Key(Secret),
    /// Encrypted, and the key was not given.
    NoKey,
}

/// The target of a search in a directory.
pub(crate) struct Sought {
    pub(crate) hash: u32,
    what: What,
}

enum What {
    /// These bytes.
    Stored(Vec<u8>),
    /// A name with this folded form.
    Folded(Vec<u8>),
    NoKey(NoKeyName),
}

impl<'a> Names<'a> {
    /// The names of a directory; `secret` is their key, if it was given.
    pub(super) fn new(volume: &Volume, inode: &'a Inode, secret: Option<Secret>) -> Names<'a> {
        const STRICT: u16 = 1;
        const NO_FALLBACK: u16 = 2;
        let cipher =
            if inode.is_encrypted() { secret.map_or(Cipher::NoKey, Cipher::Key) } else { Cipher::Plain };
        let folded = inode.is_casefolded() && volume.features().has(Features::CASEFOLD);
        let flags = volume.super_block().raw().s_encoding_flags.get();
        let (strict, lenient) = (flags & STRICT != 0, folded && flags & NO_FALLBACK == 0);
        Names { inode, folded, strict, lenient, cipher }
    }

    /// True if a name that is not where its hash leads is to be looked for everywhere, as Linux does since 6.13.
    pub(crate) fn is_lenient(&self) -> bool {
        self.lenient
    }

    /// The name of an entry as it is shown.
    pub(crate) fn shown<'d>(&self, dentry: &Dentry<'d>) -> Result<Cow<'d, [u8]>> {
        if dentry.name == b"." || dentry.name == b".." {
            return Ok(dentry.name.into());
        }
        match &self.cipher {
            Cipher::Plain => Ok(dentry.name.into()),
            Cipher::Key(key) => Ok(key.decrypt_name(dentry.name).map_err(|error| self.failed(error))?.into()),
            Cipher::NoKey => {
                let name = NoKeyName::new(dentry.hash, dentry.name).map_err(|error| self.failed(error))?;
                Ok(name.encode().into())
            }
        }
    }

    fn failed(&self, error: CryptError) -> Error {
        Error::Crypt { ino: self.inode.ino, error }
    }

    /// The target for a name as it is shown.
    pub(crate) fn seek(&self, name: &[u8]) -> Result<Sought> {
        let missing = || Error::Errno(Errno::NoEntry);
        match (&self.cipher, self.folded) {
            (Cipher::NoKey, _) => {
                let name = NoKeyName::decode(name).ok_or_else(missing)?;
                Ok(Sought { hash: name.hash, what: What::NoKey(name) })
            }
            (_, true) => self.seek_folded(name),
            (Cipher::Plain, false) => Ok(Sought { hash: name_hash(name), what: What::Stored(name.to_vec()) }),
            (Cipher::Key(key), false) => {
                let stored = key.encrypt_name(name).map_err(|_| missing())?;
                Ok(Sought { hash: name_hash(&stored), what: What::Stored(stored) })
            }
        }
    }

    fn seek_folded(&self, name: &[u8]) -> Result<Sought> {
        let folded = fold_or_bytes(name, self.strict).map_err(|_| Error::Errno(Errno::Invalid))?;
        let hash = match &self.cipher {
            Cipher::Key(key) => key.directory_hash_key().map_or(0, |key| keyed_name_hash(key, &folded)),
            _ => name_hash(&folded),
        };
        Ok(Sought { hash, what: What::Folded(folded) })
    }

    /// True if an entry is the target.
    pub(crate) fn is(&self, sought: &Sought, dentry: &Dentry<'_>) -> bool {
        dentry.hash == sought.hash && self.is_same(sought, dentry)
    }

    /// True if an entry has the name that is looked for, whatever its hash.
    pub(crate) fn is_same(&self, sought: &Sought, dentry: &Dentry<'_>) -> bool {
        match &sought.what {
            What::Stored(name) => dentry.name == name,
            What::NoKey(name) => name.matches(dentry.name),
            What::Folded(folded) => {
                let plain = self.shown(dentry).ok();
                plain.and_then(|name| fold_or_bytes(&name, false).ok()).is_some_and(|name| name == *folded)
            }
        }
    }
}
