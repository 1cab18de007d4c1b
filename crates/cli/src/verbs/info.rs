//! `pumice info`: describes a volume.

use pumice_f2fs::{CpFlags, Error, F2fs};
use pumice_media::{Geometry, Nand, Timing};
use pumice_nandfs::{Info, WearSpread};
use pumice_vfs::{FileSystem, SpaceInfo};
use serde_json::{Map, Value, json};

use crate::{
    context::Context,
    document, f2fs,
    failure::{Failure, Outcome},
    image::{Access, Volume, about, open_chip},
    on_chip::Mounted,
    options::Reader,
    output, text,
    verbs::Image,
};

/// Show the facts about an image: chip, file system, state
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Image,
    #[command(flatten)]
    reader: Reader,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        let volume = Volume::open(&self.image.image, Access::Read, context)?;
        match &volume {
            Volume::Nand { fs: Mounted::Nandfs(fs), path } => {
                let info = fs.info().map_err(|error| about(path, &error))?;
                let wear = fs.wear().map_err(|error| about(path, &error))?;
                let space = fs.space()?;
                volume.close()?;
                self.nandfs(&info, wear, &space, context)
            }
            Volume::Nand { fs: Mounted::ScaleFfs(fs), .. } => {
                let (info, space) = (scaleffs(&fs.info()), fs.space()?);
                volume.close()?;
                self.paper(info, &space, context)
            }
            Volume::Nand { fs: Mounted::Cffs(fs), .. } => {
                let (info, space) = (cffs(&fs.info()), fs.space()?);
                volume.close()?;
                self.paper(info, &space, context)
            }
            Volume::Nand { fs: Mounted::Rcffs(fs), .. } => {
                let (info, space) = (rcffs(&fs.info()), fs.space()?);
                volume.close()?;
                self.paper(info, &space, context)
            }
            Volume::F2fs { fs, path } => {
                let failed = |error: Error| Failure::new(format!("{}: {error}", path.display()));
                self.f2fs(fs).map_err(failed)?
            }
            // A volume that is read is opened as one.
            Volume::Disk { path, .. } | Volume::WritableF2fs { path, .. } => {
                Err(Failure::new(format!("{}: a logical disk; see `pumice ftl info`", path.display())))
            }
        }
    }

    fn f2fs(&self, fs: &F2fs) -> Result<Outcome, Error> {
        let (sb, space) = (f2fs::super_block(fs.volume()), fs.usage());
        let mut map = Map::new();
        map.insert("file_system".into(), "f2fs".into());
        if let Value::Object(sb) = sb {
            map.extend(sb);
        }
        map.insert("clean".into(), fs.volume().checkpoint().flags().has(CpFlags::UMOUNT).into());
        let recovered = fs.recovery();
        map.insert("recovered_inodes".into(), recovered.inodes.into());
        map.insert("recovered_names".into(), recovered.names.into());
        map.insert("total_bytes".into(), space.total_bytes.into());
        map.insert("free_bytes".into(), space.free_bytes.into());
        map.insert("checkpoint".into(), f2fs::checkpoint(fs.volume())?);
        let value = Value::Object(map);
        Ok(if self.reader.json { output::document("info", value) } else { output::lines(text::tree(&value)) })
    }

    /// A paper's file system: its own facts, its size, its chip.
    fn paper(&self, mut map: Map<String, Value>, space: &SpaceInfo, context: &Context) -> Outcome {
        let chip = open_chip(&self.image.image, Access::Read, context)?;
        map.insert("total_bytes".into(), space.total_bytes.into());
        map.insert("free_bytes".into(), space.free_bytes.into());
        map.insert("chip".into(), document::geometry(&chip.geometry()));
        map.insert("timing".into(), document::timing(&chip.timing()));
        let value = Value::Object(map);
        if self.reader.json { output::document("info", value) } else { output::lines(text::tree(&value)) }
    }

    fn nandfs(&self, info: &Info, wear: WearSpread, space: &SpaceInfo, context: &Context) -> Outcome {
        let chip = open_chip(&self.image.image, Access::Read, context)?;
        let hardware = (chip.geometry(), chip.timing());
        if self.reader.json {
            output::document("info", nandfs_document(info, wear, space, &hardware))
        } else {
            output::lines(nandfs_lines(info, wear, space, &hardware.0))
        }
    }
}

fn nandfs_document(
    info: &Info,
    wear: WearSpread,
    space: &SpaceInfo,
    (geometry, timing): &(Geometry, Timing),
) -> Value {
    json!({
        "file_system": "nandfs",
        "format_version": info.version,
        "label": info.label,
        "uuid": uuid::Uuid::from_bytes(info.uuid).to_string(),
        "clean": info.clean,
        "checkpoints": info.checkpoints,
        "victim": info.policies.victim.to_string(),
        "placement": info.policies.placement.to_string(),
        "wear": info.policies.wear.to_string(),
        "compression": info.compression.map(|method| method.to_string()),
        "block_bytes": info.block_bytes,
        "node_bytes": info.node_bytes,
        "gang_pages": info.gang_pages,
        "tag_in_spare": info.tag_in_spare,
        "good_blocks": info.good_blocks,
        "free_blocks": info.free_blocks,
        "bad_blocks": info.bad_blocks,
        "worn_out": info.worn_out,
        "erases": { "least": wear.least, "most": wear.most, "mean": wear.mean },
        "mended_blocks": info.mended_blocks,
        "parity_pages": info.parity_pages,
        "fsync_protection": info.fsync_protection.to_string(),
        "rebuilt_pages": info.rebuilt_pages,
        "corrected_bits": info.corrected_bits,
        "patrol_passes": info.patrol_passes,
        "patrol_page": info.patrol_page,
        "patrol_pages": info.patrol_all,
        "inodes": info.inodes,
        "total_bytes": space.total_bytes,
        "free_bytes": space.free_bytes,
        "fixed_memory_bytes": info.fixed_memory_bytes,
        "chip": document::geometry(geometry),
        "timing": document::timing(timing),
    })
}

