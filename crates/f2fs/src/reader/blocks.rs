//! The blocks of a file as they stand on the medium, decrypted.

use crate::{
    error::{Error, Result},
    layout::{BlockAddr, Inode},
    nodes::{Mapped, Nodes, Run, outside},
    secrets::{self, Secret},
    volume::Node,
};

/// Blocks that are decrypted at a time.
const BATCH_BLOCKS: u64 = 64;

/// The file that is read.
pub(super) struct FileBlocks<'a> {
    pub(super) nodes: &'a Nodes,
    pub(super) inode: &'a Inode,
    pub(super) node: &'a Node,
    /// The key, if the content is encrypted.
    pub(super) secret: Option<Secret>,
}

impl FileBlocks<'_> {
    /// Bytes from `inside` on of the blocks from `index` on, a run of one sort.
    pub(super) fn read_run(&self, index: u64, run: Run, inside: u64, buffer: &mut [u8]) -> Result<()> {
        match run.mapped {
            Mapped::Hole | Mapped::Reserved => buffer.fill(0),
            Mapped::Compressed => return Err(self.stray_mark()),
            Mapped::At(addr) if self.secret.is_some() => {
                self.read_encrypted(index, addr, inside, buffer)?;
            }
            Mapped::At(addr) => self.read_bytes(addr, inside, buffer)?,
        }
        Ok(())
    }

    fn stray_mark(&self) -> Error {
        outside(self.inode.ino, BlockAddr::COMPRESSED, self.nodes.volume().super_block().main_end())
    }

    /// The same for encrypted blocks, which are decrypted whole.
    fn read_encrypted(&self, index: u64, addr: BlockAddr, inside: u64, buffer: &mut [u8]) -> Result<()> {
        let width = self.nodes.volume().block_size().width();
        let (mut index, mut addr) = (index, addr);
        let mut inside = usize::try_from(inside).unwrap_or(0);
        let mut rest = buffer;
        while !rest.is_empty() {
            let blocks = ((inside + rest.len()).div_ceil(width) as u64).min(BATCH_BLOCKS);
            let mut batch = vec![0; usize::try_from(blocks).unwrap_or(1) * width];
            self.nodes.volume().read_blocks(addr, &mut batch)?;
            self.decrypt(index, &mut batch)?;
            let length = (batch.len() - inside).min(rest.len());
            let (now, later) = rest.split_at_mut(length);
            now.copy_from_slice(batch.get(inside..inside + length).unwrap_or_default());
            rest = later;
            index += blocks;
            addr = self.behind(addr, blocks)?;
            inside = 0;
        }
        Ok(())
    }

    /// Decrypts the blocks from `index` on, if the content is encrypted.
    pub(super) fn decrypt(&self, index: u64, blocks: &mut [u8]) -> Result<()> {
        let Some(secret) = &self.secret else { return Ok(()) };
        let width = self.nodes.volume().block_size().width();
        secrets::decrypt(secret, self.inode.ino, index, width, blocks)
    }

    /// Bytes from `inside` on of the blocks from `addr` on. Whole blocks go straight into the buffer.
    fn read_bytes(&self, addr: BlockAddr, inside: u64, buffer: &mut [u8]) -> Result<()> {
        let width = self.nodes.volume().block_size().width();
        let inside = usize::try_from(inside).unwrap_or(0);
        let head = if inside == 0 { 0 } else { (width - inside).min(buffer.len()) };
        let (first, rest) = buffer.split_at_mut(head);
        let mut next = addr;
        if head > 0 {
            self.read_part(next, inside, first)?;
            next = self.behind(next, 1)?;
        }
        let whole = rest.len() / width * width;
        let (middle, last) = rest.split_at_mut(whole);
        self.nodes.volume().read_blocks(next, middle)?;
        if last.is_empty() {
            return Ok(());
        }
        self.read_part(self.behind(next, (whole / width) as u64)?, 0, last)
    }

    /// The address of a block of the same run further on.
    fn behind(&self, addr: BlockAddr, blocks: u64) -> Result<BlockAddr> {
        let further = u32::try_from(blocks).ok().and_then(|blocks| addr.plus(blocks));
        further.ok_or_else(|| outside(self.inode.ino, addr, self.nodes.volume().super_block().main_end()))
    }

    fn read_part(&self, addr: BlockAddr, inside: usize, buffer: &mut [u8]) -> Result<()> {
        let mut block = vec![0; self.nodes.volume().block_size().width()];
        self.nodes.volume().read_blocks(addr, &mut block)?;
        buffer.copy_from_slice(block.get(inside..inside + buffer.len()).unwrap_or_default());
        Ok(())
    }
}
