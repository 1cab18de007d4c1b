//! Files as they are read: decompressed, decrypted, verified. A reader owns the keys and the verifiers.

mod blocks;
mod cluster;
mod content;

use pumice_vfs::{Errno, Stored};

use crate::{
    crypt::{self, Keyring, NoKeyName},
    error::{Error, Place, Result, corrupt},
    layout::{Inode, XattrSpace},
    names::Names,
    nodes::{Directory, Found, Mapped, Nodes},
    sealed::{Bytes, Sealed, Verifiers},
    secrets::{Secret, Secrets},
    verity,
    volume::Node,
};

use content::Content;

/// Longest target of a symbolic link.
const TARGET_MAX: u64 = 4096;

/// Reads files of a volume.
pub(crate) struct Reader {
    nodes: Nodes,
    secrets: Secrets,
    verifiers: Verifiers,
}

impl Reader {
    /// A reader with the master keys of encrypted files.
    pub(crate) fn new(nodes: Nodes, keys: Keyring) -> Reader {
        Reader { nodes, secrets: Secrets::new(keys), verifiers: Verifiers::default() }
    }

    /// The nodes that it reads from.
    pub(crate) fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// Reads from a file or a symbolic link; returns how many bytes, fewer only at its end. If a file claims to be
    /// longer than it can be, the part beyond cannot be read.
    pub(crate) fn read(&self, inode: &Inode, node: &Node, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let left = inode.size.saturating_sub(offset);
        let length = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let limit = self.nodes.bytes_limit(inode);
        if length > 0 && offset.saturating_add(length as u64) > limit {
            return Err(Reader::too_long(inode, limit));
        }
        let buffer = buffer.get_mut(..length).unwrap_or_default();
        let content = self.content(inode, node)?;
        if inode.is_verity() {
            self.sealed(&content, node)?.read(offset, buffer)?;
        } else {
            content.read(offset, buffer)?;
        }
        Ok(length)
    }

    /// A file claims to be longer than it can be.
    pub(crate) fn too_long(inode: &Inode, limit: u64) -> Error {
        corrupt(Place::Inode(inode.ino), "bytes are", inode.size, limit)
    }

    /// The place of the bytes of a file from `offset` on, if they are stored as they are.
    pub(crate) fn stored_bytes(&self, inode: &Inode, node: &Node, offset: u64) -> Result<Option<Stored>> {
        let is_plain = !inode.has_inline_data() && !inode.is_encrypted() && !inode.is_verity();
        if offset >= inode.size || !is_plain || inode.cluster_blocks().is_some() {
            return Ok(None);
        }
        let width = self.nodes.volume().block_size().bytes_u64();
        let (index, inside) = (offset / width, offset % width);
        let run = self.nodes.run_at(inode, node, index, inode.size.div_ceil(width) - index)?;
        let Mapped::At(addr) = run.mapped else { return Ok(None) };
        let Some(stored) = self.nodes.volume().stored(addr) else { return Ok(None) };
        let length = run.blocks.saturating_mul(width).min(stored.length) - inside;
        let length = length.min(inode.size - offset);
        Ok(Some(Stored { offset: stored.offset + inside, length, ..stored }))
    }

    /// Verifies the tree of a file that fs-verity protects, and the first block of its data.
    pub(crate) fn check_seal(&self, inode: &Inode, node: &Node) -> Result<()> {
        let content = self.content(inode, node)?;
        self.sealed(&content, node)?.check()
    }

    /// Checks that the key of a file's content was given, if that is encrypted.
    pub(crate) fn check_key(&self, inode: &Inode, node: &Node) -> Result<()> {
        self.content_key(inode, node).map(drop)
    }

    fn content_key(&self, inode: &Inode, node: &Node) -> Result<Option<Secret>> {
        let sb = self.nodes.volume().super_block();
        self.secrets.of_content(sb, inode, || self.context(inode, node))
    }

    fn content<'a>(&'a self, inode: &'a Inode, node: &'a Node) -> Result<Content<'a>> {
        Ok(Content::new(&self.nodes, self.content_key(inode, node)?, inode, node))
    }

    /// The attribute with the encryption context.
    fn context(&self, inode: &Inode, node: &Node) -> Result<Option<Vec<u8>>> {
        self.nodes.hidden_xattr(inode, node, XattrSpace::Encryption, crypt::XATTR_NAME)
    }

    /// The key of an encrypted inode, if it was given.
    fn secret(&self, inode: &Inode, node: &Node) -> Result<Option<Secret>> {
        self.secrets.of(self.nodes.volume().super_block(), inode, || self.context(inode, node))
    }

    fn sealed<'a>(&'a self, content: &'a Content<'a>, node: &Node) -> Result<Sealed<'a>> {
        self.verifiers.open(self.nodes.volume().super_block(), content, || {
            self.nodes.hidden_xattr(content.inode(), node, XattrSpace::Verity, verity::XATTR_NAME)
        })
    }

    /// The form of the names in a directory.
    pub(crate) fn names(&self, inode: &Inode, node: &Node) -> Result<Names> {
        let secret = if inode.is_encrypted() { self.secret(inode, node)? } else { None };
        Ok(Names::new(self.nodes.volume().super_block(), inode, secret))
    }

    /// The entry of a name as it is shown.
    pub(crate) fn lookup(&self, inode: &Inode, node: &Node, name: &[u8]) -> Result<Found> {
        let directory = Directory::new(&self.nodes, inode, node);
        let names = self.names(inode, node)?;
        let name = names.name(name)?;
        let mut found = directory.find(name.hash(), &|dentry| name.is(dentry))?;
        if found.is_none() && names.is_lenient() {
            found = directory.find_in_blocks(0..directory.leaves(), &|dentry| name.is_same(dentry))?;
        }
        found.ok_or(Error::Errno(Errno::NoEntry))
    }

    /// The target of a symbolic link as it is shown.
    pub(crate) fn target(&self, inode: &Inode, node: &Node) -> Result<Vec<u8>> {
        let mut target = vec![0; usize::try_from(inode.size.min(TARGET_MAX)).unwrap_or(0)];
        let got = self.read(inode, node, 0, &mut target)?;
        target.truncate(got);
        if !inode.is_encrypted() {
            return Ok(target);
        }
        let shown = match self.secret(inode, node)? {
            Some(key) => key.decrypt_link(&target),
            None => NoKeyName::of_link(&target).map(|name| name.encode()),
        };
        shown.map_err(|error| Error::Crypt { ino: inode.ino, error })
    }
}
