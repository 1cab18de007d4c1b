//! A volume that is there, taken up where its last checkpoint left it.

use super::{
    Last, Writer,
    head::{Head, Heads, Log, PENDING_MAX},
    medium::Medium,
    nat::Nat,
    sit::Sit,
    streams::Streams,
    supply::Supply,
    trouble::Damage,
};
use crate::{
    crc,
    error::{Place, Result, corrupt},
    layout::{BlockAddr, CpFlags, NodeFooter, SegNo, Summary, SummaryBlock},
    volume::{LogHead, Volume},
};

impl Writer {
    /// The state of `volume`'s checkpoint, before anything is rolled forward. With `scarce` free segments, or fewer,
    /// logs fill holes.
    pub(crate) fn load(volume: &Volume, medium: Medium, scarce: u32, streams: Streams) -> Result<Writer> {
        let (sb, checkpoint) = (volume.super_block().clone(), volume.checkpoint());
        let open: Vec<SegNo> = volume.log_heads().iter().map(|head| head.segno).collect();
        if let Some((at, _)) = open.iter().enumerate().find(|(at, segno)| open[..*at].contains(segno)) {
            let place = Place::Checkpoint(checkpoint.pack());
            return Err(corrupt(place, "a segment has two logs, and one is", at as u64, 0_u32));
        }
        let sit = Sit::load(volume, &medium, &open)?;
        let nat = Nat::load(volume);
        let stored: Vec<Head> = Log::ALL
            .iter()
            .zip(volume.log_heads())
            .map(|(log, head)| resume(volume, &medium, (&nat, &sit), *log, head))
            .collect::<Result<_>>()?;
        let kbytes = kbytes(volume);
        let mut starts = [SegNo(0); 6];
        for (start, head) in starts.iter_mut().zip(&stored) {
            // The next segment of the same section comes first.
            *start = SegNo(head.place().0.0 + 1);
        }
        let heads: std::result::Result<[Head; 6], _> = stored.try_into();
        let heads = heads.map_err(|heads| {
            let place = Place::Checkpoint(checkpoint.pack());
            corrupt(place, "logs are", heads.len() as u64, 6_u32)
        })?;
        let last = Last {
            pack: checkpoint.pack(),
            version: checkpoint.version(),
            // Nodes that stand behind it may belong to its chain: those to come do not.
            footer_version: checkpoint.unchained_version(),
            has_chain: false,
            kbytes,
            blocks: checkpoint.raw().valid_block_count.get(),
            is_clean: checkpoint.flags().has(CpFlags::UMOUNT),
        };
        // Blocks that the checkpoint counts and the SIT does not are reserved and stand nowhere.
        let counted = checkpoint.raw().valid_block_count.get();
        let promised = counted.checked_sub(sit.valid_blocks()).ok_or_else(|| {
            let place = Place::Checkpoint(checkpoint.pack());
            corrupt(place, "blocks in use, of which the SIT has more, are", counted, sit.valid_blocks())
        })?;
        Ok(Writer {
            supply: Supply::new(&sb, starts, scarce),
            layout: volume.summary_layout(),
            inode_seed: crc::inode_seed(&sb.uuid()),
            heads: Heads::new(heads),
            pending_max: PENDING_MAX,
            streams,
            appended: [0; 6],
            overwritten: 0,
            sb,
            medium,
            nat,
            sit,
            last,
            promised,
            promised_before: 0,
            damage: Damage::default(),
        })
    }
}

/// A log's head. The summary of a log of nodes is in the pack only if the volume was unmounted; otherwise the nodes
/// name their owners.
fn resume(
    volume: &Volume,
    medium: &Medium,
    (nat, sit): (&Nat, &Sit),
    log: Log,
    head: &LogHead,
) -> Result<Head> {
    let fills_holes = volume.checkpoint().reuses_holes(log.index());
    if let Some(used) = sit.first_used(head.segno, head.offset.into(), fills_holes) {
        return Err(corrupt(
            Place::Segment(head.segno),
            "a log goes on where a block is in use:",
            head.offset,
            used,
        ));
    }
    let summary = match &head.summary {
        Some(summary) => with_kind(summary, log),
        None => from_nodes(volume, medium, nat, log, head.segno)?,
    };
    Ok(Head::resume(head.segno, head.offset.into(), fills_holes, summary))
}

/// Compacted summaries have lost their footer.
fn with_kind(stored: &SummaryBlock, log: Log) -> SummaryBlock {
    let mut summary = SummaryBlock::empty(stored.layout(), log.is_node());
    (0..512).for_each(|offset| summary.set_entry(offset, stored.entry(offset)));
    summary
}

fn from_nodes(volume: &Volume, medium: &Medium, nat: &Nat, log: Log, segno: SegNo) -> Result<SummaryBlock> {
    let mut summary = SummaryBlock::empty(volume.summary_layout(), log.is_node());
    let (entry, start) = (volume.sit_entry(segno)?, volume.segment_start(segno));
    for offset in (0..512).filter(|offset| entry.is_valid(*offset)) {
        let block = medium.read(BlockAddr(start.0 + offset))?;
        let Some(footer) = NodeFooter::of(&block) else { continue };
        let version = nat.entry(medium, footer.nid)?.version;
        summary.set_entry(offset, Summary { nid: footer.nid, version, offset: 0 });
    }
    Ok(summary)
}

/// 1024 bytes that were ever written: they stand where a log of data has its journal.
fn kbytes(volume: &Volume) -> u64 {
    let head = volume.log_heads().get(Log::HotNode.index());
    let summary = head.and_then(|head| head.summary.as_ref());
    let bytes = summary.and_then(|summary| summary.journal().get(2..)?.first_chunk().copied());
    bytes.map_or(0, u64::from_le_bytes)
}
