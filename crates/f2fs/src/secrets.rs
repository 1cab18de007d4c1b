//! Keys of encrypted inodes, and blocks decrypted and encrypted with them.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use pumice_vfs::FileKind;

use crate::{
    crypt::{Context, CryptError, FileKey, Keyring, Purpose, Subject},
    error::{Error, Result},
    layout::{Inode, Nid, SuperBlock},
};

/// Keys that are kept; then all are forgotten.
const KEYS: usize = 1024;

/// A key, shared.
pub(crate) type Secret = Arc<FileKey>;

/// The master keys that were given, and the keys that followed from them lately.
#[derive(Default)]
pub(crate) struct Secrets {
    keyring: Keyring,
    known: Mutex<HashMap<Nid, Secret>>,
}

impl Secrets {
    pub(crate) fn new(keyring: Keyring) -> Secrets {
        Secrets { keyring, known: Mutex::default() }
    }

    /// The key of a file's content; `None` if it is not encrypted. `context` reads the attribute with the encryption
    /// context.
    pub(crate) fn of_content(
        &self,
        sb: &SuperBlock,
        inode: &Inode,
        context: impl FnOnce() -> Result<Option<Vec<u8>>>,
    ) -> Result<Option<Secret>> {
        if !inode.has_encrypted_content() {
            return Ok(None);
        }
        match self.of(sb, inode, context)? {
            Some(secret) => Ok(Some(secret)),
            None if cfg!(feature = "ciphers") => Err(Error::NoKey(inode.ino)),
            None => Err(failed(inode, CryptError::NotBuilt)),
        }
    }

    /// The key of an encrypted inode: of a file's content, of the names in a directory, or of a link's target; `None`
    /// if it was not given.
    pub(crate) fn of(
        &self,
        sb: &SuperBlock,
        inode: &Inode,
        context: impl FnOnce() -> Result<Option<Vec<u8>>>,
    ) -> Result<Option<Secret>> {
        debug_assert!(inode.is_encrypted(), "inode {} is not encrypted", inode.ino);
        if self.keyring.is_empty() {
            return Ok(None);
        }
        if let Some(secret) = self.known.lock().get(&inode.ino) {
            return Ok(Some(secret.clone()));
        }
        let purpose = if inode.kind == FileKind::File { Purpose::Contents } else { Purpose::Names };
        let context = match Context::parse(&context()?.unwrap_or_default()) {
            // Names of a cipher that is not known are shown as without their key, so that they can be removed.
            Err(CryptError::Unsupported { .. }) if purpose == Purpose::Names => return Ok(None),
            context => context.map_err(|error| failed(inode, error))?,
        };
        let subject = Subject { ino: inode.ino.0, uuid: sb.uuid(), purpose };
        let secret = match self.keyring.file_key(&context, &subject) {
            Ok(key) => Arc::new(key),
            Err(CryptError::NoKey(_)) => return Ok(None),
            Err(error) => return Err(failed(inode, error)),
        };
        let mut known = self.known.lock();
        if known.len() >= KEYS {
            known.clear();
        }
        known.insert(inode.ino, secret.clone());
        Ok(Some(secret))
    }

    /// Forgets the key of an inode, which gets another context.
    pub(crate) fn forget(&self, inode: &Inode) {
        self.known.lock().remove(&inode.ino);
    }
}

/// The error of an inode with a context that makes no sense.
pub(crate) fn failed(inode: &Inode, error: CryptError) -> Error {
    Error::Crypt { ino: inode.ino, error }
}

/// Decrypts blocks of `width` bytes in place, the first of which is block `index` of file `ino`.
pub(crate) fn decrypt(secret: &FileKey, ino: Nid, index: u64, width: usize, blocks: &mut [u8]) -> Result<()> {
    let failed = |error| Error::Crypt { ino, error };
    let mut all = (index..).zip(blocks.chunks_mut(width));
    all.try_for_each(|(index, block)| secret.decrypt_block(index, block).map_err(failed))
}

/// Encrypts them.
pub(crate) fn encrypt(secret: &FileKey, ino: Nid, index: u64, width: usize, blocks: &mut [u8]) -> Result<()> {
    let failed = |error| Error::Crypt { ino, error };
    let mut all = (index..).zip(blocks.chunks_mut(width));
    all.try_for_each(|(index, block)| secret.encrypt_block(index, block).map_err(failed))
}
