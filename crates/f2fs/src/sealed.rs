//! Files protected by fs-verity: bytes are verified before they are read.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::{
    error::{Error, Result},
    layout::{Inode, SuperBlock},
    verity::{Descriptor, Location, Source, Verifier, VerityError, metadata_start},
};

/// Trusted blocks of the tree that are kept for each file.
const TRUSTED_BLOCKS: usize = 32;
/// Files that keep their verifiers.
const FILES: usize = 16;

/// The bytes of a file, and those behind its end.
pub(crate) trait Bytes {
    /// The file.
    fn inode(&self) -> &Inode;

    /// Fills `buffer` from byte `offset` on, as if the file had no end.
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<()>;
}

/// An inode, of which a number may be used again.
type Key = (u32, u32);

/// Verifiers of files that were read lately.
#[derive(Default)]
pub(crate) struct Verifiers {
    files: Mutex<Vec<(Key, Arc<Mutex<Verifier>>)>>,
}

impl Verifiers {
    fn get(&self, key: Key) -> Option<Arc<Mutex<Verifier>>> {
        self.files.lock().iter().find(|(known, _)| *known == key).map(|(_, verifier)| verifier.clone())
    }

    fn put(&self, key: Key, verifier: &Arc<Mutex<Verifier>>) {
        let mut files = self.files.lock();
        if files.len() >= FILES {
            files.remove(0);
        }
        files.push((key, verifier.clone()));
    }

    /// Opens a sealed file. `location` is the attribute that names the place of its descriptor.
    pub(crate) fn open<'a>(
        &self,
        sb: &SuperBlock,
        bytes: &'a dyn Bytes,
        location: impl FnOnce() -> Result<Option<Vec<u8>>>,
    ) -> Result<Sealed<'a>> {
        let tree_limit = sb.main_end().saturating_mul(sb.block().bytes_u64());
        let key = (bytes.inode().ino.0, bytes.inode().generation);
        if let Some(verifier) = self.get(key) {
            return Ok(Sealed { bytes, verifier, tree_limit });
        }
        let descriptor = descriptor(bytes, &location()?.unwrap_or_default())?;
        let verifier = Arc::new(Mutex::new(Verifier::new(descriptor, TRUSTED_BLOCKS)));
        self.put(key, &verifier);
        Ok(Sealed { bytes, verifier, tree_limit })
    }
}

fn descriptor(bytes: &dyn Bytes, location: &[u8]) -> Result<Descriptor> {
    let inode = bytes.inode();
    let wrong = |error| Error::Verity { ino: inode.ino, offset: 0, error };
    let location = Location::parse(location, inode.size).map_err(wrong)?;
    let mut descriptor = vec![0; location.size as usize];
    bytes.read(location.position, &mut descriptor)?;
    Descriptor::parse(&descriptor, inode.size).map_err(wrong)
}

/// The tree of a file, which stands behind its end.
struct Tree<'a> {
    bytes: &'a dyn Bytes,
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
        self.bytes.read(self.start.saturating_add(offset), block).map_err(Failed::Read)
    }
}

/// A file that fs-verity protects, and its verifier.
pub(crate) struct Sealed<'a> {
    bytes: &'a dyn Bytes,
    verifier: Arc<Mutex<Verifier>>,
    /// Bytes that a tree can have: a larger one has blocks in several places.
    tree_limit: u64,
}

impl Sealed<'_> {
    /// Fills `buffer`, which does not reach beyond the end of the file, from byte `offset` on.
    pub(crate) fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let mut verifier = self.verifier.lock();
        let width = u64::from(verifier.descriptor().block_bytes).max(1);
        let start = metadata_start(self.bytes.inode().size).unwrap_or(u64::MAX);
        let mut block = vec![0; usize::try_from(width).unwrap_or(0)];
        let mut at = offset;
        let mut rest = buffer;
        while !rest.is_empty() {
            let (index, inside) = (at / width, usize::try_from(at % width).unwrap_or(0));
            self.bytes.read(index * width, &mut block)?;
            let inside_file = usize::try_from(self.bytes.inode().size - index * width).unwrap_or(usize::MAX);
            block.get_mut(inside_file..).unwrap_or_default().fill(0);
            verifier
                .verify(index, &block, &mut Tree { bytes: self.bytes, start })
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
    pub(crate) fn check(&self) -> Result<()> {
        let mut first = [0];
        let inside = usize::try_from(self.bytes.inode().size).map_or(1, |size| size.min(1));
        self.read(0, first.get_mut(..inside).unwrap_or_default())?;
        let start = metadata_start(self.bytes.inode().size).unwrap_or(u64::MAX);
        let mut verifier = self.verifier.lock();
        if verifier.tree_bytes() > self.tree_limit {
            return Ok(());
        }
        verifier.verify_tree(&mut Tree { bytes: self.bytes, start }).map_err(|failed| self.refused(0, failed))
    }

    fn refused(&self, offset: u64, failed: Failed) -> Error {
        match failed {
            Failed::Read(error) => error,
            Failed::Wrong(error) => Error::Verity { ino: self.bytes.inode().ino, offset, error },
        }
    }
}