fn nandfs_lines(
    info: &Info,
    wear: WearSpread,
    space: &SpaceInfo,
    geometry: &Geometry,
) -> impl Iterator<Item = String> {
    let label = if info.label.is_empty() { "(none)".into() } else { text::name(info.label.as_bytes()) };
    let state = match (info.worn_out, info.clean) {
        (true, _) => "worn out, can only be read",
        (false, true) => "clean",
        (false, false) => "not unmounted; recovered in memory",
    };
    let tag = if info.tag_in_spare { "spare area" } else { "page" };
    let parity = (info.parity_pages > 0).then(|| {
        let kept = text::count(info.parity_pages.into(), "page", "pages");
        let rebuilt = text::count(info.rebuilt_pages.into(), "page", "pages");
        let from = info.fsync_protection;
        format!("parity:      {kept} of each erase block, fsync {from}; {rebuilt} brought back")
    });
    let compression = info.compression.map(|method| format!("compression: {method}"));
    let lines = [
        format!("file system: nandfs version {}", info.version),
        format!("label:       {label}"),
        format!("uuid:        {}", uuid::Uuid::from_bytes(info.uuid)),
        format!("state:       {state}, {} checkpoints", info.checkpoints),
        format!("size:        {} ({} free)", text::size(space.total_bytes), text::size(space.free_bytes)),
        format!("inodes:      {}", info.inodes),
        format!(
            "block:       {} bytes, nodes to {} bytes, tag in the {tag}",
            info.block_bytes, info.node_bytes
        ),
        format!(
            "policies:    victim {}, placement {}, wear {}",
            info.policies.victim, info.policies.placement, info.policies.wear
        ),
        format!("chip:        {}, {}", text::shape(geometry), text::size(geometry.capacity_bytes())),
        format!(
            "erase blocks: {} good, {} free, {} bad",
            info.good_blocks, info.free_blocks, info.bad_blocks
        ),
        format!("erases:      {} to {} a block, {} on average", wear.least, wear.most, wear.mean),
        format!(
            "mended:      {} moved, {} put right, {} of the patrol",
            text::count(info.mended_blocks.into(), "erase block", "erase blocks"),
            text::count(info.corrected_bits, "wrong bit", "wrong bits"),
            text::count(info.patrol_passes.into(), "pass", "passes"),
        ),
        format!("memory:      {} besides the cache", text::size(info.fixed_memory_bytes as u64)),
    ];
    lines.into_iter().chain(parity).chain(compression)
}

/// The facts common to every paper's file system, before its own.
fn identity(name: &str, version: u32, label: &str, uuid: [u8; 16], recovered: bool) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("file_system".into(), name.into());
    map.insert("format_version".into(), version.into());
    map.insert("label".into(), label.into());
    map.insert("uuid".into(), uuid::Uuid::from_bytes(uuid).to_string().into());
    map.insert("clean".into(), (!recovered).into());
    map
}

fn scaleffs(info: &pumice_scaleffs::Info) -> Map<String, Value> {
    let version = pumice_scaleffs::FORMAT_VERSION;
    let mut map = identity("scaleffs", version, &info.label, info.uuid, info.recovered);
    let [good, free, bad] = info.erase_blocks;
    map.insert("block_bytes".into(), pumice_scaleffs::BLOCK_BYTES.into());
    map.insert("good_blocks".into(), good.into());
    map.insert("free_blocks".into(), free.into());
    map.insert("bad_blocks".into(), bad.into());
    map.insert("checkpoint_blocks".into(), info.checkpoint_blocks.into());
    map.insert(
        "live_bytes".into(),
        (u64::from(info.live_blocks) * pumice_scaleffs::BLOCK_BYTES as u64).into(),
    );
    map.insert("inodes".into(), info.inodes.into());
    map
}

fn cffs(info: &pumice_cffs::Info) -> Map<String, Value> {
    let version = pumice_cffs::FORMAT_VERSION;
    let mut map = identity("cffs", version, &info.label, info.uuid, info.recovered);
    let [inodes, data, free, bad] = info.erase_blocks;
    map.insert("inode_blocks".into(), inodes.into());
    map.insert("data_blocks".into(), data.into());
    map.insert("free_blocks".into(), free.into());
    map.insert("bad_blocks".into(), bad.into());
    map.insert("live_pages".into(), info.live_pages.into());
    map.insert("inodes".into(), info.inodes.into());
    map
}

fn rcffs(info: &pumice_rcffs::Info) -> Map<String, Value> {
    let version = pumice_rcffs::FORMAT_VERSION;
    let mut map = identity("rcffs", version, &info.label, info.uuid, info.recovered);
    let ([blocks, parity_blocks, parity_pages], [free, used, bad]) = (info.shape, info.segments);
    map.insert("segment_blocks".into(), blocks.into());
    map.insert("parity_blocks".into(), parity_blocks.into());
    map.insert("parity_pages".into(), parity_pages.into());
    map.insert("free_segments".into(), free.into());
    map.insert("used_segments".into(), used.into());
    map.insert("bad_segments".into(), bad.into());
    map.insert("live_bytes".into(), info.live_bytes.into());
    map.insert("inodes".into(), info.inodes.into());
    map
}
