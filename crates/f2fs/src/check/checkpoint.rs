//! The checkpoint: that none was passed over, and that its numbers keep Linux's limits, which are stricter than reading
//! needs.

use super::{
    codes::Code,
    findings::{Findings, Object},
};
use crate::{
    layout::{CHECKPOINT_HEAD_BYTES, CpFlags, Features, RawCheckpoint, SegNo},
    volume::Volume,
};

/// Segments of metadata that a volume has at least, with those in reserve.
const METADATA_SEGMENTS_MIN: u64 = 8;
/// Node numbers that no file can have: 0, and the two inodes that exist only in memory.
const RESERVED_NIDS: u32 = 3;
/// Head and foot of a pack, and its six summaries.
const PACK_BLOCKS: u32 = 2;
const SUMMARIES: u32 = 6;

/// Checks the checkpoint that counts.
pub(super) fn check(volume: &Volume, findings: &mut Findings) {
    if let Some(passed) = volume.passed_over() {
        findings.add(Code::CheckpointPassedOver, Object::Checkpoint(passed.pack), || {
            let used = volume.checkpoint().version();
            format!("version {} cannot be used ({}), and version {used} counts", passed.version, passed.why)
        });
    }
    let object = Object::Checkpoint(volume.checkpoint().pack());
    for wrong in [spaces(volume), counts(volume), parts(volume)].into_iter().flatten() {
        findings.add(Code::CheckpointNumbers, object, || wrong);
    }
    check_logs(volume, findings);
}

/// Room: metadata, the reserve, and the users' share.
fn spaces(volume: &Volume) -> Option<String> {
    let (sb, cp) = (volume.super_block().raw(), volume.checkpoint().raw());
    let read_only = volume.features().has(Features::RO);
    let (reserve, extra) = (cp.rsvd_segment_count.get(), cp.overprov_segment_count.get());
    let segments = [sb.segment_count_ckpt, sb.segment_count_sit, sb.segment_count_nat, sb.segment_count_ssa];
    let metadata = u64::from(reserve) + segments.iter().map(|count| u64::from(count.get())).sum::<u64>();
    let total = u64::from(sb.segment_count.get());
    if metadata >= total {
        return Some(format!("metadata and reserve are {metadata} of {total} segments"));
    }
    if !read_only && (metadata < METADATA_SEGMENTS_MIN || reserve == 0 || extra == 0) {
        return Some(format!(
            "metadata and reserve are {metadata} segments, {reserve} of them in reserve, and {extra} overprovisioned"
        ));
    }
    let user = cp.user_block_count.get();
    let main = u64::from(sb.segment_count_main.get()) + u64::from(read_only);
    let room = main * u64::from(volume.super_block().blocks_per_segment());
    (user == 0 || user >= room).then(|| format!("users have {user} blocks of {room}"))
}

/// Counts of blocks and nodes in use.
fn counts(volume: &Volume) -> Option<String> {
    let cp = volume.checkpoint().raw();
    let (valid, user) = (cp.valid_block_count.get(), cp.user_block_count.get());
    if valid > user {
        return Some(format!("{valid} blocks are valid, and users have {user}"));
    }
    let (nodes, room) =
        (cp.valid_node_count.get(), volume.super_block().nid_limit().saturating_sub(RESERVED_NIDS));
    (nodes > room).then(|| format!("{nodes} nodes are valid, and the NAT has room for {room}"))
}

/// The places of the parts of the pack.
fn parts(volume: &Volume) -> Option<String> {
    let (sb, cp) = (volume.super_block(), volume.checkpoint());
    let per_segment = sb.blocks_per_segment();
    let payload = sb.raw().cp_payload.get();
    let start = cp.raw().cp_pack_start_sum.get();
    if start > per_segment - 1 - SUMMARIES {
        return Some(format!("summaries begin at block {start} of {per_segment}"));
    }
    let at = cp.raw().checksum_offset.get();
    if cp.flags().has(CpFlags::LARGE_NAT_BITMAP) && at as usize != CHECKPOINT_HEAD_BYTES {
        return Some(format!("its checksum stands at byte {at}, in the bitmap that a large NAT has there"));
    }
    // Linux leaves room for twice as many as there are.
    let bits = (volume.nat_blocks() as usize / 2 + 8).div_ceil(volume.block_size().width());
    let bits = u32::try_from(bits).unwrap_or(u32::MAX);
    let needed = payload.saturating_add(PACK_BLOCKS + SUMMARIES).saturating_add(bits);
    (cp.flags().has(CpFlags::NAT_BITS) && needed >= per_segment)
        .then(|| format!("{payload} blocks of payload leave no room for the NAT bits"))
}

/// Each log has a segment of its own, and a block of it.
fn check_logs(volume: &Volume, findings: &mut Findings) {
    let raw: &RawCheckpoint = volume.checkpoint().raw();
    let (segments, per_segment) =
        (volume.super_block().main_segments(), volume.super_block().blocks_per_segment());
    for (log, head) in volume.log_heads().iter().enumerate() {
        if head.segno == SegNo::NULL && volume.features().has(Features::RO) {
            continue;
        }
        if head.segno.0 >= segments {
            findings.add(Code::LogSegment, Object::Log(log), || {
                format!("it goes on in segment {}, and the main area has {segments}", head.segno)
            });
        }
        if u32::from(head.offset) >= per_segment {
            findings.add(Code::LogNextBlock, Object::Log(log), || {
                format!("it goes on at block {} of a segment of {per_segment}", head.offset)
            });
        }
        let kind = raw.alloc_type.get(log).copied().unwrap_or_default();
        if kind > 1 {
            findings.add(Code::LogAllocation, Object::Log(log), || {
                format!("it goes on in way {kind}, which is neither appending (0) nor filling holes (1)")
            });
        }
    }
}
