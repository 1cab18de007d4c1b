//! Files are sealed with fs-verity: the tree of hashes goes behind their end, and they do not change any more.

use pumice_vfs::{Errno, FileSystem, Ino};
use zerocopy::IntoBytes;

use super::{
    NAMES, PIECE, WritableF2fs, attributes, commit::Need, content, file, permission::may_write, xattrs,
};
use crate::{
    error::{Error, Result},
    layout::{Advise, Features, Nid, XattrSpace},
    verity::{RawLocation, Seal, Sealed, XATTR_NAME, metadata_start},
};

impl WritableF2fs {
    /// Seals a file, and returns its digest. [`Errno::Exists`] if it is sealed. A seal that fails leaves the file as it was.
    pub fn seal(&self, ino: Ino, seal: &Seal) -> Result<Vec<u8>> {
        let nid = self.nid(ino)?;
        let size = self.check_sealing(nid, seal)?;
        let Sealed { metadata, digest } = seal.of(size, |at, piece| {
            let got = self.read(ino, at, piece).map_err(|error| Error::Errno(error.errno()))?;
            if got == piece.len() { Ok(()) } else { Err(Error::Errno(Errno::Io)) }
        })?;
        let place = seal.location(size).zip(metadata_start(size));
        let (location, start) = place.ok_or(Error::Errno(Errno::FileTooBig))?;
        let done = self.write_metadata(nid, start, &metadata).and_then(|()| self.close_seal(nid, &location));
        match done {
            Ok(()) => Ok(digest),
            Err(error) => {
                self.drop_metadata(nid)?;
                Err(error)
            }
        }
    }

    /// Checks that a file can be sealed; returns its size.
    fn check_sealing(&self, nid: Nid, seal: &Seal) -> Result<u64> {
        let mut state = self.state.lock();
        state.writable()?;
        let inode = file(&state.commit, nid)?;
        let nodes = state.commit.tree_mut().blocks_mut().nodes_mut();
        if !nodes.features().has(Features::VERITY) {
            return Err(Error::Unsupported("the volume does not have the feature verity".to_owned()));
        }
        if seal.block_bytes() > nodes.size().bytes() {
            return Err(Error::Errno(Errno::Invalid));
        }
        if inode.is_verity() {
            return Err(Error::Errno(Errno::Exists));
        }
        may_write(state.commit.tree().blocks(), &inode, inode.size)?;
        Ok(inode.size)
    }

    fn write_metadata(&self, nid: Nid, start: u64, metadata: &[u8]) -> Result<()> {
        let mut at = start;
        for piece in metadata.chunks(PIECE) {
            let end = at.saturating_add(piece.len() as u64);
            let need = {
                let state = self.state.lock();
                attributes::need(&state.commit, &file(&state.commit, nid)?, at..end)?
            };
            // A file that stands in its inode gets a block.
            let need = Need { data: need.data + 1, ..need };
            self.change(need, |commit, _| {
                let mut inode = file(commit, nid)?;
                let blocks = commit.tree_mut().blocks_mut();
                content::write_behind(blocks, &mut inode, at, piece)?;
                blocks.nodes_mut().put(&inode)
            })?;
            at = end;
        }
        Ok(())
    }

    /// From here on the file is sealed.
    fn close_seal(&self, nid: Nid, location: &RawLocation) -> Result<()> {
        self.change(NAMES, |commit, _| {
            let mut inode = file(commit, nid)?;
            let nodes = commit.tree_mut().blocks_mut().nodes_mut();
            xattrs::set_hidden(nodes, &mut inode, XattrSpace::Verity, XATTR_NAME, location.as_bytes())?;
            inode.advise = inode.advise.with(Advise::VERITY);
            nodes.put(&inode)
        })
    }

    /// Gives back the blocks behind the end of a file that was not sealed after all.
    fn drop_metadata(&self, nid: Nid) -> Result<()> {
        self.change(Need::default(), |commit, _| {
            let mut inode = file(commit, nid)?;
            let (blocks, size) = (commit.tree_mut().blocks_mut(), inode.size);
            content::set_size(blocks, &mut inode, size)?;
            blocks.nodes_mut().put(&inode)
        })
    }
}
