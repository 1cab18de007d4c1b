//! `pumice info`: what a volume tells about itself.

use serde_json::json;

use crate::{
    args::Reader,
    context::Context,
    document,
    failure::Outcome,
    image::{Access, Volume, open_chip},
    output, text,
    verbs::Image,
};

/// Show what an image is: chip, file system, state
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Image,
    #[command(flatten)]
    reader: Reader,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        use pumice_media::Nand;
        let chip = open_chip(&self.image.image, Access::Read, context)?;
        let (geometry, timing) = (chip.geometry(), chip.timing());
        drop(chip);
        let volume = Volume::open(&self.image.image, Access::Read, context)?;
        let (info, space) = (volume.info()?, volume.fs().space()?);
        volume.close()?;
        let uuid = uuid::Uuid::from_bytes(info.uuid).to_string();
        if self.reader.json {
            return output::document(
                "info",
                json!({
                    "file_system": "nandfs",
                    "format_version": info.version,
                    "label": info.label,
                    "uuid": uuid,
                    "clean": info.clean,
                    "checkpoints": info.checkpoints,
                    "block_bytes": info.block_bytes,
                    "node_bytes": info.node_bytes,
                    "gang_pages": info.gang_pages,
                    "tag_in_spare": info.tag_in_spare,
                    "good_blocks": info.good_blocks,
                    "free_blocks": info.free_blocks,
                    "bad_blocks": info.bad_blocks,
                    "inodes": info.inodes,
                    "total_bytes": space.total_bytes,
                    "free_bytes": space.free_bytes,
                    "fixed_memory_bytes": info.fixed_memory_bytes,
                    "chip": document::geometry(&geometry),
                    "timing": document::timing(&timing),
                }),
            );
        }
        let label = if info.label.is_empty() { "(none)" } else { &info.label };
        let state = if info.clean { "clean" } else { "not unmounted; recovered in memory" };
        let tag = if info.tag_in_spare { "spare area" } else { "page" };
        output::lines([
            format!("file system: nandfs version {}", info.version),
            format!("label:       {label}"),
            format!("uuid:        {uuid}"),
            format!("state:       {state}, {} checkpoints", info.checkpoints),
            format!("size:        {} ({} free)", text::size(space.total_bytes), text::size(space.free_bytes)),
            format!("inodes:      {}", info.inodes),
            format!(
                "block:       {} bytes, nodes to {} bytes, tag in the {tag}",
                info.block_bytes, info.node_bytes
            ),
            format!(
                "chip:        {}, {}",
                super::chips::shape(&geometry),
                text::size(geometry.capacity_bytes())
            ),
            format!(
                "erase blocks: {} good, {} free, {} bad",
                info.good_blocks, info.free_blocks, info.bad_blocks
            ),
            format!("memory:      {} besides the cache", text::size(info.fixed_memory_bytes as u64)),
        ])
    }
}
