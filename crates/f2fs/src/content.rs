//! The bytes of a file: where they stand, decompressed, decrypted, verified.

use pumice_vfs::Stored;

use crate::{
    error::{Error, Result},
    layout::{BlockAddr, Inode},
    map::{Mapped, Run},
    secrets::Secret,
    volume::{Node, Volume},
};

/// Blocks that are decrypted at a time.
const BATCH_BLOCKS: u64 = 64;

/// A file that was opened to read from it.
pub(crate) struct Content<'a> {
    pub(crate) volume: &'a Volume,
    pub(crate) inode: &'a Inode,
    pub(crate) node: &'a Node,
    /// The key, if the content is encrypted.
    pub(crate) secret: Option<Secret>,
}

impl Volume {
    /// Reads from a file or a symbolic link; returns how many bytes, fewer only at its end.
    pub fn read(&self, inode: &Inode, node: &Node, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let left = inode.size.saturating_sub(offset);
        let length = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let buffer = buffer.get_mut(..length).unwrap_or_default();
        let content = Content::new(self, inode, node)?;
        if inode.is_verity() {
            content.read_sealed(offset, buffer)?;
        } else {
            content.read(offset, buffer)?;
        }
        Ok(length)
    }
}

impl Volume {
    /// Where the bytes of a file from `offset` on stand as they are, if they do.
    pub(crate) fn stored_bytes(&self, inode: &Inode, node: &Node, offset: u64) -> Result<Option<Stored>> {
        let is_plain = !inode.has_inline_data() && !inode.is_encrypted() && !inode.is_verity();
        if offset >= inode.size || !is_plain || inode.cluster_blocks().is_some() {
            return Ok(None);
        }
        let width = self.block_size().bytes_u64();
        let (index, inside) = (offset / width, offset % width);
        let run = self.run_at(inode, node, index, inode.size.div_ceil(width) - index)?;
        let Mapped::At(addr) = run.mapped else { return Ok(None) };
        let Some(stored) = self.stored(addr) else { return Ok(None) };
        let length = run.blocks.saturating_mul(width).min(stored.length) - inside;
        let length = length.min(inode.size - offset);
        Ok(Some(Stored { offset: stored.offset + inside, length, ..stored }))
    }
}

impl<'a> Content<'a> {
    pub(crate) fn new(volume: &'a Volume, inode: &'a Inode, node: &'a Node) -> Result<Content<'a>> {
        let secret = volume.content_secret(inode, node)?;
        Ok(Content { volume, inode, node, secret })
    }

    /// Fills `buffer` from byte `offset` on, as if the file had no end.
    pub(crate) fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        if self.inode.has_inline_data() {
            read_inline(self.inode, self.node, offset, buffer);
            return Ok(());
        }
        let mut at = offset;
        let mut rest = buffer;
        while !rest.is_empty() {
            let length = self.read_some(at, rest)?;
            at = at.saturating_add(length as u64);
            rest = rest.split_at_mut(length).1;
        }
        Ok(())
    }

    /// Fills the beginning of `buffer`, as far as a run of one sort reaches.
    fn read_some(&self, at: u64, buffer: &mut [u8]) -> Result<usize> {
        let width = self.volume.block_size().bytes_u64();
        let (index, inside) = (at / width, at % width);
        let mut most = (inside + buffer.len() as u64).div_ceil(width);
        if let Some(cluster) = self.inode.cluster_blocks().map(u64::from) {
            if let Some(length) = self.read_cluster(at, buffer)? {
                return Ok(length);
            }
            most = most.min(cluster - index % cluster);
        }
        let run = self.volume.run_at(self.inode, self.node, index, most)?;
        let bytes = run.blocks.saturating_mul(width) - inside;
        let length = usize::try_from(bytes).map_or(buffer.len(), |bytes| bytes.min(buffer.len()));
        let now = buffer.get_mut(..length).unwrap_or_default();
        self.read_run(index, run, inside, now)?;
        Ok(length)
    }

