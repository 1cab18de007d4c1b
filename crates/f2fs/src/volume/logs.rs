//! The six logs as the checkpoint left them: where each goes on, the summaries of their segments, and the two
//! journals, which stand in the summaries of the hot and the cold data log.

use std::collections::BTreeMap;

use super::{Block, Volume};
use crate::{
    error::{Error, Place, Result, corrupt},
    layout::{
        BlockAddr, CpFlags, Features, JournalEntries, NatEntry, Nid, RawSummary, SegNo, SitEntry,
        SummaryBlock, parse_journal,
    },
};

/// Logs of data; as many of nodes follow.
const DATA_LOGS: usize = 3;
const LOGS: usize = 6;

/// A log's head.
#[derive(Clone, Debug)]
pub struct LogHead {
    /// The segment it writes to.
    pub segno: SegNo,
    /// The next block there.
    pub offset: u16,
    /// The summary of that segment, where the checkpoint pack has it.
    pub summary: Option<SummaryBlock>,
}

/// All six, and the journals.
#[derive(Default)]
pub(super) struct Logs {
    /// Hot, warm and cold data, then hot, warm and cold nodes.
    pub(super) heads: Vec<LogHead>,
    pub(super) nat: BTreeMap<Nid, NatEntry>,
    pub(super) sit: BTreeMap<SegNo, SitEntry>,
}

impl Volume {
    /// The six log heads: hot, warm and cold data, then hot, warm and cold nodes.
    pub fn log_heads(&self) -> &[LogHead] {
        &self.logs.heads
    }

    /// Sections that are free, in which no log writes, and all that there are. Cost: reads the SIT once.
    pub fn sections(&self) -> Result<(u32, u32)> {
        let size = self.sb.segments_per_section();
        let all = self.sb.main_segments() / size;
        let mut free = 0;
        for first in (0..all).map(|section| section * size) {
            let mut is_free = true;
            for segno in (first..first + size).map(SegNo) {
                let is_open = self.log_heads().iter().any(|head| head.segno == segno);
                is_free &= !is_open && self.sit_entry(segno)?.bits() == 0;
            }
            free += u32::from(is_free);
        }
        Ok((free, all))
    }

    /// The entries of the NAT journal.
    pub fn nat_journal(&self) -> &BTreeMap<Nid, NatEntry> {
        &self.logs.nat
    }

    /// The entries of the SIT journal.
    pub fn sit_journal(&self) -> &BTreeMap<SegNo, SitEntry> {
        &self.logs.sit
    }

    /// Reads summaries and journals from the checkpoint pack.
    pub(super) fn read_logs(&self) -> Result<Logs> {
        let mut heads: Vec<LogHead> = (0..LOGS).map(|log| self.head(log)).collect();
        let compact = self.cp.flags().has(CpFlags::COMPACT_SUM);
        let (nat, sit) =
            if compact { self.read_compact(&mut heads)? } else { self.read_data_summaries(&mut heads)? };
        if self.cp.flags().has_node_summaries() {
            for (log, head) in heads.iter_mut().enumerate().skip(DATA_LOGS) {
                head.summary = Some(self.summary_at(self.in_front_of_foot(LOGS - log))?);
            }
        }
        Ok(Logs { heads, nat: self.journal(&nat)?, sit: self.journal(&sit)? })
    }

    /// The head of a log. A volume that was made to be read only has one of data and one of nodes.
    fn head(&self, log: usize) -> LogHead {
        let (segno, offset) =
            if log < DATA_LOGS { self.cp.data_log(log) } else { self.cp.node_log(log - DATA_LOGS) };
        let unused = self.features().has(Features::RO) && !log.is_multiple_of(DATA_LOGS);
        LogHead { segno: if unused { SegNo::NULL } else { segno }, offset, summary: None }
    }

