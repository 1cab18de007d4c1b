//! The keys of encrypted inodes: found by their contexts, which new inodes inherit from their directory.

use pumice_vfs::Errno;

use super::{
    nodes::Nodes,
    options::{MasterKeys, Nonces},
    xattrs,
};
use crate::{
    crypt::{Context, XATTR_NAME},
    error::{Error, Result},
    layout::{Inode, XattrSpace},
    names::Names,
    secrets::{Secret, Secrets, failed},
};

/// The keys of a volume.
pub(super) struct Keys {
    secrets: Secrets,
    nonces: Option<Nonces>,
}

impl Keys {
    pub(super) fn new(given: Option<MasterKeys>) -> Keys {
        let Some(MasterKeys { keyring, nonces }) = given else {
            return Keys { secrets: Secrets::default(), nonces: None };
        };
        Keys { secrets: Secrets::new(keyring), nonces: Some(nonces) }
    }

    /// The key of a file's content, `None` if that is not encrypted. [`Error::NoKey`] if it was not given.
    pub(super) fn of_content(&self, nodes: &Nodes, inode: &Inode) -> Result<Option<Secret>> {
        self.secrets.of_content(nodes.writer().super_block(), inode, || context(nodes, inode))
    }

    /// The key of an encrypted inode, if it was given.
    pub(super) fn of(&self, nodes: &Nodes, inode: &Inode) -> Result<Option<Secret>> {
        self.secrets.of(nodes.writer().super_block(), inode, || context(nodes, inode))
    }

    /// The form of the names in a directory.
    pub(super) fn names(&self, nodes: &Nodes, dir: &Inode) -> Result<Names> {
        let secret = if dir.is_encrypted() { self.of(nodes, dir)? } else { None };
        Ok(Names::new(nodes.writer().super_block(), dir, secret))
    }

    /// Checks that names can be made in a directory: those that are encrypted need their key.
    pub(super) fn may_name(&self, nodes: &Nodes, dir: &Inode) -> Result<()> {
        if dir.is_encrypted() && self.of(nodes, dir)?.is_none() {
            return Err(Error::Errno(Errno::NoKey));
        }
        Ok(())
    }

    /// Gives a new inode the policy of its directory, if that is encrypted, and a nonce of its own. The caller puts the
    /// inode.
    pub(super) fn inherit(&self, nodes: &mut Nodes, dir: &Inode, inode: &mut Inode) -> Result<()> {
        if !dir.is_encrypted() || !inode.can_be_encrypted() {
            return Ok(());
        }
        let nonces = self.nonces.as_ref().ok_or(Error::Errno(Errno::NoKey))?;
        let nonce = nonces().map_err(|error| Error::Random(error.to_string()))?;
        let above = context(nodes, dir)?.unwrap_or_default();
        let context = Context::inherited(&above, nonce).map_err(|error| failed(dir, error))?;
        inode.set_encrypted();
        self.secrets.forget(inode);
        xattrs::set_hidden(nodes, inode, XattrSpace::Encryption, XATTR_NAME, &context)
    }
}

/// Checks that an inode that is there may come into a directory: whatever can be encrypted has the policy of an
/// encrypted directory.
pub(super) fn may_hold(nodes: &Nodes, dir: &Inode, inode: &Inode) -> Result<()> {
    if !dir.is_encrypted() || !inode.can_be_encrypted() {
        return Ok(());
    }
    // A context that makes no sense is of no policy: nothing is moved by it.
    let of = |inode: &Inode| -> Result<Option<Context>> {
        Ok(context(nodes, inode)?.and_then(|context| Context::parse(&context).ok()))
    };
    let same = match (of(dir)?, of(inode)?) {
        (Some(above), Some(below)) => inode.is_encrypted() && below.has_policy_of(&above),
        _ => false,
    };
    if same { Ok(()) } else { Err(Error::Errno(Errno::CrossDevice)) }
}

/// The attribute with the encryption context.
fn context(nodes: &Nodes, inode: &Inode) -> Result<Option<Vec<u8>>> {
    xattrs::hidden(nodes, inode, XattrSpace::Encryption, XATTR_NAME)
}
