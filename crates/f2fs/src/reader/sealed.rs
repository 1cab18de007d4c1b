//! Files protected by fs-verity: bytes are verified before they are read.

use std::sync::Arc;

use parking_lot::Mutex;

use super::content::Content;
use crate::{
    error::{Error, Result},
    layout::{Nid, XattrSpace},
    nodes::Nodes,
    verity::{Descriptor, Location, Source, Verifier, VerityError, XATTR_NAME, metadata_start},
    volume::Node,
};

/// Trusted blocks of the tree that are kept for each file.
const TRUSTED_BLOCKS: usize = 32;
/// Files that keep their verifiers.
const FILES: usize = 16;

/// Verifiers of files that were read lately.
#[derive(Default)]
pub(super) struct Verifiers {
    files: Mutex<Vec<(Nid, Arc<Mutex<Verifier>>)>>,
}

impl Verifiers {
    fn get(&self, ino: Nid) -> Option<Arc<Mutex<Verifier>>> {
        self.files.lock().iter().find(|(known, _)| *known == ino).map(|(_, verifier)| verifier.clone())
    }

    fn put(&self, ino: Nid, verifier: &Arc<Mutex<Verifier>>) {
        let mut files = self.files.lock();
        if files.len() >= FILES {
            files.remove(0);
        }
        files.push((ino, verifier.clone()));
    }

    /// Opens a sealed file.
    pub(super) fn open<'a>(
        &self,
        nodes: &Nodes,
        content: &'a Content<'a>,
        node: &Node,
    ) -> Result<Sealed<'a>> {
        let sb = nodes.volume().super_block();
        let tree_limit = sb.main_end().saturating_mul(sb.block().bytes_u64());
        let ino = content.inode().ino;
        if let Some(verifier) = self.get(ino) {
            return Ok(Sealed { content, verifier, tree_limit });
        }
        let descriptor = descriptor(nodes, content, node)?;
        let verifier = Arc::new(Mutex::new(Verifier::new(descriptor, TRUSTED_BLOCKS)));
        self.put(ino, &verifier);
        Ok(Sealed { content, verifier, tree_limit })
    }
}

/// The descriptor of a sealed file, which an attribute names.
fn descriptor(nodes: &Nodes, content: &Content<'_>, node: &Node) -> Result<Descriptor> {
    let inode = content.inode();
    let wrong = |error| Error::Verity { ino: inode.ino, offset: 0, error };
    let place = nodes.hidden_xattr(inode, node, XattrSpace::Verity, XATTR_NAME)?;
    let location = Location::parse(&place.unwrap_or_default(), inode.size).map_err(wrong)?;
    let mut descriptor = vec![0; location.size as usize];
    content.read(location.position, &mut descriptor)?;
    Descriptor::parse(&descriptor, inode.size).map_err(wrong)
}

/// The tree of a file, which stands behind its end.
struct Tree<'a> {
    content: &'a Content<'a>,
    start: u64,
}

/// The reason why verifying failed: the tree could not be read, or a hash is wrong.
enum Failed {
    Read(Error),
    Wrong(VerityError),
}

impl From<VerityError> for Failed {
    fn from(error: VerityError) -> Failed {
        Failed::Wrong(error)
    }
}

impl Source for Tree<'_> {
    type Error = Failed;

    fn read_tree(&mut self, offset: u64, block: &mut [u8]) -> core::result::Result<(), Failed> {
        self.content.read(self.start.saturating_add(offset), block).map_err(Failed::Read)
    }
}

/// A file that fs-verity protects, and its verifier.
pub(super) struct Sealed<'a> {
    content: &'a Content<'a>,
    verifier: Arc<Mutex<Verifier>>,
    /// Bytes that a tree can have: a larger one has blocks in several places.
    tree_limit: u64,
}

impl Sealed<'_> {
    /// Fills `buffer`, which does not reach beyond the end of the file, from byte `offset` on.
    pub(super) fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let mut verifier = self.verifier.lock();
        let width = u64::from(verifier.descriptor().block_bytes).max(1);
        let start = metadata_start(self.content.inode().size).unwrap_or(u64::MAX);
        let mut block = vec![0; usize::try_from(width).unwrap_or(0)];
        let mut at = offset;
        let mut rest = buffer;
        while !rest.is_empty() {
            let (index, inside) = (at / width, usize::try_from(at % width).unwrap_or(0));
            self.content.read(index * width, &mut block)?;
            let inside_file =
                usize::try_from(self.content.inode().size - index * width).unwrap_or(usize::MAX);
            block.get_mut(inside_file..).unwrap_or_default().fill(0);
            verifier
                .verify(index, &block, &mut Tree { content: self.content, start })
                .map_err(|failed| self.refused(index * width, failed))?;
            let length = (block.len() - inside).min(rest.len());
            let (now, later) = rest.split_at_mut(length);
            now.copy_from_slice(block.get(inside..inside + length).unwrap_or_default());
            at += length as u64;
            rest = later;
        }
        Ok(())
    }

    /// Verifies the whole tree, and of the data the first block. A tree larger than the volume is left alone: it has
    /// blocks in several places.
    pub(super) fn check(&self) -> Result<()> {
        let mut first = [0];
        let inside = usize::try_from(self.content.inode().size).map_or(1, |size| size.min(1));
        self.read(0, first.get_mut(..inside).unwrap_or_default())?;
        let start = metadata_start(self.content.inode().size).unwrap_or(u64::MAX);
        let mut verifier = self.verifier.lock();
        if verifier.tree_bytes() > self.tree_limit {
            return Ok(());
        }
        verifier
            .verify_tree(&mut Tree { content: self.content, start })
            .map_err(|failed| self.refused(0, failed))
    }

    fn refused(&self, offset: u64, failed: Failed) -> Error {
        match failed {
            Failed::Read(error) => error,
            Failed::Wrong(error) => Error::Verity { ino: self.content.inode().ino, offset, error },
        }
    }
}
