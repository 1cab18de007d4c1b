//! Nodes that outlive a power cut without a checkpoint: a chain in the log of warm nodes, from where the last checkpoint says that
//! it goes on.

use super::{
    Writer,
    head::{Head, Log},
};
use crate::{
    error::Result,
    layout::{BlockAddr, Nid, NodeFooter},
};

/// Logs with blocks that a chain can lead to, and the one that it is in.
const LOGS: [Log; 4] = [Log::HotData, Log::WarmData, Log::ColdData, Log::WarmNode];
/// Bytes that a device writes as a whole or not at all. The times of an inode are in its first sector.
const SECTOR: usize = 512;

impl Writer {
    /// True if nodes that are written now belong to the chain of the last checkpoint. That one was made since the
    /// volume was opened, so that no earlier node stands behind it; and nodes of files have a log of their own.
    pub(crate) fn has_chain(&self) -> bool {
        self.last.has_chain && self.streams.has_chain()
    }

    /// Blocks of the last checkpoint and of the writes since together: rolling forward has to find room for so many.
    pub(crate) fn blocks_with_chain(&self) -> u64 {
        self.last.blocks + self.appended.iter().sum::<u64>()
    }

    /// Makes all blocks of data and nodes of the chain that were written outlive a power cut.
    pub(crate) fn make_durable(&mut self) -> Result<()> {
        self.flush_heads()?;
        self.medium.make_durable()
    }

    /// True if blocks were written over where they stand since all was durable.
    pub(crate) fn has_overwritten(&self) -> bool {
        self.medium.has_overwritten()
    }

    fn flush_heads(&mut self) -> Result<()> {
        for log in LOGS {
            let (end, _) = self.next(log);
            self.heads.of_mut(log).flush(&mut self.medium, end)?;
        }
        Ok(())
    }

    /// Appends a node with an fsync mark to the chain, once all that was written before outlives a power cut. When this returns
    /// the node does, too; a cut that comes earlier leaves it as a whole or not at all.
    pub(crate) fn promise_chained(&mut self, block: &mut [u8], footer: NodeFooter) -> Result<()> {
        debug_assert!(footer.is_fsync && self.has_chain());
        self.make_durable()?;
        self.append(Log::WarmNode, block, footer, Head::flush_through).map(drop)
    }

    /// Writes an inode over its marked node in the chain, and makes all that was written outlive a power cut: one wait, for
    /// data that were written over, too. Returns false, and has done nothing, if there is no such node to write over, or if
    /// more of it changes than its first sector. A power cut leaves the old sector or the new one.
    pub(crate) fn promise_over(&mut self, ino: Nid, block: &[u8]) -> Result<bool> {
        let addr = self.entry(ino)?.addr;
        if self.must_move(addr) {
            return Ok(false);
        }
        let old = self.medium.read(addr)?;
        let marked = |footer: &NodeFooter| footer.is_fsync && footer.cp_version == self.last.footer_version;
        let Some(footer) = NodeFooter::of(&old).filter(marked) else { return Ok(false) };
        let mut new = block.to_vec();
        self.sign(&footer, &mut new);
        let is_same_behind = old.iter().zip(&new).skip(SECTOR).all(|(old, new)| old == new);
        if is_same_behind {
            self.overwrite(addr, &new)?;
            self.make_durable()?;
        }
        Ok(is_same_behind)
    }

    /// Writes a block of data over its owner's block at `addr`.
    pub(crate) fn overwrite(&mut self, addr: BlockAddr, block: &[u8]) -> Result<()> {
        if self.waiting(addr).is_some() {
            self.flush_heads()?;
        }
        self.overwritten += 1;
        self.medium.write_over(addr, block)
    }
}
