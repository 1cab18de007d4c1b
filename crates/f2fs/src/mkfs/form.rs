//! The form in which the content of a file is to be kept.

use super::{FormatOptions, compression::Compression, extensions::Extensions, tree::Attributes};
use crate::{
    layout::{Inode, Nid},
    verity::Seal,
    write::warmth::Warmth,
};
use pumice_vfs::FileKind;

/// The form in which the content of a file is kept.
#[derive(Clone, Copy)]
pub(super) enum Form<'a> {
    /// Inside its inode.
    Inline,
    /// Plain blocks.
    Blocks,
    /// Clusters, each compressed if that saves something.
    Clusters(&'a Compression),
}

/// Decides for each file.
pub(super) struct Forms<'a> {
    options: &'a FormatOptions,
    extensions: &'a Extensions,
    inline_bytes: u64,
}

impl<'a> Forms<'a> {
    pub(super) fn new(options: &'a FormatOptions, extensions: &'a Extensions) -> Forms<'a> {
        let (block, features) = (options.shape.block, options.shape.features);
        let file = Inode::fresh(Nid::NULL, FileKind::File, 0, block, features);
        Forms { options, extensions, inline_bytes: file.inline_range().len() as u64 }
    }

    /// The form of a file that is not empty.
    pub(super) fn of(&self, name: &[u8], what: &Attributes) -> Form<'a> {
        if what.size <= self.inline_bytes && !what.is_sealed {
            return Form::Inline;
        }
        // Linux takes the holes of compressed files for block 0 where it only reads.
        if what.sparse && self.options.shape.is_read_only() {
            return Form::Blocks;
        }
        let blocks = what.size.div_ceil(self.block_bytes());
        let wants = |compression: &&Compression| {
            blocks >= u64::from(compression.rule.cluster_blocks())
                && compression.rule.wants(name)
                && self.extensions.warmth(name) != Warmth::Hot
        };
        self.options.compression.as_ref().filter(wants).map_or(Form::Blocks, Form::Clusters)
    }

    /// The seal of a file, if it is sealed.
    pub(super) fn seal(&self, what: &Attributes) -> Option<&'a Seal> {
        self.options.seal.as_ref().filter(|_| what.is_sealed)
    }

    pub(super) fn block_bytes(&self) -> u64 {
        self.options.shape.block.bytes_u64()
    }
}