    /// Three whole summaries. They end the pack, with those of nodes behind them, if there are any.
    fn read_data_summaries(&self, heads: &mut [LogHead]) -> Result<(Vec<u8>, Vec<u8>)> {
        let behind = if self.cp.flags().has_node_summaries() { LOGS } else { DATA_LOGS };
        let mut journals = Vec::new();
        for (log, head) in heads.iter_mut().enumerate().take(DATA_LOGS) {
            let summary = self.summary_at(self.in_front_of_foot(behind - log))?;
            journals.push(summary.journal().to_vec());
            head.summary = Some(summary);
        }
        Ok((journals.first().cloned().unwrap_or_default(), journals.last().cloned().unwrap_or_default()))
    }

    /// The block that is `count` in front of the pack's foot.
    fn in_front_of_foot(&self, count: usize) -> BlockAddr {
        let total = self.cp.raw().cp_pack_total_block_count.get();
        let back = u32::try_from(count + 1).unwrap_or(u32::MAX);
        let start = self.sb.checkpoint_addr(self.cp.pack()).0;
        BlockAddr(start.saturating_add(total.saturating_sub(back)))
    }

    fn summary_at(&self, addr: BlockAddr) -> Result<SummaryBlock> {
        let layout = self.summary_layout();
        let block = self.block(addr)?;
        Ok(SummaryBlock::new(block.get(..layout.bytes).unwrap_or_default().to_vec(), layout))
    }

    /// Both journals first, then the used entries of the three data logs, packed.
    fn read_compact(&self, heads: &mut [LogHead]) -> Result<(Vec<u8>, Vec<u8>)> {
        let layout = self.summary_layout();
        let start = self.sb.checkpoint_addr(self.cp.pack()).0;
        let mut packed = Packed {
            volume: self,
            next: BlockAddr(start.saturating_add(self.cp.raw().cp_pack_start_sum.get())),
            block: Block::default(),
            at: 0,
        };
        packed.turn()?;
        let mut journal = || {
            let bytes = packed.block.get(packed.at..packed.at + layout.journal_bytes());
            packed.at += layout.journal_bytes();
            bytes.unwrap_or_default().to_vec()
        };
        let (nat, sit) = (journal(), journal());
        for (log, head) in heads.iter_mut().enumerate().take(DATA_LOGS) {
            let used =
                if self.cp.reuses_holes(log) { self.sb.blocks_per_segment() } else { u32::from(head.offset) };
            let mut bytes = Vec::with_capacity(layout.bytes);
            for _ in 0..used {
                packed.take_entry(&mut bytes)?;
            }
            head.summary = Some(SummaryBlock::new(bytes, layout));
        }
        Ok((nat, sit))
    }

    fn journal<N: Ord, E>(&self, bytes: &[u8]) -> Result<BTreeMap<N, E>>
    where
        (N, E): JournalEntries,
    {
        let entries = parse_journal::<(N, E)>(bytes).map_err(|count| self.bad_journal(count, bytes))?;
        Ok(entries.into_iter().collect())
    }

    fn bad_journal(&self, count: u16, bytes: &[u8]) -> Error {
        let place = Place::Checkpoint(self.cp.pack());
        corrupt(place, "entries of a journal are", count, bytes.len() as u64 / 13)
    }
}

/// Entries of compacted summaries, one behind the other over several blocks.
struct Packed<'a> {
    volume: &'a Volume,
    next: BlockAddr,
    block: Block,
    at: usize,
}

impl Packed<'_> {
    fn turn(&mut self) -> Result<()> {
        self.block = self.volume.block(self.next)?;
        self.next = BlockAddr(self.next.0.saturating_add(1));
        self.at = 0;
        Ok(())
    }

    fn take_entry(&mut self, entries: &mut Vec<u8>) -> Result<()> {
        let size = size_of::<RawSummary>();
        // The last bytes of a block are a summary's footer, here too.
        let room = self.volume.summary_layout().footer_at();
        if self.at + size > room {
            self.turn()?;
        }
        entries.extend_from_slice(self.block.get(self.at..self.at + size).unwrap_or_default());
        self.at += size;
        Ok(())
    }
}
