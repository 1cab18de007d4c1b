//! The checkpoint's flags and counts and the six logs, by themselves and against the counts of the check.

use super::{
    codes::Code,
    findings::{Cure, Findings, Object},
    nat::NodeTable,
};
use crate::{
    layout::{CpFlags, Features, SitEntry, SummaryBlock, SummaryKind},
    volume::Volume,
};

/// Logs of data; as many of nodes follow.
const DATA_LOGS: usize = 3;

/// Flags that the kernel sets when it meets damage.
pub(super) fn check_flags(volume: &Volume, findings: &mut Findings) {
    let checkpoint = volume.checkpoint();
    for (flag, what) in [
        (CpFlags::ERROR, "the kernel met an error"),
        (CpFlags::FSCK, "the kernel asks for a check"),
        (CpFlags::QUOTA_NEED_FSCK, "the kernel says that quota is stale"),
        (CpFlags::RESIZEFS, "a resize did not end"),
    ] {
        if checkpoint.flags().has(flag) {
            findings.add(Code::CheckpointFlag, Object::Checkpoint(checkpoint.pack()), || what.to_owned());
        }
    }
}

/// The logs write to six segments of their kind, at blocks that are free.
pub(super) fn check_logs(volume: &Volume, findings: &mut Findings) {
    let heads = volume.log_heads();
    for (log, head) in heads.iter().enumerate() {
        // Numbers out of range were told with the checkpoint.
        let per_segment = volume.super_block().blocks_per_segment();
        if head.segno.0 >= volume.super_block().main_segments() || u32::from(head.offset) >= per_segment {
            continue;
        }
        let twice = heads.iter().take(log).any(|other| other.segno == head.segno);
        if twice {
            findings.add(Code::LogSegment, Object::Log(log), || {
                format!("segment {} is that of another log, too", head.segno)
            });
        }
        let entry = match volume.sit_entry(head.segno) {
            Ok(entry) => entry,
            Err(error) => {
                findings.add(Code::LogSegment, Object::Log(log), || error.to_string());
                continue;
            }
        };
        check_kinds(volume, log, twice, &entry, findings);
        let next = u32::from(head.offset);
        let end = if volume.checkpoint().reuses_holes(log) { next + 1 } else { per_segment };
        if let Some(used) = (next..end).find(|offset| entry.is_valid(*offset)) {
            findings.add(Code::LogNextBlock, Object::Log(log), || {
                format!("it goes on at block {next} of segment {}, and block {used} is valid", head.segno)
            });
        }
    }
}

/// The segment of a log is of its kind, in the SIT and in its summary.
fn check_kinds(volume: &Volume, log: usize, twice: bool, entry: &SitEntry, findings: &mut Findings) {
    let Some(head) = volume.log_heads().get(log).filter(|_| !twice) else { return };
    if usize::from(entry.kind) != log {
        findings.add(Code::LogSegmentKind, Object::Log(log), || {
            format!("segment {} has kind {}, want {log}", head.segno, entry.kind)
        });
    }
    // Without a summary in the pack there is none that is up to date.
    let Some(kind) = head.summary.as_ref().map(SummaryBlock::kind) else { return };
    let wanted = if log < DATA_LOGS { SummaryKind::Data } else { SummaryKind::Node };
    if kind != wanted && !volume.features().has(Features::RO) {
        findings.add(Code::SsaKind, Object::Segment(head.segno), || {
            format!("its summary is of {kind:?}, and the {} writes {wanted:?} there", Object::Log(log))
        });
    }
}

/// The counts of the whole volume.
pub(super) struct Counted {
    pub(super) blocks: u64,
    pub(super) nodes: u64,
    pub(super) inodes: u64,
    pub(super) free_segments: u64,
}

/// The checkpoint's numbers are those that were counted.
pub(super) fn check_numbers(volume: &Volume, counted: &Counted, findings: &mut Findings) {
    let raw = volume.checkpoint().raw();
    let object = Object::Checkpoint(volume.checkpoint().pack());
    for (code, what, stored, counted) in [
        (Code::CheckpointValidBlocks, "valid blocks", raw.valid_block_count.get(), counted.blocks),
        (Code::CheckpointValidNodes, "nodes", raw.valid_node_count.get().into(), counted.nodes),
        (Code::CheckpointValidInodes, "inodes", raw.valid_inode_count.get().into(), counted.inodes),
        (
            Code::CheckpointFreeSegments,
            "free segments",
            raw.free_segment_count.get().into(),
            counted.free_segments,
        ),
    ] {
        if stored != counted {
            findings.add_with(code, object, Cure::Number(counted), || {
                format!("it counts {stored} {what}, and there are {counted}")
            });
        }
    }
}

/// The NAT bits, where the checkpoint has valid ones: for each block of the NAT whether it is full or empty.
pub(super) fn check_nat_bits(volume: &Volume, table: &NodeTable, findings: &mut Findings) {
    let Ok(Some(bytes)) = volume.nat_bits() else { return };
    let Some((version, bits)) = bytes.split_first_chunk::<8>() else { return };
    // Bits of an older checkpoint are not used.
    if u64::from_le_bytes(*version) != volume.checkpoint().footer_version() {
        return;
    }
    let (full, empty) = bits.split_at(bits.len() / 2);
    let is_set = |bits: &[u8], index: u32| {
        bits.get((index / 8) as usize).is_some_and(|byte| byte & (1 << (index % 8)) != 0)
    };
    let per_block = volume.block_size().nat_entries();
    let mut used = table.used_in_block.iter().peekable();
    for index in 0..volume.nat_blocks() {
        let count = used.next_if(|(block, _)| *block == index).map_or(0, |(_, count)| *count);
        // Number 0 counts as used.
        let count = count + u32::from(index == 0);
        let wanted = (count >= per_block, count == 0);
        let found = (is_set(full, index), is_set(empty, index));
        if found != wanted {
            let addr = volume.nat_addr(index);
            findings.add(Code::NatBits, Object::Block(addr), || {
                format!("block {index} of the NAT has {count} of {per_block} numbers in use; full, empty are {found:?}")
            });
        }
    }
}
