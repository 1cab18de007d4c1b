//! Keys of encrypted inodes.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use pumice_vfs::FileKind;

use crate::{
    crypt::{Context, CryptError, FileKey, Keyring, Purpose, Subject, XATTR_NAME},
    error::{Error, Result},
    layout::{Inode, Nid, XattrSpace},
    volume::{Node, Volume},
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
}

impl Volume {
    /// The key of a file's content; `None` if it is not encrypted.
    pub(crate) fn content_secret(&self, inode: &Inode, node: &Node) -> Result<Option<Secret>> {
        if !inode.is_encrypted() || inode.kind != FileKind::File {
            return Ok(None);
        }
        match self.secret(inode, node, Purpose::Contents)? {
            Some(secret) => Ok(Some(secret)),
            None => Err(Error::NoKey(inode.ino)),
        }
    }

    /// The key of the names in a directory or of a link's target; `None` if it was not given.
    pub(crate) fn name_secret(&self, inode: &Inode, node: &Node) -> Result<Option<Secret>> {
        self.secret(inode, node, Purpose::Names)
    }

    fn secret(&self, inode: &Inode, node: &Node, purpose: Purpose) -> Result<Option<Secret>> {
        let secrets = self.secrets();
        if secrets.keyring.is_empty() {
            return Ok(None);
        }
        if let Some(secret) = secrets.known.lock().get(&inode.ino) {
            return Ok(Some(secret.clone()));
        }
        let failed = |error| Error::Crypt { ino: inode.ino, error };
        let context = self.hidden_xattr(inode, node, XattrSpace::Encryption, XATTR_NAME)?;
        let context = Context::parse(&context.unwrap_or_default()).map_err(failed)?;
        let subject = Subject { ino: inode.ino.0, uuid: self.super_block().uuid(), purpose };
        let secret = match secrets.keyring.file_key(&context, &subject) {
            Ok(key) => Arc::new(key),
            Err(CryptError::NoKey(_)) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let mut known = secrets.known.lock();
        if known.len() >= KEYS {
            known.clear();
        }
        known.insert(inode.ino, secret.clone());
        Ok(Some(secret))
    }
}
