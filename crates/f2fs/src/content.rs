//! The bytes of a file.

use crate::{
    error::{Error, Place, Result, corrupt},
    layout::{BlockAddr, Inode},
    map::{Mapped, Run},
    volume::{Node, Volume},
};

impl Volume {
    /// Reads from a file; returns how many bytes, fewer only at its end.
    pub fn read(&self, inode: &Inode, node: &Node, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let left = inode.size.saturating_sub(offset);
        let length = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let buffer = buffer.get_mut(..length).unwrap_or_default();
        if inode.is_encrypted() {
            return Err(Error::NoKey(inode.ino));
        }
        if inode.has_inline_data() {
            read_inline(inode, node, offset, buffer);
        } else {
            self.read_blocks_of(inode, node, offset, buffer)?;
        }
        Ok(length)
    }

    fn read_blocks_of(&self, inode: &Inode, node: &Node, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let width = self.block_size().bytes_u64();
        let mut at = offset;
        let mut rest = buffer;
        while !rest.is_empty() {
            let (index, inside) = (at / width, at % width);
            let most = (inside + rest.len() as u64).div_ceil(width);
            let run = self.run_at(inode, node, index, most)?;
            let bytes = run.blocks.saturating_mul(width) - inside;
            let length = usize::try_from(bytes).map_or(rest.len(), |bytes| bytes.min(rest.len()));
            let (now, later) = rest.split_at_mut(length);
            self.read_run(inode, run, inside, now)?;
            at += length as u64;
            rest = later;
        }
        Ok(())
    }

    /// Bytes from `inside` on of a run of one sort.
    fn read_run(&self, inode: &Inode, run: Run, inside: u64, buffer: &mut [u8]) -> Result<()> {
        match run.mapped {
            Mapped::Hole | Mapped::Reserved => buffer.fill(0),
            Mapped::Compressed => {
                return Err(corrupt(Place::Inode(inode.ino), "an address is", u32::MAX - 1, 0_u32));
            }
            Mapped::At(addr) => self.read_bytes(addr, inside, buffer)?,
        }
        Ok(())
    }

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
