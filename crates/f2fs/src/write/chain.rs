//! Nodes that outlive a power cut without a checkpoint: a chain in the log of warm nodes, from where the last checkpoint says that
//! it goes on.

use super::{Writer, head::Log};
use crate::{
    error::Result,
    layout::{BlockAddr, NodeFooter},
};

/// Logs with blocks that a chain can lead to, and the one that it is in.
const LOGS: [Log; 4] = [Log::HotData, Log::WarmData, Log::ColdData, Log::WarmNode];

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

    /// The same, as far as nodes lead to them that did not before: blocks that were written over where they stand may still be lost.
    pub(crate) fn order(&mut self) -> Result<()> {
        self.flush_heads()?;
        self.medium.order()
    }

    fn flush_heads(&mut self) -> Result<()> {
        for log in LOGS {
            let (end, _) = self.next(log);
            self.heads.of_mut(log).flush(&mut self.medium, end)?;
        }
        Ok(())
    }

    /// Appends a node with an fsync mark to the chain. When this returns it outlives a power cut, and so do all earlier
    /// writes; the blocks that it leads to must have been ordered before it ([`Writer::order`]).
    pub(crate) fn promise_chained(&mut self, block: &mut [u8], footer: NodeFooter) -> Result<()> {
        debug_assert!(footer.is_fsync && self.has_chain() && self.medium.is_ordered());
        self.append_node(Log::WarmNode, block, footer)?;
        let (end, _) = self.next(Log::WarmNode);
        let head = self.heads.of_mut(Log::WarmNode);
        if self.medium.is_durable() {
            head.flush_through(&mut self.medium, end)?;
        } else {
            head.flush(&mut self.medium, end)?;
        }
        // It ended its segment and was written with others, or blocks were written over.
        self.medium.make_durable()
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
