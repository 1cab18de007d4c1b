//! `pumice ftl info`: describes a logical disk.

use pumice_ftl::{Info, Start};
use pumice_media::{Geometry, Nand};
use serde_json::json;

use crate::{
    context::Context,
    document,
    failure::Outcome,
    image::{Access, open_disk},
    options::Reader,
    output, text,
    verbs::LogicalDisk,
};

/// Show a logical disk: geometry, size, wear, free segments, write amplification
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: LogicalDisk,
    #[command(flatten)]
    reader: Reader,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        let disk = open_disk(&self.image.image, Access::Read, context)?;
        let (info, geometry) = (disk.info(), disk.chip().geometry());
        if self.reader.json { print_json(&info, &geometry) } else { print(&info, &geometry) }
    }
}

fn state(info: &Info) -> &'static str {
    match info.start {
        _ if info.worn_out => "worn out; can only be read",
        _ if info.missing.is_some() => "pages are missing; can only be read",
        Start::Checkpoint => "clean",
        Start::Recovered => "not closed; recovered in memory",
        Start::Headers => "no checkpoint; read from the headers of segments",
    }
}

fn print(info: &Info, geometry: &Geometry) -> Outcome {
    if !info.possibly_lost.is_empty() {
        let blocks: Vec<String> = info.possibly_lost.iter().map(u32::to_string).collect();
        crate::message::complain(&format!(
            "a power cut tore the newest page, or it is lost: blocks {} cannot be read until they are written, or until \
             `pumice ftl check -y` takes them back",
            blocks.join(", ")
        ));
    }
    let bytes = u64::from(info.logical_blocks) * u64::from(info.block_bytes);
    let stored = info.stored_blocks * u64::from(info.block_bytes);
    let (least, mean, most) = info.wear;
    let (counters, policies) = (&info.counters, &info.policies);
    let identity = if info.tag_in_spare { "tags in the spare area" } else { "tags in summaries" };
    let parity = match info.parity_pages {
        0 => String::new(),
        pages => format!(", and {} of parity", text::count(pages.into(), "page", "pages")),
    };
    output::lines([
        format!("logical disk: version {}", info.version),
        format!("uuid:         {}", uuid::Uuid::from_bytes(info.uuid)),
        format!("state:        {}, {} checkpoints", state(info), info.checkpoints),
        format!("size:         {} ({} stored)", text::size(bytes), text::size(stored)),
        format!("block:        {} bytes on {} chip pages, {identity}", info.block_bytes, info.gang_pages),
        format!("chip:         {}, {}", text::shape(geometry), text::size(geometry.capacity_bytes())),
        format!(
            "segments:     {} of {} blocks{parity}; {} free, {} bad, {} to be emptied soon",
            info.segments, info.segment_blocks, info.free_segments, info.bad_segments, info.weak_segments
        ),
        format!(
            "policies:     victim {}, placement {}, wear {}",
            policies.victim, policies.placement, policies.wear
        ),
        format!(
            "wear:         {least} to {most} erases a segment, mean {mean:.3}, deviation {:.3}",
            info.wear_stddev
        ),
        format!(
            "written:      {} blocks by users, {} copied, amplification {:.3}; {} trimmed",
            counters.user_writes,
            counters.copied,
            counters.waf(),
            counters.trimmed
        ),
        format!(
            "mended:       {} emptied, {} put right, {} brought back by parity, {} of the patrol",
            text::count(info.mended_segments.into(), "segment", "segments"),
            text::count(info.corrected_bits, "wrong bit", "wrong bits"),
            text::count(info.rebuilt_pages.into(), "page", "pages"),
            text::count(info.patrol_passes.into(), "pass", "passes"),
        ),
        format!("memory:       {} for the tables", text::size(info.table_bytes as u64)),
    ])
}

fn print_json(info: &Info, geometry: &Geometry) -> Outcome {
    let (least, mean, most) = info.wear;
    output::document(
        "ftl-info",
        json!({
            "format_version": info.version,
            "uuid": uuid::Uuid::from_bytes(info.uuid).to_string(),
            "start": match info.start {
                Start::Checkpoint => "checkpoint",
                Start::Recovered => "recovered",
                Start::Headers => "headers",
            },
            "worn_out": info.worn_out,
            "missing_pages": info.missing.map_or(0, |missing| missing.pages),
            "possibly_lost_blocks": info.possibly_lost,
            "checkpoints": info.checkpoints,
            "block_bytes": info.block_bytes,
            "logical_blocks": info.logical_blocks,
            "size_bytes": u64::from(info.logical_blocks) * u64::from(info.block_bytes),
            "stored_blocks": info.stored_blocks,
            "gang_pages": info.gang_pages,
            "tag_in_spare": info.tag_in_spare,
            "segments": info.segments,
            "segment_blocks": info.segment_blocks,
            "free_segments": info.free_segments,
            "bad_segments": info.bad_segments,
            "weak_segments": info.weak_segments,
            "mended_segments": info.mended_segments,
            "corrected_bits": info.corrected_bits,
            "rebuilt_pages": info.rebuilt_pages,
            "patrol_passes": info.patrol_passes,
            "parity_pages": info.parity_pages,
            "victim": info.policies.victim.to_string(),
            "placement": info.policies.placement.to_string(),
            "wear": info.policies.wear.to_string(),
            "wear_min_erases": least,
            "wear_mean_erases": mean,
            "wear_max_erases": most,
            "wear_stddev_erases": info.wear_stddev,
            "user_writes": info.counters.user_writes,
            "blocks_copied": info.counters.copied,
            "erasures": info.counters.erases,
            "blocks_trimmed": info.counters.trimmed,
            "waf": info.counters.waf(),
            "table_bytes": info.table_bytes,
            "chip": document::geometry(geometry),
        }),
    )
}
