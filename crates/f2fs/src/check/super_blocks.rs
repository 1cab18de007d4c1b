//! The super blocks: both valid, the same, and within Linux's limits, which are stricter than reading needs.

use pumice_media::ReadAt;
use zerocopy::IntoBytes;

use super::{
    codes::Code,
    findings::{Findings, Object},
};
use crate::{
    error::Result,
    layout::{Features, RawSuperBlock, SuperBlock},
    volume::read_super_blocks,
};

/// The least segments of a volume: one for each copy of an area with two, one of summaries, one of the main area, and
/// the segment in front of them.
const SEGMENTS_MIN: u32 = 9;
/// File name extensions that the super block has room for.
const EXTENSIONS: u32 = 64;

/// Place of orderly shutdowns among the reasons to stop, which are no trouble: Android halts so.
const SHUTDOWN: usize = 0;
/// Reasons to stop, in the order of their counters.
const STOP_REASONS: [&str; 10] = [
    "shutdown",
    "injected fault",
    "unreadable metadata",
    "failed write",
    "damaged summary",
    "failed update of an inode",
    "failed flush",
    "no free segment",
    "damaged bitmap of free segments",
    "damaged list of free nodes",
];
/// Kinds of damage, in the order of their bits.
const DAMAGES: [&str; 17] = [
    "compressed cluster",
    "decompression",
    "block address",
    "directory entry",
    "inode",
    "summary",
    "node footer",
    "type of a summary",
    "journal",
    "count of nodes",
    "count of blocks",
    "current segment",
    "SIT",
    "verity attribute",
    "extended attribute",
    "reference to a node",
    "NAT",
];

/// Checks both.
pub(super) fn check(disk: &dyn ReadAt, findings: &mut Findings) {
    let copies = read_super_blocks(disk);
    for (number, code, copy) in [(1, Code::SuperBlock, &copies[0]), (2, Code::SuperBlockCopy, &copies[1])] {
        check_copy(number, code, copy, findings);
    }
    // Both copies say the same, or differ, which is a finding of its own.
    let mut sound =
        [1, 2].into_iter().zip(&copies).filter_map(|(number, copy)| Some((number, copy.as_ref().ok()?)));
    if let Some((number, sb)) = sound.next() {
        check_notes(number, sb, findings);
    }
    if let [Ok(first), Ok(second)] = &copies
        && first.raw().as_bytes() != second.raw().as_bytes()
    {
        findings.add(Code::SuperBlockCopy, Object::SuperBlock(2), || "it differs from the first".to_owned());
    }
}

fn check_copy(number: u8, code: Code, copy: &Result<SuperBlock>, findings: &mut Findings) {
    let object = Object::SuperBlock(number);
    let sb = match copy {
        Ok(sb) => sb,
        Err(error) => return findings.add(code, object, || error.to_string()),
    };
    if let Some(wrong) = refused(sb.raw()) {
        findings.add(code, object, || wrong);
    }
    if let Some(feature) = lonely_feature(sb.features()) {
        findings.add(code, object, || format!("the feature {feature} needs extra_attr, which is not on"));
    }
}

/// Findings for what kernels noted: reasons to stop, other than an orderly shutdown, and damage.
fn check_notes(number: u8, sb: &SuperBlock, findings: &mut Findings) {
    let raw = sb.raw();
    let stopped = |(at, count): (usize, &u8)| {
        let name = STOP_REASONS.get(at).map_or_else(|| format!("reason {at}"), |name| (*name).to_owned());
        (at != SHUTDOWN && *count != 0).then(|| format!("{name} ({count} times)"))
    };
    let met = |(byte, bit): (usize, usize)| {
        let kind = 8 * byte + bit;
        DAMAGES.get(kind).map_or_else(|| format!("kind {kind}"), |name| (*name).to_owned())
    };
    let bits =
        raw.s_errors.iter().enumerate().flat_map(|(byte, bits)| {
            (0..8).filter(move |bit| bits >> bit & 1 != 0).map(move |bit| (byte, bit))
        });
    let stops: Vec<String> = raw.s_stop_reason.iter().enumerate().filter_map(stopped).collect();
    let damages: Vec<String> = bits.map(met).collect();
    for (what, notes) in [("writing stopped", stops), ("damage was met", damages)] {
        if !notes.is_empty() {
            let object = Object::SuperBlock(number);
            findings.add(Code::SuperBlockErrors, object, || format!("{what}: {}", notes.join(", ")));
        }
    }
}

/// True if Linux does not mount a volume with this super block.
pub(crate) fn is_refused(sb: &SuperBlock) -> bool {
    refused(sb.raw()).is_some() || lonely_feature(sb.features()).is_some()
}

/// Numbers that keep Linux from mounting, in its order.
fn refused(raw: &RawSuperBlock) -> Option<String> {
    let segments = raw.segment_count.get();
    let (main, sections, width) =
        (raw.segment_count_main.get(), raw.section_count.get(), raw.segs_per_sec.get());
    let (zone, blocks) = (raw.secs_per_zone.get(), raw.block_count.get());
    let (cold, hot) = (raw.extension_count.get(), u32::from(raw.hot_ext_count));
    let named = || raw.devs.iter().take_while(|device| device.path.first() != Some(&0));
    let on_devices: u64 = named().map(|device| u64::from(device.total_segments.get())).sum();
    if segments < SEGMENTS_MIN {
        Some(format!("it counts {segments} segments, and {SEGMENTS_MIN} are the least"))
    } else if u64::from(sections) * u64::from(width) != u64::from(main) {
        Some(format!("{sections} sections of {width} segments are not the {main} of the main area"))
    } else if u64::from(segments) > blocks >> 9 {
        Some(format!("{segments} segments do not fit into {blocks} blocks"))
    } else if named().count() > 0 && on_devices != u64::from(segments) {
        Some(format!("it counts {segments} segments, and its devices have {on_devices}"))
    } else if zone > sections {
        Some(format!("a zone has {zone} sections, and there are {sections}"))
    } else if cold.saturating_add(hot) > EXTENSIONS {
        Some(format!("{cold} and {hot} extensions are more than {EXTENSIONS}"))
    } else if (raw.main_blkaddr.get() - raw.segment0_blkaddr.get()) / 512 + main < segments {
        Some(format!("it counts {segments} segments, and the main area ends before"))
    } else {
        None
    }
}

/// A feature with fields that inodes have no room for.
fn lonely_feature(features: Features) -> Option<&'static str> {
    if features.has(Features::EXTRA_ATTR) {
        return None;
    }
    [
        (Features::PROJECT_QUOTA, "project_quota"),
        (Features::INODE_CHECKSUM, "inode_checksum"),
        (Features::FLEXIBLE_INLINE_XATTR, "flexible_inline_xattr"),
        (Features::INODE_CRTIME, "inode_crtime"),
        (Features::COMPRESSION, "compression"),
    ]
    .into_iter()
    .find(|(feature, _)| features.has(*feature))
    .map(|(_, name)| name)
}
