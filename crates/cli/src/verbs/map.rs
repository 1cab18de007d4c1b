//! `pumice map`: shows the extents of a file.

use std::{ffi::OsString, os::unix::ffi::OsStrExt};

use pumice_f2fs::{F2fs, Mapped};
use pumice_vfs::{Attr, FileKind, FsError};
use serde_json::{Value, json};

use crate::{
    context::Context,
    document,
    failure::{Failure, Outcome},
    image::only_f2fs,
    options::Reader,
    output::{self, Output},
    path, text,
    verbs::F2fsImage,
};

/// Show the extents of a file: which bytes are in which blocks (F2FS)
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: F2fsImage,
    /// A file or directory
    path: OsString,
    #[command(flatten)]
    reader: Reader,
}

/// Bytes of one sort, in blocks that follow each other.
struct Extent {
    offset: u64,
    length: u64,
    kind: &'static str,
    block: Option<u32>,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        let fs = only_f2fs(&self.image.image, context)?;
        let found = path::find(&fs, &self.path)?;
        let extents = extents(&fs, &found)
            .map_err(|error| Failure::inside(self.path.as_bytes(), &FsError::from(error)))?;
        if self.reader.json {
            return self.print_json(&found, &extents);
        }
        let mut output = Output::new();
        output.line(format!("{:>16} {:>14} {:>10}  kind", "offset", "length", "block"))?;
        for extent in &extents {
            let block = extent.block.map_or("-".into(), |block| block.to_string());
            output
                .line(format!("{:>16} {:>14} {block:>10}  {}", extent.offset, extent.length, extent.kind))?;
        }
        output.finish()
    }

    fn print_json(&self, found: &Attr, extents: &[Extent]) -> Outcome {
        let extents: Vec<Value> = extents
            .iter()
            .map(|extent| {
                json!({
                    "offset_bytes": extent.offset,
                    "length_bytes": extent.length,
                    "kind": extent.kind,
                    "block": extent.block,
                })
            })
            .collect();
        let mut map = serde_json::Map::new();
        document::put_bytes(&mut map, "path", self.path.as_bytes());
        map.insert("kind".into(), text::kind(found.kind).into());
        map.insert("size_bytes".into(), found.size.into());
        map.insert("extents".into(), extents.into());
        output::document("map", Value::Object(map))
    }
}

/// Rows of blocks in which a file stands.
pub(crate) fn rows(fs: &F2fs, found: &Attr) -> Result<u64, FsError> {
    let width = fs.volume().block_size().bytes_u64();
    let (mut rows, mut next) = (0, None);
    for extent in extents(fs, found)?.iter().filter(|extent| extent.kind == "data") {
        let Some(block) = extent.block.map(u64::from) else { continue };
        rows += u64::from(next != Some(block));
        next = Some(block + extent.length / width);
    }
    Ok(rows)
}

fn extents(fs: &F2fs, found: &Attr) -> pumice_f2fs::Result<Vec<Extent>> {
    let (inode, node) = fs.inode(found.ino)?;
    if inode.has_inline_data() || inode.has_inline_dentry() {
        return Ok(vec![Extent { offset: 0, length: inode.size, kind: "inline", block: Some(node.addr.0) }]);
    }
    if !matches!(inode.kind, FileKind::File | FileKind::Dir | FileKind::Symlink) {
        return Ok(Vec::new());
    }
    let width = fs.volume().block_size().bytes_u64();
    let end = inode.size.div_ceil(width);
    let mut extents: Vec<Extent> = Vec::new();
    let mut index = 0;
    while index < end {
        let run = fs.nodes().run_at(&inode, &node, index, end - index)?;
        let (kind, block) = match run.mapped {
            Mapped::Hole => ("hole", None),
            Mapped::Reserved => ("reserved", None),
            Mapped::Compressed => ("cluster", None),
            Mapped::At(addr) => ("data", Some(addr.0)),
        };
        let (offset, length) = (index * width, run.blocks * width);
        match extents.last_mut().filter(|last| joins(last, kind, block, width)) {
            Some(last) => last.length += length,
            None => extents.push(Extent { offset, length, kind, block }),
        }
        index += run.blocks;
    }
    Ok(extents)
}

/// True if blocks go on where an extent ends.
fn joins(last: &Extent, kind: &str, block: Option<u32>, width: u64) -> bool {
    let next = last.block.map(|block| u64::from(block) + last.length / width);
    last.kind == kind && kind != "cluster" && next == block.map(u64::from)
}
