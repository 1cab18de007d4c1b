//! `pumice whois`: shows the owner of a block.

use pumice_f2fs::{Area, BlockAddr, Owner};
use serde_json::{Map, Value};

use crate::{
    context::Context,
    document,
    failure::{Failure, Outcome},
    image::only_f2fs,
    options::Reader,
    output, text,
    verbs::F2fsImage,
};

/// Show the owner of a block, and whether it is live (F2FS)
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: F2fsImage,
    /// A block, counted from the start of the volume
    block: u32,
    #[command(flatten)]
    reader: Reader,
}

const KINDS: [&str; 6] = ["hot data", "warm data", "cold data", "hot nodes", "warm nodes", "cold nodes"];

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        let fs = only_f2fs(&self.image.image, context)?;
        let volume = fs.volume();
        let addr = BlockAddr(self.block);
        let failed =
            |error: pumice_f2fs::Error| Failure::new(format!("{}: {error}", self.image.image.display()));
        let owner = fs.nodes().owner(addr).map_err(failed)?;
        let mut map = Map::new();
        map.insert("block".into(), self.block.into());
        area(volume.area(addr), &mut map);
        if let Some(owner) = &owner {
            describe(owner, &mut map);
        }
        if self.reader.json {
            return output::document("whois", Value::Object(map));
        }
        output::lines(text::tree(&Value::Object(map)))
    }
}

fn area(area: Area, map: &mut Map<String, Value>) {
    let mut put = |name: &str, value: Value| map.insert(name.into(), value);
    match area {
        Area::Super => put("area", "super block".into()),
        Area::Checkpoint(pack) => {
            put("area", "checkpoint".into());
            put("pack", pack.into())
        }
        Area::Sit { index, current } => {
            put("area", "segment information table".into());
            put("table_block", index.into());
            put("live", current.into())
        }
        Area::Nat { index, current } => {
            put("area", "node address table".into());
            put("table_block", index.into());
            put("live", current.into())
        }
        Area::Ssa(segno) => {
            put("area", "segment summary area".into());
            put("segment", segno.0.into())
        }
        Area::Main => put("area", "main".into()),
        Area::Outside => put("area", "behind the volume".into()),
    };
}

fn describe(owner: &Owner, map: &mut Map<String, Value>) {
    map.insert("segment".into(), owner.segno.0.into());
    map.insert("segment_block".into(), owner.offset.into());
    let kind = KINDS.get(usize::from(owner.sit.kind)).copied().unwrap_or("unknown");
    map.insert("segment_kind".into(), kind.into());
    map.insert("valid".into(), owner.sit.is_valid(owner.offset).into());
    map.insert("live".into(), owner.live.into());
    map.insert("summary_node".into(), owner.summary.nid.0.into());
    map.insert("summary_slot".into(), owner.summary.offset.into());
    if let Some(ino) = owner.ino {
        map.insert("inode".into(), ino.0.into());
    }
    if let Some(offset) = owner.file_offset {
        map.insert("offset_bytes".into(), offset.into());
    }
    if let Some(offset) = owner.node_offset {
        map.insert("node_offset".into(), offset.0.into());
    }
    if let Some(path) = &owner.path {
        document::put_bytes(map, "path", path);
    }
}
