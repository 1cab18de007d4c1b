//! Compressed clusters of a file.

use super::blocks::FileBlocks;
use crate::{
    compress::{self, Algorithm},
    error::{Error, Result},
    layout::BlockAddr,
    nodes::outside,
};

impl FileBlocks<'_> {
    /// Fills the beginning of `buffer` from the cluster that byte `at` is in; `None` if it is not compressed.
    pub(super) fn read_cluster(&self, at: u64, buffer: &mut [u8]) -> Result<Option<usize>> {
        let Some(extra) = self.inode.compression() else { return Ok(None) };
        let width = self.nodes.volume().block_size().bytes_u64();
        let blocks = 1_u32 << extra.log_cluster.min(8);
        let first = at / width / u64::from(blocks) * u64::from(blocks);
        let addrs = self.nodes.addrs(self.inode, self.node, first, blocks)?;
        let Some((BlockAddr::COMPRESSED, stored)) = addrs.split_first().map(|(mark, rest)| (*mark, rest))
        else {
            return Ok(None);
        };
        let algorithm = Algorithm::from_raw(extra.algorithm).ok_or_else(|| {
            Error::Unsupported(format!("inode {}: compression {}", self.inode.ino, extra.algorithm))
        })?;
        let stored = self.stored(first, stored)?;
        let mut cluster = vec![0; blocks as usize * self.nodes.volume().block_size().width()];
        compress::decompress(algorithm, extra.compress_flag & 1 != 0, &stored, &mut cluster)
            .map_err(|error| Error::Cluster { ino: self.inode.ino, offset: first * width, error })?;
        let inside = usize::try_from(at - first * width).unwrap_or(0);
        let from = cluster.get(inside..).unwrap_or_default();
        let length = from.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..length), from.get(..length)) {
            to.copy_from_slice(from);
        }
        Ok(Some(length))
    }

    /// The stored blocks of a cluster, which stand behind its mark, one after the other.
    fn stored(&self, first: u64, addrs: &[BlockAddr]) -> Result<Vec<u8>> {
        let width = self.nodes.volume().block_size().width();
        let count = addrs.iter().take_while(|addr| addr.is_block()).count();
        let mut stored = vec![0; count * width];
        for (slot, (addr, block)) in (1_u64..).zip(addrs.iter().zip(stored.chunks_mut(width))) {
            if !self.nodes.volume().is_main(*addr) {
                return Err(outside(self.inode.ino, *addr, self.nodes.volume().super_block().main_end()));
            }
            self.nodes.volume().read_blocks(*addr, block)?;
            self.decrypt(first + slot, block)?;
        }
        Ok(stored)
    }
}
