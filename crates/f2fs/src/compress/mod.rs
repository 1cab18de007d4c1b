//! Compressed clusters: the header that stands before the compressed bytes, the decoders, and the [`Packer`].
//!
//! A cluster is a power of two of a file's blocks, compressed together. Its first block address is a mark, the next
//! ones name the blocks that hold header and compressed bytes, one after the other. All output is bounded by the cluster.

mod lzo;
mod method;
mod pack;
#[cfg(feature = "codecs")]
mod pack_lz4;
mod pack_lzo;
mod repeats;

#[cfg(feature = "codecs")]
use ruzstd::decoding::FrameDecoder;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, little_endian::U32};

pub use method::{Algorithm, Method};
pub use pack::Packer;

use crate::crc;

/// The header of a compressed cluster as it stands at the start of its first stored block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct RawHeader {
    /// Compressed bytes that follow.
    pub clen: U32,
    /// [`crc::checksum`] of those bytes, if the inode says that clusters have one.
    pub chksum: U32,
    /// Zero.
    pub reserved: [U32; 4],
}

/// Bytes of a cluster's header.
pub const HEADER_BYTES: usize = 24;
const _: () = assert!(size_of::<RawHeader>() == HEADER_BYTES);

/// The reason why a cluster cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ClusterError {
    /// Fewer bytes are stored than a header has.
    #[error("compressed cluster of {0} bytes has no room for its header of {HEADER_BYTES}")]
    NoHeader(usize),
    /// The header names more bytes than are stored, or none.
    #[error("compressed cluster claims {claimed} bytes, and {stored} are stored")]
    Length {
        /// Bytes that the header names.
        claimed: u32,
        /// Bytes that are stored behind the header.
        stored: usize,
    },
    /// The compressed bytes are not those that were written.
    #[error("compressed cluster has checksum {found:#010x}, want {wanted:#010x}")]
    Checksum {
        /// The checksum of the bytes.
        found: u32,
        /// The checksum in the header.
        wanted: u32,
    },
    /// The compressed bytes make no sense.
    #[error("compressed cluster is not {0} data")]
    Damaged(&'static str),
    /// The decoder was left out of this build.
    #[error("compressed cluster is {0} data, and this build was made without the feature `codecs`")]
    NotBuilt(&'static str),
    /// The cluster decompresses, but not to its size.
    #[error("compressed cluster decompresses to {found} bytes, want {wanted}")]
    Size {
        /// Bytes that came out.
        found: usize,
        /// Bytes of the cluster.
        wanted: usize,
    },
}

/// The number of compressed bytes that the header claims; `stored` begins with it.
pub fn claimed(stored: &[u8]) -> Option<u32> {
    RawHeader::ref_from_prefix(stored).ok().map(|(header, _)| header.clen.get())
}

/// The compressed bytes of a cluster with a sensible header; `stored` is all its stored blocks.
pub fn compressed(stored: &[u8], checksummed: bool) -> Result<&[u8], ClusterError> {
    let (header, rest) =
        RawHeader::ref_from_prefix(stored).map_err(|_| ClusterError::NoHeader(stored.len()))?;
    let claimed = header.clen.get();
    let bytes =
        usize::try_from(claimed).ok().filter(|&length| length > 0).and_then(|length| rest.get(..length));
    let bytes = bytes.ok_or(ClusterError::Length { claimed, stored: rest.len() })?;
    let wanted = header.chksum.get();
    if checksummed {
        let found = crc::checksum(bytes);
        if found != wanted {
            return Err(ClusterError::Checksum { found, wanted });
        }
    }
    Ok(bytes)
}

/// Decompresses a cluster into `out`, which has the size of the whole cluster. `stored` is all its stored blocks, one
/// after the other; `checksummed` is bit 0 of the inode's `i_compress_flag`.
pub fn decompress(
    algorithm: Algorithm,
    checksummed: bool,
    stored: &[u8],
    out: &mut [u8],
) -> Result<(), ClusterError> {
    let bytes = compressed(stored, checksummed)?;
    let found = match algorithm {
        Algorithm::Lzo | Algorithm::LzoRle => lzo::decompress(bytes, out),
        #[cfg(feature = "codecs")]
        Algorithm::Lz4 => lz4_flex::block::decompress_into(bytes, out).ok(),
        #[cfg(feature = "codecs")]
        Algorithm::Zstd => unzstd(bytes, out),
        #[cfg(not(feature = "codecs"))]
        Algorithm::Lz4 | Algorithm::Zstd => return Err(ClusterError::NotBuilt(algorithm.name())),
    };
    match found {
        None => Err(ClusterError::Damaged(algorithm.name())),
        Some(found) if found != out.len() => Err(ClusterError::Size { found, wanted: out.len() }),
        Some(_) => Ok(()),
    }
}

#[cfg(feature = "codecs")]
/// Decodes one frame of Zstandard with a window of at most the cluster, as in Linux.
fn unzstd(bytes: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(u64::try_from(out.len()).ok()?);
    decoder.decode_all(bytes, out).ok()
}

#[cfg(test)]
#[cfg(feature = "codecs")]
mod tests;
