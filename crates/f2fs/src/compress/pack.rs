//! Compressing a cluster: header and compressed bytes, in whole blocks.

#[cfg(feature = "codecs")]
use super::pack_lz4;
use super::{
    Algorithm, ClusterError, HEADER_BYTES, Method, RawHeader, pack_lzo,
    repeats::{Effort, Repeats},
};
use crate::{crc, word::word};
use zerocopy::{FromZeros, IntoBytes, little_endian::U32};

/// Compresses clusters; one for each thread, for the sake of its memory.
pub struct Packer {
    method: Method,
    checksummed: bool,
    codec: Codec,
    bytes: Vec<u8>,
}

enum Codec {
    Lzo(Repeats),
    #[cfg(feature = "codecs")]
    Lz4,
    #[cfg(feature = "codecs")]
    Lz4Slow(Repeats),
    #[cfg(feature = "codecs")]
    Zstd(zstd::bulk::Compressor<'static>),
}

impl Packer {
    /// A packer with a method; `checksummed` gives each cluster a checksum.
    pub fn new(method: Method, checksummed: bool) -> Result<Packer, ClusterError> {
        let codec = match method.algorithm() {
            Algorithm::Lzo | Algorithm::LzoRle => Codec::Lzo(Repeats::new(Effort { places: 4, lazy: false })),
            #[cfg(feature = "codecs")]
            Algorithm::Lz4 if method.level() == 0 => Codec::Lz4,
            #[cfg(feature = "codecs")]
            Algorithm::Lz4 => {
                let places = 1 << method.level().saturating_sub(1).min(15);
                Codec::Lz4Slow(Repeats::new(Effort { places, lazy: true }))
            }
            #[cfg(feature = "codecs")]
            Algorithm::Zstd => {
                let made = zstd::bulk::Compressor::new(method.level().into());
                // Only a level that there is not can be refused.
                Codec::Zstd(made.map_err(|_| ClusterError::Damaged(method.algorithm().name()))?)
            }
            #[cfg(not(feature = "codecs"))]
            Algorithm::Lz4 | Algorithm::Zstd => {
                return Err(ClusterError::NotBuilt(method.algorithm().name()));
            }
        };
        Ok(Packer { method, checksummed, codec, bytes: Vec::new() })
    }

    /// Appends to `out` the blocks that stand for a cluster, and returns how many; `None` if they are not fewer than its
    /// own less one, which the mark takes.
    pub fn pack(&mut self, cluster: &[u8], block_bytes: usize, out: &mut Vec<u8>) -> Option<usize> {
        let room = cluster.len().checked_sub(block_bytes)?;
        let start = out.len();
        let header_end = start + HEADER_BYTES;
        self.bytes.clear();
        self.compress(cluster)?;
        let length = HEADER_BYTES + self.bytes.len();
        if length > room {
            return None;
        }
        out.extend(RawHeader::new_zeroed().as_bytes());
        out.extend_from_slice(&self.bytes);
        let blocks = length.div_ceil(block_bytes);
        out.resize(start + blocks * block_bytes, 0);
        let chksum = if self.checksummed { crc::checksum(&self.bytes) } else { 0 };
        let header = RawHeader {
            clen: U32::new(word(self.bytes.len())),
            chksum: U32::new(chksum),
            reserved: [U32::ZERO; 4],
        };
        if let Some(place) = out.get_mut(start..header_end) {
            place.copy_from_slice(header.as_bytes());
        }
        debug_assert!(self.comes_back(cluster, out.get(start..).unwrap_or_default()));
        Some(blocks)
    }

    /// Leaves the compressed bytes in `bytes`; `None` if they are more than the cluster's.
    fn compress(&mut self, cluster: &[u8]) -> Option<()> {
        match &mut self.codec {
            Codec::Lzo(repeats) => {
                let zero_runs = self.method.algorithm() == Algorithm::LzoRle;
                pack_lzo::compress(cluster, zero_runs, repeats, &mut self.bytes);
            }
            #[cfg(feature = "codecs")]
            Codec::Lz4 => {
                use lz4_flex::block;
                self.bytes.resize(block::get_maximum_output_size(cluster.len()), 0);
                let length = block::compress_into(cluster, &mut self.bytes).ok()?;
                self.bytes.truncate(length);
            }
            #[cfg(feature = "codecs")]
            Codec::Lz4Slow(repeats) => pack_lz4::compress(cluster, repeats, &mut self.bytes),
            #[cfg(feature = "codecs")]
            Codec::Zstd(compressor) => {
                self.bytes.resize(cluster.len(), 0);
                // That it does not fit is the one error there is.
                let length = compressor.compress_to_buffer(cluster, self.bytes.as_mut_slice()).ok()?;
                self.bytes.truncate(length);
            }
        }
        Some(())
    }

    /// Whether the reader gets back the original bytes.
    fn comes_back(&self, cluster: &[u8], stored: &[u8]) -> bool {
        let mut out = vec![0; cluster.len()];
        let read = super::decompress(self.method.algorithm(), self.checksummed, stored, &mut out);
        read.is_ok() && out == cluster
    }
}
