//! Names as they stand in a directory, and as they are shown: folded, encrypted, both, or neither.

use std::borrow::Cow;

use pumice_vfs::Errno;

use crate::{
    crypt::{CryptError, NoKeyName},
    error::{Error, Result},
    fold::fold_or_bytes,
    hash::{keyed_name_hash, name_hash},
    layout::{Dentry, Features, Inode, Nid, SuperBlock},
    secrets::Secret,
};

/// The form of the names of a directory.
pub(crate) struct Names {
    dir: Nid,
    /// Names that differ only in case are the same.
    folded: bool,
    /// Names that are not UTF-8 are refused.
    strict: bool,
    /// A name with another hash than that of its folded form is found, too: another version of Unicode folded it.
    lenient: bool,
    cipher: Cipher,
}

#[derive(Clone)]
enum Cipher {
    Plain,
    /// Encrypted, with the key.
    Key(Secret),
    /// Encrypted, and the key was not given.
    NoKey,
}

/// A name that is looked for in a directory, or put into it.
pub(crate) struct Name {
    hash: u32,
    /// As it stands in the directory. Nobody knows that of a name without its key: it is looked for only.
    bytes: Vec<u8>,
    form: Form,
}

/// The names that are the same.
enum Form {
    /// Those with the same bytes.
    Stored,
    /// Case does not count in the directory: those with this folded form.
    Folded(Vec<u8>, Cipher),
    /// An encrypted name without its key: the one that is shown so.
    NoKey(NoKeyName),
}

impl Names {
    /// The names of a directory; `secret` is their key, if it was given.
    pub(crate) fn new(sb: &SuperBlock, dir: &Inode, secret: Option<Secret>) -> Names {
        const STRICT: u16 = 1;
        const NO_FALLBACK: u16 = 2;
        let cipher =
            if dir.is_encrypted() { secret.map_or(Cipher::NoKey, Cipher::Key) } else { Cipher::Plain };
        let folded = dir.is_casefolded() && sb.features().has(Features::CASEFOLD);
        let flags = sb.raw().s_encoding_flags.get();
        let (strict, lenient) = (flags & STRICT != 0, folded && flags & NO_FALLBACK == 0);
        Names { dir: dir.ino, folded, strict, lenient, cipher }
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
        self.cipher.shown(dentry).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: CryptError) -> Error {
        Error::Crypt { ino: self.dir, error }
    }

    /// A name, from the form that is shown. [`Errno::NoEntry`] if nothing in this directory can be called so.
    pub(crate) fn name(&self, shown: &[u8]) -> Result<Name> {
        if shown == b"." || shown == b".." {
            return Ok(Name::stored(shown));
        }
        let missing = || Error::Errno(Errno::NoEntry);
        let bytes = match &self.cipher {
            Cipher::Plain => shown.to_vec(),
            Cipher::Key(key) => key.encrypt_name(shown).map_err(|_| missing())?,
            Cipher::NoKey => {
                let name = NoKeyName::decode(shown).ok_or_else(missing)?;
                return Ok(Name { hash: name.hash, bytes: Vec::new(), form: Form::NoKey(name) });
            }
        };
        if !self.folded {
            return Ok(Name { hash: name_hash(&bytes), bytes, form: Form::Stored });
        }
        let folded = fold_or_bytes(shown, self.strict).map_err(|_| Error::Errno(Errno::Invalid))?;
        let hash = self.hash_of_folded(&folded)?;
        Ok(Name { hash, bytes, form: Form::Folded(folded, self.cipher.clone()) })
    }

    fn hash_of_folded(&self, folded: &[u8]) -> Result<u32> {
        let Cipher::Key(key) = &self.cipher else { return Ok(name_hash(folded)) };
        // Contexts of version 1 have no key for it.
        let unfit =
            CryptError::Unsupported { what: "in a directory that ignores case the version", value: 1 };
        let key = key.directory_hash_key().ok_or_else(|| self.failed(unfit))?;
        Ok(keyed_name_hash(key, folded))
    }
}

impl Cipher {
    fn shown<'d>(&self, dentry: &Dentry<'d>) -> core::result::Result<Cow<'d, [u8]>, CryptError> {
        match self {
            Cipher::Plain => Ok(dentry.name.into()),
            Cipher::Key(key) => Ok(key.decrypt_name(dentry.name)?.into()),
            Cipher::NoKey => Ok(NoKeyName::new(dentry.hash, dentry.name)?.encode().into()),
        }
    }
}

impl Name {
    /// A name by the bytes that stand in a directory in which case counts.
    fn stored(bytes: &[u8]) -> Name {
        Name { hash: name_hash(bytes), bytes: bytes.to_vec(), form: Form::Stored }
    }

    /// A name by the bytes that stand in `dir`; `None` if nobody can know its hash without the key.
    pub(crate) fn of_stored(dir: &Inode, bytes: &[u8]) -> Option<Name> {
        let hash = match (dir.is_encrypted(), dir.is_casefolded()) {
            (true, true) => return None,
            (false, true) => name_hash(&fold_or_bytes(bytes, false).ok()?),
            _ => name_hash(bytes),
        };
        Some(Name { hash, bytes: bytes.to_vec(), form: Form::Stored })
    }

    /// The name that an inode remembers, which is one in `dir`. A hash that nobody knows stands behind the name, if
    /// there was room for it.
    pub(crate) fn remembered(dir: &Inode, inode: &Inode) -> Option<Name> {
        let bytes = inode.last_name();
        Name::of_stored(dir, bytes).or_else(|| {
            let hash = inode.hash_behind_name()?;
            Some(Name { hash, bytes: bytes.to_vec(), form: Form::Stored })
        })
    }

    /// The hash, by which its bucket is found.
    pub(crate) fn hash(&self) -> u32 {
        self.hash
    }

    /// The bytes that stand in the directory.
    pub(crate) fn bytes(&self) -> &[u8] {
        debug_assert!(!self.bytes.is_empty(), "the stored form of a name is not known");
        &self.bytes
    }

    /// True if an entry has this name, and the hash.
    pub(crate) fn is(&self, dentry: &Dentry<'_>) -> bool {
        dentry.hash == self.hash && self.is_same(dentry)
    }

    /// True if an entry has this name, whatever its hash.
    pub(crate) fn is_same(&self, dentry: &Dentry<'_>) -> bool {
        match &self.form {
            Form::Stored => dentry.name == self.bytes,
            Form::NoKey(name) => name.matches(dentry.name),
            Form::Folded(folded, cipher) => {
                let plain = cipher.shown(dentry).ok();
                plain.and_then(|name| fold_or_bytes(&name, false).ok()).is_some_and(|name| name == *folded)
            }
        }
    }
}
