//! Keys of encrypted inodes.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use pumice_vfs::FileKind;

use crate::{
    crypt::{Context, CryptError, FileKey, Keyring, Purpose, Subject, XATTR_NAME},
    error::{Error, Result},
    layout::{Inode, Nid, XattrSpace},
    nodes::Nodes,
    volume::Node,
};

/// Keys that are kept; then all are forgotten.
const KEYS: usize = 1024;

/// A key, shared.
pub(super) type Secret = Arc<FileKey>;

/// The master keys that were given, and the keys that followed from them lately.
#[derive(Default)]
pub(super) struct Secrets {
    keyring: Keyring,
    known: Mutex<HashMap<Nid, Secret>>,
}

impl Secrets {
    pub(super) fn new(keyring: Keyring) -> Secrets {
        Secrets { keyring, known: Mutex::default() }
    }

    /// The key of a file's content; `None` if it is not encrypted.
    pub(super) fn of_content(&self, nodes: &Nodes, inode: &Inode, node: &Node) -> Result<Option<Secret>> {
        if !inode.is_encrypted() || inode.kind != FileKind::File {
            return Ok(None);
        }
        match self.secret(nodes, inode, node, Purpose::Contents)? {
            Some(secret) => Ok(Some(secret)),
            None if cfg!(feature = "ciphers") => Err(Error::NoKey(inode.ino)),
            None => Err(Error::Crypt { ino: inode.ino, error: CryptError::NotBuilt }),
        }
    }

    /// The key of the names in a directory or of a link's target; `None` if it was not given.
    pub(super) fn of_names(&self, nodes: &Nodes, inode: &Inode, node: &Node) -> Result<Option<Secret>> {
        self.secret(nodes, inode, node, Purpose::Names)
    }

    fn secret(&self, nodes: &Nodes, inode: &Inode, node: &Node, purpose: Purpose) -> Result<Option<Secret>> {
        if self.keyring.is_empty() {
            return Ok(None);
        }
        if let Some(secret) = self.known.lock().get(&inode.ino) {
            return Ok(Some(secret.clone()));
        }
        let failed = |error| Error::Crypt { ino: inode.ino, error };
        let context = nodes.hidden_xattr(inode, node, XattrSpace::Encryption, XATTR_NAME)?;
        let context = Context::parse(&context.unwrap_or_default()).map_err(failed)?;
        let subject = Subject { ino: inode.ino.0, uuid: nodes.volume().super_block().uuid(), purpose };
        let secret = match self.keyring.file_key(&context, &subject) {
            Ok(key) => Arc::new(key),
            Err(CryptError::NoKey(_)) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let mut known = self.known.lock();
        if known.len() >= KEYS {
            known.clear();
        }
        known.insert(inode.ino, secret.clone());
        Ok(Some(secret))
    }
}
