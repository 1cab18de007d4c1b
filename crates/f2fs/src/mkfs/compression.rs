//! Compressed files of a new volume.

use super::FormatError;
use crate::{compress::Packer, compression::CompressionRule};

/// The choice of files to compress, the method, and the use of the saved room. Never compressed are files that stand in
/// their inode, files smaller than a cluster, and files with a hot extension.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compression {
    /// The choice of files, and the method.
    pub rule: CompressionRule,
    /// Saved room is given back. Nobody can write to such files until `f2fs_io reserve_cblocks` reserves it again;
    /// otherwise it stays reserved, and compression saves writing, but no room.
    pub release: bool,
}

impl Compression {
    pub(super) fn check(&self) -> Result<(), FormatError> {
        if !CompressionRule::LOG_BLOCKS.contains(&self.rule.log_blocks) {
            return Err(FormatError::Cluster { log_blocks: self.rule.log_blocks });
        }
        self.packer().map(drop)
    }

    /// A packer by this rule.
    pub(super) fn packer(&self) -> Result<Packer, FormatError> {
        self.rule.packer().map_err(|error| FormatError::Compression(error.to_string()))
    }
}
