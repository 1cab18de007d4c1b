//! `pumice dump`: prints raw structures.

use std::{ffi::OsString, os::unix::ffi::OsStrExt};

use pumice_f2fs::Volume;
use pumice_vfs::{Errno, FileKind};
use serde_json::Value;

use crate::{
    context::Context,
    f2fs,
    failure::{Failure, Outcome},
    image::only_f2fs,
    output, path, text,
    verbs::F2fsImage,
};

/// Show a structure as it is on the medium (F2FS)
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: F2fsImage,
    #[command(subcommand)]
    what: What,
    /// Print one JSON document
    #[arg(long, global = true)]
    json: bool,
}

#[derive(clap::Subcommand, Debug)]
enum What {
    /// The super block
    Sb,
    /// The checkpoint, with its log heads
    Cp,
    /// Entries of the node address table
    Nat {
        /// The first node
        first: u32,
        /// Number of entries
        #[arg(default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        count: u32,
    },
    /// Entries of the segment information table
    Sit {
        /// The first segment
        first: u32,
        /// Number of entries
        #[arg(default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        count: u32,
    },
    /// The summary of a segment
    Ssa {
        /// The segment
        segment: u32,
    },
    /// A node: an inode, or a block of addresses, node numbers or attributes
    Node {
        /// Number of the node
        node: u32,
    },
    /// The entries of a directory, slot by slot
    Dentry {
        /// The directory
        path: OsString,
    },
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        let fs = only_f2fs(&self.image.image, context)?;
        let volume = fs.volume();
        self.must_be_there(volume)?;
        let value = match &self.what {
            What::Sb => Ok(f2fs::super_block(volume)),
            What::Cp => f2fs::checkpoint(volume),
            What::Nat { first, count } => f2fs::nat(volume, *first, *count),
            What::Sit { first, count } => f2fs::sit(volume, *first, *count),
            What::Ssa { segment } => f2fs::ssa(volume, *segment),
            What::Node { node } => f2fs::node(fs.nodes(), *node),
            What::Dentry { path } => {
                let found = path::find_target(&fs, path)?;
                if found.kind != FileKind::Dir {
                    return Err(Failure::inside(path.as_bytes(), &Errno::NotDir.into()));
                }
                f2fs::dentries(&fs, found.ino)
            }
        };
        let failed =
            |error: pumice_f2fs::Error| Failure::new(format!("{}: {error}", self.image.image.display()));
        self.print(value.map_err(failed)?)
    }

    /// Refuses numbers that no node or segment has.
    fn must_be_there(&self, volume: &Volume) -> Outcome {
        let (what, numbers, first, count) = match self.what {
            What::Nat { first, count } => ("node", volume.super_block().nid_limit(), first, count),
            What::Node { node } => ("node", volume.super_block().nid_limit(), node, 1),
            What::Sit { first, count } => ("segment", volume.super_block().main_segments(), first, count),
            What::Ssa { segment } => ("segment", volume.super_block().main_segments(), segment, 1),
            What::Sb | What::Cp | What::Dentry { .. } => return Ok(()),
        };
        let least = u32::from(what == "node");
        let end = u64::from(first) + u64::from(count);
        if first >= least && end <= u64::from(numbers) {
            return Ok(());
        }
        let (wrong, image) = (if first < least { first.into() } else { end - 1 }, self.image.image.display());
        let most = numbers - 1;
        Err(Failure::new(format!("{image}: no {what} {wrong}: the volume has {what}s {least} to {most}")))
    }

    fn print(&self, value: Value) -> Outcome {
        if self.json { output::document("dump", value) } else { output::lines(text::tree(&value)) }
    }
}
