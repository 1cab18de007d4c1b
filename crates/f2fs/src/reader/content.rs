//! The bytes of a file: inside its inode, in plain blocks or in compressed clusters.

use super::blocks::FileBlocks;
use crate::{error::Result, layout::Inode, nodes::Nodes, sealed::Bytes, secrets::Secret, volume::Node};

/// A file that was opened to read from it.
pub(super) struct Content<'a> {
    blocks: FileBlocks<'a>,
}

impl<'a> Content<'a> {
    /// `secret` is the key of what is encrypted.
    pub(super) fn new(
        nodes: &'a Nodes,
        secret: Option<Secret>,
        inode: &'a Inode,
        node: &'a Node,
    ) -> Content<'a> {
        Content { blocks: FileBlocks { nodes, inode, node, secret } }
    }

    /// Fills the beginning of `buffer`, as far as a run of one sort reaches.
    fn read_some(&self, at: u64, buffer: &mut [u8]) -> Result<usize> {
        let width = self.blocks.nodes.volume().block_size().bytes_u64();
        let (index, inside) = (at / width, at % width);
        let mut most = (inside + buffer.len() as u64).div_ceil(width);
        if let Some(cluster) = self.blocks.inode.cluster_blocks().map(u64::from) {
            if let Some(length) = self.blocks.read_cluster(at, buffer)? {
                return Ok(length);
            }
            most = most.min(cluster - index % cluster);
        }
        let run = self.blocks.nodes.run_at(self.blocks.inode, self.blocks.node, index, most)?;
        let bytes = run.blocks.saturating_mul(width) - inside;
        let length = usize::try_from(bytes).map_or(buffer.len(), |bytes| bytes.min(buffer.len()));
        let now = buffer.get_mut(..length).unwrap_or_default();
        self.blocks.read_run(index, run, inside, now)?;
        Ok(length)
    }
}

impl Bytes for Content<'_> {
    fn inode(&self) -> &Inode {
        self.blocks.inode
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        if self.blocks.inode.has_inline_data() {
            read_inline(self.blocks.inode, self.blocks.node, offset, buffer);
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
}

/// Inline data.
fn read_inline(inode: &Inode, node: &Node, offset: u64, buffer: &mut [u8]) {
    let data = node.block.get(inode.inline_range()).unwrap_or_default();
    let from = usize::try_from(offset).ok().and_then(|offset| data.get(offset..)).unwrap_or_default();
    let length = from.len().min(buffer.len());
    let (now, later) = buffer.split_at_mut(length);
    now.copy_from_slice(from.get(..length).unwrap_or_default());
    later.fill(0);
}