    /// Bytes from `inside` on of the blocks from `index` on, a run of one sort.
    fn read_run(&self, index: u64, run: Run, inside: u64, buffer: &mut [u8]) -> Result<()> {
        match run.mapped {
            Mapped::Hole | Mapped::Reserved => buffer.fill(0),
            Mapped::Compressed => return Err(self.stray_mark()),
            Mapped::At(addr) if self.secret.is_some() => {
                self.read_encrypted(index, addr, inside, buffer)?;
            }
            Mapped::At(addr) => self.volume.read_bytes(addr, inside, buffer)?,
        }
        Ok(())
    }

    fn stray_mark(&self) -> Error {
        crate::map::outside(self.inode.ino, BlockAddr::COMPRESSED, self.volume.super_block().main_end())
    }

    /// The same for encrypted blocks, which are decrypted whole.
    fn read_encrypted(&self, index: u64, addr: BlockAddr, inside: u64, buffer: &mut [u8]) -> Result<()> {
        let width = self.volume.block_size().width();
        let (mut index, mut addr) = (index, addr);
        let mut inside = usize::try_from(inside).unwrap_or(0);
        let mut rest = buffer;
        while !rest.is_empty() {
            let blocks = ((inside + rest.len()).div_ceil(width) as u64).min(BATCH_BLOCKS);
            let mut batch = vec![0; usize::try_from(blocks).unwrap_or(1) * width];
            self.volume.read_blocks(addr, &mut batch)?;
            self.decrypt(index, &mut batch)?;
            let length = (batch.len() - inside).min(rest.len());
            let (now, later) = rest.split_at_mut(length);
            now.copy_from_slice(batch.get(inside..inside + length).unwrap_or_default());
            rest = later;
            index += blocks;
            addr = u32::try_from(blocks).ok().and_then(|blocks| addr.plus(blocks)).unwrap_or(addr);
            inside = 0;
        }
        Ok(())
    }

    /// Decrypts the blocks from `index` on, if the content is encrypted.
    pub(crate) fn decrypt(&self, index: u64, blocks: &mut [u8]) -> Result<()> {
        let Some(secret) = &self.secret else { return Ok(()) };
        for (index, block) in (index..).zip(blocks.chunks_mut(self.volume.block_size().width())) {
            secret
                .decrypt_block(index, block)
                .map_err(|error| Error::Crypt { ino: self.inode.ino, error })?;
        }
        Ok(())
    }
}

impl Volume {
    /// Bytes from `inside` on of the blocks from `addr` on. Whole blocks go straight into the buffer.
    fn read_bytes(&self, addr: BlockAddr, inside: u64, buffer: &mut [u8]) -> Result<()> {
        let width = self.block_size().width();
        let inside = usize::try_from(inside).unwrap_or(0);
        let head = if inside == 0 { 0 } else { (width - inside).min(buffer.len()) };
        let (first, rest) = buffer.split_at_mut(head);
        let mut next = addr;
        if head > 0 {
            self.read_part(next, inside, first)?;
            next = next.plus(1).unwrap_or(next);
        }
        let whole = rest.len() / width * width;
        let (middle, last) = rest.split_at_mut(whole);
        self.read_blocks(next, middle)?;
        if last.is_empty() {
            return Ok(());
        }
        let blocks = u32::try_from(whole / width).unwrap_or(0);
        self.read_part(next.plus(blocks).unwrap_or(next), 0, last)
    }

    fn read_part(&self, addr: BlockAddr, inside: usize, buffer: &mut [u8]) -> Result<()> {
        let mut block = vec![0; self.block_size().width()];
        self.read_blocks(addr, &mut block)?;
        buffer.copy_from_slice(block.get(inside..inside + buffer.len()).unwrap_or_default());
        Ok(())
    }
}

/// Inline data; a file that claims to be longer goes on with zeros.
fn read_inline(inode: &Inode, node: &Node, offset: u64, buffer: &mut [u8]) {
    let data = node.block.get(inode.inline_range()).unwrap_or_default();
    let from = usize::try_from(offset).ok().and_then(|offset| data.get(offset..)).unwrap_or_default();
    let length = from.len().min(buffer.len());
    let (now, later) = buffer.split_at_mut(length);
    now.copy_from_slice(from.get(..length).unwrap_or_default());
    later.fill(0);
}
