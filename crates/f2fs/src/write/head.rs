//! A log's head: the segment it writes to, the blocks that wait to be written together, and the segment's summary.

use super::medium::Medium;
use crate::word::word;
use crate::{
    error::Result,
    layout::{BlockAddr, SegNo, Summary, SummaryBlock, SummaryLayout},
};

/// Bytes that wait at most in a log of a volume that is used, and of one that is being made, all of whose logs are busy.
pub(crate) const PENDING_MAX: usize = 1 << 20;
pub(crate) const PENDING_MAX_FRESH: usize = 1 << 18;

/// A temperature and a kind of blocks: the six logs, as the format numbers them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Log {
    HotData,
    WarmData,
    ColdData,
    HotNode,
    WarmNode,
    ColdNode,
}

impl Log {
    /// All of them, in the order of their numbers.
    pub(crate) const ALL: [Log; 6] =
        [Log::HotData, Log::WarmData, Log::ColdData, Log::HotNode, Log::WarmNode, Log::ColdNode];

    /// Its number, which is also that of the segments it writes.
    pub(crate) fn kind(self) -> u8 {
        self as u8
    }

    /// Its number, to index with.
    pub(crate) fn index(self) -> usize {
        self as usize
    }

    /// True if it holds nodes.
    pub(crate) fn is_node(self) -> bool {
        self.kind() >= Log::HotNode.kind()
    }
}

/// A log's head.
pub(crate) struct Head {
    segno: SegNo,
    next: u32,
    fills_holes: bool,
    summary: SummaryBlock,
    /// Blocks in front of `next` that are not on the medium yet.
    pending: Vec<u8>,
}

impl Head {
    /// A head at the start of a free segment.
    pub(crate) fn open(log: Log, segno: SegNo, layout: SummaryLayout) -> Head {
        let summary = SummaryBlock::empty(layout, log.is_node());
        Head { segno, next: 0, fills_holes: false, summary, pending: Vec::new() }
    }

    /// A head at block `next` of a segment with the owners in `summary`.
    pub(crate) fn resume(segno: SegNo, next: u32, fills_holes: bool, mut summary: SummaryBlock) -> Head {
        // Journals belong to the checkpoint.
        summary.set_journal(&[]);
        Head { segno, next, fills_holes, summary, pending: Vec::new() }
    }

    /// The segment, and the next block in it.
    pub(crate) fn place(&self) -> (SegNo, u32) {
        (self.segno, self.next)
    }

    /// True if it writes to blocks between others.
    pub(crate) fn fills_holes(&self) -> bool {
        self.fills_holes
    }

    /// Goes on at a block further on. Nothing may wait.
    pub(crate) fn skip_to(&mut self, next: u32) {
        debug_assert!(self.pending.is_empty() && next >= self.next);
        self.next = next;
    }

    /// The block at `offset` of the segment, if it waits to be written.
    pub(crate) fn waiting(&self, segno: SegNo, offset: u32, width: usize) -> Option<&[u8]> {
        let first = self.next.checked_sub(word(self.pending.len() / width))?;
        let at = offset.checked_sub(first).filter(|_| segno == self.segno && offset < self.next)?;
        self.pending.get(at as usize * width..(at as usize + 1) * width)
    }

    /// The owners of the segment's blocks.
    pub(crate) fn summary(&self) -> &SummaryBlock {
        &self.summary
    }

    /// Sets the owner of a block of the segment that is there already.
    pub(crate) fn set_owner(&mut self, offset: u32, owner: Summary) {
        self.summary.set_entry(offset, owner);
    }

    /// Takes pieces of whole blocks, which must have room in the segment, with the owner of each block.
    pub(crate) fn push<'a>(
        &mut self,
        blocks: impl Iterator<Item = &'a [u8]>,
        owners: impl ExactSizeIterator<Item = Summary>,
    ) {
        blocks.for_each(|piece| self.pending.extend_from_slice(piece));
        for owner in owners {
            self.summary.set_entry(self.next, owner);
            self.next += 1;
        }
    }

    /// Bytes that wait to be written.
    pub(crate) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Writes waiting blocks; `end` is the address of the next block.
    pub(crate) fn flush(&mut self, medium: &mut Medium, end: BlockAddr) -> Result<()> {
        self.write(end, medium.block().width(), |addr, blocks| medium.write(addr, blocks))
    }

    /// The same; it outlives a power cut then.
    pub(crate) fn flush_through(&mut self, medium: &mut Medium, end: BlockAddr) -> Result<()> {
        self.write(end, medium.block().width(), |addr, blocks| medium.write_through(addr, blocks))
    }

    fn write(
        &mut self,
        end: BlockAddr,
        width: usize,
        write: impl FnOnce(BlockAddr, &[u8]) -> Result<()>,
    ) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let blocks = word(self.pending.len() / width);
        write(BlockAddr(end.0.saturating_sub(blocks)), &self.pending)?;
        self.pending.clear();
        Ok(())
    }
}

/// The heads of all six logs: each log has one.
pub(crate) struct Heads([Head; 6]);

impl Heads {
    /// The heads of the logs in the order of [`Log::ALL`].
    pub(crate) fn new(heads: [Head; 6]) -> Heads {
        Heads(heads)
    }

    /// The head of a log.
    pub(crate) fn of(&self, log: Log) -> &Head {
        let [hot, warm, cold, hot_node, warm_node, cold_node] = &self.0;
        match log {
            Log::HotData => hot,
            Log::WarmData => warm,
            Log::ColdData => cold,
            Log::HotNode => hot_node,
            Log::WarmNode => warm_node,
            Log::ColdNode => cold_node,
        }
    }

    /// The same, to write to.
    pub(crate) fn of_mut(&mut self, log: Log) -> &mut Head {
        let [hot, warm, cold, hot_node, warm_node, cold_node] = &mut self.0;
        match log {
            Log::HotData => hot,
            Log::WarmData => warm,
            Log::ColdData => cold,
            Log::HotNode => hot_node,
            Log::WarmNode => warm_node,
            Log::ColdNode => cold_node,
        }
    }
}
