//! The choice of files to compress, and the method.

use crate::{
    compress::{ClusterError, Method, Packer},
    layout::Inode,
};

/// Stands for all names, in a list of extensions.
const ALL: &str = "*";
/// Bit of an inode's `i_compress_flag`: clusters have checksums. The level stands in the upper half.
const CHECKSUM: u16 = 1;
const LEVEL_SHIFT: u32 = 8;
/// Blocks of a cluster where nothing else is said, as a power of two.
const LOG_BLOCKS: u8 = 2;

/// The choice of files to compress, and the method; the kernel's mount options `compress_*` say the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CompressionRule {
    /// Algorithm and level.
    pub method: Method,
    /// A cluster has `1 << log_blocks` blocks, 4 to 256: as many are compressed together, and read together.
    pub log_blocks: u8,
    /// Clusters get a checksum.
    pub checksum: bool,
    /// Extensions of files that are compressed; `*` stands for all files.
    pub extensions: Vec<String>,
    /// Extensions of files that are not compressed, whatever the other list says.
    pub not: Vec<String>,
}

impl Default for CompressionRule {
    /// The kernel's defaults: no extension, and lz4 in clusters of four blocks for files whose directory asks for
    /// compression.
    fn default() -> CompressionRule {
        let method = Method::LZ4;
        let (extensions, not) = (Vec::new(), Vec::new());
        CompressionRule { method, log_blocks: LOG_BLOCKS, checksum: false, extensions, not }
    }
}

impl CompressionRule {
    /// Blocks of a cluster, as powers of two.
    pub const LOG_BLOCKS: std::ops::RangeInclusive<u8> = 2..=8;

    /// A packer by this rule.
    pub(crate) fn packer(&self) -> Result<Packer, ClusterError> {
        Packer::new(self.method, self.checksum)
    }

    pub(crate) fn cluster_blocks(&self) -> u32 {
        1 << self.log_blocks
    }

    /// True if a file of this name is to be compressed.
    pub(crate) fn wants(&self, name: &[u8]) -> bool {
        let in_list = |list: &[String]| list.iter().any(|extension| ends_in(name, extension));
        in_list(&self.extensions) && !in_list(&self.not)
    }

    /// True if a file of this name is not to be compressed, though its directory hands that down.
    pub(crate) fn excludes(&self, name: &[u8]) -> bool {
        self.not.iter().any(|extension| ends_in(name, extension))
    }

    /// Makes an inode one of a compressed file, or of a directory that hands it down.
    pub(crate) fn mark(&self, inode: &mut Inode) {
        let checksum = if self.checksum { CHECKSUM } else { 0 };
        let flag = checksum | u16::from(self.method.level()) << LEVEL_SHIFT;
        inode.set_compressed(self.method.algorithm().to_raw(), self.log_blocks, flag);
    }
}

/// The compression of an inode's clusters, by its own `i_compress_algorithm` and `i_compress_flag`, and whether they
/// have a checksum. `None` if Linux knows no such level.
pub(crate) fn of_inode(algorithm: u8, flag: u16) -> Option<(Method, bool)> {
    let [bits, level] = flag.to_le_bytes();
    let method = Method::from_raw(algorithm, level)?;
    Some((method, u16::from(bits) & CHECKSUM != 0))
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

    #[test]
    fn names_are_compressed_as_linux_finds_them() {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let wants = |extensions: &[&str], not: &[&str], name: &str| {
            let (extensions, not) = (list(extensions), list(not));
            CompressionRule { extensions, not, ..CompressionRule::default() }.wants(name.as_bytes())
        };
        assert!(wants(&["txt"], &[], "a.TXT") && !wants(&["txt"], &[], "a.txt.tmp"));
        assert!(
            !wants(&["txt"], &[], "txt") && !wants(&["txt"], &[], ".txt") && !wants(&["txt"], &[], "atxt")
        );
        assert!(wants(&["*"], &[], "x") && !wants(&["*"], &["x"], "y.x") && !wants(&[], &[], "y.x"));
    }
}
