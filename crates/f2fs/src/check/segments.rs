//! Segments: the SIT's counts are exactly the blocks that nodes point to, and the summaries are of the right kind.

use std::collections::BTreeMap;

use zerocopy::FromBytes;

use super::{
    codes::Code,
    findings::{Cure, Findings, Object},
    owners::{Reached, newest},
    workers::share,
};
use crate::{
    layout::{BlockAddr, RawSitEntry, SegNo, SitEntry, SummaryKind},
    volume::Volume,
};

/// Kinds of segments: three of data, three of nodes.
const KINDS: u8 = 6;
/// The first kind of nodes.
const NODES: u8 = 3;
/// The usual kinds.
const WARM_DATA: u64 = 1;
const WARM_NODES: u64 = 4;

/// A worker's counts.
struct Counter {
    free: u64,
    findings: Findings,
}

/// Compares all segments with the blocks that were reached; gives the number of free ones that no log writes to.
pub(super) fn check(volume: &Volume, threads: usize, reached: &Reached, findings: &mut Findings) -> u64 {
    check_journal(volume, findings);
    let jobs = volume.sit_blocks() as usize;
    let new = || Counter { free: 0, findings: findings.another() };
    let workers = share(threads, jobs, new, |counter, job| {
        check_block(volume, u32::try_from(job).unwrap_or(u32::MAX), reached, counter);
    });
    let mut free = 0;
    for worker in workers {
        free += worker.free;
        findings.merge(worker.findings);
    }
    free
}

fn check_journal(volume: &Volume, findings: &mut Findings) {
    let segments = volume.super_block().main_segments();
    for segno in volume.sit_journal().keys().filter(|segno| segno.0 >= segments) {
        findings
            .add(Code::JournalSit, Object::Segment(*segno), || format!("the volume has {segments} segments"));
    }
}

/// The segments of a block of the SIT.
fn check_block(volume: &Volume, index: u32, reached: &Reached, counter: &mut Counter) {
    let per_block = volume.block_size().sit_entries();
    let mut bytes = vec![0; volume.block_size().width()];
    let addr = volume.sit_addr(index);
    if let Err(error) = volume.read_blocks(addr, &mut bytes) {
        counter.findings.add(Code::BlockUnreadable, Object::Block(addr), || error.to_string());
        return;
    }
    let first = index.saturating_mul(per_block);
    let end = volume.super_block().main_segments().min(first.saturating_add(per_block));
    for (segno, raw) in (first..end).map(SegNo).zip(bytes.chunks_exact(size_of::<RawSitEntry>())) {
        let stored = RawSitEntry::read_from_bytes(raw).map_or(SitEntry::EMPTY, SitEntry::from);
        let newer: &BTreeMap<SegNo, SitEntry> = volume.sit_journal();
        let Some(entry) = newer.get(&segno) else {
            check_segment(volume, segno, &stored, reached, counter);
            continue;
        };
        // Linux reads superseded entries of the table, too, and refuses to mount if they make no sense.
        check_count(segno, &stored, " (the journal has a newer entry)", &mut counter.findings);
        check_segment(volume, segno, entry, reached, counter);
    }
}

fn check_segment(volume: &Volume, segno: SegNo, entry: &SitEntry, reached: &Reached, counter: &mut Counter) {
    let bits = entry.bits();
    let findings = &mut counter.findings;
    check_count(segno, entry, "", findings);
    let is_head = volume.log_heads().iter().any(|head| head.segno == segno);
    let words = check_bits(volume, segno, entry, reached, findings);
    if bits == 0 && words == [0; 2] {
        counter.free += u64::from(!is_head);
        return;
    }
    let [nodes, data] = words;
    let wrong = if entry.kind < NODES { nodes } else { data };
    if entry.kind < KINDS && wrong > 0 {
        let right = Cure::Number(if entry.kind < NODES { WARM_NODES } else { WARM_DATA });
        findings.add_with(Code::SitKind, Object::Segment(segno), right, || {
            format!("its kind is {}, and it holds {nodes} nodes and {data} blocks of data", entry.kind)
        });
    }
    check_summary_kind(volume, segno, [nodes, data], findings);
}

/// The count is that of the bits, and the kind is one of the six.
fn check_count(segno: SegNo, entry: &SitEntry, whose: &str, findings: &mut Findings) {
    let bits = entry.bits();
    if u32::from(entry.valid_blocks) != bits {
        findings.add(Code::SitCount, Object::Segment(segno), || {
            format!("it counts {} valid blocks, and {bits} are marked{whose}", entry.valid_blocks)
        });
    }
    if entry.kind >= KINDS {
        findings.add(Code::SitKind, Object::Segment(segno), || {
            format!("its kind is {}, which does not exist{whose}", entry.kind)
        });
    }
}

/// Compares the bits of a segment; gives the numbers of nodes and of blocks of data that are pointed to.
fn check_bits(
    volume: &Volume,
    segno: SegNo,
    entry: &SitEntry,
    reached: &Reached,
    findings: &mut Findings,
) -> [u32; 2] {
    let start = volume.segment_start(segno);
    let (mut nodes, mut data) = (0, 0);
    for (word, valid) in (0..).zip(entry.valid_map.as_chunks::<8>().0) {
        // The SIT's first block is the highest bit of a byte, here it is the lowest.
        let valid = u64::from_le_bytes(valid.map(u8::reverse_bits));
        let index =
            segno.0.saturating_mul(volume.super_block().blocks_per_segment() / 64).saturating_add(word);
        let (all, of_nodes) = (reached.all.word(index), reached.nodes.word(index));
        nodes += (all & of_nodes).count_ones();
        data += (all & !of_nodes).count_ones();
        for bit in bits_of(all ^ valid) {
            let addr = BlockAddr(start.0.saturating_add(word * 64 + bit));
            if valid & (1 << bit) == 0 {
                findings.add(Code::SitMissing, Object::Block(addr), || {
                    "it is in use, and the SIT has it as free".to_owned()
                });
            } else {
                findings.add(Code::SitExtra, Object::Block(addr), || {
                    "nothing points to it, and the SIT has it as valid".to_owned()
                });
            }
        }
    }
    [nodes, data]
}

fn bits_of(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}

fn check_summary_kind(volume: &Volume, segno: SegNo, [nodes, data]: [u32; 2], findings: &mut Findings) {
    if nodes + data == 0 {
        return;
    }
    let Some(summary) = newest(volume, segno, findings) else { return };
    let right = match summary.kind() {
        SummaryKind::Node => data == 0,
        SummaryKind::Data => nodes == 0,
        SummaryKind::Other(_) => false,
    };
    if !right {
        let right = Cure::Number(u64::from(data == 0));
        findings.add_with(Code::SsaKind, Object::Segment(segno), right, || {
            format!(
                "its summary is of {:?}, and it holds {nodes} nodes and {data} blocks of data",
                summary.kind()
            )
        });
    }
}
