//! Which files of a new volume are compressed, and how.

use super::FormatError;
use crate::{
    compress::{Method, Packer},
    layout::{Inode, InodeFlags},
};

/// Stands for all names, in a list of extensions.
const ALL: &str = "*";
/// Bit of an inode's `i_compress_flag`: clusters have checksums. The level stands in the upper half.
const CHECKSUM: u16 = 1;
const LEVEL_SHIFT: u32 = 8;
/// Blocks of a cluster, as powers of two.
const CLUSTERS: std::ops::RangeInclusive<u8> = 2..=8;

/// Which files are compressed, and how; the kernel's mount options `compress_*` say the same of new files. Never compressed
/// are files that stand in their inode, files smaller than a cluster, and files with a hot extension.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compression {
    /// Algorithm and level.
    pub method: Method,
    /// A cluster has `1 << log_blocks` blocks, 4 to 256: as many are compressed together, and read together.
    pub log_blocks: u8,
    /// Clusters get a checksum.
    pub checksum: bool,
    /// What is saved is given back. Nobody can write to such files until `f2fs_io reserve_cblocks` reserves it again;
    /// otherwise it stays reserved, and compression saves writing, but no room.
    pub release: bool,
    /// Extensions of files that are compressed; `*` stands for all files.
    pub extensions: Vec<String>,
    /// Extensions of files that are not compressed, whatever the other list says.
    pub not: Vec<String>,
}

impl Compression {
    pub(super) fn check(&self) -> Result<(), FormatError> {
        if !CLUSTERS.contains(&self.log_blocks) {
            return Err(FormatError::Cluster { log_blocks: self.log_blocks });
        }
        self.packer().map(drop)
    }

    /// Whoever compresses by this.
    pub(super) fn packer(&self) -> Result<Packer, FormatError> {
        Packer::new(self.method, self.checksum).map_err(|error| FormatError::Compression(error.to_string()))
    }

    /// Blocks of a cluster.
    pub(super) fn cluster_blocks(&self) -> u32 {
        1 << self.log_blocks
    }

    /// True if a file of this name is to be compressed.
    pub(super) fn wants(&self, name: &[u8]) -> bool {
        let in_list = |list: &[String]| list.iter().any(|extension| ends_in(name, extension));
        in_list(&self.extensions) && !in_list(&self.not)
    }

    /// Makes an inode one of a compressed file.
    pub(super) fn mark(&self, inode: &mut Inode) {
        debug_assert!(inode.extra.is_some(), "compression without extra attributes");
        inode.flags = inode.flags.with(InodeFlags::COMPRESSED);
        if let Some(extra) = &mut inode.extra {
            extra.algorithm = self.method.algorithm().to_raw();
            extra.log_cluster = self.log_blocks;
            let checksum = if self.checksum { CHECKSUM } else { 0 };
            extra.compress_flag = checksum | u16::from(self.method.level()) << LEVEL_SHIFT;
        }
    }
}

/// True if the name ends in a dot and the extension, in any case.
fn ends_in(name: &[u8], extension: &str) -> bool {
    let Some(start) = name.len().checked_sub(extension.len()) else { return extension == ALL };
    let (front, end) = name.split_at(start);
    extension == ALL
        || front.len() > 1 && front.ends_with(b".") && end.eq_ignore_ascii_case(extension.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compress::Algorithm;

    #[test]
    fn names_are_compressed_as_linux_finds_them() {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let wants = |extensions: &[&str], not: &[&str], name: &str| {
            let method = Method::new(Algorithm::Lz4);
            let (extensions, not) = (list(extensions), list(not));
            Compression { method, log_blocks: 2, checksum: false, release: false, extensions, not }
                .wants(name.as_bytes())
        };
        assert!(wants(&["txt"], &[], "a.TXT") && !wants(&["txt"], &[], "a.txt.tmp"));
        assert!(
            !wants(&["txt"], &[], "txt") && !wants(&["txt"], &[], ".txt") && !wants(&["txt"], &[], "atxt")
        );
        assert!(wants(&["*"], &[], "x") && !wants(&["*"], &["x"], "y.x") && !wants(&[], &[], "y.x"));
    }
}
