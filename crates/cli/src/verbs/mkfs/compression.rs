//! Options of `pumice mkfs -t f2fs` that say which files are compressed, in the words of the kernel's mount options.

use pumice_f2fs::{CompressionRule, compress::Method, mkfs::Compression};

/// Extension that stands for all files.
const ALL: &str = "*";

/// The choice of files to compress, and the method.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub(crate) struct Args {
    /// Compress files: lzo, lzo-rle, lz4, lz4:3 to lz4:12, zstd or zstd:1 to zstd:22
    #[arg(long, value_name = "ALGORITHM[:LEVEL]", value_parser = Method::parse)]
    compress_algorithm: Option<Method>,
    /// Extensions of files to compress [default: all files]
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "compress_algorithm")]
    compress_extensions: Vec<String>,
    /// Extensions of files that are not to be compressed
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "compress_algorithm")]
    nocompress_extensions: Vec<String>,
    /// Blocks that are compressed together, as a power of two [default: 2]
    #[arg(long, value_name = "2..8", value_parser = clap::value_parser!(u8).range(2..=8), requires = "compress_algorithm")]
    compress_log_size: Option<u8>,
    /// Give each compressed cluster a checksum
    #[arg(long, requires = "compress_algorithm")]
    compress_chksum: bool,
    /// Give back the space that compression saves; such files are read-only until the kernel reserves it again
    #[arg(long, requires = "compress_algorithm")]
    compress_release: bool,
}

impl Args {
    /// True if files are to be compressed.
    pub(super) fn is_given(&self) -> bool {
        self.compress_algorithm.is_some()
    }

    /// The compression asked for.
    pub(super) fn wanted(&self) -> Option<Compression> {
        let method = self.compress_algorithm?;
        let given =
            |list: &[String]| list.iter().map(|name| name.trim_start_matches('.').to_owned()).collect();
        let mut extensions: Vec<String> = given(&self.compress_extensions);
        if extensions.is_empty() {
            extensions.push(ALL.into());
        }
        let usual = CompressionRule::default();
        let rule = CompressionRule {
            method,
            log_blocks: self.compress_log_size.unwrap_or(usual.log_blocks),
            checksum: self.compress_chksum,
            extensions,
            not: given(&self.nocompress_extensions),
        };
        Some(Compression { rule, release: self.compress_release })
    }
}
